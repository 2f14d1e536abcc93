/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half-open flows of one worker: a budget of their own, so that a flood of SYNs cannot push out
 * established flows, and a timer wheel of three levels (1 ms, 256 ms, 65.5 s a list; deadlines up
 * to 1 h ahead) that finds those whose deadline has passed.  Times are the low 32 bits of ms.
 * Owning worker only; lies in the flow memory.  Pure.
 */
#pragma once

#include <stdint.h>

#include "flow.h"

#define HALF_OPEN_WHEEL_LISTS (256 + 256 + 64)
#define HALF_OPEN_AHEAD_MAX   (62u << 16) /* ms; later deadlines are brought forward to this */

struct half_open {
	uint32_t record;
	uint32_t deadline_ms;
	uint32_t next; /* in its list, or of the free ones */
	uint32_t prev; /* in its list, or ~list for the first */
};
static_assert(sizeof(struct half_open) == 16, "shared memory layout");

/* Empties the budget.  Control thread, before the worker runs. */
void
half_open_init(struct flow_table *table);

/*
 * Enters a record with its deadline; 'now_ms' never runs backwards.  Returns the entry's number, or
 * FLOW_NONE when the budget is used up.
 */
uint32_t
half_open_add(struct flow_table *table, uint32_t record, uint32_t deadline_ms, uint32_t now_ms);

/* Gives an entry another deadline. */
void
half_open_move(struct flow_table *table, uint32_t entry, uint32_t deadline_ms);

void
half_open_remove(struct flow_table *table, uint32_t entry);

/*
 * The record of an entry whose deadline is <= 'now_ms', or FLOW_NONE; the entry stays until it is
 * moved or removed, which the caller does before asking again.  Takes one off '*budget' for each
 * step of work, and stops at 0: then there may be more.
 */
uint32_t
half_open_due(struct flow_table *table, uint32_t now_ms, unsigned *budget);
