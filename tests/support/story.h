/* SPDX-License-Identifier: BSD-3-Clause */
/* What stories of connections ask of a fixture when a part of them is told. */
#pragma once

#include <check.h>

#include "talk.h"

static inline uint64_t
story_counter(const struct fixture *f, enum karmalb_worker_counter counter)
{
	return f->pipeline.counters[counter];
}

/* FLOW_FREE where there is no flow. */
static inline int
story_state(const struct talk *t)
{
	const struct flow *flow = talk_flow(t);

	return flow != NULL ? flow->state : FLOW_FREE;
}

/* Of all slots together. */
static inline uint64_t
story_outcomes(const struct fixture *f, enum karmalb_outcome outcome)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		sum += f->slots[i].outcomes[outcome];
	return sum;
}

/* Every flow ended once, and nothing waits or is half-open. */
static inline void
story_check_over(const struct fixture *f)
{
	uint64_t opened = 0, closed = 0;

	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++) {
		opened += f->slots[i].opened;
		closed += f->slots[i].closed;
		ck_assert_uint_eq(f->slots[i].opened, f->slots[i].closed);
		ck_assert_uint_eq(f->slots[i].n_waiting, 0);
		ck_assert_uint_eq(f->slots[i].waiting_since_us, 0);
		ck_assert_uint_eq(flow_slot_uses(f->header, i), 0);
	}
	ck_assert_uint_eq(story_counter(f, KARMALB_COUNTER_FLOWS_OPENED), opened);
	ck_assert_uint_eq(story_counter(f, KARMALB_COUNTER_FLOWS_CLOSED), closed);
	ck_assert_uint_eq(f->flows.worker->n_flows, 0);
	ck_assert_uint_eq(f->flows.worker->n_half_open, 0);
}
