/* SPDX-License-Identifier: BSD-3-Clause */
/* P1 .. P4 as documented, on a clock that the test moves.  P5 (one ping clears) is decided
 * otherwise in health. */
#include <stdlib.h>

#include <check.h>

#include <karmalb/clock.h>

#include "ping_schedule.h"

#define MS KARMALB_MILLISECOND

/* Runs 10 s from a start at 0 with a ping that fails after 'takes_us'; notes when pings ended. */
static unsigned
run(struct ping_schedule *s, uint64_t takes_us, uint64_t *ends_us)
{
	uint64_t end_us = 0;
	unsigned n = 0;

	for (uint64_t now_us = 0; now_us <= 10 * KARMALB_SECOND; now_us += MS) {
		if (now_us >= ping_schedule_due_us(s, false)) {
			ping_schedule_begin(s);
			end_us = now_us + takes_us;
		}
		if (s->is_running && now_us >= end_us) {
			ping_schedule_end(s, now_us);
			ends_us[n++] = now_us;
		}
	}
	return n;
}

START_TEST(a_refused_ping_is_repeated_every_interval) /* P1 */
{
	struct ping_schedule s;
	uint64_t ends_us[20];

	ping_schedule_init(&s, 1000 * MS, 0);
	ck_assert_uint_ge(run(&s, 0, ends_us), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(ends_us[i], (i + 1) * 1000 * MS);
}
END_TEST

START_TEST(a_silent_host_costs_two_intervals_a_ping) /* P2 */
{
	struct ping_schedule s;
	uint64_t ends_us[20];

	ping_schedule_init(&s, 1000 * MS, 0);
	ck_assert_uint_ge(run(&s, 1000 * MS, ends_us), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(ends_us[i], (i + 1) * 2000 * MS);
}
END_TEST

START_TEST(traffic_keeps_pings_away) /* P3 */
{
	struct ping_schedule s;

	ping_schedule_init(&s, 1000 * MS, 0);
	for (uint64_t now_us = 0; now_us < 60 * KARMALB_SECOND; now_us += MS) {
		if (now_us % (900 * MS) == 0)
			ping_schedule_query(&s, now_us);
		ck_assert_uint_gt(ping_schedule_due_us(&s, false), now_us);
	}
}
END_TEST

START_TEST(interval_zero_is_off) /* P4 */
{
	struct ping_schedule s;

	ping_schedule_init(&s, 0, 0);
	ping_schedule_query(&s, 5);
	ck_assert_uint_eq(ping_schedule_due_us(&s, false), UINT64_MAX);
	ck_assert_uint_eq(ping_schedule_due_us(&s, true), UINT64_MAX);
}
END_TEST

START_TEST(a_dead_mirror_is_pinged_in_spite_of_old_connections)
{
	struct ping_schedule s;

	ping_schedule_init(&s, 1000 * MS, 0);
	ping_schedule_query(&s, 5000 * MS);
	ck_assert_uint_eq(ping_schedule_due_us(&s, false), 6000 * MS);
	ck_assert_uint_eq(ping_schedule_due_us(&s, true), 1000 * MS);
	ping_schedule_begin(&s);
	ping_schedule_end(&s, 5000 * MS);
	ck_assert_uint_eq(ping_schedule_due_us(&s, true), 6000 * MS);
}
END_TEST

START_TEST(one_ping_at_a_time)
{
	struct ping_schedule s;

	ping_schedule_init(&s, 1000 * MS, 0);
	ping_schedule_begin(&s);
	ck_assert_uint_eq(ping_schedule_due_us(&s, true), UINT64_MAX);
}
END_TEST

START_TEST(old_news_does_not_move_the_schedule)
{
	struct ping_schedule s;

	ping_schedule_init(&s, 1000 * MS, 0);
	ping_schedule_query(&s, 3000 * MS);
	ping_schedule_query(&s, 2000 * MS);
	ck_assert_uint_eq(ping_schedule_due_us(&s, false), 4000 * MS);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("ping_schedule");
	TCase *tc = tcase_create("idle rule");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_refused_ping_is_repeated_every_interval);
	tcase_add_test(tc, a_silent_host_costs_two_intervals_a_ping);
	tcase_add_test(tc, traffic_keeps_pings_away);
	tcase_add_test(tc, interval_zero_is_off);
	tcase_add_test(tc, a_dead_mirror_is_pinged_in_spite_of_old_connections);
	tcase_add_test(tc, one_ping_at_a_time);
	tcase_add_test(tc, old_news_does_not_move_the_schedule);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
