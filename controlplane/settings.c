/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a row of the table and a text to a value, and back.  Pure; any thread.  What a sentence says
 * to be possible comes from the row, so it is what the check allows.
 */
#include "settings.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "nearest.h"
#include "units.h"

const struct setting *
setting_find(enum setting_scope scope, const char *name)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope == scope && strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

static bool
is_the_word(const struct setting *s, const char *text)
{
	return s->word != NULL && strcmp(text, s->word) == 0;
}

bool
setting_is_quoted(const struct setting *s, const char *text)
{
	return is_the_word(s, text) ||
	       (s->type != SETTING_COUNT && s->type != SETTING_NUMBER && s->type != SETTING_BOOL);
}

/* Whether 'text' is one of the blank-separated words. */
static bool
is_word_of(const char *words, const char *text)
{
	size_t length = strlen(text);

	while (words != NULL && length > 0 && *words != '\0') {
		size_t n = strcspn(words, " ");

		if (n == length && strncmp(words, text, n) == 0)
			return true;
		words += n + strspn(words + n, " ");
	}
	return false;
}

/* The sentence about a text that the row does not allow. */
static int
refuse(const struct setting *s, const char *text, struct err *err)
{
	char quoted[SETTING_QUOTED_MAX], allowed[SETTING_EXPECTED_MAX];

	setting_quote(text, quoted, sizeof(quoted));
	setting_expected(s, allowed, sizeof(allowed));
	if (is_word_of(s->later, text))
		return err_set(err, "%s = %s is not available in this version, expected %s",
			s->name, quoted, allowed);
	return err_set(err, "%s = %s: expected %s", s->name, quoted, allowed);
}

/* What a text may turn out to be. */
union value {
	bool truth;
	unsigned choice;
	uint64_t count;
	double number;
	char word[KARMALB_DEVICE_MAX];
	struct units_cpus cpus;
};

/* A whole number of the setting's unit; parts of a unit are cut off, but nothing becomes 0. */
static bool
parse_whole(const struct setting *s, const char *text, uint64_t *count)
{
	struct err unused;
	uint64_t value;
	int rc;

	if (s->type == SETTING_DURATION) {
		uint64_t unit_us = setting_unit_us(s);

		rc = units_parse_duration(text, unit_us, &value, &unused);
		if (rc == 0 && value > 0 && value < unit_us)
			return false;
		*count = value / unit_us;
	} else {
		rc = s->type == SETTING_SIZE ? units_parse_size(text, &value, &unused)
					     : units_parse_count(text, &value, &unused);
		*count = value;
	}
	return rc == 0 &&
	       ((*count == 0 && s->zero != NULL) || (*count >= s->min && *count <= s->max));
}

static bool
parse_real(const struct setting *s, const char *text, double *number)
{
	struct err unused;
	int rc;

	if (is_the_word(s, text)) {
		*number = SETTING_WORD;
		return true;
	}
	rc = s->type == SETTING_SHARE ? units_parse_share(text, number, &unused)
				      : units_parse_number(text, number, &unused);
	return rc == 0 && *number >= s->min && *number <= s->max;
}

static bool
parse_choice(const struct setting *s, const char *text, unsigned *choice)
{
	const char *name;

	for (*choice = 0; (name = setting_choice(s, *choice)) != NULL; (*choice)++) {
		if (strcmp(name, text) == 0)
			return true;
	}
	return false;
}

static bool
parse_bool(const char *text, bool *truth)
{
	*truth = strcmp(text, "true") == 0;
	return *truth || strcmp(text, "false") == 0;
}

/* SETTING_NAME, SETTING_TEXT or SETTING_DEVICE. */
static bool
parse_word(const struct setting *s, const char *text, char *word)
{
	size_t length = strlen(text), max = (size_t)setting_word_max(s);

	if (length >= max || (length == 0 && s->zero == NULL))
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		bool is_allowed = s->type == SETTING_NAME ? isalnum(c) || strchr("-_.", c) != NULL
							  : isgraph(c) && c != '"' && c != '\\';

		if (!is_allowed)
			return false;
	}
	memset(word, 0, max);
	memcpy(word, text, length);
	return true;
}

static bool
parse_value(const struct setting *s, const char *text, union value *value)
{
	switch (s->type) {
	case SETTING_DURATION:
	case SETTING_SIZE:
	case SETTING_COUNT:
		return parse_whole(s, text, &value->count);
	case SETTING_NUMBER:
	case SETTING_SHARE:
		return parse_real(s, text, &value->number);
	case SETTING_BOOL:
		return parse_bool(text, &value->truth);
	case SETTING_CHOICE:
		return parse_choice(s, text, &value->choice);
	default:
		return parse_word(s, text, value->word);
	}
}

