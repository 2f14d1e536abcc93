/* SPDX-License-Identifier: BSD-3-Clause */
/* The way to stderr.  One write per line, so that lines of several threads do not mix. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_LINE_MAX 512

static _Atomic unsigned least = LOG_LEVEL_INFO;

void
log_set_level(enum log_level level)
{
	least = level;
}

const char *
log_change_level(bool is_more)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};
	unsigned level = least;

	if (is_more && level < LOG_LEVEL_DEBUG)
		level++;
	else if (!is_more && level > LOG_LEVEL_ERROR)
		level--;
	least = level;
	return names[level];
}

/* What opens a line: the journal's mark where stderr goes there, else the level's name. */
static const char *
log_prefix(enum log_level level)
{
	static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
	static const char *const marks[] = {"<3>", "<4>", "<6>", "<7>"};

	return getenv("JOURNAL_STREAM") != NULL ? marks[level] : names[level];
}

void
log_print(enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list args;

	if (level > least)
		return;
	int size = snprintf(line, sizeof(line), "%s", log_prefix(level));

	va_start(args, fmt);
	size += vsnprintf(line + size, sizeof(line) - (size_t)size, fmt, args);
	va_end(args);
	if (size > LOG_LINE_MAX - 2)
		size = LOG_LINE_MAX - 2;
	line[size++] = '\n';
	/* A log that cannot be written has nobody to be told to. */
	if (write(STDERR_FILENO, line, (size_t)size) < 0)
		return;
}
