/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <check.h>

#include "snapshot.h"

#define N_WORKERS   2
#define N_SNAPSHOTS 2000

static struct snapshots snapshots;
static struct err err;

static struct tables *
make(uint32_t epoch)
{
	struct tables *t = calloc(1, sizeof(*t));

	ck_assert_ptr_nonnull(t);
	t->epoch = epoch;
	t->n_services = (uint16_t)epoch; /* twice the same: a torn or freed one shows */
	return t;
}

static void
set_up(void)
{
	ck_assert_int_eq(snapshots_open(&snapshots, N_WORKERS, make(0), &err), 0);
	for (unsigned i = 0; i < N_WORKERS; i++) {
		rte_rcu_qsbr_thread_register(snapshots.rcu, i);
		rte_rcu_qsbr_thread_online(snapshots.rcu, i);
	}
}

static void
tear_down(void)
{
	snapshots_close(&snapshots);
}

static void
pass(unsigned worker)
{
	rte_rcu_qsbr_quiescent(snapshots.rcu, worker);
}

START_TEST(snapshot_is_in_force_only_when_every_worker_passed)
{
	ck_assert(snapshots_settle(&snapshots));
	ck_assert_int_eq(snapshots_publish(&snapshots, make(1)), 0);
	ck_assert_uint_eq(snapshots_current(&snapshots)->epoch, 1);
	ck_assert(!snapshots_settle(&snapshots));
	pass(0);
	ck_assert(!snapshots_settle(&snapshots));
	pass(1);
	ck_assert(snapshots_settle(&snapshots));
}
END_TEST

START_TEST(sleeping_worker_holds_nothing_up)
{
	rte_rcu_qsbr_thread_offline(snapshots.rcu, 0);
	ck_assert_int_eq(snapshots_publish(&snapshots, make(1)), 0);
	pass(1);
	ck_assert(snapshots_settle(&snapshots));
	rte_rcu_qsbr_thread_online(snapshots.rcu, 0);
	ck_assert_uint_eq(snapshots_current(&snapshots)->epoch, 1);
}
END_TEST

START_TEST(too_many_that_wait_are_refused_and_nothing_is_lost)
{
	for (uint32_t i = 1; i <= SNAPSHOTS_PENDING_MAX; i++)
		ck_assert_int_eq(snapshots_publish(&snapshots, make(i)), 0);
	struct tables *more = make(99);

	ck_assert_int_eq(snapshots_publish(&snapshots, more), -EBUSY);
	ck_assert_uint_eq(snapshots_current(&snapshots)->epoch, SNAPSHOTS_PENDING_MAX);
	pass(0);
	pass(1);
	ck_assert_int_eq(snapshots_publish(&snapshots, more), 0);
	ck_assert_uint_eq(snapshots_current(&snapshots)->epoch, 99);
}
END_TEST

struct reader {
	unsigned worker;
	atomic_bool *is_done;
	unsigned n_wrong;
};

static void *
read_all_the_time(void *context)
{
	struct reader *r = context;
	uint32_t last = 0;

	while (!atomic_load(r->is_done)) {
		const struct tables *t = snapshots_current(&snapshots);

		r->n_wrong += t->epoch < last || t->n_services != (uint16_t)t->epoch;
		last = t->epoch;
		pass(r->worker);
		if (last % 8 == r->worker) { /* a sleep now and then */
			rte_rcu_qsbr_thread_offline(snapshots.rcu, r->worker);
			sched_yield();
			rte_rcu_qsbr_thread_online(snapshots.rcu, r->worker);
		}
	}
	rte_rcu_qsbr_thread_offline(snapshots.rcu, r->worker);
	return NULL;
}

/* Under the address sanitizer this tells of each snapshot that went too early. */
START_TEST(workers_never_see_a_snapshot_that_is_gone)
{
	atomic_bool is_done = false;
	struct reader readers[N_WORKERS];
	pthread_t threads[N_WORKERS];

	for (unsigned i = 0; i < N_WORKERS; i++) {
		readers[i] = (struct reader){i, &is_done, 0};
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, read_all_the_time, &readers[i]), 0);
	}
	for (uint32_t i = 1; i <= N_SNAPSHOTS; i++) {
		struct tables *t = make(i);

		while (snapshots_publish(&snapshots, t) == -EBUSY)
			sched_yield();
	}
	atomic_store(&is_done, true);
	for (unsigned i = 0; i < N_WORKERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(readers[i].n_wrong, 0);
	}
	ck_assert(snapshots_settle(&snapshots));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tc = tcase_create("snapshot");

	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, snapshot_is_in_force_only_when_every_worker_passed);
	tcase_add_test(tc, sleeping_worker_holds_nothing_up);
	tcase_add_test(tc, too_many_that_wait_are_refused_and_nothing_is_lost);
	tcase_add_test(tc, workers_never_see_a_snapshot_that_is_gone);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
