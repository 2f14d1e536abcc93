/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CHECK SERVICE: a SYN to each mirror behind each TCP listen, and what pings last said.  As text, a
 * line as soon as it is known; for programs, all rows at the end.  Loop's thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands_ask.h"
#include "commands_call.h"
#include "inquiry.h"
#include "pairs.h"
#include "status.h"
#include "units.h"

#define AT_A_TIME      32 /* SYNs on their way */
#define SYN_MAX_US     KARMALB_SECOND
#define CHECK_LIMIT_US (4 * KARMALB_SECOND) /* for all together */

struct checking {
	struct asking *asking;
	const struct status_service *service; /* of asking->status */
	unsigned next;                        /* slot of the service to be asked about */
	unsigned n_out, n_told, n_all;
	unsigned n_results[KARMALB_N_CHECK_RESULTS];
	unsigned n_unanswered;
	uint64_t until_us;
	struct check_item *items; /* one for each of service->slots */
};

struct check_item {
	struct checking *checking;
	unsigned index; /* into service->slots */
	bool has_result;
	struct karmalb_checked result;
};

static int
ask_more(struct checking *c);
static void
on_part(void *arg, const struct karmalb_question *part);
static void
tell(struct check_item *item);
static void
finish(struct checking *c);

static void
checking_free(struct checking *c)
{
	if (c->asking != NULL)
		asking_free(c->asking);
	free(c->items);
	free(c);
}

static bool
is_tcp(const struct status_service *s, unsigned index)
{
	return s->listens[index % s->n_listens].protocol == IPPROTO_TCP;
}

static struct checking *
checking_create(const struct command_call *call, const char *name)
{
	static const struct table_column columns[] = {{"mirror", "MIRROR", false},
		{"address", "ADDRESS", false}, {"next_hop", "NEXT HOP", false},
		{"result", "RESULT", false}, {"syn_ack_ms", "ANSWER ms", true},
		{"source", "FROM", false}, {"ping", "PING", false}};
	struct checking *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		command_refuse(call, COMMAND_NOT_NOW, "out of memory");
		return NULL;
	}
	c->asking = asking_create(call);
	if (c->asking == NULL) {
		free(c);
		return NULL;
	}
	c->asking->table = (struct table){.columns = columns, .n_columns = 7};
	c->service = status_find_service(c->asking->status, name);
	c->n_all = c->service->n_mirrors * c->service->n_listens;
	c->until_us = karmalb_now_us() + CHECK_LIMIT_US;
	c->items = calloc(c->n_all + 1, sizeof(c->items[0]));
	if (c->items != NULL)
		return c;
	checking_free(c);
	command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	return NULL;
}

int
command_check_service(const struct command_call *call)
{
	const char *name = statement_argument(call->statement, "service");
	struct checking *c;
	int rc;

	if (status_find_service(call->status, name) == NULL)
		return command_refuse_service(call, name);
	c = checking_create(call, name);
	if (c == NULL)
		return COMMAND_NOT_NOW;
	rc = ask_more(c);
	if (rc == 0 && c->n_out > 0)
		return COMMAND_LATER;
	if (rc == 0 && c->n_told > 0) {
		finish(c); /* nobody could be asked, which is an answer too */
		return COMMAND_LATER;
	}
	if (rc == 0)
		rc = command_refuse(call, COMMAND_WRONG,
			"no mirror of service %s is reached by TCP, so there is nothing to check",
			name);
	else
		rc = asking_refuse(call, rc);
	checking_free(c);
	return rc;
}

static uint32_t
timeout_ms(const struct checking *c)
{
	uint64_t us = (uint64_t)c->service->settings.agent_connect_timeout_ms * KARMALB_MILLISECOND;

	return (uint32_t)((us < SYN_MAX_US ? us : SYN_MAX_US) / KARMALB_MILLISECOND);
}

/* 0, or the error of the first question, when none is out. */
static int
ask_more(struct checking *c)
{
	for (; c->next < c->n_all && c->n_out < AT_A_TIME; c->next++) {
		struct check_item *item = &c->items[c->next];
		union {
			struct karmalb_question question;
			struct karmalb_check_slot check;
		} m = {.question.header.message = KARMALB_MESSAGE_CHECK_SLOT};

		*item = (struct check_item){.checking = c, .index = c->next};
		if (!is_tcp(c->service, c->next))
			continue;
		m.check.slot = c->service->slots[c->next];
		m.check.timeout_ms = timeout_ms(c);
		if (m.check.slot == STATUS_SLOT_NONE || karmalb_now_us() >= c->until_us) {
			tell(item);
			continue;
		}
		int rc = balance_ask(c->asking->commands->balance, &m.question,
			c->until_us - karmalb_now_us(),
			&(struct inquiry_author){.part = on_part, .arg = item});

		if (rc < 0 && c->n_out == 0 && c->n_told == 0)
			return rc;
		if (rc < 0)
			tell(item);
		c->n_out += rc == 0;
	}
	return 0;
}

static void
on_part(void *arg, const struct karmalb_question *part)
{
	struct check_item *item = arg;
	struct checking *c = item->checking;

	if (part != NULL && part->header.message == KARMALB_MESSAGE_CHECKED) {
		item->result = *(const struct karmalb_checked *)part;
		item->has_result = true;
		return;
	}
	c->n_out--;
	tell(item);
	ask_more(c);
	if (c->n_out == 0)
		finish(c);
}

