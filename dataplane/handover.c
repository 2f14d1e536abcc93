/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and clearing of the rings; using them is inline. */
#include "handover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned
n_places(const struct handover *h)
{
	return HANDOVER_N_KINDS * h->n_workers * h->n_workers;
}

static bool
is_used(const struct handover *h, unsigned place)
{
	return place % h->n_workers != place / h->n_workers % h->n_workers;
}

/* In plain memory: DPDK's zones are too few for the rings of many workers. */
int
handover_open(struct handover *h, unsigned n_workers, struct err *err)
{
	unsigned count = handover_ring_size(n_workers);
	ssize_t ring_size = rte_ring_get_memsize(count);

	*h = (struct handover){.n_workers = n_workers};
	if (n_workers < 2)
		return 0;
	size_t n_rings = (size_t)HANDOVER_N_KINDS * n_workers * (n_workers - 1);
	uint8_t *at = ring_size < 0
			      ? NULL
			      : aligned_alloc(RTE_CACHE_LINE_SIZE, n_rings * (size_t)ring_size);

	h->memory = at;
	h->rings = calloc(n_places(h), sizeof(*h->rings));
	if (h->memory == NULL || h->rings == NULL) {
		handover_close(h);
		return err_set(
			err, -ENOMEM, "no memory for the rings between %u workers", n_workers);
	}
	memset(at, 0, n_rings * (size_t)ring_size); /* and no page fault later */
	for (unsigned place = 0; place < n_places(h); place++) {
		if (!is_used(h, place))
			continue;
		h->rings[place] = (struct rte_ring *)at;
		rte_ring_init(h->rings[place], "handover", count, RING_F_SP_ENQ | RING_F_SC_DEQ);
		at += ring_size;
	}
	return 0;
}

void
handover_close(struct handover *h)
{
	struct rte_mbuf *mbuf;

	for (unsigned place = 0; h->rings != NULL && place < n_places(h); place++)
		while (h->rings[place] != NULL && handover_take(h, place, &mbuf, 1) == 1)
			rte_pktmbuf_free(mbuf);
	free(h->rings);
	free(h->memory);
	*h = (struct handover){0};
}

bool
handover_has_work(const struct handover *h, unsigned to)
{
	/* Bounded by HANDOVER_N_KINDS * KARMALB_WORKERS_MAX. */
	for (unsigned place = to; h->rings != NULL && place < n_places(h); place += h->n_workers)
		if (h->rings[place] != NULL && !rte_ring_empty(h->rings[place]))
			return true;
	return false;
}
