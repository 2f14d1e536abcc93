/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines on stderr, one per call, without a trailing newline in 'fmt'.  Under systemd each carries
 * the journal's level mark ("<3>"), else the level's name.  Any thread but the workers: they count,
 * and the control thread reports.
 */
#pragma once

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,   /* the operator must act now */
	LOG_LEVEL_WARNING, /* the operator should act some day */
	LOG_LEVEL_INFO,    /* history: changes of state */
	LOG_LEVEL_DEBUG,   /* for us */
};

/* The least important level still printed; LOG_LEVEL_INFO at start. */
void
log_set_level(enum log_level level);

/* One level more is printed from here on, or one less; returns its name. */
const char *
log_change_level(bool is_more);

__attribute__((format(printf, 2, 3))) void
log_print(enum log_level level, const char *fmt, ...);

#define log_error(...)   log_print(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_print(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)