/* ---- what is said ---- */

static const char *
result_name(const struct check_item *item)
{
	static const char *const names[KARMALB_N_CHECK_RESULTS] = {
		[KARMALB_CHECK_OPEN] = "open",
		[KARMALB_CHECK_REFUSED] = "refused",
		[KARMALB_CHECK_SILENT] = "silent",
		[KARMALB_CHECK_UNREACHABLE] = "unreachable",
		[KARMALB_CHECK_NO_NEXT_HOP] = "no next hop",
		[KARMALB_CHECK_NO_PORT] = "no source port",
		[KARMALB_CHECK_NOT_SENT] = "not sent",
	};

	return item->has_result ? names[item->result.result] : "not checked";
}

static const char *
format_ping(const struct status *status, const struct status_mirror *m, char *text, size_t size)
{
	double ago_s = (double)(status->now_us - m->last_ping_us) / (double)KARMALB_SECOND;

	if (!m->is_pinged)
		return "off";
	if (m->last_ping_us == 0)
		return "none yet";
	if (m->pings_failed > 0)
		snprintf(text, size, "%u failed in a row, the last %.1f s ago", m->pings_failed,
			ago_s);
	else
		snprintf(text, size, "answered in %.2f ms, %.1f s ago", (double)m->ping_us / 1000,
			ago_s);
	return text;
}

/* The mirror's endpoint behind that listen. */
static const char *
format_address(const struct checking *c, const struct check_item *item, char *text, size_t size)
{
	const struct karmalb_endpoint *endpoint = &c->service->endpoints[item->index];

	return units_format_host(&endpoint->address, ntohs(endpoint->port_be), text, size);
}

static void
tell_line(const struct checking *c, char *const *cells)
{
	const struct command_request *request = &c->asking->request;
	char *line = NULL;
	int size;

	if (request->progress == NULL || request->is_json || request->is_tsv)
		return;
	size = asprintf(&line, "%-20s %-24s next hop %-10s %s%s%s%s%s; ping: %s\n", cells[0],
		cells[1], cells[2], cells[3], cells[4] != NULL ? " after " : "",
		cells[4] != NULL ? cells[4] : "", cells[4] != NULL ? " ms, from " : "",
		cells[4] != NULL ? cells[5] : "", cells[6]);
	if (size < 0)
		return;
	request->progress(request->arg, line, (size_t)size);
	free(line);
}

static void
tell(struct check_item *item)
{
	struct checking *c = item->checking;
	struct asking *a = c->asking;
	struct table *t = &a->table;
	const struct status_service *s = c->service;
	const struct status_mirror *m = &s->mirrors[item->index / s->n_listens];
	const struct karmalb_checked *r = &item->result;
	char text[UNITS_TEXT_MAX], ping[80];
	bool is_answered = item->has_result && r->took_us > 0;

	table_add(t, "%s.%s", s->name, m->name);
	table_add(t, "%s", format_address(c, item, text, sizeof(text)));
	table_add(t, "%s", render_next_hop(m->next_hop));
	table_add(t, "%s", result_name(item));
	if (is_answered)
		table_add(t, "%.3f", (double)r->took_us / 1000);
	else
		table_add(t, NULL);
	if (item->has_result && r->source.port_be != 0)
		table_add(t, "%s",
			units_format_host(
				&r->source.address, ntohs(r->source.port_be), text, sizeof(text)));
	else
		table_add(t, NULL);
	table_add(t, "%s", format_ping(a->status, m, ping, sizeof(ping)));
	c->n_told++;
	if (item->has_result)
		c->n_results[r->result]++;
	else
		c->n_unanswered++;
	if (!t->is_incomplete)
		tell_line(c, &t->cells[t->n_cells - t->n_columns]);
}

static void
finish(struct checking *c)
{
	struct asking *a = c->asking;
	unsigned n_open = c->n_results[KARMALB_CHECK_OPEN];
	unsigned n_refused = c->n_results[KARMALB_CHECK_REFUSED];
	unsigned n_silent = c->n_results[KARMALB_CHECK_SILENT];
	struct command_body body;
	struct pairs facts;
	char sentence[200];
	struct table none = {.columns = a->table.columns, .n_columns = a->table.n_columns};
	bool is_streamed = a->request.progress != NULL && !a->request.is_json && !a->request.is_tsv;
	struct render_report report = {.sentence = sentence,
		.facts = &facts,
		.rows_name = "checks",
		.table = is_streamed ? &none : &a->table};

	snprintf(sentence, sizeof(sentence),
		"%u checked: %u open, %u refused, %u silent, %u else\n", c->n_told, n_open,
		n_refused, n_silent, c->n_told - n_open - n_refused - n_silent);
	pairs_init(&facts, "", "", NULL);
	pairs_add_text(&facts, "", "service", c->service->name);
	pairs_add_count(&facts, "", "checked", c->n_told);
	pairs_add_count(&facts, "", "open", n_open);
	pairs_add_count(&facts, "", "refused", n_refused);
	pairs_add_count(&facts, "", "silent", n_silent);
	pairs_add_count(&facts, "", "not_checked", c->n_unanswered);
	if (command_body_open(&body) != NULL)
		a->render->report(body.out, &report);
	command_answer(&a->request, COMMAND_DONE, &body);
	pairs_free(&facts);
	checking_free(c);
}
