/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXPLAIN: what becomes, or became, of a client's packets.  The data plane says whether there is a
 * flow; the shares it was drawn at, or would be, are ours.  Loop's thread.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands_ask.h"
#include "commands_call.h"
#include "epochs.h"
#include "err.h"
#include "inquiry.h"
#include "pairs.h"
#include "status.h"
#include "strategy.h"
#include "units.h"

struct explaining {
	struct asking *asking;
	struct karmalb_endpoint client, listen;
	const struct status_service *named; /* by it, in 'asking'; else by the endpoint: NULL */
	unsigned next_listen;               /* of 'named', to be asked about */
	bool has_flow;
	struct karmalb_flow flow;
};

static void
explaining_free(struct explaining *e);
static int
ask(struct explaining *e);
static void
on_part(void *arg, const struct karmalb_question *part);
static void
answer(struct explaining *e);
static void
tell_flow(struct explaining *e, FILE *sentence, struct pairs *facts);
static void
tell_new(struct explaining *e, FILE *sentence, struct pairs *facts);
static void
add_rows(struct explaining *e);

static const char *
family_name(const struct karmalb_endpoint *e)
{
	return karmalb_address_is_v4(&e->address) ? "IPv4" : "IPv6";
}

static bool
is_same_family(const struct karmalb_endpoint *a, const struct karmalb_endpoint *b)
{
	return karmalb_address_is_v4(&a->address) == karmalb_address_is_v4(&b->address);
}

/* What the words name; false: the call is refused. */
static bool
read_client(const struct command_call *call, struct karmalb_endpoint *client)
{
	const char *from = statement_argument(call->statement, "src:port");
	struct err err;
	uint16_t port;

	if (units_parse_host(from, &client->address, &port, &err) < 0) {
		command_refuse(call, COMMAND_WRONG, "%s", err.sentence);
		return false;
	}
	if (port == 0) {
		command_refuse(call, COMMAND_WRONG,
			"\"%.60s\": expected the client's address and port, such as "
			"192.0.2.77:40000",
			from);
		return false;
	}
	client->port_be = htons(port);
	return true;
}

/* The listen of 'named' that a client of this family can come to, from 'next_listen' on. */
static bool
take_listen(struct explaining *e)
{
	for (; e->named != NULL && e->next_listen < e->named->n_listens; e->next_listen++) {
		if (!is_same_family(&e->named->listens[e->next_listen], &e->client))
			continue;
		e->listen = e->named->listens[e->next_listen++];
		return true;
	}
	return false;
}

/* Likewise. */
static bool
read_listen(const struct command_call *call, struct explaining *e)
{
	const char *to = statement_argument(call->statement, "service");
	struct err err;

	e->named = status_find_service(e->asking->status, to);
	if (e->named != NULL) {
		if (take_listen(e))
			return true;
		command_refuse(call, COMMAND_WRONG,
			"the client's address is %s, and service %s has no endpoint of that kind",
			family_name(&e->client), to);
		return false;
	}
	if (strpbrk(to, ":/") == NULL) {
		command_refuse_service(call, to);
		return false;
	}
	if (units_parse_endpoint(to, &e->listen, &err) < 0) {
		command_refuse(call, COMMAND_WRONG, "%s", err.sentence);
		return false;
	}
	if (!is_same_family(&e->client, &e->listen)) {
		command_refuse(call, COMMAND_WRONG,
			"the client's address is %s and %.60s is %s: no packet has both",
			family_name(&e->client), to, family_name(&e->listen));
		return false;
	}
	return true;
}

int
command_explain(const struct command_call *call)
{
	static const struct table_column columns[] = {{"mirror", "MIRROR", false},
		{"drawn_share_pct", "DRAWN AT %", true}, {"share_pct", "SHARE NOW %", true},
		{"state", "STATE", false}, {"why", "WHY", false}};
	struct explaining *e = calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	e->asking = asking_create(call);
	if (e->asking == NULL) {
		free(e);
		return COMMAND_NOT_NOW;
	}
	e->asking->table = (struct table){.columns = columns, .n_columns = 5};
	if (!read_client(call, &e->client) || !read_listen(call, e)) {
		explaining_free(e);
		return COMMAND_WRONG;
	}
	rc = ask(e);
	if (rc == 0)
		return COMMAND_LATER;
	explaining_free(e);
	return asking_refuse(call, rc);
}

