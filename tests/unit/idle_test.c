/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "doorbell.h"
#include "idle.h"

static struct doorbell bell;
static struct idle idle;

static void
set_up(void)
{
	ck_assert_int_eq(doorbell_open(&bell), 0);
}

static void
tear_down(void)
{
	doorbell_close(&bell);
}

static int
own_nice(void)
{
	errno = 0;
	int nice_now = getpriority(PRIO_PROCESS, 0);

	ck_assert_int_eq(errno, 0);
	return nice_now;
}

/* Whether a process like this one may do what a worker wants to. */
static bool
may_hurry(void)
{
	int before = own_nice();
	bool may = setpriority(PRIO_PROCESS, 0, IDLE_NICE) == 0;

	if (may)
		ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, before), 0);
	return may;
}

START_TEST(sleeping_worker_goes_before_others_where_it_may)
{
	int before = own_nice();
	int expected = may_hurry() ? IDLE_NICE : before;

	idle_init(&idle, &bell, 20, false);
	ck_assert_int_eq(own_nice(), expected);
}
END_TEST

START_TEST(spinning_worker_leaves_room_for_others)
{
	int before = own_nice();

	idle_init(&idle, &bell, 20, true);
	ck_assert_int_eq(own_nice(), before);
	ck_assert(!idle_is_due(&idle, UINT64_MAX));
}
END_TEST

START_TEST(sleep_is_due_after_the_spinning_time)
{
	idle_init(&idle, &bell, 20, false);
	idle_note_packets(&idle, 1000);
	ck_assert(!idle_is_due(&idle, 1019));
	ck_assert(idle_is_due(&idle, 1020));
}
END_TEST

START_TEST(sleep_ends_at_its_time)
{
	idle_init(&idle, &bell, 20, false);
	uint64_t now_us = karmalb_now_us();

	idle_block(&idle, now_us, now_us + 3000);
	ck_assert_uint_ge(karmalb_now_us(), now_us + 3000);
}
END_TEST

/* The limit is an hour: only the bell ends it. */
START_TEST(bell_ends_a_sleep)
{
	idle_init(&idle, &bell, 20, false);
	doorbell_arm(&bell);
	doorbell_ring(&bell);
	uint64_t now_us = karmalb_now_us();

	idle_block(&idle, now_us, now_us + KARMALB_MINUTE * 60);
	doorbell_disarm(&bell);
}
END_TEST

START_TEST(device_without_descriptor_leaves_naps)
{
	idle_init(&idle, &bell, 20, false);
	idle_watch(&idle, -1);
	uint64_t now_us = karmalb_now_us();

	idle_block(&idle, now_us, now_us + KARMALB_MINUTE * 60);
	ck_assert_uint_ge(karmalb_now_us(), now_us + IDLE_NAP_US);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {sleeping_worker_goes_before_others_where_it_may,
		spinning_worker_leaves_room_for_others, sleep_is_due_after_the_spinning_time,
		sleep_ends_at_its_time, bell_ends_a_sleep, device_without_descriptor_leaves_naps};
	TCase *tcase = tcase_create("idle");
	Suite *suite = suite_create("idle");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
