/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets on their way from one worker to another: received ones to the owner of their flow,
 * finished ones to the owner of the queue that they leave by.  One ring for each pair of workers
 * and each of the two, with one producer and one consumer, so that a worker that the kernel does
 * not let run holds up nobody else, and packets of one pair keep their order.  Nothing waits: what
 * a full ring does not take is the caller's to count and drop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <karmalb/limits.h>

#include "doorbell.h"
#include "err.h"

#define HANDOVER_SUM 2048 /* packets of each kind that may wait for one worker, about */
#define HANDOVER_MIN 128  /* of these from one other worker, at least */

enum handover_kind {
	HANDOVER_RECEIVED, /* to the owner of its flow; mbuf.port is its port_in */
	HANDOVER_FINISHED, /* to the owner of the queue; mbuf.port is its port_out */
	HANDOVER_N_KINDS,
};

struct handover {
	unsigned n_workers;
	void *memory;            /* all rings */
	struct rte_ring **rings; /* by handover_place(); NULL from a worker to itself */
	/* Rung for a worker that packets were put for; its owner writes it before any worker runs.
	 */
	struct doorbell *bells[KARMALB_WORKERS_MAX];
};

/* Slots of one ring, one of which stays empty; a power of two. */
static inline unsigned
handover_ring_size(unsigned n_workers)
{
	unsigned size = HANDOVER_SUM;

	/* Bounded by the bits of HANDOVER_SUM. */
	while (size > HANDOVER_MIN && size * (n_workers - 1) > HANDOVER_SUM)
		size /= 2;
	return size;
}

/* Packet buffers that all rings hold when they are full. */
static inline unsigned
handover_n_buffers(unsigned n_workers)
{
	return HANDOVER_N_KINDS * n_workers * (n_workers - 1) * handover_ring_size(n_workers);
}

/* Makes the rings; none for a single worker.  0, or -ENOMEM with a sentence.  Control thread. */
int
handover_open(struct handover *h, unsigned n_workers, struct err *err);

/* Frees rings and packets in them; every worker has returned.  A zeroed one is fine. */
void
handover_close(struct handover *h);

static inline unsigned
handover_place(const struct handover *h, enum handover_kind kind, unsigned from, unsigned to)
{
	return ((unsigned)kind * h->n_workers + from) * h->n_workers + to;
}

/*
 * Puts packets into the ring from worker 'from' (the caller) to 'to' and wakes that.  Returns how
 * many it took; the others stay the caller's.
 */
static inline unsigned
handover_put(struct handover *h, unsigned place, struct rte_mbuf *const *mbufs, unsigned n)
{
	unsigned n_put = rte_ring_sp_enqueue_burst(h->rings[place], (void *const *)mbufs, n, NULL);

	doorbell_ring(h->bells[place % h->n_workers]);
	return n_put;
}

/* Takes up to 'n_max' packets out of a ring to the caller.  Returns how many. */
static inline unsigned
handover_take(struct handover *h, unsigned place, struct rte_mbuf **mbufs, unsigned n_max)
{
	return rte_ring_sc_dequeue_burst(h->rings[place], (void **)mbufs, n_max, NULL);
}

/* Whether anything waits for worker 'to', which is the caller. */
bool
handover_has_work(const struct handover *h, unsigned to);
