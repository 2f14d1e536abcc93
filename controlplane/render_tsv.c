/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tab-separated values: what JSON says, a row an object, so that the two cannot disagree.  Fields
 * of objects in objects are named with a point between; lists are separated by commas; what is not
 * known is \N; tabs, line ends and backslashes are written \t, \n and \\.  Pure.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "table.h"

#define NAME_MAX_SIZE 200
#define NAMES_MAX     128

/* The names of all columns, in the order of their first appearance. */
struct names {
	unsigned n;
	char names[NAMES_MAX][NAME_MAX_SIZE];
};

/* JSON while it is made. */
struct memory {
	char *text;
	size_t size;
	FILE *out;
};

static void
print_rows(FILE *out, struct json_object *rows);

static FILE *
memory_open(struct memory *m)
{
	*m = (struct memory){.text = NULL};
	m->out = open_memstream(&m->text, &m->size);
	return m->out;
}

/* Shows what was written into 'm', and frees it.  An object is a list of one. */
static void
convert(FILE *out, struct memory *m)
{
	struct json_object *value;

	fclose(m->out);
	value = json_tokener_parse(m->text != NULL ? m->text : "");
	free(m->text);
	if (!json_object_is_type(value, json_type_array)) {
		struct json_object *list = json_object_new_array();

		json_object_array_add(list, value);
		value = list;
	}
	print_rows(out, value);
	json_object_put(value);
}

static void
print_escaped(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\t')
			fputs("\\t", out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\')
			fputs("\\\\", out);
		else if ((unsigned char)*text < ' ' || *text == 127)
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
}

static void
print_value(FILE *out, struct json_object *value)
{
	if (value == NULL) {
		fputs("\\N", out);
		return;
	}
	if (!json_object_is_type(value, json_type_array)) {
		print_escaped(out, json_object_get_string(value));
		return;
	}
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		if (i > 0)
			fputc(',', out);
		print_value(out, json_object_array_get_idx(value, i));
	}
}

static void
add_name(struct names *names, const char *name)
{
	for (unsigned i = 0; i < names->n; i++)
		if (strcmp(names->names[i], name) == 0)
			return;
	if (names->n < NAMES_MAX)
		snprintf(names->names[names->n++], NAME_MAX_SIZE, "%s", name);
}

static void
add_names(struct names *names, struct json_object *object, const char *prefix)
{
	char name[NAME_MAX_SIZE];

	json_object_object_foreach(object, key, value)
	{
		/* A list of rows is no cell. */
		if (json_object_is_type(value, json_type_array) &&
			json_object_is_type(json_object_array_get_idx(value, 0), json_type_object))
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, key);
		if (!json_object_is_type(value, json_type_object)) {
			add_name(names, name);
			continue;
		}
		snprintf(name, sizeof(name), "%s%s.", prefix, key);
		add_names(names, value, name);
	}
}

/* The field of that name, a point leading into an object. */
static struct json_object *
find(struct json_object *object, const char *name)
{
	struct json_object *value;
	const char *point;

	if (json_object_object_get_ex(object, name, &value))
		return value;
	for (point = strchr(name, '.'); point != NULL; point = strchr(point + 1, '.')) {
		char key[NAME_MAX_SIZE];

		snprintf(key, sizeof(key), "%.*s", (int)(point - name), name);
		if (json_object_object_get_ex(object, key, &value) &&
			json_object_is_type(value, json_type_object))
			return find(value, point + 1);
	}
	return NULL;
}

/* A name that is an object in other rows is no column: its fields are. */
static bool
is_parent(const struct names *names, const char *name)
{
	size_t length = strlen(name);

	for (unsigned i = 0; i < names->n; i++)
		if (strncmp(names->names[i], name, length) == 0 && names->names[i][length] == '.')
			return true;
	return false;
}

