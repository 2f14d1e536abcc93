/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pings to one mirror over TCP: a connection is made, something is asked if the kind of ping has a
 * question (ping_dialogue.h), and it is closed again.  The connection and the answer may take an
 * interval each.  Non-blocking, on the loop's thread.  The kernel chooses the source address; that
 * it never chooses a VIP or one of the data plane's sources rests on those being without a route of
 * their own (noprefixroute, /32).  Binding to the interface's primary address explicitly would
 * take that on trust no longer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>

#include "settings.h"

struct event_base;
struct ping;

struct ping_result {
	bool is_answered;
	uint64_t took_us;
	const char *failure; /* in words: "connection refused", "no answer in 1.0 s" */
};

/*
 * Silent until ping_set() or ping_once().  'done' is called from the loop with each outcome, and
 * may call everything here, ping_free() too.  NULL when out of memory.
 */
struct ping *
ping_create(struct event_base *base, void (*done)(void *arg, const struct ping_result *result),
	void *arg);

/* Takes NULL.  A ping that is out is given up without a result. */
void
ping_free(struct ping *ping);

struct ping_target {
	struct karmalb_endpoint to;
	uint64_t interval_us;        /* how long the mirror must have been idle; 0: no pings */
	enum ping_kind kind;         /* not PING_NONE unless interval_us is 0 */
	char path[KARMALB_NAME_MAX]; /* that PING_HTTP asks for */
};

/* Whom to ping and how. */
void
ping_set(struct ping *ping, const struct ping_target *target);

/*
 * Instead: one ping to 'target', whatever its interval, now, and silence after it.  It ends within
 * 'limit_us'; each step of it may take an interval, if that is not 0.
 */
void
ping_once(struct ping *ping, const struct ping_target *target, uint64_t limit_us);

/* The last outcome of a query of this mirror, and whether it is dead: see ping_schedule.h. */
void
ping_observe(struct ping *ping, uint64_t query_us, bool is_dead);
