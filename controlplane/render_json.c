/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers for programs: numbers are numbers, what is not known is null, names do not change.
 * Pure. */
#include <arpa/inet.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change_words.h"
#include "pairs.h"
#include "render.h"
#include "status.h"
#include "table.h"
#include "text.h"
#include "units.h"

#define NUMBER_MAX 340 /* the longest double in %f */

static void
print_services(FILE *out, const struct status *status);
static void
print_mirrors(FILE *out, const struct status *status, const struct status_service *only);
static void
print_drops(FILE *out, const struct status *status);
static void
print_pairs(FILE *out, const struct pairs *pairs);
static void
print_help(FILE *out, const struct render_help *help);
static void
print_change(FILE *out, const struct render_change *change);
static void
print_result(FILE *out, const struct render_result *result);
static void
print_table(FILE *out, const struct table *table);
static void
print_report(FILE *out, const struct render_report *report);
static void
print_error(FILE *out, const char *sentence);

const struct render render_json = {
	.services = print_services,
	.mirrors = print_mirrors,
	.drops = print_drops,
	.pairs = print_pairs,
	.help = print_help,
	.change = print_change,
	.result = print_result,
	.table = print_table,
	.report = print_report,
	.error = print_error,
};

/* Prints 'value' and frees it. */
static void
print(FILE *out, struct json_object *value)
{
	fputs(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE),
		out);
	fputc('\n', out);
	json_object_put(value);
}

static void
add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

static struct json_object *
string(const char *text)
{
	char escaped[2048];

	return json_object_new_string(text_escape(text, escaped, sizeof(escaped)));
}

static struct json_object *
count(uint64_t value)
{
	return json_object_new_uint64(value);
}

/* Rounded, without needless zeros; null for what is no number. */
static struct json_object *
number(double value, int decimals)
{
	char text[NUMBER_MAX];

	if (!isfinite(value))
		return NULL;
	int n = snprintf(text, sizeof(text), "%.*f", decimals, value);

	while (decimals > 0 && text[n - 1] == '0')
		text[--n] = '\0';
	if (text[n - 1] == '.')
		text[--n] = '\0';
	return json_object_new_double_s(value, text);
}

/* Seconds of the wall clock, to the millisecond; null: never. */
static struct json_object *
unix_time(uint64_t us)
{
	return us > 0 ? number((double)us / 1e6, 3) : NULL;
}

static struct json_object *
setting(const struct status_service *service, const char *name)
{
	char text[RENDER_SETTING_MAX];

	return string(render_setting(service, name, text, sizeof(text)));
}

static struct json_object *
listens(const struct status_service *service)
{
	struct json_object *array = json_object_new_array();
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < service->n_listens; i++)
		json_object_array_add(array,
			string(units_format_endpoint(&service->listens[i], text, sizeof(text))));
	return array;
}

static void
print_services(FILE *out, const struct status *status)
{
	struct json_object *array = json_object_new_array();

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];
		struct json_object *object = json_object_new_object();
		unsigned n_up = 0;

		for (unsigned j = 0; j < s->n_mirrors; j++)
			n_up += s->mirrors[j].state == MIRROR_UP;
		add(object, "service", string(s->name));
		add(object, "listen", listens(s));
		add(object, "ha_strategy", setting(s, "ha_strategy"));
		add(object, "karma_rule", setting(s, "karma_rule"));
		add(object, "period", count(s->period));
		add(object, "period_s", count(s->settings.ha_period_karma_s));
		add(object, "reweighted_at", unix_time(s->reweighted_at_unix_us));
		add(object, "next_reweight_at", unix_time(s->next_reweight_unix_us));
		add(object, "karma_gain", s->has_gain ? number(s->karma_gain, 3) : NULL);
		add(object, "mirrors", count(s->n_mirrors));
		add(object, "mirrors_up", count(n_up));
		add(object, "connections_per_s", number(s->connections_per_s, 3));
		add(object, "failed", count(s->failed));
		add(object, "total", count(s->total));
		add(object, "epoch", count(status->dataplane.epoch_in_force));
		json_object_array_add(array, object);
	}
	print(out, array);
}

static struct json_object *
milliseconds(bool is_known, double us)
{
	return is_known ? number(us / 1000, 3) : NULL;
}

