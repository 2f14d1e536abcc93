/* SPDX-License-Identifier: BSD-3-Clause */
/* SHOW SETTINGS: all that a configuration file may hold, as it is in force, and who said so.
 * Loop's thread. */
#include <stdlib.h>
#include <string.h>

#include "balance.h"
#include "commands_call.h"
#include "config.h"
#include "err.h"
#include "intent.h"
#include "table.h"
#include "text.h"
#include "units.h"

#define NAME_MAX_SIZE (3 * KARMALB_NAME_MAX) /* service.mirror.key */

/* What is in force, and what the two say that it may come from. */
struct listing {
	struct table table;
	const char *pattern;
	const struct config *now, *saved, *file;
};

/* The same thing in each of the three; NULL: it is not there. */
struct three {
	const void *now, *saved, *file;
};

struct row {
	const char *prefix; /* "web.m1" */
	const struct setting *setting;
	const char *value, *origin;
};

static void
add_row(struct listing *l, const struct row *row);
static void
list_scope(struct listing *l, const char *prefix, enum setting_scope scope, const struct three *at);
static void
list_ports(struct listing *l);
static void
list_neighbours(struct listing *l);
static void
list_sources(struct listing *l);
static void
list_service(struct listing *l, const struct config_service *s);

int
command_show_settings(const struct command_call *call)
{
	static const struct table_column columns[] = {{"setting", "SETTING", false},
		{"value", "VALUE", false}, {"default", "DEFAULT", false}, {"unit", "UNIT", false},
		{"origin", "ORIGIN", false}, {"help", "HELP", false}};
	const struct config *now = balance_config(call->commands->balance);
	const struct config *file = intent_file(call->commands->intent);
	const struct config *saved = intent_saved(call->commands->intent);
	struct listing l = {.table = {.columns = columns, .n_columns = 6},
		.pattern = statement_argument(call->statement, "pattern"),
		.now = now,
		.saved = saved != NULL ? saved : file,
		.file = file};
	int result = COMMAND_DONE;

	list_scope(&l, "dataplane", SETTING_SCOPE_DATAPLANE,
		&(struct three){&now->dataplane, &l.saved->dataplane, &file->dataplane});
	list_ports(&l);
	list_sources(&l);
	list_neighbours(&l);
	list_scope(&l, "controlplane", SETTING_SCOPE_CONTROLPLANE,
		&(struct three){&now->controlplane, &l.saved->controlplane, &file->controlplane});
	list_scope(&l, "defaults", SETTING_SCOPE_SERVICE,
		&(struct three){&now->defaults, &l.saved->defaults, &file->defaults});
	for (unsigned i = 0; i < now->n_services; i++)
		list_service(&l, &now->services[i]);
	if (l.table.is_incomplete)
		result = command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	else
		call->render->table(call->out, &l.table);
	table_fini(&l.table);
	return result;
}

/* ---- a row ---- */

/* The default in its normal text; NULL: there is none. */
static const char *
default_text(const struct setting *s, char *text, size_t size)
{
	union {
		struct config_dataplane dataplane;
		struct config_controlplane controlplane;
		struct config_port port;
		struct config_neighbour neighbour;
		struct config_mirror mirror;
		struct service_settings service;
	} scratch = {0};
	struct err err;

	if (s->default_text == NULL || s->type > SETTING_CPUS)
		return NULL;
	if (setting_parse(s, &scratch, s->default_text, &err) < 0)
		return "";
	return setting_format(s, &scratch, text, size);
}

static void
add_row(struct listing *l, const struct row *row)
{
	char name[NAME_MAX_SIZE], standard[SETTING_TEXT_MAX];
	const char *usual = default_text(row->setting, standard, sizeof(standard));

	snprintf(name, sizeof(name), "%s.%s", row->prefix, row->setting->name);
	if (l->pattern != NULL && !text_like_name(name, l->pattern))
		return;
	table_add(&l->table, "%s", name);
	table_add(&l->table, "%s", row->value);
	table_add(&l->table, usual != NULL ? "%s" : NULL, usual);
	table_add(&l->table, "%s", setting_unit(row->setting));
	table_add(&l->table, "%s", row->origin);
	table_add(&l->table, "%s", row->setting->help != NULL ? row->setting->help : "");
}

