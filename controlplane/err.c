/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentences for people.  Pure; any thread. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a person typed is quoted back, so it may hold anything; a terminal or JSON must not. */
static void
keep_printable(char *text)
{
	for (; *text != '\0'; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

void
err_fill(struct err *err, const char *format, ...)
{
	va_list args;

	err->line = 0;
	err->file[0] = '\0';
	va_start(args, format);
	vsnprintf(err->sentence, sizeof(err->sentence), format, args);
	va_end(args);
	keep_printable(err->sentence);
}

void
err_fill_before(struct err *err, const char *format, ...)
{
	char rest[ERR_SENTENCE_MAX];
	va_list args;

	memcpy(rest, err->sentence, sizeof(rest));
	va_start(args, format);
	int n = vsnprintf(err->sentence, sizeof(err->sentence), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(err->sentence))
		snprintf(err->sentence + n, sizeof(err->sentence) - (size_t)n, "%s", rest);
	keep_printable(err->sentence);
}

void
err_locate(struct err *err, const char *file, unsigned line)
{
	snprintf(err->file, sizeof(err->file), "%s", file);
	err->line = line;
}

const char *
err_format(const struct err *err, char *text, unsigned size)
{
	if (err->file[0] == '\0')
		snprintf(text, size, "%s", err->sentence);
	else if (err->line == 0)
		snprintf(text, size, "%s: %s", err->file, err->sentence);
	else
		snprintf(text, size, "%s:%u: %s", err->file, err->line, err->sentence);
	return text;
}
