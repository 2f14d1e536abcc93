/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Worker 1 of two, with what reaches it from worker 0 put into the rings here, at moments that two
 * running workers meet once in a million turns.
 */
#include <sched.h>
#include <string.h>

#include <rte_mbuf.h>

#include <karmalb/clock.h>

#include "burst.h"
#include "datagrams.h"
#include "idle.h"
#include "ring_world.h"
#include "suite.h"
#include "totals.h"
#include "worker.h"

#define PATIENCE_US (100 * KARMALB_SECOND)
#define FIRST_UDP   RING_WORLD_N_MIRRORS /* slots of that service: this one and those after it */
#define N_DATAGRAMS (2 * RING_WORLD_N_MIRRORS)

static struct ring_world world;
static struct rte_mbuf *_Atomic late; /* to be put in when the worker looks for the last time */
static atomic_bool was_armed;         /* whoever came after that would have woken it */
static atomic_uint n_slept_over;      /* times that it went to sleep with work waiting */

/* The linker gives the worker the wrapped ones for its own. */
bool
__real_handover_has_work(const struct handover *h, unsigned to);
bool
__wrap_handover_has_work(const struct handover *h, unsigned to);
void
__real_idle_block(struct idle *idle, uint64_t now_us, uint64_t until_us);
void
__wrap_idle_block(struct idle *idle, uint64_t now_us, uint64_t until_us);

static struct rte_ring *
ring_to_worker(void)
{
	struct handover *h = &world.instance.handover;

	return h->rings[handover_place(h, HANDOVER_RECEIVED, 0, 1)];
}

/* Without a ring of the doorbell: that is only heard when it comes after the arming. */
bool
__wrap_handover_has_work(const struct handover *h, unsigned to)
{
	struct rte_mbuf *mbuf = atomic_exchange(&late, NULL);

	if (mbuf != NULL) {
		atomic_store(&was_armed, atomic_load(&world.instance.workers[to].bell.is_armed));
		ck_assert_int_eq(rte_ring_sp_enqueue(ring_to_worker(), mbuf), 0);
	}
	return __real_handover_has_work(h, to);
}

void
__wrap_idle_block(struct idle *idle, uint64_t now_us, uint64_t until_us)
{
	if (!rte_ring_empty(ring_to_worker()))
		atomic_fetch_add(&n_slept_over, 1);
	__real_idle_block(idle, now_us, until_us);
}

static struct rte_mbuf *
new_datagram(unsigned client)
{
	uint8_t frame[FRAME_MAX];
	const struct datagram d = {
		.source = FIXTURE_CLIENT + client,
		.destination = RING_WORLD_VIP,
		.source_port = 4000,
		.destination_port = 53,
		.payload_size = 4,
	};
	unsigned size = datagram_build(frame, &d);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(world.instance.ports.pool);

	ck_assert_ptr_nonnull(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size), frame, size);
	mbuf->port = 0;
	return mbuf;
}

static void
start(void)
{
	atomic_store(&late, NULL);
	atomic_store(&was_armed, false);
	atomic_store(&n_slept_over, 0);
	ring_world_open(
		&world, &(struct ring_world_conf){.n_workers = 2, .n_ports = 1, .n_queues = 2});
}

START_TEST(packet_that_comes_while_a_worker_falls_asleep_is_not_slept_over)
{
	uint64_t began_us = karmalb_now_us();
	uint8_t frame[RING_WORLD_FRAME_MAX];
	unsigned size;

	start();
	atomic_store(&late, new_datagram(0));
	ring_world_launch(&world, 1);
	while ((size = ring_world_take(&world, 0, 1, frame)) == 0) {
		if (karmalb_now_us() - began_us > PATIENCE_US)
			ck_abort_msg("the packet does not come out");
		sched_yield();
	}
	ck_assert_uint_eq(datagram_read(frame, size).destination_port, 5353);
	ring_world_stop(&world);
	ck_assert(atomic_load(&was_armed));
	ck_assert_uint_eq(atomic_load(&n_slept_over), 0);
	ring_world_close(&world);
}
END_TEST

/* Worker 1's turn, from the packets of worker 0 on, in this thread. */
static void
take_over(unsigned n)
{
	ck_assert_uint_eq(burst_take_over(&world.instance.workers[1], 0, karmalb_now_us()), n);
}

START_TEST(handed_over_packet_meets_no_older_snapshot_than_its_finder_had)
{
	start();
	struct worker *worker = &world.instance.workers[1];

	worker->pipeline.tables = snapshots_current(&world.instance.snapshots); /* of its turn */
	uint32_t former = worker->pipeline.tables->epoch;

	ring_world_change(&world);
	ck_assert_int_eq(rte_ring_sp_enqueue(ring_to_worker(), new_datagram(0)), 0);
	take_over(1);
	ck_assert_uint_eq(worker->flows.records[0].state, FLOW_DATAGRAM_SENT);
	ck_assert_uint_eq(worker->flows.records[0].epoch, former + 1);
	ring_world_close(&world);
}
END_TEST

/* As control does when a slot's life ends: counters and totals together. */
static void
forget(uint16_t slot)
{
	totals_reset(world.instance.totals, slot);
	for (unsigned w = 0; w < world.conf.n_workers; w++)
		worker_forget_slot(&world.instance.workers[w], slot);
}

START_TEST(forgotten_slot_counts_from_nothing_and_its_neighbours_go_on)
{
	const uint16_t forgotten = FIRST_UDP + 1;

	start();
	for (unsigned i = 0; i < N_DATAGRAMS; i++)
		ck_assert_int_eq(rte_ring_sp_enqueue(ring_to_worker(), new_datagram(i)), 0);
	take_over(N_DATAGRAMS); /* the mirrors take turns */
	forget(forgotten);
	ring_world_collect(&world);
	for (uint16_t slot = FIRST_UDP; slot < FIRST_UDP + RING_WORLD_N_MIRRORS; slot++) {
		const struct karmalb_slot_totals *t = totals_slot(world.instance.totals, slot);
		unsigned n = slot == forgotten ? 0 : N_DATAGRAMS / RING_WORLD_N_MIRRORS;

		ck_assert_uint_eq(t->opened, n);
		ck_assert_uint_eq(t->to_mirror_packets, n);
		ck_assert_uint_eq(t->n_waiting, n);
	}
	ring_world_close(&world);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {packet_that_comes_while_a_worker_falls_asleep_is_not_slept_over,
		handed_over_packet_meets_no_older_snapshot_than_its_finder_had,
		forgotten_slot_counts_from_nothing_and_its_neighbours_go_on, NULL};

	return suite_run("worker", tests);
}
