/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One group of libconfig's tree against the table in settings.h: which settings there are, of what
 * type, and what they may be.  Knows no setting by its name.
 */
#include "config_group.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_errors.h"
#include "config_reader.h"
#include "nearest.h"

/* Where the settings of a scope belong. */
static const char *const scope_titles[] = {
	[SETTING_SCOPE_FILE] = "at the top level",
	[SETTING_SCOPE_DATAPLANE] = "in dataplane",
	[SETTING_SCOPE_PORT] = "in dataplane.ports",
	[SETTING_SCOPE_NEIGHBOUR] = "in dataplane.neighbours",
	[SETTING_SCOPE_CONTROLPLANE] = "in controlplane",
	[SETTING_SCOPE_SERVICE] = "in a service or defaults",
	[SETTING_SCOPE_SERVICE_ONLY] = "in a service",
	[SETTING_SCOPE_MIRROR] = "in a mirror of a service",
};

static unsigned
line_of(const config_setting_t *node)
{
	return config_setting_source_line(node);
}

void
config_complain(struct config_reader *r, const config_setting_t *node, const char *format, ...)
{
	char sentence[ERR_SENTENCE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	config_errors_add(r->errors, r->file, line_of(node), "%s", sentence);
}

/* The row of a setting in one of the place's scopes; '*base' is where its value goes. */
static const struct setting *
find_in(const struct config_place *place, const char *name, void **base)
{
	for (unsigned i = 0; i < place->n_parts; i++) {
		const struct setting *s = setting_find(place->parts[i].scope, name);

		if (s != NULL) {
			*base = place->parts[i].base;
			return s;
		}
	}
	return NULL;
}

static void
refuse_unknown(
	struct config_reader *r, const config_setting_t *node, const struct config_place *place)
{
	const char *name = config_setting_name(node);
	struct nearest nearest = nearest_to(name);
	const struct setting *elsewhere = NULL;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		for (unsigned i = 0; i < place->n_parts; i++) {
			if (s->scope == place->parts[i].scope && s->type != SETTING_LATER)
				nearest_offer(&nearest, s->name);
		}
		if (elsewhere == NULL && strcmp(s->name, name) == 0)
			elsewhere = s;
	}
	if (elsewhere != NULL)
		config_complain(r, node, "%s stands %s, expected it %s", name, place->title,
			scope_titles[elsewhere->scope]);
	else if (nearest.name != NULL)
		config_complain(r, node, "unknown setting %.*s %s, did you mean %s?",
			SETTING_QUOTE_MAX, name, place->title, nearest.name);
	else
		config_complain(
			r, node, "unknown setting %.*s %s", SETTING_QUOTE_MAX, name, place->title);
}

/* The text of a scalar as a statement would give it; 'buffer' is for numbers. */
static const char *
scalar_text(const config_setting_t *node, char *buffer, size_t size)
{
	switch (config_setting_type(node)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(buffer, size, "%lld", config_setting_get_int64(node));
		return buffer;
	case CONFIG_TYPE_FLOAT:
		return units_format_number(config_setting_get_float(node), buffer, size);
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(node) ? "true" : "false";
	default:
		return config_setting_get_string(node);
	}
}

/* Types that are texts must stand in quotes, numbers and truths must not; where a number may have a
 * suffix both are fine. */
static void
check_quotes(struct config_reader *r, const config_setting_t *node, const struct setting *s)
{
	bool is_string = config_setting_type(node) == CONFIG_TYPE_STRING;
	char buffer[UNITS_TEXT_MAX];
	const char *text = scalar_text(node, buffer, sizeof(buffer));
	bool is_quoted = setting_is_quoted(s, text);
	bool may_be_number = !is_quoted || s->type == SETTING_DURATION || s->type == SETTING_SIZE ||
			     s->type == SETTING_SHARE;

	if (is_string && !is_quoted)
		config_complain(r, node, "%s = \"%s\": expected it without quotes: %s", s->name,
			text, text);
	else if (!is_string && !may_be_number)
		config_complain(r, node, "%s = %s: expected quotes: \"%s\"", s->name, text, text);
}

static void
read_scalar(
	struct config_reader *r, const config_setting_t *node, const struct setting *s, void *base)
{
	char buffer[UNITS_TEXT_MAX];
	struct err err;

	if (config_setting_is_aggregate(node)) {
		config_complain(r, node, "%s: found a group or list, expected one value", s->name);
		return;
	}
	if (s->type == SETTING_ADDRESS)
		return;
	if (setting_parse(s, base, scalar_text(node, buffer, sizeof(buffer)), &err) != 0)
		config_errors_take(r->errors, r->file, line_of(node), &err);
	else
		check_quotes(r, node, s);
}

/* Whether a setting that is a group or a list is one. */
static void
check_shape(struct config_reader *r, const config_setting_t *node, const struct setting *s)
{
	if (s->type == SETTING_GROUP && !config_setting_is_group(node))
		config_complain(r, node, "%s: expected a group: { ... }", s->name);
	else if (s->type == SETTING_GROUPS && !config_setting_is_list(node))
		config_complain(
			r, node, "%s: expected a list of groups: ( { ... }, { ... } )", s->name);
	else if (s->type == SETTING_STRINGS && !config_setting_is_array(node) &&
		 !config_setting_is_list(node))
		config_complain(
			r, node, "%s: expected a list of strings: [ \"...\", \"...\" ]", s->name);
}

static void
read_setting(
	struct config_reader *r, const config_setting_t *node, const struct config_place *place)
{
	void *base = NULL;
	const struct setting *s = find_in(place, config_setting_name(node), &base);

	if (s == NULL) {
		refuse_unknown(r, node, place);
		return;
	}
	switch (s->type) {
	case SETTING_LATER:
		if (s->help != NULL)
			config_complain(r, node, "%s: %s", s->name, s->help);
		else
			config_complain(r, node, "%s is not available in this version", s->name);
		return;
	case SETTING_GROUP:
	case SETTING_GROUPS:
	case SETTING_STRINGS:
		check_shape(r, node, s);
		return;
	default:
		read_scalar(r, node, s, base);
	}
}

void
config_read_group(
	struct config_reader *r, config_setting_t *group, const struct config_place *place)
{
	for (int i = 0; i < config_setting_length(group); i++)
		read_setting(r, config_setting_get_elem(group, (unsigned)i), place);
	for (const struct setting *s = settings; s->name != NULL; s++) {
		for (unsigned i = 0; i < place->n_parts; i++) {
			if (s->scope == place->parts[i].scope && s->type != SETTING_LATER &&
				s->default_text == NULL &&
				config_setting_get_member(group, s->name) == NULL)
				config_complain(
					r, group, "%s is missing %s", s->name, place->title);
		}
	}
}
