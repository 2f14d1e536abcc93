/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that list: events, why, karma.  Loop's thread. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands_call.h"
#include "config.h"
#include "err.h"
#include "history.h"
#include "intent.h"
#include "status.h"
#include "table.h"
#include "text.h"
#include "units.h"

/* Frees the table. */
static int
answer(const struct command_call *call, struct table *table)
{
	int result = COMMAND_DONE;

	if (table->is_incomplete)
		result = command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	else
		call->render->table(call->out, table);
	table_fini(table);
	return result;
}

/* ---- events ---- */

/* "12:00" or "12:00:30" of today, or of the day before where that is still to come. */
static bool
read_time_of_day(const char *text, time_t now, time_t *at)
{
	unsigned h, m, s = 0;
	int used = 0;
	struct tm tm;

	if (sscanf(text, "%2u:%2u%n:%2u%n", &h, &m, &used, &s, &used) < 2 || text[used] != '\0' ||
		h > 23 || m > 59 || s > 59)
		return false;
	localtime_r(&now, &tm);
	tm.tm_hour = (int)h;
	tm.tm_min = (int)m;
	tm.tm_sec = (int)s;
	tm.tm_isdst = -1;
	*at = mktime(&tm);
	if (*at > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		*at = mktime(&tm);
	}
	return true;
}

/* ".25" at the end of a time, six digits at most; or nothing. */
static bool
read_fraction(const char *text, unsigned *us)
{
	size_t n_digits;

	*us = 0;
	if (text[0] == '\0')
		return true;
	n_digits = strspn(text + 1, "0123456789");
	if (text[0] != '.' || n_digits == 0 || n_digits > 6 || text[1 + n_digits] != '\0')
		return false;
	*us = (unsigned)strtoul(text + 1, NULL, 10);
	for (size_t i = n_digits; i < 6; i++)
		*us *= 10;
	return true;
}

/* As SHOW EVENTS has it, local: "2026-11-30 09:00:12.250", parts left out from the end. */
static bool
read_moment(const char *text, time_t *at, unsigned *us)
{
	struct tm tm = {.tm_isdst = -1}, again;
	int used = 0, n_parts;

	n_parts = sscanf(text, "%4d-%2d-%2d%n%*1[ T]%2d%n:%2d%n:%2d%n", &tm.tm_year, &tm.tm_mon,
		&tm.tm_mday, &used, &tm.tm_hour, &used, &tm.tm_min, &used, &tm.tm_sec, &used);
	*us = 0;
	if (n_parts < 3 || (n_parts == 6 ? !read_fraction(text + used, us) : text[used] != '\0'))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	again = tm;
	*at = mktime(&again);
	/* What is no day is found by not being it. */
	return *at >= 0 && again.tm_mon == tm.tm_mon && again.tm_mday == tm.tm_mday &&
	       tm.tm_hour < 24 && tm.tm_min < 60 && tm.tm_sec < 60;
}

static int
read_since(const struct command_call *call, const char *text, uint64_t *unix_us)
{
	uint64_t now_us = call->status->now_unix_us, ago_us;
	unsigned us = 0;
	struct err err;
	time_t at;

	if (read_time_of_day(text, (time_t)(now_us / KARMALB_SECOND), &at) ||
		read_moment(text, &at, &us)) {
		*unix_us = (uint64_t)at * KARMALB_SECOND + us;
		return 0;
	}
	if (units_parse_time(text, unix_us, &err) == 0)
		return 0;
	if (units_parse_duration(text, KARMALB_SECOND, &ago_us, &err) < 0)
		return -1;
	*unix_us = ago_us < now_us ? now_us - ago_us : 0;
	return 0;
}

static void
add_event(struct table *table, const struct history_entry *e, bool is_program)
{
	time_t at = (time_t)(e->unix_us / KARMALB_SECOND);
	unsigned ms = (unsigned)(e->unix_us / KARMALB_MILLISECOND % 1000);
	char day[32];
	struct tm tm;

	localtime_r(&at, &tm);
	strftime(day, sizeof(day), "%F %T", &tm);
	if (is_program)
		table_add(table, "%lld.%03u", (long long)at, ms);
	else
		table_add(table, "%s.%03u", day, ms);
	table_add(table, "%s", history_kind_name(e->kind));
	table_add(table, "%s", e->text);
}

