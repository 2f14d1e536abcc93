/* SPDX-License-Identifier: BSD-3-Clause */
/* What CHECK SERVICE says: as text, a line as soon as a row is known; for programs, all rows at the
 * end.  Loop's thread. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "commands_call.h"
#include "commands_check.h"
#include "local_address.h"
#include "pairs.h"
#include "status.h"
#include "units.h"

/* Columns, in their order. */
enum {
	MIRROR,
	ADDRESS,
	NEXT_HOP,
	RESULT,
	SYN_ACK_MS,
	SOURCE,
	PING_NOW,
	PING_NOW_MS,
	PING,
	N_COLUMNS,
};

static const struct table_column columns[N_COLUMNS] = {
	[MIRROR] = {"mirror", "MIRROR", false},
	[ADDRESS] = {"address", "ADDRESS", false},
	[NEXT_HOP] = {"next_hop", "NEXT HOP", false},
	[RESULT] = {"result", "RESULT", false},
	[SYN_ACK_MS] = {"syn_ack_ms", "ANSWER ms", true},
	[SOURCE] = {"source", "FROM", false},
	[PING_NOW] = {"ping_now", "PING NOW", false},
	[PING_NOW_MS] = {"ping_now_ms", "PING ms", true},
	[PING] = {"ping", "PING BEFORE", false},
};

void
checking_open_table(struct checking *c)
{
	c->asking->table = (struct table){.columns = columns, .n_columns = N_COLUMNS};
}

/* ---- a row ---- */

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

	if (!checking_is_by_tcp(item->service))
		return "no TCP";
	return item->has_result ? names[item->result.result] : "not checked";
}

static const char *
ping_name(const struct check_ping *ping)
{
	static const char *const names[CHECK_N_PING_STATES] = {
		[CHECK_PING_ANSWERED] = "answered",
		[CHECK_PING_NONE] = "none",
		[CHECK_PING_NOT_SENT] = "not sent",
	};

	return ping->state == CHECK_PING_FAILED ? ping->failure : names[ping->state];
}

static const char *
format_ping_before(
	const struct status *status, const struct status_mirror *m, char *text, size_t size)
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

static void
tell_line(const struct checking *c, char *const *cells)
{
	const struct command_request *request = &c->asking->request;
	const char *syn_ms = cells[SYN_ACK_MS], *ping_ms = cells[PING_NOW_MS];
	char *line = NULL;
	int size;

	if (request->progress == NULL || request->is_json || request->is_tsv)
		return;
	size = asprintf(&line,
		"%-20s %-24s next hop %-10s %s%s%s%s%s; ping: %s%s%s%s; before: %s\n",
		cells[MIRROR], cells[ADDRESS], cells[NEXT_HOP], cells[RESULT],
		syn_ms != NULL ? " after " : "", syn_ms != NULL ? syn_ms : "",
		syn_ms != NULL ? " ms, from " : "", syn_ms != NULL ? cells[SOURCE] : "",
		cells[PING_NOW], ping_ms != NULL ? " (" : "", ping_ms != NULL ? ping_ms : "",
		ping_ms != NULL ? " ms)" : "", cells[PING]);
	if (size < 0)
		return;
	request->progress(request->arg, line, (size_t)size);
	free(line);
}

/* NULL unless 'is_known'. */
static void
add_ms(struct table *t, bool is_known, uint64_t us)
{
	if (is_known)
		table_add(t, "%.3f", (double)us / 1000);
	else
		table_add(t, NULL);
}

void
checking_tell(struct check_item *item)
{
	struct checking *c = item->checking;
	struct table *t = &c->asking->table;
	const struct status_service *s = item->service;
	const struct status_mirror *m = &s->mirrors[item->index / s->n_listens];
	const struct check_ping *ping = item->ping;
	const struct karmalb_endpoint *to = &s->endpoints[item->index];
	const struct karmalb_checked *r = &item->result;
	char text[UNITS_TEXT_MAX], before[80];

	table_add(t, "%s.%s", s->name, m->name);
	table_add(t, "%s", units_format_host(&to->address, ntohs(to->port_be), text, sizeof(text)));
	table_add(t, "%s", render_next_hop(m->next_hop));
	table_add(t, "%s", result_name(item));
	add_ms(t, item->has_result && r->took_us > 0, r->took_us);
	if (item->has_result && r->source.port_be != 0)
		table_add(t, "%s",
			units_format_host(
				&r->source.address, ntohs(r->source.port_be), text, sizeof(text)));
	else
		table_add(t, NULL);
	table_add(t, "%s", ping_name(ping));
	add_ms(t, ping->state == CHECK_PING_ANSWERED || ping->state == CHECK_PING_FAILED,
		ping->took_us);
	table_add(t, "%s", format_ping_before(c->asking->status, m, before, sizeof(before)));
	c->n_told++;
	if (item->has_result)
		c->n_results[r->result]++;
	else
		c->n_unanswered++;
	if (!t->is_incomplete)
		tell_line(c, &t->cells[t->n_cells - t->n_columns]);
}

/* ---- the end ---- */

static bool
is_meant(const struct checking *c, unsigned service)
{
	return c->only == NULL || c->only == &c->asking->status->services[service];
}

/* An endpoint's address that none before it has. */
static bool
is_new_vip(const struct checking *c, unsigned service, unsigned listen)
{
	const struct status_service *services = c->asking->status->services;
	const struct karmalb_address *vip = &services[service].listens[listen].address;

	for (unsigned i = 0; i <= service; i++)
		for (unsigned l = 0; l < (i == service ? listen : services[i].n_listens); l++)
			if (is_meant(c, i) &&
				karmalb_address_equal(&services[i].listens[l].address, vip))
				return false;
	return is_meant(c, service);
}

