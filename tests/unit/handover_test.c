/* SPDX-License-Identifier: BSD-3-Clause */
/* The rings between workers; packets here are numbers where a pointer would be. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "handover.h"
#include "suite.h"

#define WORKERS   3
#define N_PACKETS 400000u /* of each pair */

static struct handover h;
static struct doorbell bells[KARMALB_WORKERS_MAX];
static atomic_uint n_missing; /* that no worker has taken yet */

static void
open_all(unsigned n_workers)
{
	struct err err;

	ck_assert_int_eq(handover_open(&h, n_workers, &err), 0);
	for (unsigned w = 0; w < n_workers; w++) {
		ck_assert_int_eq(doorbell_open(&bells[w]), 0);
		h.bells[w] = &bells[w];
	}
}

/* Rings are empty, so nothing that is no packet gets freed. */
static void
close_all(unsigned n_workers)
{
	for (unsigned w = 0; w < n_workers; w++)
		doorbell_close(&bells[w]);
	handover_close(&h);
}

static struct rte_mbuf *
packet(uintptr_t number)
{
	return (struct rte_mbuf *)number;
}

/* One worker's thread: sends its numbers to each other worker in order, takes theirs, sleeps. */
struct party {
	pthread_t thread;
	unsigned number;
	uintptr_t sent[WORKERS], got[WORKERS];
	bool is_out_of_order;
};

static bool
send_some(struct party *p, unsigned to)
{
	struct rte_mbuf *mbufs[32];
	unsigned n = 0;

	while (n < 32 && p->sent[to] + n < N_PACKETS) {
		mbufs[n] = packet(p->sent[to] + n + 1);
		n++;
	}
	n = n == 0 ? 0
		   : handover_put(
			     &h, handover_place(&h, HANDOVER_RECEIVED, p->number, to), mbufs, n);
	p->sent[to] += n;
	return n > 0;
}

static bool
take_some(struct party *p, unsigned from)
{
	struct rte_mbuf *mbufs[64];
	unsigned n = handover_take(
		&h, handover_place(&h, HANDOVER_RECEIVED, from, p->number), mbufs, 64);

	for (unsigned i = 0; i < n; i++)
		if (mbufs[i] != packet(++p->got[from]))
			p->is_out_of_order = true;
	atomic_fetch_sub(&n_missing, n);
	return n > 0;
}

static bool
has_sent_all(const struct party *p)
{
	for (unsigned to = 0; to < WORKERS; to++)
		if (to != p->number && p->sent[to] < N_PACKETS)
			return false;
	return true;
}

static void *
take_part(void *context)
{
	struct party *p = context;

	while (atomic_load(&n_missing) > 0) {
		bool is_busy = false;

		for (unsigned other = 0; other < WORKERS; other++) {
			if (other == p->number)
				continue;
			is_busy |= send_some(p, other);
			is_busy |= take_some(p, other);
		}
		if (is_busy)
			continue;
		if (!has_sent_all(p)) {
			sched_yield(); /* somebody's ring is full */
			continue;
		}
		/* As a worker sleeps; without an end a lost waking hangs this test. */
		struct pollfd fd = {.fd = bells[p->number].fd, .events = POLLIN};

		doorbell_arm(&bells[p->number]);
		if (!handover_has_work(&h, p->number) && atomic_load(&n_missing) > 0)
			poll(&fd, 1, -1);
		doorbell_disarm(&bells[p->number]);
	}
	for (unsigned w = 0; w < WORKERS; w++)
		doorbell_ring(&bells[w]);
	return NULL;
}

START_TEST(packets_of_a_pair_keep_their_order_and_wake_who_sleeps)
{
	static struct party parties[WORKERS];

	open_all(WORKERS);
	atomic_init(&n_missing, WORKERS * (WORKERS - 1) * N_PACKETS);
	for (unsigned w = 0; w < WORKERS; w++) {
		parties[w].number = w;
		ck_assert_int_eq(
			pthread_create(&parties[w].thread, NULL, take_part, &parties[w]), 0);
	}
	for (unsigned w = 0; w < WORKERS; w++)
		pthread_join(parties[w].thread, NULL);
	for (unsigned w = 0; w < WORKERS; w++) {
		ck_assert(!parties[w].is_out_of_order);
		for (unsigned from = 0; from < WORKERS; from++)
			ck_assert_uint_eq(parties[w].got[from], from == w ? 0 : N_PACKETS);
		ck_assert(!handover_has_work(&h, w));
	}
	close_all(WORKERS);
}
END_TEST

START_TEST(full_ring_takes_no_more_and_holds_up_no_other)
{
	struct rte_mbuf *mbufs[HANDOVER_SUM], *mbuf;

	open_all(4);
	unsigned capacity = handover_ring_size(4) - 1;
	unsigned full = handover_place(&h, HANDOVER_FINISHED, 2, 0);

	for (unsigned i = 0; i < HANDOVER_SUM; i++)
		mbufs[i] = packet(i + 1);
	ck_assert_uint_eq(handover_put(&h, full, mbufs, HANDOVER_SUM), capacity);
	ck_assert_uint_eq(handover_put(&h, full, mbufs, 1), 0);
	for (unsigned from = 0; from < 4; from++)
		for (unsigned to = 0; to < 4; to++) {
			unsigned other = handover_place(&h, HANDOVER_RECEIVED, from, to);

			if (from == to)
				continue;
			ck_assert_uint_eq(handover_put(&h, other, &mbufs[7], 1), 1);
			ck_assert(handover_has_work(&h, to));
			ck_assert_uint_eq(handover_take(&h, other, &mbuf, 1), 1);
			ck_assert_ptr_eq(mbuf, mbufs[7]);
			ck_assert(handover_has_work(&h, to) == (to == 0));
		}
	for (unsigned i = 0; i < capacity; i++) {
		ck_assert_uint_eq(handover_take(&h, full, &mbuf, 1), 1);
		ck_assert_ptr_eq(mbuf, mbufs[i]);
	}
	close_all(4);
}
END_TEST

START_TEST(rings_are_none_for_one_and_bounded_for_many)
{
	open_all(1);
	ck_assert_ptr_null(h.rings);
	ck_assert(!handover_has_work(&h, 0));
	close_all(1);
	ck_assert_uint_eq(handover_n_buffers(1), 0);
	for (unsigned n = 2; n <= KARMALB_WORKERS_MAX; n++) {
		unsigned size = handover_ring_size(n);

		ck_assert_uint_eq(size & (size - 1), 0);
		ck_assert_uint_ge(size, HANDOVER_MIN);
		ck_assert(size == HANDOVER_MIN || size * (n - 1) <= HANDOVER_SUM);
		ck_assert_uint_eq(handover_n_buffers(n), 2 * n * (n - 1) * size);
	}
	open_all(KARMALB_WORKERS_MAX);
	close_all(KARMALB_WORKERS_MAX);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {packets_of_a_pair_keep_their_order_and_wake_who_sleeps,
		full_ring_takes_no_more_and_holds_up_no_other,
		rings_are_none_for_one_and_bounded_for_many, NULL};

	return suite_run("handover", tests);
}
