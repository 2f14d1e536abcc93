/* SPDX-License-Identifier: BSD-3-Clause */
/* The control thread's half of handing snapshots over; the workers' half is inline. */
#include "snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

int
snapshots_open(struct snapshots *s, unsigned n_workers, struct tables *first, struct err *err)
{
	size_t size = rte_rcu_qsbr_get_memsize(n_workers);

	*s = (struct snapshots){0};
	s->rcu = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));
	if (s->rcu == NULL || rte_rcu_qsbr_init(s->rcu, n_workers) != 0) {
		free(s->rcu);
		s->rcu = NULL;
		return err_set(
			err, -ENOMEM, "no memory for %u workers' quiescent states", n_workers);
	}
	atomic_init(&s->current, first);
	return 0;
}

void
snapshots_close(struct snapshots *s)
{
	for (unsigned i = 0; i < s->n_pending; i++)
		tables_free(s->pending[i].tables);
	tables_free(atomic_load(&s->current));
	free(s->rcu);
	*s = (struct snapshots){0};
}

int
snapshots_publish(struct snapshots *s, struct tables *tables)
{
	snapshots_settle(s);
	if (s->n_pending == SNAPSHOTS_PENDING_MAX)
		return -EBUSY;

	struct tables *old = atomic_exchange_explicit(&s->current, tables, memory_order_acq_rel);

	s->token = rte_rcu_qsbr_start(s->rcu);
	s->pending[s->n_pending++] = (struct snapshots_pending){old, s->token};
	return 0;
}

bool
snapshots_settle(struct snapshots *s)
{
	/* Tokens rise, so what is done is at the front. */
	while (s->n_pending > 0 && rte_rcu_qsbr_check(s->rcu, s->pending[0].token, false) == 1) {
		tables_free(s->pending[0].tables);
		s->n_pending--;
		memmove(&s->pending[0], &s->pending[1], s->n_pending * sizeof(s->pending[0]));
	}
	return s->n_pending == 0;
}