static int
ask(struct explaining *e)
{
	union {
		struct karmalb_question question;
		struct karmalb_find_flow find;
	} m = {.question.header.message = KARMALB_MESSAGE_FIND_FLOW};

	e->client.protocol = e->listen.protocol;
	m.find.client = e->client;
	m.find.listen = e->listen;
	return balance_ask(e->asking->commands->balance, &m.question, COMMANDS_ASK_US,
		&(struct inquiry_author){.part = on_part, .arg = e});
}

static void
on_part(void *arg, const struct karmalb_question *part)
{
	struct explaining *e = arg;

	if (part != NULL && part->header.message == KARMALB_MESSAGE_FLOW) {
		e->flow = *(const struct karmalb_flow *)part;
		e->has_flow = true;
		return;
	}
	if (!asking_failed(e->asking, part)) {
		if (!e->has_flow && take_listen(e) && ask(e) == 0)
			return;
		if (!e->has_flow) { /* a new one is told of at the first */
			e->next_listen = 0;
			take_listen(e);
		}
		answer(e);
	}
	explaining_free(e);
}

static void
explaining_free(struct explaining *e)
{
	asking_free(e->asking);
	free(e);
}

static void
answer(struct explaining *e)
{
	struct asking *a = e->asking;
	struct command_body body, sentence;
	struct pairs facts;

	pairs_init(&facts, "", "", NULL);
	if (command_body_open(&sentence) != NULL) {
		if (e->has_flow)
			tell_flow(e, sentence.out, &facts);
		else
			tell_new(e, sentence.out, &facts);
		fclose(sentence.out);
	}
	if (command_body_open(&body) != NULL) {
		struct render_report report = {
			.sentence = sentence.text != NULL ? sentence.text : "",
			.facts = &facts,
			.rows_name = "mirrors",
			.table = &a->table,
		};

		a->render->report(body.out, &report);
	}
	command_answer(&a->request, COMMAND_DONE, &body);
	free(sentence.text);
	pairs_free(&facts);
}

static const struct status_service *
service_of(const struct status *status, const struct karmalb_endpoint *listen, unsigned *number)
{
	for (unsigned i = 0; i < status->n_services; i++)
		for (unsigned l = 0; l < status->services[i].n_listens; l++)
			if (karmalb_endpoint_equal(&status->services[i].listens[l], listen)) {
				*number = l;
				return &status->services[i];
			}
	return NULL;
}

/* "12:00:03", of a moment on our own clock. */
static const char *
format_time(const struct status *status, uint64_t at_us, char *text, size_t size)
{
	time_t at = (time_t)((status->now_unix_us + at_us - status->now_us) / KARMALB_SECOND);
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(text, size, "%F %T", &tm);
	return text;
}

static const char *
format_host(const struct karmalb_endpoint *e, char *text)
{
	return units_format_host(&e->address, ntohs(e->port_be), text, UNITS_TEXT_MAX);
}

static void
print_ends(const struct explaining *e, FILE *out, const char *what)
{
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];

	fprintf(out, "%s -> %s: %s.\n", format_host(&e->client, from),
		units_format_endpoint(&e->listen, to, sizeof(to)), what);
}

/* When the epoch that the flow was drawn at came into force. */
static void
tell_epoch(struct explaining *e, FILE *out, struct pairs *facts)
{
	const struct status *status = e->asking->status;
	const struct epochs_entry *entry =
		epochs_find(balance_epochs(e->asking->commands->balance), e->flow.epoch);
	char text[40];

	pairs_add_count(facts, "", "epoch", e->flow.epoch);
	if (entry == NULL) {
		fprintf(out, "Drawn at epoch %u, whose shares are no longer kept.\n",
			e->flow.epoch);
		pairs_add_none(facts, "", "epoch_age_s");
		return;
	}
	if (entry->in_force_us == 0) {
		fprintf(out, "Drawn at epoch %u.\n", e->flow.epoch);
		pairs_add_none(facts, "", "epoch_age_s");
		return;
	}
	fprintf(out, "Drawn at epoch %u, in force since %s.\n", e->flow.epoch,
		format_time(status, entry->in_force_us, text, sizeof(text)));
	pairs_add_number(facts, "", "epoch_age_s",
		(double)(int64_t)(status->now_us - entry->in_force_us) / (double)KARMALB_SECOND, 1);
}