/* Who says 'value'; NULL: that one says nothing of it. */
static const char *
origin_of(const char *value, const char *saved, const char *file)
{
	if (file != NULL && strcmp(value, file) == 0)
		return "file";
	return saved != NULL && strcmp(value, saved) == 0 ? "saved" : "statement";
}

static const char *
format(const struct setting *s, const void *base, char *text)
{
	return base != NULL ? setting_format(s, base, text, SETTING_TEXT_MAX) : NULL;
}

static void
list_scope(struct listing *l, const char *prefix, enum setting_scope scope, const struct three *at)
{
	char now[SETTING_TEXT_MAX], saved[SETTING_TEXT_MAX], file[SETTING_TEXT_MAX];
	char standard[SETTING_TEXT_MAX];

	for (const struct setting *s = settings; s->name != NULL; s++) {
		const char *usual = default_text(s, standard, sizeof(standard));
		struct row row = {prefix, s, now, NULL};

		/* A name is what the row is called by. */
		if (s->scope != scope || s->type > SETTING_CPUS || strcmp(s->name, "name") == 0)
			continue;
		format(s, at->now, now);
		row.origin = origin_of(now, format(s, at->saved, saved), format(s, at->file, file));
		if (strcmp(row.origin, "file") == 0 && usual != NULL && strcmp(now, usual) == 0)
			row.origin = "default";
		add_row(l, &row);
	}
}

/* ---- the data plane's lists ---- */

static const struct config_port *
find_port(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->dataplane.n_ports; i++)
		if (strcmp(c->dataplane.ports[i].name, name) == 0)
			return &c->dataplane.ports[i];
	return NULL;
}

static void
list_ports(struct listing *l)
{
	const struct config_dataplane *d = &l->now->dataplane;

	for (unsigned i = 0; i < d->n_ports; i++) {
		const char *name = d->ports[i].name;
		char prefix[NAME_MAX_SIZE];

		snprintf(prefix, sizeof(prefix), "dataplane.ports.%s", name);
		list_scope(l, prefix, SETTING_SCOPE_PORT,
			&(struct three){
				&d->ports[i], find_port(l->saved, name), find_port(l->file, name)});
	}
}

static const struct config_neighbour *
find_neighbour(const struct config *c, const struct config_neighbour *other)
{
	for (unsigned i = 0; i < c->dataplane.n_neighbours; i++)
		if (strcmp(c->dataplane.neighbours[i].address, other->address) == 0)
			return &c->dataplane.neighbours[i];
	return NULL;
}

static void
list_neighbours(struct listing *l)
{
	const struct config_dataplane *d = &l->now->dataplane;

	for (unsigned i = 0; i < d->n_neighbours; i++) {
		const struct config_neighbour *n = &d->neighbours[i];
		char prefix[NAME_MAX_SIZE];

		snprintf(prefix, sizeof(prefix), "dataplane.neighbours.%s", n->address);
		list_scope(l, prefix, SETTING_SCOPE_NEIGHBOUR,
			&(struct three){
				n, find_neighbour(l->saved, n), find_neighbour(l->file, n)});
	}
}

/* A list in one text, for command_body_open()'s 'text'. */
static char *
sources_text(const struct config *c)
{
	struct command_body body;
	char text[UNITS_TEXT_MAX];

	if (command_body_open(&body) == NULL)
		return NULL;
	for (unsigned i = 0; i < c->dataplane.n_sources; i++)
		fprintf(body.out, "%s%s", i > 0 ? ", " : "",
			units_format_cidr(&c->dataplane.sources[i], text, sizeof(text)));
	fclose(body.out);
	return body.text;
}

static char *
listens_text(const struct config_service *s)
{
	struct command_body body;
	char text[UNITS_TEXT_MAX];

	if (s == NULL || command_body_open(&body) == NULL)
		return NULL;
	for (unsigned i = 0; i < s->n_listens; i++)
		fprintf(body.out, "%s%s", i > 0 ? ", " : "",
			units_format_endpoint(&s->listens[i], text, sizeof(text)));
	fclose(body.out);
	return body.text;
}

