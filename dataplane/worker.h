/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One polling worker: receive, pipeline, transmit, sleep.  It owns some of the ports' queues, alone
 * receives and transmits there, and owns some of the flows (owner.h), whose packets it alone
 * handles.  What is another's it hands over.  It knows no other worker and no control code: it
 * meets them at the hand-over rings, the snapshot, the sample ring, the doorbells and its counters.
 */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "doorbell.h"
#include "err.h"
#include "errands.h"
#include "flow.h"
#include "idle.h"
#include "pipeline.h"
#include "sample.h"

#define WORKER_RING_SAMPLES 32768 /* 5 ms of a million new connections a second, and some */
#define WORKER_QUEUES_MAX   IDLE_QUEUES_MAX

struct flow_header;
struct handover;
struct ports;
struct rte_mbuf;
struct rte_ring;
struct snapshots;

struct worker_conf {
	uint16_t number;              /* 0 .. n_workers - 1 */
	const struct ports *ports;    /* open; outlive the worker */
	struct flow_header *flows;    /* likewise */
	struct snapshots *snapshots;  /* likewise */
	struct handover *handover;    /* likewise; open */
	struct doorbell *sample_bell; /* rung after samples were pushed */
	bool is_spinning;             /* never sleep */
	uint32_t idle_spin_us;        /* poll on for this long after the last packet */
};

/* A queue that the worker receives on. */
struct worker_queue {
	uint8_t port; /* index into worker.ports */
	uint16_t queue;
};

/* Packets that wait for the end of the burst. */
struct worker_batch {
	unsigned n;
	struct rte_mbuf *mbufs[PIPELINE_BURST_MAX];
};

/* How packets leave by a port. */
struct worker_port {
	uint16_t id;    /* DPDK's */
	uint16_t queue; /* always by this one */
	uint16_t owner; /* the worker that transmits on it */
	struct worker_batch batch;
};

struct worker {
	/* control writes before the start; constant from then on */
	struct worker_conf conf;
	struct flow_table flows;
	struct slot_counters *slots; /* KARMALB_SLOTS_MAX; worker writes, control reads */
	struct rte_ring *samples;    /* worker puts, control gets */
	unsigned n_ports;
	unsigned n_queues;

	/* control writes */
	atomic_bool is_stopping;

	/* both: see doorbell.h */
	struct doorbell bell;

	/* both: see errands.h */
	struct errands errands;

	/* worker writes, control reads */
	alignas(64) struct pipeline pipeline;
	uint64_t busy_us;         /* spent with packets in hand */
	_Atomic uint64_t done_us; /* all observed before this is in counters and ring */

	/* worker only */
	struct idle idle;
	uint64_t tick_us; /* when the pipeline wants its next tick */
	struct worker_port ports[KARMALB_PORTS_MAX];
	struct worker_queue queues[WORKER_QUEUES_MAX];
	struct worker_batch batches[KARMALB_WORKERS_MAX]; /* for other workers */
	struct sample pushed[PIPELINE_SAMPLES_MAX];
};

/* Bytes of DPDK memory that one worker needs. */
#define WORKER_MEMORY_SIZE (WORKER_RING_SAMPLES * sizeof(struct sample) + 65536)

/*
 * Prepares a worker; it runs after rte_eal_remote_launch(worker_run, worker, ...).  Control thread,
 * with EAL started.  0, or a negative errno and a sentence.  'random' seeds its picks.
 */
int
worker_open(struct worker *w, const struct worker_conf *conf, uint64_t random, struct err *err);

/* The worker's thread: runs until worker_stop(). 'worker' is a struct worker; returns 0. */
int
worker_run(void *worker);

/* Asks the worker to return soon; wait for its lcore afterwards.  Control thread. */
void
worker_stop(struct worker *w);

/* Frees what worker_open() took; the worker has returned.  A zeroed one is fine. */
void
worker_close(struct worker *w);

/* Takes up to 'n_max' samples out of the ring, oldest first.  Control thread. */
unsigned
worker_take_samples(struct worker *w, struct sample *samples, unsigned n_max);

/* All that was observed before this time is in the counters and, unless taken, in the ring. */
static inline uint64_t
worker_done_us(const struct worker *w)
{
	return atomic_load_explicit(&w->done_us, memory_order_acquire);
}

/*
 * Clears the counters of a slot that begins a new life.  Control thread; no flow and no snapshot
 * in any worker's hand refers to the slot, so nobody else writes there.
 */
void
worker_forget_slot(struct worker *w, uint16_t slot);
