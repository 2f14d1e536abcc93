/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The polling loop.  Runs on a worker's lcore; never logs, locks, allocates, or waits but in
 * idle_block().  The clock is read once a turn.
 */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <karmalb/clock.h>

#include "burst.h"
#include "counter.h"
#include "handover.h"
#include "owner.h"
#include "ports.h"
#include "snapshot.h"

static void
open_queues(struct worker *w);
static unsigned
take_turn(struct worker *w, uint64_t now_us);
static void
sleep_until_work(struct worker *w, uint64_t now_us);

int
worker_open(struct worker *w, const struct worker_conf *conf, uint64_t random, struct err *err)
{
	size_t size = KARMALB_SLOTS_MAX * sizeof(struct slot_counters);
	char name[RTE_RING_NAMESIZE];

	memset(w, 0, sizeof(*w));
	w->conf = *conf;
	w->n_ports = conf->ports->n;
	w->bell.fd = -1;
	snprintf(name, sizeof(name), "samples_%u", conf->number);
	w->samples = rte_ring_create_elem(name, sizeof(struct sample), WORKER_RING_SAMPLES,
		SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	w->slots = aligned_alloc(RTE_CACHE_LINE_SIZE, size);
	if (w->samples == NULL || w->slots == NULL) {
		worker_close(w);
		return err_set(err, -ENOMEM, "worker %u: no memory for samples and counters",
			conf->number);
	}
	memset(w->slots, 0, size); /* and no page fault later */
	flow_table_open(&w->flows, conf->flows, conf->number);
	w->pipeline.flows = &w->flows;
	w->pipeline.slots = w->slots;
	w->pipeline.samples = w->pushed;
	w->pipeline.errands = &w->errands;
	w->pipeline.random = random;
	atomic_init(&w->done_us, karmalb_now_us());

	int rc = doorbell_open(&w->bell);

	if (rc < 0) {
		worker_close(w);
		return err_set(err, rc, "worker %u: no eventfd: %s", conf->number, strerror(-rc));
	}
	conf->handover->bells[conf->number] = &w->bell;
	return 0;
}

int
worker_run(void *worker)
{
	struct worker *w = worker;
	struct rte_rcu_qsbr *rcu = w->conf.snapshots->rcu;
	uint64_t now_us = karmalb_now_us(), then_us;

	open_queues(w);
	rte_rcu_qsbr_thread_register(rcu, w->conf.number);
	rte_rcu_qsbr_thread_online(rcu, w->conf.number);
	while (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed)) {
		unsigned n_packets = take_turn(w, now_us);

		atomic_store_explicit(&w->done_us, now_us, memory_order_release);
		rte_rcu_qsbr_quiescent(rcu, w->conf.number);
		if (n_packets > 0)
			idle_note_packets(&w->idle, now_us);
		else if (idle_is_due(&w->idle, now_us))
			sleep_until_work(w, now_us);
		then_us = now_us;
		now_us = karmalb_now_us();
		if (n_packets > 0)
			counter_add(&w->busy_us, now_us - then_us);
	}
	rte_rcu_qsbr_thread_offline(rcu, w->conf.number);
	rte_rcu_qsbr_thread_unregister(rcu, w->conf.number);
	return 0;
}

void
worker_stop(struct worker *w)
{
	atomic_store(&w->is_stopping, true);
	doorbell_ring(&w->bell);
}

void
worker_close(struct worker *w)
{
	if (w->conf.ports == NULL)
		return;
	rte_ring_free(w->samples);
	free(w->slots);
	doorbell_close(&w->bell);
	w->conf.ports = NULL;
}

unsigned
worker_take_samples(struct worker *w, struct sample *samples, unsigned n_max)
{
	return rte_ring_sc_dequeue_burst_elem(w->samples, samples, sizeof(*samples), n_max, NULL);
}

void
worker_forget_slot(struct worker *w, uint16_t slot)
{
	memset(&w->slots[slot], 0, sizeof(w->slots[slot]));
}

static void
open_queues(struct worker *w)
{
	const struct ports *ports = w->conf.ports;
	unsigned n_workers = w->conf.handover->n_workers, number = w->conf.number, before = 0;

	idle_init(&w->idle, &w->bell, w->conf.idle_spin_us, w->conf.is_spinning);
	for (unsigned i = 0; i < w->n_ports; i++) {
		const struct port *port = &ports->port[i];
		unsigned queue = owner_queue_to_send(before, port->n_queues, number, n_workers);

		w->ports[i].id = port->id;
		w->ports[i].queue = (uint16_t)queue;
		w->ports[i].owner = (uint16_t)owner_of_queue(before, queue, n_workers);
		for (queue = 0; queue < port->n_queues; queue++) {
			if (owner_of_queue(before, queue, n_workers) != number)
				continue;
			w->queues[w->n_queues++] =
				(struct worker_queue){(uint8_t)i, (uint16_t)queue};
			idle_watch(&w->idle, port->xsk_fds[queue]);
		}
		before += port->n_queues;
	}
}

/* Offline while blocked: a sleeper holds no snapshot, and takes the newest one after waking. */
static void
sleep_until_work(struct worker *w, uint64_t now_us)
{
	struct rte_rcu_qsbr *rcu = w->conf.snapshots->rcu;

	rte_rcu_qsbr_thread_offline(rcu, w->conf.number);
	doorbell_arm(&w->bell);
	if (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed) &&
		!handover_has_work(w->conf.handover, w->conf.number))
		idle_block(&w->idle, now_us, w->tick_us);
	doorbell_disarm(&w->bell);
	rte_rcu_qsbr_thread_online(rcu, w->conf.number);
}

static unsigned
take_turn(struct worker *w, uint64_t now_us)
{
	unsigned n_workers = w->conf.handover->n_workers, n = 0;

	w->pipeline.tables = snapshots_current(w->conf.snapshots);
	/*
	 * What arrives before it is known for whom would be dropped.  On an interface XDP takes
	 * nothing until then; any other device keeps its packets, files above all.  Bounded by
	 * WORKER_QUEUES_MAX.
	 */
	for (unsigned i = 0; i < w->n_queues; i++)
		if (w->pipeline.tables->epoch != 0 ||
			port_has_interface(&w->conf.ports->port[w->queues[i].port]))
			n += burst_receive(w, i, now_us);
	/* Bounded by KARMALB_WORKERS_MAX. */
	for (unsigned from = 0; from < n_workers; from++)
		if (from != w->conf.number)
			n += burst_take_over(w, from, now_us);
	if (now_us >= w->tick_us) {
		w->tick_us = pipeline_tick(&w->pipeline, now_us);
		burst_push_samples(w);
		if (errands_are_due(&w->errands) && burst_run_errands(w, now_us))
			w->tick_us = now_us;
	}
	return n;
}