/* Bytes of the value in its struct; 0: the type has none. */
static size_t
value_size(const struct setting *s)
{
	switch (s->type) {
	case SETTING_DURATION:
	case SETTING_SIZE:
	case SETTING_COUNT:
		return sizeof(uint64_t);
	case SETTING_NUMBER:
	case SETTING_SHARE:
		return sizeof(double);
	case SETTING_BOOL:
		return sizeof(bool);
	case SETTING_CHOICE:
		return sizeof(unsigned);
	case SETTING_NAME:
	case SETTING_TEXT:
	case SETTING_DEVICE:
		return (size_t)setting_word_max(s);
	case SETTING_CPUS:
		return sizeof(struct units_cpus);
	default:
		return 0;
	}
}

int
setting_parse(const struct setting *s, void *base, const char *text, struct err *err)
{
	char quoted[SETTING_QUOTED_MAX];
	union value value;

	assert(value_size(s) > 0);
	if (s->type == SETTING_CPUS) {
		if (units_parse_cpus(text, &value.cpus, err) != 0)
			return err_prefix(err, "%s = %s: ", s->name,
				setting_quote(text, quoted, sizeof(quoted)));
	} else if (!parse_value(s, text, &value)) {
		return refuse(s, text, err);
	}
	memcpy((char *)base + s->offset, &value, value_size(s));
	return 0;
}

uint64_t
setting_bit(const struct setting *s)
{
	unsigned index = 0;

	assert(s->scope == SETTING_SCOPE_SERVICE);
	for (const struct setting *row = settings; row != s; row++)
		index += row->scope == SETTING_SCOPE_SERVICE;
	assert(index < 64);
	return UINT64_C(1) << index;
}

char *
setting_format(const struct setting *s, const void *base, char *text, size_t size)
{
	union value value;

	assert(value_size(s) > 0);
	memcpy(&value, (const char *)base + s->offset, value_size(s));
	switch (s->type) {
	case SETTING_NUMBER:
	case SETTING_SHARE:
		return setting_format_number(s, value.number, text, size);
	case SETTING_BOOL:
		snprintf(text, size, "%s", value.truth ? "true" : "false");
		return text;
	case SETTING_CHOICE:
		snprintf(text, size, "%s", setting_choice(s, value.choice));
		return text;
	case SETTING_NAME:
	case SETTING_TEXT:
	case SETTING_DEVICE:
		snprintf(text, size, "%s", value.word);
		return text;
	case SETTING_CPUS:
		return units_format_cpus(&value.cpus, text, size);
	default:
		return setting_format_number(s, (double)value.count, text, size);
	}
}

void
settings_set_defaults(enum setting_scope scope, void *base)
{
	struct err err;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != scope || s->default_text == NULL || value_size(s) == 0)
			continue;
		int rc = setting_parse(s, base, s->default_text, &err);

		assert(rc == 0);
		(void)rc;
	}
}

/* What the name may have meant, or else all that SET SERVICE can change. */
static int
refuse_name(const char *name, struct err *err)
{
	char quoted[SETTING_QUOTED_MAX], names[ERR_SENTENCE_MAX] = "";
	struct nearest nearest = nearest_to(name);
	size_t n = 0;

	setting_quote(name, quoted, sizeof(quoted));
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != SETTING_SCOPE_SERVICE || !s->is_live)
			continue;
		nearest_offer(&nearest, s->name);
		if (n < sizeof(names))
			n += (size_t)snprintf(
				names + n, sizeof(names) - n, n > 0 ? ", %s" : "%s", s->name);
	}
	if (nearest.name != NULL)
		return err_set(err, "no setting of a service is called %s, did you mean %s?",
			quoted, nearest.name);
	return err_set(
		err, "no setting of a service is called %s, expected one of %s", quoted, names);
}

const struct setting *
setting_find_live(const char *name, struct err *err)
{
	const struct setting *s = setting_find(SETTING_SCOPE_SERVICE, name);
	const struct setting *other = setting_find(SETTING_SCOPE_SERVICE_ONLY, name);

	if (s != NULL && s->is_live)
		return s;
	if (s != NULL && s->help != NULL)
		err_set(err, "%s: %s", name, s->help);
	else if (s != NULL)
		err_set(err, "%s is not available in this version", name);
	else if (other != NULL)
		err_set(err, "%s", other->instead);
	else
		refuse_name(name, err);
	return NULL;
}

int
settings_set(struct service_settings *service, const char *name, const char *text,
	struct setting_change *change, struct err *err)
{
	const struct setting *s = setting_find_live(name, err);
	struct service_settings changed = *service;

	if (s == NULL || setting_parse(s, &changed, text, err) != 0)
		return -EINVAL;
	change->setting = s;
	setting_format(s, service, change->old_text, sizeof(change->old_text));
	setting_format(s, &changed, change->new_text, sizeof(change->new_text));
	change->is_pinned = false;
	change->is_changed = strcmp(change->old_text, change->new_text) != 0;
	*service = changed;
	return 0;
}
