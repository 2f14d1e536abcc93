/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps lines that others can provoke from filling the log: at most 'burst' lines an interval, and
 * the next one says how many were left out.  Embedded or static; one thread each.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log_limit {
	uint64_t interval_us;
	unsigned burst;
	unsigned n_written;    /* in the present interval */
	unsigned n_suppressed; /* since the last line let through */
	uint64_t began_us;     /* of the present interval */
};

/*
 * True: write the line.  '*n_suppressed' then says how many were left out before it (0: none), and
 * the count begins anew.
 */
static inline bool
log_limit_allows(struct log_limit *l, uint64_t now_us, unsigned *n_suppressed)
{
	if (now_us - l->began_us >= l->interval_us) {
		l->began_us = now_us;
		l->n_written = 0;
	}
	if (l->n_written >= l->burst) {
		l->n_suppressed++;
		return false;
	}
	l->n_written++;
	*n_suppressed = l->n_suppressed;
	l->n_suppressed = 0;
	return true;
}