int
command_show_events(const struct command_call *call)
{
	bool is_program = call->request->is_json || call->request->is_tsv;
	const struct table_column columns[] = {
		{"at", "TIME", is_program}, {"kind", "KIND", false}, {"event", "EVENT", false}};
	struct table table = {.columns = columns, .n_columns = 3};
	char text[80];
	const char *since = statement_rest(call->statement, "time", text, sizeof(text));
	uint64_t since_us = 0;

	if (since != NULL && read_since(call, since, &since_us) < 0)
		return command_refuse(call, COMMAND_WRONG,
			"SINCE \"%.40s\": expected a duration such as 10m, or a time such as 12:00 "
			"or 2026-11-30 09:00",
			since);
	for (const struct history_entry *e = history_after(0); e != NULL;
		e = history_after(e->number)) {
		if (e->unix_us >= since_us)
			add_event(&table, e, is_program);
	}
	return answer(call, &table);
}

/* ---- why ---- */

static void
add_why(struct table *table, const struct command_call *call, const struct status_service *s,
	const struct status_mirror *m)
{
	double since_us = (double)(call->status->now_us - m->state_since_us);

	table_add(table, "%s.%s", s->name, m->name);
	table_add(table, "%s", status_mirror_state(m));
	table_add(table, "%.1f", since_us / KARMALB_SECOND);
	table_add(table, "%.2f", 100 * m->share);
	table_add(table, "%.2f", 100 * m->configured_share);
	table_add(table, "%s", m->why);
}

int
command_why(const struct command_call *call)
{
	static const struct table_column columns[] = {{"mirror", "MIRROR", false},
		{"state", "STATE", false}, {"state_seconds", "FOR s", true},
		{"share_pct", "SHARE %", true}, {"configured_share_pct", "CONFIGURED %", true},
		{"why", "WHY", false}};
	struct table table = {.columns = columns, .n_columns = 6};
	const char *name = statement_argument(call->statement, "service");

	for (unsigned i = 0; i < call->status->n_services; i++) {
		const struct status_service *s = &call->status->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			if (command_is_meant(name, s, &s->mirrors[k]))
				add_why(&table, call, s, &s->mirrors[k]);
		}
	}
	if (name != NULL && table.n_cells == 0 && strchr(name, ':') != NULL)
		return command_refuse(call, COMMAND_WRONG,
			"\"%.60s\" is no mirror; where a client's connection to a service goes is "
			"told by EXPLAIN '%.60s' TO service",
			name, name);
	if (name != NULL && table.n_cells == 0)
		return command_refuse_mirror(call, name);
	return answer(call, &table);
}

/* ---- karma ---- */

static void
add_ms(struct table *table, const struct karma_latency *latency, double us)
{
	if (latency->count > 0)
		table_add(table, "%.3f", us / 1000);
	else
		table_add(table, NULL);
}

static void
add_block(struct table *table, const struct command_call *call, const struct status_service *s,
	const struct status_mirror *m, const struct status_block *b)
{
	const struct karma_counts *c = &b->counts;
	double age_s = (double)(call->status->now_us - b->began_us) / (double)KARMALB_SECOND;

	table_add(table, "%s.%s", s->name, m->name);
	table_add(table, "%llu", (unsigned long long)b->number);
	table_add(table, "%.1f", age_s);
	table_add(table, "%llu", (unsigned long long)c->opened);
	table_add(table, "%llu", (unsigned long long)c->query.count);
	add_ms(table, &c->query, b->answer_mean_us);
	add_ms(table, &c->query, b->answer_p99_us);
	add_ms(table, &c->query, (double)c->query.max_us);
	add_ms(table, &c->connect, b->connect_mean_us);
	table_add(table, "%llu", (unsigned long long)b->failed);
	table_add(table, "%llu", (unsigned long long)c->outcomes[KARMALB_OUTCOME_WARNINGS]);
}

int
command_show_karma(const struct command_call *call)
{
	static const struct table_column columns[] = {{"mirror", "MIRROR", false},
		{"block", "BLOCK", true}, {"began_s_ago", "BEGAN s AGO", true},
		{"connections", "CONNECTIONS", true}, {"answers", "ANSWERS", true},
		{"answer_mean_ms", "MEAN ms", true}, {"answer_p99_ms", "P99 ms", true},
		{"answer_max_ms", "MAX ms", true}, {"connect_mean_ms", "CONNECT ms", true},
		{"failed", "FAILED", true}, {"warnings", "WARNINGS", true}};
	struct table table = {.columns = columns, .n_columns = 11};
	const char *name = statement_argument(call->statement, "service");

	if (name != NULL && status_find_service(call->status, name) == NULL)
		return command_refuse_service(call, name);
	for (unsigned i = 0; i < call->status->n_services; i++) {
		const struct status_service *s = &call->status->services[i];

		if (name != NULL && strcmp(name, s->name) != 0)
			continue;
		for (unsigned k = 0; k < s->n_mirrors; k++)
			for (unsigned b = 0; b < s->mirrors[k].n_blocks; b++)
				add_block(
					&table, call, s, &s->mirrors[k], &s->mirrors[k].blocks[b]);
	}
	return answer(call, &table);
}