static void
print_rows(FILE *out, struct json_object *rows)
{
	struct names *names = calloc(1, sizeof(*names));
	size_t n_rows = json_object_array_length(rows);

	for (size_t i = 0; names != NULL && i < n_rows; i++)
		add_names(names, json_object_array_get_idx(rows, i), "");
	for (size_t i = 0; names != NULL && n_rows > 0 && i <= n_rows; i++) {
		const char *between = "";

		for (unsigned k = 0; k < names->n; k++) {
			if (is_parent(names, names->names[k]))
				continue;
			fputs(between, out);
			between = "\t";
			if (i == 0)
				print_escaped(out, names->names[k]);
			else
				print_value(out, find(json_object_array_get_idx(rows, i - 1),
							 names->names[k]));
		}
		fputc('\n', out);
	}
	free(names);
}

static void
print_services(FILE *out, const struct status *status)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.services(m.out, status);
	convert(out, &m);
}

static void
print_mirrors(FILE *out, const struct status *status, const struct status_service *only)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.mirrors(m.out, status, only);
	convert(out, &m);
}

static void
print_drops(FILE *out, const struct status *status)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.drops(m.out, status);
	convert(out, &m);
}

/* A pair a row: there are more of them than anybody wants columns. */
static void
print_pairs(FILE *out, const struct pairs *pairs)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.pairs(m.out, pairs);
	fclose(m.out);
	struct json_object *object = json_tokener_parse(m.text != NULL ? m.text : "");

	free(m.text);
	fputs("name\tvalue\n", out);
	if (json_object_is_type(object, json_type_object)) {
		json_object_object_foreach(object, key, value)
		{
			print_escaped(out, key);
			fputc('\t', out);
			print_value(out, value);
			fputc('\n', out);
		}
	}
	json_object_put(object);
}

static void
print_help(FILE *out, const struct render_help *help)
{
	fputs("statement\thelp\texample\n", out);
	for (unsigned i = 0; i < help->n_commands; i++) {
		print_escaped(out, help->commands[i].syntax);
		fputc('\t', out);
		print_escaped(out, help->commands[i].help);
		fputc('\t', out);
		print_escaped(out, help->commands[i].example);
		fputc('\n', out);
	}
}

static void
print_change(FILE *out, const struct render_change *change)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.change(m.out, change);
	convert(out, &m);
}

/* A row a change, each with how all of them ended; one without a change where there is none.  Takes
 * 'result'. */
static void
print_changes(FILE *out, struct json_object *result)
{
	static const char *const names[] = {
		"action", "kind", "name", "setting", "old", "new", "change"};
	struct json_object *list = json_object_object_get(result, "changes");
	struct json_object *rows = json_object_new_array();
	size_t n = list != NULL ? json_object_array_length(list) : 0;

	for (size_t i = 0; result != NULL && i < (n > 0 ? n : 1); i++) {
		struct json_object *row = json_object_new_object();
		struct json_object *change = n > 0 ? json_object_array_get_idx(list, i) : NULL;

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			json_object_object_add(row, names[k],
				json_object_get(json_object_object_get(change, names[k])));
		json_object_object_foreach(result, key, value)
		{
			if (value != list)
				json_object_object_add(row, key, json_object_get(value));
		}
		json_object_array_add(rows, row);
	}
	print_rows(out, rows);
	json_object_put(rows);
	json_object_put(result);
}

static void
print_result(FILE *out, const struct render_result *result)
{
	struct memory m;

	if (memory_open(&m) == NULL)
		return;
	render_json.result(m.out, result);
	fclose(m.out);
	print_changes(out, json_tokener_parse(m.text != NULL ? m.text : ""));
	free(m.text);
}

static void
print_table(FILE *out, const struct table *table)
{
	for (unsigned i = 0; i < table->n_columns; i++)
		fprintf(out, "%s%s", i > 0 ? "\t" : "", table->columns[i].name);
	for (unsigned i = 0; i < table->n_cells; i++) {
		fputs(i % table->n_columns == 0 ? "\n" : "\t", out);
		if (table->cells[i] == NULL)
			fputs("\\N", out);
		else
			print_escaped(out, table->cells[i]);
	}
	fputc('\n', out);
}

/* The rows alone. */
static void
print_report(FILE *out, const struct render_report *report)
{
	print_table(out, report->table);
}

static void
print_error(FILE *out, const char *sentence)
{
	render_text.error(out, sentence);
}

const struct render render_tsv = {
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
