/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a mirror fit for new connections?  Pure: evidence and the clock go in, a state comes out.
 *
 *            failures in a row >= dead_after
 *      UP  ----------------------------------->  DEAD
 *       ^                                        |  ^
 *       | a query answered since         a sign  |  | any failure
 *       | the trial began                of life v  | since it began
 *       +-------------------------------------  TRIAL
 *
 * Queries and pings have a counter of their own; a mirror is dead when either reaches the
 * threshold.  An answered query is stronger than pings and voids those that failed before it.  A
 * ping alone never clears query failures, and an answer with a warning leaves their row as it is,
 * though while it is the newest that is known nobody is called dead for the row.  Signs of life
 * (below) only lead to a trial, in which the strategy gives the mirror a small share, and only an
 * answered query ends it.  A mirror without traffic stays on trial, which costs nothing: it takes
 * its share when traffic comes.
 *
 * Signs of life: a ping answered after the last failure; or answered queries that brought the
 * failures in a row below the threshold (connections from before, or a strategy that ignores
 * health); or, with pings off, one period without a new failure.  Each trial that fails doubles the
 * wait before the next one, up to HEALTH_WAIT_MAX_US, so that a mirror that accepts connections but
 * never answers does not cost a client every few seconds; an answered query ends the waiting.
 *
 * Mirrors that never answer (udp_answers = false) pass their trial when it has lasted trial_us
 * without a failure; a row of failures from before does not count any more then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/clock.h>
#include <karmalb/counters.h>
#include <karmalb/limits.h>

#define HEALTH_WAIT_MAX_US KARMALB_MINUTE

enum mirror_state {
	MIRROR_UP,
	MIRROR_TRIAL,
	MIRROR_DEAD,
	N_MIRROR_STATES,
};

/* "up", "trial", "dead". */
const char *
mirror_state_name(enum mirror_state state);

/* What was observed of a mirror, all its slots together.  Times are CLOCK_MONOTONIC us, 0: never.
 */
struct health_evidence {
	uint32_t errors_in_row;           /* of queries and connects; the highest of its slots */
	uint32_t row[KARMALB_N_OUTCOMES]; /* that row by kind; all zero where not known */
	bool is_row_answered; /* an answer came since: one with a warning, which leaves the row */
	uint8_t last_error;   /* enum karmalb_outcome */
	uint64_t row_began_us, row_ended_us; /* the first and the last failure of that row */
	uint64_t last_error_us;              /* of any slot */
	uint64_t last_success_us;            /* an answered query */
	uint32_t pings_failed;               /* in a row */
	uint64_t ping_failed_us;             /* the last failed ping */
	uint64_t ping_answered_us;
	const char *ping_failure; /* "connection refused"; NULL: none yet */
};

struct health_rule {
	uint32_t dead_after; /* >= 1 */
	bool is_pinged;
	uint64_t wait_us; /* before a second trial: the ping interval; with pings off, the period */
	uint64_t trial_us; /* a trial without a failure for so long is passed; 0: only by an answer
			    */
};

struct health {
	enum mirror_state state;
	uint64_t since_us;                   /* in this state */
	unsigned n_failed_trials;            /* since it was last up */
	char evidence[KARMALB_SENTENCE_MAX]; /* of the last change of state; empty while always up
					      */
};

/* 'state': UP; or TRIAL for a mirror found out of service at start. */
void
health_init(struct health *h, enum mirror_state state, uint64_t now_us);

/* Effective failures in a row, for strategies: the higher of the two counters. */
uint32_t
health_failures(const struct health_evidence *e);

/*
 * Moves the state on by at most one arrow of the drawing.  Returns true when it changed; 'evidence'
 * then holds why.  Call it whenever evidence came in, and at health_wake_us().
 */
bool
health_update(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us);

/* When time alone may change the state; UINT64_MAX: never. */
uint64_t
health_wake_us(
	const struct health *h, const struct health_evidence *e, const struct health_rule *rule);
