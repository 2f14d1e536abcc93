/* SPDX-License-Identifier: BSD-3-Clause */
/* SHOW FLOWS and RESET FLOWS.  Loop's thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "change_words.h"
#include "commands_ask.h"
#include "commands_call.h"
#include "err.h"
#include "history.h"
#include "inquiry.h"
#include "log.h"
#include "status.h"
#include "units.h"

#define LIMIT_STANDARD 100
#define LIMIT_MAX      10000

static void
on_list_part(void *arg, const struct karmalb_question *part);
static void
audit(const struct command_call *call, const char *name);
static void
on_reset_part(void *arg, const struct karmalb_question *part);

/* 1 .. LIMIT_MAX, or 0 with a sentence. */
static uint32_t
read_limit(const char *text, struct err *err)
{
	char *end;
	unsigned long n = text != NULL ? strtoul(text, &end, 10) : LIMIT_STANDARD;

	if (text != NULL &&
		(text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > LIMIT_MAX)) {
		err_set(err, "LIMIT %.40s: expected a number from 1 to %d", text, LIMIT_MAX);
		return 0;
	}
	return (uint32_t)n;
}

int
command_show_flows(const struct command_call *call)
{
	static const struct table_column columns[] = {{"client", "CLIENT", false},
		{"service", "TO", false}, {"mirror", "MIRROR", false},
		{"address", "ADDRESS", false}, {"source", "FROM", false}, {"state", "STATE", false},
		{"waiting", "WAITING", false}, {"age_s", "AGE s", true},
		{"expires_s", "EXPIRES s", true}, {"epoch", "EPOCH", true},
		{"worker", "WORKER", true}};
	union {
		struct karmalb_question question;
		struct karmalb_list_flows list;
	} m = {.question.header.message = KARMALB_MESSAGE_LIST_FLOWS};
	struct asking *a;
	struct err err;

	m.list.limit = read_limit(statement_argument(call->statement, "count"), &err);
	if (m.list.limit == 0)
		return command_refuse(call, COMMAND_WRONG, "%s", err.sentence);
	if (!asking_slots(call, call->status, statement_argument(call->statement, "service"),
		    m.list.slots))
		return COMMAND_WRONG;
	a = asking_create(call);
	if (a == NULL)
		return COMMAND_NOT_NOW;
	a->table = (struct table){.columns = columns, .n_columns = 11};
	int rc = balance_ask(call->commands->balance, &m.question, COMMANDS_ASK_US,
		&(struct inquiry_author){.part = on_list_part, .arg = a});

	if (rc == 0)
		return COMMAND_LATER;
	asking_free(a);
	return asking_refuse(call, rc);
}

static void
add_host(struct table *table, const struct karmalb_endpoint *e)
{
	char text[UNITS_TEXT_MAX];

	table_add(
		table, "%s", units_format_host(&e->address, ntohs(e->port_be), text, sizeof(text)));
}

static double
seconds_between(uint64_t from_us, uint64_t to_us)
{
	return to_us > from_us ? (double)(to_us - from_us) / (double)KARMALB_SECOND : 0;
}

static void
add_flow(struct asking *a, const struct karmalb_flow *f)
{
	char text[2 * KARMALB_NAME_MAX];
	uint64_t now_us = a->status->now_us; /* of the asking, a moment ago */
	struct table *t = &a->table;

	add_host(t, &f->client);
	table_add(t, "%s", units_format_endpoint(&f->listen, text, sizeof(text)));
	table_add(t, "%s", asking_mirror_name(a->status, f->slot, text, sizeof(text)));
	add_host(t, &f->address);
	add_host(t, &f->source);
	table_add(t, "%s", asking_state_name(f->state));
	table_add(t, "%s", f->is_waiting ? "yes" : "no");
	table_add(t, "%.1f", seconds_between(f->opened_us, now_us));
	if (f->expires_us != 0)
		table_add(t, "%.1f", seconds_between(now_us, f->expires_us));
	else
		table_add(t, NULL);
	table_add(t, "%u", f->epoch);
	table_add(t, "%u", f->worker);
}

static void
on_list_part(void *arg, const struct karmalb_question *part)
{
	struct asking *a = arg;

	if (part != NULL && part->header.message == KARMALB_MESSAGE_FLOW) {
		add_flow(a, (const struct karmalb_flow *)part);
		return;
	}
	if (!asking_failed(a, part))
		asking_answer_table(a);
	asking_free(a);
}

