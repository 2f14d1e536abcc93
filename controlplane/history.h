/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happened lately, for SHOW EVENTS: a ring of the last HISTORY_KEPT changes of state, each one
 * line as the log has it.  One ring for the program, as there is one log; loop's thread only.
 */
#pragma once

#include <stdint.h>

#define HISTORY_KEPT     1000
#define HISTORY_TEXT_MAX 320

enum history_kind {
	HISTORY_MIRROR,    /* a mirror's state */
	HISTORY_DATAPLANE, /* connected, lost, what it turned down */
	HISTORY_PORT,      /* its link went or came */
	HISTORY_RELOAD,
	HISTORY_STATEMENT, /* an accepted change, with who asked for it */
	HISTORY_N_KINDS,
};

/* "mirror", "dataplane", ... */
const char *
history_kind_name(enum history_kind kind);

struct history_entry {
	uint64_t number; /* 1, 2, ... since the program began */
	uint64_t unix_us;
	enum history_kind kind;
	char text[HISTORY_TEXT_MAX]; /* cut at the end; may hold what came from outside: escape it
				      */
};

/* Keeps it, in the place of the oldest.  Does not log. */
void
history_add(enum history_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first one kept that is newer than 'number', or NULL; 0 stands for before all. */
const struct history_entry *
history_after(uint64_t number);

/* How many there have been. */
uint64_t
history_count(void);