static struct json_object *
karma(const struct status_karma *karma)
{
	struct json_object *object;

	if (!karma->has_block)
		return NULL;
	object = json_object_new_object();
	add(object, "block", count(karma->block));
	add(object, "queries", count(karma->queries));
	add(object, "answer_mean_ms", milliseconds(karma->queries > 0, karma->answer_mean_us));
	add(object, "share_before", number(karma->share_before, 6));
	add(object, "share_after", number(karma->share_after, 6));
	return object;
}

static struct json_object *
outcomes(const struct karma_counts *counts)
{
	static const char *const names[] = {
#define X(member, name, help) #name,
		KARMALB_OUTCOMES(X)
#undef X
	};
	struct json_object *object = json_object_new_object();

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		add(object, names[i], count(counts->outcomes[i]));
	return object;
}

static struct json_object *
mirror(const struct status_service *s, const struct status_mirror *m)
{
	struct json_object *object = json_object_new_object();
	char text[UNITS_TEXT_MAX];

	add(object, "service", string(s->name));
	add(object, "mirror", string(m->name));
	units_format_host(&m->address.address, ntohs(m->address.port_be), text, sizeof(text));
	add(object, "address", string(text));
	add(object, "state", string(status_mirror_state(m)));
	add(object, "share", number(m->share, 6));
	add(object, "configured_share", number(m->configured_share, 6));
	add(object, "connections_per_s", number(m->connections_per_s, 3));
	add(object, "answer_mean_ms", milliseconds(m->has_answers, m->answer_mean_us));
	add(object, "answer_p99_ms", milliseconds(m->has_answers, m->answer_p99_us));
	add(object, "answer_is_partial", json_object_new_boolean(m->is_answer_partial));
	add(object, "errors", count(m->errors));
	add(object, "errors_in_row", count(m->errors_in_row));
	add(object, "pings_failed", count(m->pings_failed));
	add(object, "next_hop", string(render_next_hop(m->next_hop)));
	add(object, "opened", count(m->life.opened));
	add(object, "open", count(m->n_open));
	add(object, "waiting", count(m->n_waiting));
	add(object, "why", string(m->why));
	add(object, "karma", karma(&m->karma));
	add(object, "outcomes", outcomes(&m->life));
	return object;
}

static void
print_mirrors(FILE *out, const struct status *status, const struct status_service *only)
{
	struct json_object *array = json_object_new_array();

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];

		if (only != NULL && s != only)
			continue;
		for (unsigned j = 0; j < s->n_mirrors; j++)
			json_object_array_add(array, mirror(s, &s->mirrors[j]));
	}
	print(out, array);
}

static void
print_drops(FILE *out, const struct status *status)
{
	struct json_object *array = json_object_new_array();
	struct render_drop drop;

	for (unsigned i = 0; render_drop_at(status, i, &drop); i++) {
		struct json_object *object = json_object_new_object();
		struct json_object *workers = json_object_new_array();

		for (unsigned w = 0; drop.port == NULL && w < status->n_workers; w++)
			json_object_array_add(
				workers, count(status->workers[w].counters[drop.counter]));
		add(object, "counter", string(drop.name));
		add(object, "port", drop.port != NULL ? string(drop.port) : NULL);
		add(object, "total", count(drop.total));
		add(object, "workers", workers);
		add(object, "meaning", string(drop.help));
		json_object_array_add(array, object);
	}
	print(out, array);
}

static struct json_object *
pair_value(const struct pair *pair)
{
	if (pair->kind == PAIR_NONE)
		return NULL;
	if (pair->kind == PAIR_TEXT)
		return string(pair->value);
	return json_object_new_double_s(strtod(pair->value, NULL), pair->value);
}

static void
print_pairs(FILE *out, const struct pairs *pairs)
{
	struct json_object *object = json_object_new_object();

	for (unsigned i = 0; i < pairs->n_pairs; i++)
		add(object, pairs->pairs[i].name, pair_value(&pairs->pairs[i]));
	print(out, object);
}

static struct json_object *
help_words(const struct render_help *help)
{
	struct json_object *arguments = json_object_new_object();

	for (unsigned i = 0; i < help->n_words; i++) {
		const struct render_word *word = &help->words[i];
		struct json_object *list = json_object_object_get(arguments, word->argument);

		if (list == NULL) {
			list = json_object_new_array();
			add(arguments, word->argument, list);
		}
		json_object_array_add(list, string(word->word));
	}
	return arguments;
}

