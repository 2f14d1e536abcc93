/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands snapshots from the control thread to the workers, and tells when an old one may go: read,
 * copy, update with quiescent states (rte_rcu_qsbr).  The control thread never waits for a worker:
 * it asks again on a later turn.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_rcu_qsbr.h>

#include "err.h"
#include "tables.h"

/* Old snapshots that may wait for a worker to let go; more are refused until one did. */
#define SNAPSHOTS_PENDING_MAX 4

struct snapshots_pending {
	struct tables *tables; /* no longer current */
	uint64_t token;        /* free once every worker passed this */
};

struct snapshots {
	struct rte_rcu_qsbr *rcu;         /* workers write their part, control reads */
	_Atomic(struct tables *) current; /* control writes, workers read; never NULL once open */
	/* control only */
	struct snapshots_pending pending[SNAPSHOTS_PENDING_MAX];
	unsigned n_pending;
	uint64_t token; /* of the current one */
};

/* Begins with 'first', which is owned from here on.  0, or -ENOMEM with a sentence ('first' stays
 * the caller's).  Control thread, before any worker. */
int
snapshots_open(struct snapshots *s, unsigned n_workers, struct tables *first, struct err *err);

/* Frees all; every worker has returned.  A zeroed one is fine. */
void
snapshots_close(struct snapshots *s);

/*
 * Makes 'tables' current and owns it.  -EBUSY when too many old ones wait: try again on a later
 * turn, nothing was done.  Control thread; sleeping workers need not be woken, they look first
 * thing when they wake.
 */
int
snapshots_publish(struct snapshots *s, struct tables *tables);

/*
 * Frees what no worker can still read.  True when every worker has let go of all but the current
 * snapshot: what was published last is in force everywhere.  Control thread.
 */
bool
snapshots_settle(struct snapshots *s);

/* The snapshot to use until the next quiescent state.  Worker, after going online. */
static inline const struct tables *
snapshots_current(struct snapshots *s)
{
	return atomic_load_explicit(&s->current, memory_order_acquire);
}
