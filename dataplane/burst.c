/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of mbufs.  Runs on a worker's lcore; no lock, no allocation, no waiting: what a device or
 * another worker does not take is counted and dropped.
 */
#include "burst.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring_elem.h>

#include "counter.h"
#include "craft.h"
#include "handover.h"
#include "ports.h"
#include "snapshot.h"
#include "worker.h"

#define TX_TRIES 4
static_assert(CRAFT_FRAMES_MAX <= PIPELINE_BURST_MAX, "room in a batch");

static inline void
count(struct worker *w, enum karmalb_worker_counter counter, uint64_t n)
{
	counter_add(&w->pipeline.counters[counter], n);
}

static void
forward(struct worker *w, struct pipeline_packet *packets, struct rte_mbuf **mbufs, unsigned n);

/* Describes an mbuf to the pipeline. */
static inline struct pipeline_packet
describe(const struct rte_mbuf *m, uint8_t port_in, bool is_handed_over)
{
	/* A chain of segments is cut to its first; no port of ours makes them. */
	return (struct pipeline_packet){
		.data = rte_pktmbuf_mtod(m, uint8_t *),
		.size = m->nb_segs == 1 ? m->data_len : 0,
		.headroom = (uint8_t)RTE_MIN(rte_pktmbuf_headroom(m), UINT8_MAX),
		.port_in = port_in,
		.is_l4_bad =
			(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD,
		.is_handed_over = is_handed_over,
	};
}

unsigned
burst_receive(struct worker *w, unsigned i, uint64_t now_us)
{
	const struct worker_queue *queue = &w->queues[i];
	struct pipeline_packet packets[PIPELINE_BURST_MAX];
	struct rte_mbuf *mbufs[PIPELINE_BURST_MAX];
	unsigned n =
		rte_eth_rx_burst(w->ports[queue->port].id, queue->queue, mbufs, PIPELINE_BURST_MAX);

	if (n == 0)
		return 0;
	/* Bounded by PIPELINE_BURST_MAX, as are all loops over a burst. */
	for (unsigned k = 0; k < n; k++)
		packets[k] = describe(mbufs[k], queue->port, false);
	pipeline_burst(&w->pipeline, packets, n, now_us);
	forward(w, packets, mbufs, n);
	return n;
}

static unsigned
take_received(struct worker *w, unsigned from, uint64_t now_us)
{
	struct handover *h = w->conf.handover;
	unsigned place = handover_place(h, HANDOVER_RECEIVED, from, w->conf.number);
	struct pipeline_packet packets[PIPELINE_BURST_MAX];
	struct rte_mbuf *mbufs[PIPELINE_BURST_MAX];
	unsigned n = handover_take(h, place, mbufs, PIPELINE_BURST_MAX);

	if (n == 0)
		return 0;
	for (unsigned k = 0; k < n; k++)
		packets[k] = describe(mbufs[k], (uint8_t)mbufs[k]->port, true);
	/* Never an older one than the other worker found them to be ours by. */
	w->pipeline.tables = snapshots_current(w->conf.snapshots);
	pipeline_burst(&w->pipeline, packets, n, now_us);
	forward(w, packets, mbufs, n);
	return n;
}

static uint64_t
sum_sizes(struct rte_mbuf *const *mbufs, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += mbufs[i]->pkt_len;
	return sum;
}

static void
drop_rest(struct worker *w, struct worker_batch *batch, unsigned n_done,
	enum karmalb_worker_counter reason)
{
	unsigned n = batch->n - n_done;

	if (n == 0)
		return;
	count(w, reason, n);
	rte_pktmbuf_free_bulk(&batch->mbufs[n_done], n);
}

/* What the device does not take after TX_TRIES is dropped: the wire is full, waiting helps not. */
static void
transmit(struct worker *w, struct worker_port *port)
{
	struct worker_batch *batch = &port->batch;
	uint64_t size = sum_sizes(batch->mbufs, batch->n); /* sent ones are no longer ours */
	unsigned n_sent = 0;

	for (unsigned i = 0; i < TX_TRIES && n_sent < batch->n; i++)
		n_sent += rte_eth_tx_burst(port->id, port->queue, &batch->mbufs[n_sent],
			(uint16_t)(batch->n - n_sent));
	size -= sum_sizes(&batch->mbufs[n_sent], batch->n - n_sent);
	drop_rest(w, batch, n_sent, KARMALB_COUNTER_DROP_TX_FULL);
	count(w, KARMALB_COUNTER_TX_PACKETS, n_sent);
	count(w, KARMALB_COUNTER_TX_BYTES, size);
	batch->n = 0;
}

/* The queue is another worker's: let that transmit. */
static void
hand_on(struct worker *w, struct worker_port *port)
{
	struct handover *h = w->conf.handover;
	unsigned place = handover_place(h, HANDOVER_FINISHED, w->conf.number, port->owner);
	unsigned n_put = handover_put(h, place, port->batch.mbufs, port->batch.n);

	count(w, KARMALB_COUNTER_TX_HANDED_OVER, n_put);
	drop_rest(w, &port->batch, n_put, KARMALB_COUNTER_DROP_TX_HANDOVER_FULL);
	port->batch.n = 0;
}

static void
flush_ports(struct worker *w)
{
	/* Bounded by KARMALB_PORTS_MAX. */
	for (unsigned i = 0; i < w->n_ports; i++) {
		struct worker_port *port = &w->ports[i];

		if (port->batch.n == 0)
			continue;
		if (port->owner == w->conf.number)
			transmit(w, port);
		else
			hand_on(w, port);
	}
}

/* Packets of other workers' flows; the pipeline has not counted them. */
static void
hand_over(struct worker *w)
{
	struct handover *h = w->conf.handover;

	/* Bounded by KARMALB_WORKERS_MAX. */
	for (unsigned to = 0; to < h->n_workers; to++) {
		struct worker_batch *batch = &w->batches[to];

		if (batch->n == 0)
			continue;
		unsigned place = handover_place(h, HANDOVER_RECEIVED, w->conf.number, to);
		unsigned n_put = handover_put(h, place, batch->mbufs, batch->n);

		count(w, KARMALB_COUNTER_HANDED_OVER, n_put);
		if (n_put < batch->n) {
			count(w, KARMALB_COUNTER_RX_PACKETS, batch->n - n_put);
			count(w, KARMALB_COUNTER_RX_BYTES,
				sum_sizes(&batch->mbufs[n_put], batch->n - n_put));
			drop_rest(w, batch, n_put, KARMALB_COUNTER_DROP_HANDOVER_FULL);
		}
		batch->n = 0;
	}
}

static inline void
add_to(struct worker_batch *batch, struct rte_mbuf *m)
{
	batch->mbufs[batch->n++] = m; /* a whole burst has room */
}

/* Puts a finished packet to the others of its port. */
static inline void
add_finished(struct worker *w, const struct pipeline_packet *p, struct rte_mbuf *m)
{
	m->data_off = (uint16_t)(p->data - (uint8_t *)m->buf_addr); /* VLAN tags came or went */
	m->data_len = p->size_out;
	m->pkt_len = p->size_out;
	m->ol_flags = 0;
	m->port = p->port_out;
	add_to(&w->ports[p->port_out].batch, m);
}

/* From the verdicts on. */
static void
forward(struct worker *w, struct pipeline_packet *packets, struct rte_mbuf **mbufs, unsigned n)
{
	struct rte_mbuf *dropped[PIPELINE_BURST_MAX];
	unsigned n_dropped = 0, n_others = 0;

	for (unsigned i = 0; i < n; i++) {
		if (packets[i].verdict == PIPELINE_SEND) {
			add_finished(w, &packets[i], mbufs[i]);
		} else if (packets[i].verdict == PIPELINE_DROP) {
			dropped[n_dropped++] = mbufs[i];
		} else {
			mbufs[i]->port = packets[i].port_in;
			add_to(&w->batches[packets[i].owner], mbufs[i]);
			n_others++;
		}
	}
	if (n_others > 0)
		hand_over(w);
	flush_ports(w);
	if (n_dropped > 0)
		rte_pktmbuf_free_bulk(dropped, n_dropped);
	burst_push_samples(w);
}

unsigned
burst_take_over(struct worker *w, unsigned from, uint64_t now_us)
{
	struct handover *h = w->conf.handover;
	unsigned place = handover_place(h, HANDOVER_FINISHED, from, w->conf.number);
	struct rte_mbuf *mbufs[PIPELINE_BURST_MAX];
	unsigned n = handover_take(h, place, mbufs, PIPELINE_BURST_MAX);

	for (unsigned i = 0; i < n; i++)
		add_to(&w->ports[mbufs[i]->port].batch, mbufs[i]);
	if (n > 0)
		flush_ports(w);
	return n + take_received(w, from, now_us);
}

bool
burst_run_errands(struct worker *w, uint64_t now_us)
{
	struct rte_mbuf *mbufs[CRAFT_FRAMES_MAX];
	struct craft_frames frames = {0};

	if (rte_pktmbuf_alloc_bulk(w->conf.ports->pool, mbufs, CRAFT_FRAMES_MAX) == 0)
		frames.n_max = CRAFT_FRAMES_MAX;
	for (unsigned i = 0; i < frames.n_max; i++)
		frames.data[i] = rte_pktmbuf_mtod(mbufs[i], uint8_t *);
	bool is_more = pipeline_run_errands(&w->pipeline, &frames, now_us);

	for (unsigned i = 0; i < frames.n; i++) {
		mbufs[i]->data_len = frames.sizes[i];
		mbufs[i]->pkt_len = frames.sizes[i];
		mbufs[i]->port = frames.ports[i];
		add_to(&w->ports[frames.ports[i]].batch, mbufs[i]);
	}
	flush_ports(w);
	if (frames.n < frames.n_max)
		rte_pktmbuf_free_bulk(&mbufs[frames.n], frames.n_max - frames.n);
	burst_push_samples(w);
	return is_more;
}

void
burst_push_samples(struct worker *w)
{
	unsigned n = w->pipeline.n_samples;

	if (n == 0)
		return;
	unsigned n_pushed = rte_ring_sp_enqueue_burst_elem(
		w->samples, w->pushed, sizeof(w->pushed[0]), n, NULL);

	if (n_pushed < n)
		count(w, KARMALB_COUNTER_SAMPLES_LOST, n - n_pushed);
	w->pipeline.n_samples = 0;
	doorbell_ring(w->conf.sample_bell);
}