static void
tell_flow(struct explaining *e, FILE *out, struct pairs *facts)
{
	const struct status *status = e->asking->status;
	const struct karmalb_flow *f = &e->flow;
	char text[2 * KARMALB_NAME_MAX], when[40], host[UNITS_TEXT_MAX], source[UNITS_TEXT_MAX];
	const char *name = asking_mirror_name(status, f->slot, text, sizeof(text));
	double age_s = (double)(int64_t)(status->now_us - f->opened_us) / (double)KARMALB_SECOND;

	print_ends(e, out, "an existing flow");
	fprintf(out, "Opened %s, %.1f s ago; %s%s; worker %u.\n",
		format_time(status, f->opened_us, when, sizeof(when)), age_s,
		asking_state_name(f->state), f->is_waiting ? ", a query waits" : "", f->worker);
	fprintf(out, "It goes to mirror %s at %s, from %s.\n", name, format_host(&f->address, host),
		format_host(&f->source, source));
	pairs_add_text(facts, "", "flow", "existing");
	pairs_add_text(facts, "", "mirror", name);
	pairs_add_text(facts, "", "address", host);
	pairs_add_text(facts, "", "source", source);
	pairs_add_text(facts, "", "state", asking_state_name(f->state));
	pairs_add_number(facts, "", "age_s", age_s, 1);
	pairs_add_count(facts, "", "worker", f->worker);
	tell_epoch(e, out, facts);
	add_rows(e);
}

/* How a mirror is chosen. */
static const char *
choice_of(const struct status_service *s)
{
	return strategy_at(s->settings.ha_strategy)->selector == KARMALB_SELECTOR_ROTATE
		       ? "the next in turn of the mirrors with a share above 0"
		       : "a mirror drawn by lot, each by its share";
}

static void
tell_new(struct explaining *e, FILE *out, struct pairs *facts)
{
	const struct status *status = e->asking->status;
	unsigned listen, n_eligible = 0;
	const struct status_service *s = service_of(status, &e->listen, &listen);
	char strategy[RENDER_SETTING_MAX];

	print_ends(e, out, "no such flow");
	pairs_add_text(facts, "", "flow", "none");
	pairs_add_count(facts, "", "epoch", status->dataplane.epoch_in_force);
	if (s == NULL) {
		fprintf(out, "No service listens there: a packet of it would be dropped "
			     "(drop_no_service), or is the kernel's.\n");
		pairs_add_none(facts, "", "service");
		return;
	}
	for (unsigned i = 0; i < s->n_mirrors; i++)
		n_eligible += s->mirrors[i].share > 0 &&
			      s->mirrors[i].next_hop == KARMALB_NEXT_HOP_RESOLVED;
	pairs_add_text(facts, "", "service", s->name);
	pairs_add_count(facts, "", "eligible", n_eligible);
	render_setting(s, "ha_strategy", strategy, sizeof(strategy));
	if (n_eligible == 0)
		fprintf(out, "A new one to service %s would be dropped: no mirror may have it.\n",
			s->name);
	else
		fprintf(out, "A new one belongs to service %s (%s, epoch %u): %s.\n", s->name,
			strategy, status->dataplane.epoch_in_force, choice_of(s));
	add_rows(e);
}

/* The share that mirror 'i' had when the flow's was drawn. */
static void
add_drawn_share(struct explaining *e, const struct status_service *s, unsigned i, unsigned listen)
{
	struct table *t = &e->asking->table;
	const struct epochs_entry *entry =
		epochs_find(balance_epochs(e->asking->commands->balance), e->flow.epoch);
	const struct karmalb_endpoint *address = &s->endpoints[i * s->n_listens + listen];
	double share;

	if (e->has_flow && entry != NULL && epochs_share(entry, &e->listen, address, &share))
		table_add(t, "%.2f", 100 * share);
	else
		table_add(t, NULL);
}

static void
add_rows(struct explaining *e)
{
	struct asking *a = e->asking;
	unsigned listen;
	const struct status_service *s = service_of(a->status, &e->listen, &listen);

	for (unsigned i = 0; s != NULL && i < s->n_mirrors; i++) {
		const struct status_mirror *m = &s->mirrors[i];

		table_add(&a->table, "%s.%s", s->name, m->name);
		add_drawn_share(e, s, i, listen);
		table_add(&a->table, "%.2f", 100 * m->share);
		table_add(&a->table, "%s%s%s", status_mirror_state(m),
			m->next_hop == KARMALB_NEXT_HOP_RESOLVED ? "" : ", next hop ",
			m->next_hop == KARMALB_NEXT_HOP_RESOLVED ? ""
								 : render_next_hop(m->next_hop));
		table_add(&a->table, "%s", m->why);
	}
}
