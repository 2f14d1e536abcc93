/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The polling loop.  Runs on a worker's lcore; never logs, locks, allocates, or waits but in
 * idle_block().  The clock is read once a turn.
 */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <karmalb/clock.h>

#include "craft.h"
#include "ports.h"
#include "snapshot.h"

#define TX_TRIES 4

/* Only this worker writes its counters; relaxed, since control reads them at any time. */
static inline void
count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

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
			count(&w->busy_us, now_us - then_us);
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

	idle_init(&w->idle, &w->bell, w->conf.idle_spin_us, w->conf.is_spinning);
	for (unsigned i = 0; i < w->n_ports; i++) {
		w->queues[i].port_id = ports->port[i].id;
		idle_watch(&w->idle, ports->port[i].xsk_fds[w->conf.number]);
	}
}

/* Offline while blocked: a sleeper holds no snapshot, and takes the newest one after waking. */
static void
sleep_until_work(struct worker *w, uint64_t now_us)
{
	struct rte_rcu_qsbr *rcu = w->conf.snapshots->rcu;

	rte_rcu_qsbr_thread_offline(rcu, w->conf.number);
	doorbell_arm(&w->bell);
	if (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed))
		idle_block(&w->idle, now_us, w->tick_us);
	doorbell_disarm(&w->bell);
	rte_rcu_qsbr_thread_online(rcu, w->conf.number);
}

static void
push_samples(struct worker *w)
{
	unsigned n = w->pipeline.n_samples;

	if (n == 0)
		return;
	unsigned n_pushed = rte_ring_sp_enqueue_burst_elem(
		w->samples, w->pushed, sizeof(w->pushed[0]), n, NULL);

	if (n_pushed < n)
		count(&w->pipeline.counters[KARMALB_COUNTER_SAMPLES_LOST], n - n_pushed);
	w->pipeline.n_samples = 0;
	doorbell_ring(w->conf.sample_bell);
}

/* Describes received mbufs to the pipeline.  Bounded by PIPELINE_BURST_MAX. */
static void
describe(struct pipeline_packet *packets, struct rte_mbuf **mbufs, unsigned n, uint8_t port)
{
	for (unsigned i = 0; i < n; i++) {
		const struct rte_mbuf *m = mbufs[i];

		/* A chain of segments is cut to its first; no port of ours makes them. */
		packets[i] = (struct pipeline_packet){
			.data = rte_pktmbuf_mtod(m, uint8_t *),
			.size = m->nb_segs == 1 ? m->data_len : 0,
			.headroom = (uint8_t)RTE_MIN(rte_pktmbuf_headroom(m), UINT8_MAX),
			.port_in = port,
			.is_l4_bad = (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) ==
				     RTE_MBUF_F_RX_L4_CKSUM_BAD,
		};
	}
}

/* Puts a finished packet to the others of its port.  Room for a whole burst is there. */
static inline void
queue_packet(struct worker *w, const struct pipeline_packet *p, struct rte_mbuf *m)
{
	struct worker_queue *q = &w->queues[p->port_out];

	m->data_off = (uint16_t)(p->data - (uint8_t *)m->buf_addr); /* VLAN tags came or went */
	m->data_len = p->size_out;
	m->pkt_len = p->size_out;
	m->ol_flags = 0;
	q->mbufs[q->n_mbufs++] = m;
}

static uint64_t
sum_sizes(struct rte_mbuf *const *mbufs, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += mbufs[i]->pkt_len;
	return sum;
}

