/* SPDX-License-Identifier: BSD-3-Clause */
/* The errors of one file: collected, ordered, printed.  Whoever loads the file owns them. */
#include "config_errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "err.h"

void
config_errors_take(
	struct config_errors *errors, const char *file, unsigned line, const struct err *err)
{
	if (errors->n_errors == CONFIG_ERRORS_MAX) {
		errors->n_more++;
		return;
	}
	struct err *kept = &errors->errors[errors->n_errors++];

	*kept = *err;
	err_locate(kept, file, line);
}

void
config_errors_add(
	struct config_errors *errors, const char *file, unsigned line, const char *format, ...)
{
	char sentence[ERR_SENTENCE_MAX];
	struct err err;
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	err_fill(&err, "%s", sentence);
	config_errors_take(errors, file, line, &err);
}

void
config_errors_sort(struct config_errors *errors)
{
	for (unsigned i = 1; i < errors->n_errors; i++) {
		struct err moved = errors->errors[i];
		unsigned j = i;

		for (; j > 0 && errors->errors[j - 1].line > moved.line; j--)
			errors->errors[j] = errors->errors[j - 1];
		errors->errors[j] = moved;
	}
}

/* Copies line 'number', less what a terminal should not see. */
static void
copy_line(const char *text, size_t size, unsigned number, char *line)
{
	const char *end = text + size;
	size_t n = 0;

	for (unsigned i = 1; i < number; i++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (newline == NULL)
			return;
		text = newline + 1;
	}
	for (; text < end && *text != '\n' && n < CONFIG_SOURCE_LINE_MAX - 1; text++) {
		char c = *text == '\t' || *text == '\r' ? ' ' : *text;

		line[n++] = c < ' ' || c > '~' ? '?' : c;
	}
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
}

void
config_errors_quote(struct config_errors *errors, const char *text, size_t size)
{
	for (unsigned i = 0; i < errors->n_errors; i++) {
		if (errors->errors[i].line > 0)
			copy_line(text, size, errors->errors[i].line, errors->source_lines[i]);
	}
}

void
config_errors_print(const struct config_errors *errors, FILE *out)
{
	char text[ERR_TEXT_MAX];

	for (unsigned i = 0; i < errors->n_errors; i++) {
		fprintf(out, "%s\n", err_format(&errors->errors[i], text, sizeof(text)));
		if (errors->source_lines[i][0] != '\0')
			fprintf(out, "%5u | %s\n", errors->errors[i].line, errors->source_lines[i]);
	}
	if (errors->n_more > 0)
		fprintf(out, "and %u more\n", errors->n_more);
}

void
config_errors_print_line(const struct config_errors *errors, FILE *out)
{
	char text[ERR_TEXT_MAX];

	for (unsigned i = 0; i < errors->n_errors; i++)
		fprintf(out, "%s%s", i > 0 ? "; " : "",
			err_format(&errors->errors[i], text, sizeof(text)));
	if (errors->n_more > 0)
		fprintf(out, "; and %u more", errors->n_more);
}
