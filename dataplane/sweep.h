/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only time brings about: connect time-outs, query time-outs, expiry.  Half-open flows are
 * found by their timer wheel to the millisecond; all others by a walk over the records, a piece
 * with every call, that comes round once in SWEEP_ROUND_US up to 3 million records and keeps its
 * pace of SWEEP_RECORDS a call beyond.  Pure; owning worker.
 */
#pragma once

#include <karmalb/clock.h>

#include "ledger.h"

#define SWEEP_ROUND_US   (800 * KARMALB_MILLISECOND)
#define SWEEP_RECORDS    4096 /* looked at in one call */
#define SWEEP_EXPIRIES   256  /* flows ended in one call, half-open ones not counted */
#define SWEEP_HALF_OPENS 512  /* steps of the timer wheel in one call */
#define SWEEP_RECLAIMS   16   /* looked at for one that can make room */
#define SWEEP_AHEAD_US   (10 * KARMALB_MILLISECOND)

/* Does what is due, within those bounds and the ledger's room for samples.  Returns when to call
 * again: now, if a bound was met. */
uint64_t
sweep_run(struct ledger *ledger);

/*
 * The table is full: ends one flow that is over but rests, expired ones first, those whose mirror
 * holds the connection in TIME-WAIT last.  Looks at the next SWEEP_RECLAIMS records, never at
 * 'keep' (FLOW_NONE: none).  False: found none, so nothing has room.
 */
bool
sweep_reclaim(struct ledger *ledger, uint32_t keep);