/* Takes the three texts. */
static void
list_text(struct listing *l, const char *prefix, const struct setting *s, char *const *texts)
{
	if (texts[0] != NULL)
		add_row(l, &(struct row){
				   prefix, s, texts[0], origin_of(texts[0], texts[1], texts[2])});
	else
		l->table.is_incomplete = true;
	for (unsigned i = 0; i < 3; i++)
		free(texts[i]);
}

static void
list_sources(struct listing *l)
{
	list_text(l, "dataplane", setting_find(SETTING_SCOPE_DATAPLANE, "sources"),
		(char *const[]){
			sources_text(l->now), sources_text(l->saved), sources_text(l->file)});
}

/* ---- services ---- */

static const struct config_service *
find_service(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->n_services; i++)
		if (strcmp(c->services[i].name, name) == 0)
			return &c->services[i];
	return NULL;
}

static const struct config_mirror *
find_mirror(const struct config_service *s, const char *name)
{
	for (unsigned i = 0; s != NULL && i < s->n_mirrors; i++)
		if (strcmp(s->mirrors[i].name, name) == 0)
			return &s->mirrors[i];
	return NULL;
}

/* What a service itself says; NULL: nothing, it follows 'defaults'. */
static const char *
own_text(const struct config_service *s, const struct setting *setting, char *text)
{
	if (s == NULL || (s->own & setting_bit(setting)) == 0)
		return NULL;
	return format(setting, &s->settings, text);
}

static void
list_own(struct listing *l, const struct config_service *s, const struct three *at)
{
	char now[SETTING_TEXT_MAX], saved[SETTING_TEXT_MAX], file[SETTING_TEXT_MAX];
	char standard[SETTING_TEXT_MAX];

	for (const struct setting *k = settings; k->name != NULL; k++) {
		const char *usual = default_text(k, standard, sizeof(standard));
		struct row row = {s->name, k, now, NULL};

		if (k->scope != SETTING_SCOPE_SERVICE || k->type > SETTING_CPUS)
			continue;
		format(k, &s->settings, now);
		if (own_text(s, k, now) != NULL)
			row.origin = origin_of(
				now, own_text(at->saved, k, saved), own_text(at->file, k, file));
		else
			row.origin =
				usual != NULL && strcmp(now, usual) == 0 ? "default" : "defaults";
		add_row(l, &row);
	}
}

static const char *
address_text(const struct config_mirror *m, char *text)
{
	return m != NULL ? units_format_host(&m->address, m->port, text, UNITS_TEXT_MAX) : NULL;
}

static void
list_mirror(struct listing *l, const struct config_service *s, const struct config_mirror *m,
	const struct three *services)
{
	const struct config_mirror *saved = find_mirror(services->saved, m->name);
	const struct config_mirror *file = find_mirror(services->file, m->name);
	char prefix[NAME_MAX_SIZE], now_text[UNITS_TEXT_MAX], saved_text[UNITS_TEXT_MAX];
	char file_text[UNITS_TEXT_MAX];

	snprintf(prefix, sizeof(prefix), "%s.%s", s->name, m->name);
	address_text(m, now_text);
	add_row(l, &(struct row){prefix, setting_find(SETTING_SCOPE_MIRROR, "address"), now_text,
			   origin_of(now_text, address_text(saved, saved_text),
				   address_text(file, file_text))});
	list_scope(l, prefix, SETTING_SCOPE_MIRROR, &(struct three){m, saved, file});
}

static void
list_service(struct listing *l, const struct config_service *s)
{
	const struct config_service *saved = find_service(l->saved, s->name);
	const struct config_service *file = find_service(l->file, s->name);
	const struct three at = {s, saved, file};

	list_text(l, s->name, setting_find(SETTING_SCOPE_SERVICE_ONLY, "listen"),
		(char *const[]){listens_text(s), listens_text(saved), listens_text(file)});
	list_own(l, s, &at);
	for (unsigned i = 0; i < s->n_mirrors; i++)
		list_mirror(l, s, &s->mirrors[i], &at);
}
