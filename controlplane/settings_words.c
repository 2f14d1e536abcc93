/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a row of the table allows, in words; and texts as sentences quote them.  Pure; any thread.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <karmalb/clock.h>

#include "err.h"
#include "settings.h"
#include "units.h"

static const struct {
	const char *unit, *plural;
	uint64_t us;
} bare_units[] = {
	{"us", "microseconds", 1},
	{"ms", "milliseconds", KARMALB_MILLISECOND},
	{"s", "seconds", KARMALB_SECOND},
};

static unsigned
bare_unit_of(const struct setting *s)
{
	unsigned i = 0;

	while (strcmp(bare_units[i].unit, s->unit) != 0)
		i++;
	return i;
}

static bool
ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	return length > n && strcmp(name + length - n, end) == 0;
}

/* Names end with the unit where no text of the value could have it. */
const char *
setting_unit(const struct setting *s)
{
	if (s->unit != NULL)
		return s->unit;
	if (s->type == SETTING_SIZE)
		return "bytes";
	if (s->type == SETTING_SHARE)
		return "of 1";
	if (ends_with(s->name, "_us"))
		return "us";
	return ends_with(s->name, "_pct") ? "%" : "";
}

uint64_t
setting_unit_us(const struct setting *s)
{
	return bare_units[bare_unit_of(s)].us;
}

const char *
setting_choice(const struct setting *s, unsigned index)
{
	return s->choice_at != NULL ? s->choice_at(index) : s->choices[index];
}

const char *
setting_quote(const char *text, char *quoted, size_t size)
{
	struct err unused;
	double number;
	bool is_plain = units_parse_number(text, &number, &unused) == 0 ||
			strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
	bool is_long = strlen(text) > SETTING_QUOTE_MAX;

	snprintf(quoted, size, is_plain ? "%.*s%s" : "\"%.*s%s\"", SETTING_QUOTE_MAX, text,
		is_long ? "..." : "");
	return quoted;
}

char *
setting_format_number(const struct setting *s, double value, char *text, size_t size)
{
	if (s->word != NULL && value == SETTING_WORD) {
		snprintf(text, size, "%s", s->word);
		return text;
	}
	switch (s->type) {
	case SETTING_DURATION:
		return units_format_duration((uint64_t)value * setting_unit_us(s), text, size);
	case SETTING_SIZE:
		return units_format_size((uint64_t)value, text, size);
	case SETTING_SHARE:
		return units_format_share(value, text, size);
	case SETTING_COUNT:
		snprintf(text, size, "%" PRIu64, (uint64_t)value);
		return text;
	default:
		return units_format_number(value, text, size);
	}
}

/* "from 1s to 1d", or the one value that is possible. */
static void
format_range(const struct setting *s, const char *noun, char *text, size_t size)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX];

	setting_format_number(s, s->min, min, sizeof(min));
	setting_format_number(s, s->max, max, sizeof(max));
	if (s->min == s->max)
		snprintf(text, size, "%s", min);
	else
		snprintf(text, size, "%s from %s to %s", noun, min, max);
}

static void
append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
append(char *text, size_t size, const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + n, size - n, format, args);
	va_end(args);
}

static void
format_choices(const struct setting *s, char *text, size_t size)
{
	const char *name;

	snprintf(text, size, setting_choice(s, 1) != NULL ? "one of " : "");
	for (unsigned i = 0; (name = setting_choice(s, i)) != NULL; i++)
		append(text, size, i > 0 ? ", \"%s\"" : "\"%s\"", name);
}

const char *
setting_expected(const struct setting *s, char *text, size_t size)
{
	switch (s->type) {
	case SETTING_DURATION:
		format_range(s, "a duration", text, size);
		append(text, size, " such as \"%s\" (a bare number counts %s)", s->default_text,
			bare_units[bare_unit_of(s)].plural);
		break;
	case SETTING_SIZE:
		format_range(s, "a size", text, size);
		append(text, size, " such as \"512M\"");
		break;
	case SETTING_COUNT:
		format_range(s, "a whole number", text, size);
		break;
	case SETTING_NUMBER:
		format_range(s, "a number", text, size);
		break;
	case SETTING_SHARE:
		format_range(s, "a share", text, size);
		append(text, size, " such as \"%s\"", s->default_text);
		break;
	case SETTING_BOOL:
		snprintf(text, size, "true or false");
		break;
	case SETTING_CHOICE:
		format_choices(s, text, size);
		break;
	case SETTING_NAME:
		snprintf(text, size, "1 to %d letters, digits, '-', '_' or '.'",
			KARMALB_NAME_MAX - 1);
		break;
	default:
		snprintf(text, size, "1 to %d printable characters without blanks and quotes",
			setting_word_max(s) - 1);
	}
	if (s->word != NULL)
		append(text, size, ", or \"%s\"", s->word);
	if (s->zero != NULL)
		append(text, size, ", or %s (%s)", setting_word_max(s) > 0 ? "\"\"" : "0", s->zero);
	return text;
}
