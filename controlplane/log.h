/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log of the control plane: stderr, one line an event, one write a line.  Under systemd
 * (JOURNAL_STREAM) a line begins with the journal's mark of its level.  Level by who must act:
 * error the operator now, warning the operator some day, info nobody (history), debug ourselves.
 * Control characters in a line are shown as '?', so that what came from the network cannot forge
 * lines.  Any thread may log; the level is set once at start or by the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO, /* the default */
	LOG_LEVEL_DEBUG,
};

/* Lines above 'level' are not written from here on. */
void
log_set_level(enum log_level level);

/* One level more is written from here on, or one less; returns its name. */
const char *
log_change_level(bool is_more);

/* "error", "warning", "info" or "debug" to a level; false: none of them. */
bool
log_level_find(const char *name, enum log_level *level);

void
log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * Whatever the network can trigger goes through a limit: at most 'burst' lines an interval; the
 * next line let through says how many were kept back.  Static or embedded; one thread each.
 *
 *     static struct log_limit limit = {.interval_us = 10 * KARMALB_SECOND, .burst = 5};
 *     log_limited(&limit, now_us, LOG_LEVEL_WARNING, "...");
 */
struct log_limit {
	uint64_t interval_us;
	unsigned burst;
	unsigned n_written;    /* in the present interval */
	unsigned n_suppressed; /* since the last line let through */
	uint64_t began_us;     /* of the present interval; 0: none yet */
};

void
log_limited(struct log_limit *limit, uint64_t now_us, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The decision alone, for tests and for lines that are costly to make: true means write it. */
bool
log_limit_allows(struct log_limit *limit, uint64_t now_us);
