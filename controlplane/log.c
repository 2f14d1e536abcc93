/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines to stderr.  Any thread: a line is put together on the stack and goes out in one write, so
 * lines of different threads do not mix.  Never blocks on anything but stderr itself.
 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE_MAX 1024

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static _Atomic unsigned level_now = LOG_LEVEL_INFO;

void
log_set_level(enum log_level level)
{
	atomic_store_explicit(&level_now, level, memory_order_relaxed);
}

const char *
log_change_level(bool is_more)
{
	unsigned level = atomic_load_explicit(&level_now, memory_order_relaxed);

	if (is_more && level < LOG_LEVEL_DEBUG)
		log_set_level(++level);
	else if (!is_more && level > LOG_LEVEL_ERROR)
		log_set_level(--level);
	return level_names[level];
}

bool
log_level_find(const char *name, enum log_level *level)
{
	for (unsigned i = 0; i <= LOG_LEVEL_DEBUG; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*level = i;
			return true;
		}
	}
	return false;
}

/* "12:00:31.412 warning: ", the local time of day; for the journal, which has the time, its mark of
 * the level instead (sd-daemon(3)). */
static size_t
write_head(char *line, enum log_level level)
{
	static const char *const marks[] = {"<3>", "<4>", "<6>", "<7>"};
	struct timespec now;
	struct tm tm;

	if (getenv("JOURNAL_STREAM") != NULL)
		return (size_t)snprintf(line, LINE_SIZE_MAX, "%s", marks[level]);
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	size_t n = strftime(line, LINE_SIZE_MAX, "%H:%M:%S", &tm);

	return n + (size_t)snprintf(line + n, LINE_SIZE_MAX - n,
			   ".%03ld %s: ", now.tv_nsec / 1000000, level_names[level]);
}

static void __attribute__((format(printf, 3, 0)))
write_line(enum log_level level, unsigned n_suppressed, const char *format, va_list args)
{
	char line[LINE_SIZE_MAX];

	if (level > atomic_load_explicit(&level_now, memory_order_relaxed))
		return;
	size_t head = write_head(line, level);
	int body = vsnprintf(line + head, sizeof(line) - head, format, args);
	size_t n = strnlen(line, sizeof(line) - 2);

	if (body > 0 && n_suppressed > 0 && n < sizeof(line) - 2) {
		snprintf(line + n, sizeof(line) - n, " (%u lines like this kept back)",
			n_suppressed);
		n = strnlen(line, sizeof(line) - 2);
	}
	for (size_t i = head; i < n; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[n++] = '\n';
	/* A log that cannot be written has nobody to be told about it. */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

void
log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, 0, format, args);
	va_end(args);
}

bool
log_limit_allows(struct log_limit *limit, uint64_t now_us)
{
	if (limit->began_us == 0 || now_us - limit->began_us >= limit->interval_us) {
		limit->began_us = now_us;
		limit->n_written = 0;
	}
	if (limit->n_written < limit->burst) {
		limit->n_written++;
		return true;
	}
	limit->n_suppressed++;
	return false;
}

void
log_limited(struct log_limit *limit, uint64_t now_us, enum log_level level, const char *format, ...)
{
	va_list args;

	if (!log_limit_allows(limit, now_us))
		return;
	va_start(args, format);
	write_line(level, limit->n_suppressed, format, args);
	va_end(args);
	limit->n_suppressed = 0;
}
