/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to ping one mirror.  Pure; times are CLOCK_MONOTONIC us.
 *
 * The idle rule: a ping goes out only if the mirror had no outcome, of a query or of a ping, for
 * one interval; traffic is the better probe.  For a dead mirror only pings count: its way back
 * leads over an answered one, and what old connections still do must not put that off.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ping_schedule {
	uint64_t interval_us; /* 0: off */
	uint64_t query_us;    /* last outcome of a query */
	uint64_t ping_us;     /* last ping's end; at first when the schedule began */
	bool is_running;      /* a ping is out */
};

/* The first ping is due one interval after 'now_us'. */
void
ping_schedule_init(struct ping_schedule *s, uint64_t interval_us, uint64_t now_us);

/* A query ended at 'at_us', well or badly.  Older news than known is ignored. */
void
ping_schedule_query(struct ping_schedule *s, uint64_t at_us);

/* When the next ping is due, possibly in the past; UINT64_MAX: never, or while one is out. */
uint64_t
ping_schedule_due_us(const struct ping_schedule *s, bool is_dead);

void
ping_schedule_begin(struct ping_schedule *s);

/* The ping that was out ended, well or badly. */
void
ping_schedule_end(struct ping_schedule *s, uint64_t now_us);