static void
print_help(FILE *out, const struct render_help *help)
{
	struct json_object *object = json_object_new_object();
	struct json_object *statements = json_object_new_array();

	for (unsigned i = 0; i < help->n_commands; i++) {
		struct json_object *statement = json_object_new_object();

		add(statement, "statement", string(help->commands[i].syntax));
		add(statement, "help", string(help->commands[i].help));
		add(statement, "example", string(help->commands[i].example));
		json_object_array_add(statements, statement);
	}
	add(object, "statements", statements);
	add(object, "arguments", help_words(help));
	print(out, object);
}

static struct json_object *
text_or_null(const char *text)
{
	return text != NULL ? string(text) : NULL;
}

static struct json_object *
changes(const struct change_words *words, unsigned n)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < n; i++) {
		struct json_object *change = json_object_new_object();

		add(change, "action", string(words[i].action));
		add(change, "kind", string(words[i].kind));
		add(change, "name", text_or_null(words[i].name));
		add(change, "setting", text_or_null(words[i].setting));
		add(change, "old", text_or_null(words[i].old_text));
		add(change, "new", text_or_null(words[i].new_text));
		add(change, "change", string(words[i].sentence));
		json_object_array_add(list, change);
	}
	return list;
}

/* When a change has come into force. */
static void
add_force(struct json_object *object, bool is_in_force, double took_ms, uint32_t epoch)
{
	add(object, "in_force", json_object_new_boolean(is_in_force));
	add(object, "took_ms", is_in_force ? number(took_ms, 3) : NULL);
	add(object, "epoch", epoch != 0 ? count(epoch) : NULL);
}

static void
print_change(FILE *out, const struct render_change *change)
{
	struct json_object *object = json_object_new_object();

	add(object, "service", string(change->service));
	add(object, "setting", string(change->setting));
	add(object, "old", string(change->old_text));
	add(object, "new", string(change->new_text));
	add_force(object, change->is_in_force, change->took_ms, change->epoch);
	add(object, "saved", json_object_new_boolean(change->is_saved));
	add(object, "became_own", json_object_new_boolean(change->is_pinned));
	add(object, "configured", string(change->file_text));
	add(object, "changes", changes(change->words, 1));
	add(object, "sentence", string(change->sentence));
	print(out, object);
}

static void
print_result(FILE *out, const struct render_result *result)
{
	struct json_object *object = json_object_new_object();

	add(object, "changes", changes(result->changes, result->n_changes));
	if (result->has_force)
		add_force(object, result->is_in_force, result->took_ms, result->epoch);
	add(object, "sentence", string(result->sentence));
	print(out, object);
}

static struct json_object *
table_rows(const struct table *table)
{
	struct json_object *rows = json_object_new_array();

	for (unsigned i = 0; i < table->n_cells; i += table->n_columns) {
		struct json_object *row = json_object_new_object();

		for (unsigned k = 0; k < table->n_columns; k++) {
			const struct table_column *column = &table->columns[k];
			const char *cell = table->cells[i + k];

			if (cell == NULL)
				add(row, column->name, NULL);
			else if (column->is_number)
				add(row, column->name, json_object_new_double_s(0, cell));
			else
				add(row, column->name, string(cell));
		}
		json_object_array_add(rows, row);
	}
	return rows;
}

static void
print_table(FILE *out, const struct table *table)
{
	print(out, table_rows(table));
}

/* Lines one after the other, a blank between. */
static struct json_object *
one_line(const char *text)
{
	char line[1024];
	size_t n = strlen(text);

	if (n >= sizeof(line))
		n = sizeof(line) - 1;
	memcpy(line, text, n);
	while (n > 0 && line[n - 1] == '\n')
		n--;
	line[n] = '\0';
	for (char *c = line; *c != '\0'; c++)
		*c = *c == '\n' ? ' ' : *c;
	return string(line);
}

static void
print_report(FILE *out, const struct render_report *report)
{
	struct json_object *object = json_object_new_object();

	add(object, "sentence", one_line(report->sentence));
	for (unsigned i = 0; i < report->facts->n_pairs; i++)
		add(object, report->facts->pairs[i].name, pair_value(&report->facts->pairs[i]));
	add(object, report->rows_name, table_rows(report->table));
	print(out, object);
}

static void
print_error(FILE *out, const char *sentence)
{
	struct json_object *object = json_object_new_object();

	add(object, "error", string(sentence));
	print(out, object);
}