/* ---- ending them ---- */

struct resetting {
	struct asking *asking;
	uint64_t began_us;
	char what[2 * KARMALB_NAME_MAX]; /* "of web", "of all services" */
};

int
command_reset_flows(const struct command_call *call)
{
	const char *name = statement_argument(call->statement, "service");
	union {
		struct karmalb_question question;
		struct karmalb_reset_flows reset;
	} m = {.question.header.message = KARMALB_MESSAGE_RESET_FLOWS};
	struct resetting *r;

	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	r->asking = asking_create(call);
	if (r->asking == NULL) {
		free(r);
		return COMMAND_NOT_NOW;
	}
	if (!asking_slots(call, r->asking->status, name, m.reset.slots)) {
		asking_free(r->asking);
		free(r);
		return COMMAND_WRONG;
	}
	r->began_us = karmalb_now_us();
	snprintf(r->what, sizeof(r->what), "%s", name != NULL ? name : "all services");
	int rc = balance_ask(call->commands->balance, &m.question, COMMANDS_ASK_US,
		&(struct inquiry_author){.part = on_reset_part, .arg = r});

	if (rc == 0) {
		audit(call, name);
		return COMMAND_LATER;
	}
	asking_free(r->asking);
	free(r);
	return asking_refuse(call, rc);
}

/* Once it is sent flows may end, whether or not the answer comes. */
static void
audit(const struct command_call *call, const char *name)
{
	uint32_t uid = call->request->uid;

	if (name == NULL)
		name = "all services";
	log_info("audit: user id %u: RESET FLOWS of %s", uid, name);
	history_add(HISTORY_STATEMENT, "user id %u: RESET FLOWS of %s", uid, name);
}

static void
tell_reset(struct resetting *r, uint64_t n)
{
	struct asking *a = r->asking;
	char line[2 * KARMALB_NAME_MAX + 80], sentence[120];
	double took_ms = (double)(karmalb_now_us() - r->began_us) / KARMALB_MILLISECOND;
	char count[24], none[] = "0";
	const struct change_words words = {.action = "ended",
		.kind = "flows",
		.name = r->what,
		.old_text = count,
		.new_text = none,
		.sentence = line};
	struct render_result result = {.changes = &words,
		.n_changes = 1,
		.has_force = true,
		.is_in_force = true,
		.took_ms = took_ms,
		.sentence = sentence};
	struct command_body body;

	snprintf(count, sizeof(count), "%llu", (unsigned long long)n);
	snprintf(line, sizeof(line), "flows of %s: %llu -> 0", r->what, (unsigned long long)n);
	snprintf(sentence, sizeof(sentence),
		"%llu flow%s ended after %.0f ms; new ones open as ever", (unsigned long long)n,
		n == 1 ? "" : "s", took_ms);
	log_info("RESET FLOWS by user id %u: %s", a->request.uid, line);
	history_add(HISTORY_STATEMENT, "RESET FLOWS by user id %u: %s", a->request.uid, line);
	if (command_body_open(&body) != NULL)
		a->render->result(body.out, &result);
	command_answer(&a->request, COMMAND_DONE, &body);
}

/* It was sent, and is done if the data plane lives, whenever that comes to it. */
static void
tell_unconfirmed(struct resetting *r)
{
	struct asking *a = r->asking;
	char sentence[2 * KARMALB_NAME_MAX + 120];
	const struct render_result result = {.has_force = true, .sentence = sentence};
	struct command_body body;

	snprintf(sentence, sizeof(sentence),
		"RESET FLOWS of %s: sent, but not confirmed: " ASKING_UNANSWERED, r->what);
	log_warning("RESET FLOWS by user id %u: flows of %s: not confirmed: " ASKING_UNANSWERED,
		a->request.uid, r->what);
	history_add(HISTORY_STATEMENT,
		"RESET FLOWS by user id %u: flows of %s: not confirmed: " ASKING_UNANSWERED,
		a->request.uid, r->what);
	if (command_body_open(&body) != NULL)
		a->render->result(body.out, &result);
	command_answer(&a->request, COMMAND_UNCONFIRMED, &body);
}

static void
on_reset_part(void *arg, const struct karmalb_question *part)
{
	struct resetting *r = arg;

	if (part == NULL)
		tell_unconfirmed(r);
	else if (!asking_failed(r->asking, part))
		tell_reset(r, ((const struct karmalb_answered *)part)->n);
	asking_free(r->asking);
	free(r);
}