/* What the device does not take after TX_TRIES is dropped: the wire is full, waiting helps not. */
static void
flush_queue(struct worker *w, struct worker_queue *q)
{
	uint64_t *counters = w->pipeline.counters;
	uint64_t size = sum_sizes(q->mbufs, q->n_mbufs); /* sent ones are no longer ours */
	unsigned n_sent = 0;

	for (unsigned i = 0; i < TX_TRIES && n_sent < q->n_mbufs; i++)
		n_sent += rte_eth_tx_burst(q->port_id, w->conf.number, &q->mbufs[n_sent],
			(uint16_t)(q->n_mbufs - n_sent));
	if (n_sent < q->n_mbufs) {
		size -= sum_sizes(&q->mbufs[n_sent], q->n_mbufs - n_sent);
		count(&counters[KARMALB_COUNTER_DROP_TX_FULL], q->n_mbufs - n_sent);
		rte_pktmbuf_free_bulk(&q->mbufs[n_sent], q->n_mbufs - n_sent);
	}
	count(&counters[KARMALB_COUNTER_TX_PACKETS], n_sent);
	count(&counters[KARMALB_COUNTER_TX_BYTES], size);
	q->n_mbufs = 0;
}

/* One burst of one port, from receive to transmit.  Returns the number of packets received. */
static unsigned
forward_burst(struct worker *w, unsigned port, uint64_t now_us)
{
	struct rte_mbuf *mbufs[PIPELINE_BURST_MAX], *dropped[PIPELINE_BURST_MAX];
	struct pipeline_packet packets[PIPELINE_BURST_MAX];
	unsigned n_dropped = 0;
	unsigned n = rte_eth_rx_burst(
		w->queues[port].port_id, w->conf.number, mbufs, PIPELINE_BURST_MAX);

	if (n == 0)
		return 0;
	describe(packets, mbufs, n, (uint8_t)port);
	pipeline_burst(&w->pipeline, packets, n, now_us);
	for (unsigned i = 0; i < n; i++) {
		if (packets[i].verdict == PIPELINE_SEND)
			queue_packet(w, &packets[i], mbufs[i]);
		else
			dropped[n_dropped++] = mbufs[i];
	}
	/* Bounded by KARMALB_PORTS_MAX. */
	for (unsigned i = 0; i < w->n_ports; i++)
		if (w->queues[i].n_mbufs > 0)
			flush_queue(w, &w->queues[i]);
	if (n_dropped > 0)
		rte_pktmbuf_free_bulk(dropped, n_dropped);
	push_samples(w);
	return n;
}

/* Frames that nobody sent to us.  True: more at once. */
static bool
run_errands(struct worker *w, uint64_t now_us)
{
	struct rte_mbuf *mbufs[CRAFT_FRAMES_MAX];
	struct craft_frames frames = {0};

	if (rte_pktmbuf_alloc_bulk(w->conf.ports->pool, mbufs, CRAFT_FRAMES_MAX) == 0)
		frames.n_max = CRAFT_FRAMES_MAX;
	for (unsigned i = 0; i < frames.n_max; i++)
		frames.data[i] = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
	bool is_more = pipeline_run_errands(&w->pipeline, &frames, now_us);

	for (unsigned i = 0; i < frames.n; i++) {
		struct worker_queue *q = &w->queues[frames.ports[i]];

		mbufs[i]->data_len = frames.sizes[i];
		mbufs[i]->pkt_len = frames.sizes[i];
		q->mbufs[q->n_mbufs++] = mbufs[i];
	}
	for (unsigned i = 0; i < w->n_ports; i++)
		if (w->queues[i].n_mbufs > 0)
			flush_queue(w, &w->queues[i]);
	if (frames.n < frames.n_max)
		rte_pktmbuf_free_bulk(&mbufs[frames.n], frames.n_max - frames.n);
	return is_more;
}

static unsigned
take_turn(struct worker *w, uint64_t now_us)
{
	unsigned n = 0;

	w->pipeline.tables = snapshots_current(w->conf.snapshots);
	/*
	 * What arrives before it is known for whom would be dropped.  On an interface XDP takes
	 * nothing until then; any other device keeps its packets, files above all.
	 */
	for (unsigned i = 0; i < w->n_ports; i++)
		if (w->pipeline.tables->epoch != 0 || w->conf.ports->port[i].ifindex != 0)
			n += forward_burst(w, i, now_us);
	if (now_us >= w->tick_us) {
		w->tick_us = pipeline_tick(&w->pipeline, now_us);
		push_samples(w);
		if (errands_are_due(&w->errands) && run_errands(w, now_us))
			w->tick_us = now_us;
	}
	return n;
}
