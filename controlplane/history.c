/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of events.  No I/O; takes the wall clock itself, as the log does. */
#include "history.h"

#include <stdarg.h>
#include <stdio.h>

#include <karmalb/clock.h>

static struct history_entry ring[HISTORY_KEPT];
static uint64_t n_events;

const char *
history_kind_name(enum history_kind kind)
{
	static const char *const names[HISTORY_N_KINDS] = {
		[HISTORY_MIRROR] = "mirror",
		[HISTORY_DATAPLANE] = "dataplane",
		[HISTORY_PORT] = "port",
		[HISTORY_RELOAD] = "reload",
		[HISTORY_STATEMENT] = "statement",
	};

	return names[kind];
}

void
history_add(enum history_kind kind, const char *format, ...)
{
	struct history_entry *e = &ring[n_events % HISTORY_KEPT];
	va_list args;

	e->number = ++n_events;
	e->unix_us = karmalb_unix_now_us();
	e->kind = kind;
	va_start(args, format);
	vsnprintf(e->text, sizeof(e->text), format, args);
	va_end(args);
}

const struct history_entry *
history_after(uint64_t number)
{
	uint64_t oldest = n_events > HISTORY_KEPT ? n_events - HISTORY_KEPT : 0;

	if (number < oldest)
		number = oldest;
	return number < n_events ? &ring[number % HISTORY_KEPT] : NULL;
}

uint64_t
history_count(void)
{
	return n_events;
}