/* Where clients look for the addresses. */
static void
tell_vips(const struct checking *c, FILE *out, struct pairs *facts)
{
	const struct status *status = c->asking->status;
	unsigned n_vips = 0, n_on_interface = 0;
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		all = NULL; /* the kernel does not say */
	for (unsigned i = 0; i < status->n_services; i++)
		for (unsigned l = 0; l < status->services[i].n_listens; l++) {
			const struct karmalb_address *vip = &status->services[i].listens[l].address;
			char text[UNITS_TEXT_MAX], name[LOCAL_ADDRESS_NAME_MAX];

			if (!is_new_vip(c, i, l))
				continue;
			n_vips++;
			units_format_host(vip, 0, text, sizeof(text));
			if (local_address_find(all, vip, name)) {
				n_on_interface++;
				fprintf(out, "VIP %s is on %s.\n", text, name);
			} else {
				fprintf(out, "VIP %s is on no interface of this host.\n", text);
			}
		}
	if (all != NULL)
		freeifaddrs(all);
	pairs_add_count(facts, "", "vips", n_vips);
	pairs_add_count(facts, "", "vips_on_interface", n_on_interface);
}

/* Its SYN, or where all is UDP its ping, was sent and ended. */
static bool
was_asked(const struct check_item *item)
{
	enum check_ping_state ping = item->ping->state;

	if (checking_is_by_tcp(item->service))
		return item->has_result;
	return ping == CHECK_PING_ANSWERED || ping == CHECK_PING_FAILED;
}

static bool
answers(const struct check_item *item)
{
	if (!checking_is_by_tcp(item->service))
		return item->ping->state == CHECK_PING_ANSWERED;
	return item->has_result && item->result.result == KARMALB_CHECK_OPEN;
}

/* Services of which mirrors were asked, and none of these answers; their number.  One that nobody
 * could be asked about, for want of time or link, is not among them. */
static unsigned
tell_silent(const struct checking *c, FILE *out)
{
	const struct status *status = c->asking->status;
	unsigned n_silent = 0;

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];
		unsigned n_asked = 0, n_open = 0;

		for (unsigned k = 0; k < c->n_items; k++) {
			if (c->items[k].service != s || !checking_has_row(&c->items[k]) ||
				!was_asked(&c->items[k]))
				continue;
			n_asked++;
			n_open += answers(&c->items[k]);
		}
		if (n_asked == 0 || n_open > 0)
			continue;
		n_silent++;
		fprintf(out, "! No mirror of %s answers.\n", s->name);
	}
	return n_silent;
}

static unsigned
count_pings(const struct checking *c, enum check_ping_state state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_pings; i++)
		n += c->pings[i].state == state;
	return n;
}

/* Returns the number of services of which nobody who was asked answers. */
static unsigned
tell_end(const struct checking *c, FILE *out, struct pairs *facts)
{
	unsigned n_open = c->n_results[KARMALB_CHECK_OPEN];
	unsigned n_refused = c->n_results[KARMALB_CHECK_REFUSED];
	unsigned n_silent = c->n_results[KARMALB_CHECK_SILENT], n_without;
	unsigned n_answered = count_pings(c, CHECK_PING_ANSWERED);
	unsigned n_failed = count_pings(c, CHECK_PING_FAILED);

	if (c->only != NULL)
		pairs_add_text(facts, "", "service", c->only->name);
	else
		pairs_add_none(facts, "", "service");
	tell_vips(c, out, facts);
	fprintf(out,
		"%u checked: %u open, %u refused, %u silent, %u else; pings: %u answered, "
		"%u failed.\n",
		c->n_told, n_open, n_refused, n_silent, c->n_told - n_open - n_refused - n_silent,
		n_answered, n_failed);
	n_without = tell_silent(c, out);
	pairs_add_count(facts, "", "checked", c->n_told);
	pairs_add_count(facts, "", "open", n_open);
	pairs_add_count(facts, "", "refused", n_refused);
	pairs_add_count(facts, "", "silent", n_silent);
	pairs_add_count(facts, "", "not_checked", c->n_unanswered);
	pairs_add_count(facts, "", "pings_answered", n_answered);
	pairs_add_count(facts, "", "pings_failed", n_failed);
	pairs_add_count(facts, "", "services_without_answer", n_without);
	return n_without;
}

void
checking_answer(struct checking *c)
{
	struct asking *a = c->asking;
	struct command_body body, sentence;
	struct pairs facts;
	unsigned n_without = 0;
	struct table none = {.columns = a->table.columns, .n_columns = a->table.n_columns};
	bool is_streamed = a->request.progress != NULL && !a->request.is_json && !a->request.is_tsv;

	pairs_init(&facts, "", "", NULL);
	if (command_body_open(&sentence) != NULL) {
		n_without = tell_end(c, sentence.out, &facts);
		fclose(sentence.out);
	}
	if (command_body_open(&body) != NULL)
		a->render->report(
			body.out, &(struct render_report){
					  .sentence = sentence.text != NULL ? sentence.text : "",
					  .facts = &facts,
					  .rows_name = "checks",
					  .table = is_streamed ? &none : &a->table});
	command_answer(&a->request, n_without > 0 ? COMMAND_NOBODY : COMMAND_DONE, &body);
	free(sentence.text);
	pairs_free(&facts);
	checking_free(c);
}
