/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control has a worker do that no packet asks for: probes, and ending flows.  A mailbox of
 * entries, each with a word that says whose it is; nobody waits or locks.  A worker without errands
 * looks at one flag at each tick.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "probe.h"

struct craft_frames;
struct ledger;

#define ERRANDS_RECORDS 4096 /* looked at in one call */
#define ERRANDS_ENDS    16   /* flows ended in one call, each with a sample at most */

enum errands_reset_state {
	ERRANDS_RESET_FREE,    /* control's */
	ERRANDS_RESET_ORDERED, /* worker's */
	ERRANDS_RESET_DONE,    /* control's: 'n_ended' is there */
};

struct errands_reset {
	_Atomic uint32_t state;
	uint32_t at_ms;                     /* control writes: flows opened later stay */
	uint64_t slots[KARMALB_SLOT_WORDS]; /* control writes: a bit each */
	uint32_t record;                    /* next one to be looked at; control sets it to 0 */
	uint64_t n_ended;                   /* control sets it to 0 */
};

struct errands {
	_Atomic uint32_t is_ordered; /* control sets it last, the worker clears it */
	struct probe probes[PROBES_MAX];
	struct errands_reset reset;
};

static inline bool
errands_has_slot(const uint64_t slots[KARMALB_SLOT_WORDS], uint16_t slot)
{
	return slot < KARMALB_SLOTS_MAX && (slots[slot / 64] >> slot % 64 & 1) != 0;
}

/* Control: after entries were written. */
static inline void
errands_order(struct errands *e)
{
	atomic_store_explicit(&e->is_ordered, 1, memory_order_release);
}

/* Worker: there may be something to do. */
static inline bool
errands_are_due(const struct errands *e)
{
	return atomic_load_explicit(&e->is_ordered, memory_order_relaxed) != 0;
}

/*
 * A piece of the work: frames to be sent into 'out', within its room.  True: more to do at once;
 * else again at the next tick if errands_are_due() says so.  Owning worker.
 */
bool
errands_run(struct errands *e, struct ledger *ledger, struct craft_frames *out);
