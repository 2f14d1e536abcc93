/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "pending.h"

static struct pending_list list;
static unsigned n_told;
static struct balance_outcome told;
static void *told_arg;
static const struct balance_outcome outcome = {.service = "web"};
static int alice, bob;

static void
note(void *arg, const struct balance_outcome *o)
{
	n_told++;
	told_arg = arg;
	told = *o;
}

static struct pending *
ask(void *who, uint64_t now_us)
{
	const struct balance_request request = {.done = note, .arg = who};

	return pending_add(&list, &request, &outcome, now_us);
}

static void
apply(uint32_t epoch, int32_t error, const char *sentence, uint64_t at_us)
{
	struct karmalb_applied applied = {.epoch = epoch, .error = error, .applied_us = at_us};

	strcpy(applied.sentence, sentence);
	pending_applied(&list, &applied);
	pending_deliver(&list);
}

START_TEST(told_once_when_its_epoch_is_in_force)
{
	pending_await(ask(&alice, 1000), 7);
	apply(6, 0, "", 2000);
	ck_assert_uint_eq(n_told, 0);
	apply(7, 0, "", 5000);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_ptr_eq(told_arg, &alice);
	ck_assert_int_eq(told.result, BALANCE_IN_FORCE);
	ck_assert_uint_eq(told.took_us, 4000);
	ck_assert_uint_eq(told.epoch, 7);
	ck_assert_str_eq(told.sentence, "in force after 4 ms");
	ck_assert_str_eq(told.service, "web");
	apply(8, 0, "", 6000);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_ptr_null(list.first);
}
END_TEST

START_TEST(a_newer_epoch_includes_an_older_change)
{
	pending_await(ask(&alice, 0), 7);
	apply(9, 0, "", 100);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_int_eq(told.result, BALANCE_IN_FORCE);
}
END_TEST

START_TEST(what_is_odd_about_it_is_passed_on)
{
	pending_await(ask(&alice, 0), 7);
	apply(7, 0, "mirror web/m1 gets no flows: no route", 900);
	ck_assert_int_eq(told.result, BALANCE_IN_FORCE);
	ck_assert_str_eq(told.sentence,
		"in force after 1 ms; the data plane says: mirror web/m1 gets no flows: no route");
}
END_TEST

START_TEST(a_refusal_is_passed_on)
{
	pending_await(ask(&alice, 0), 7);
	apply(7, -22, "mirror web/m1 is one of our sources", 100);
	ck_assert_int_eq(told.result, BALANCE_REFUSED);
	ck_assert_str_eq(told.sentence,
		"turned down by the data plane, all is as before: mirror web/m1 is one of our sources");
}
END_TEST

START_TEST(without_a_data_plane_it_comes_later)
{
	pending_await(ask(&alice, 0), 7);
	pending_await(ask(&bob, 0), 8);
	pending_lost(&list);
	pending_deliver(&list);
	ck_assert_uint_eq(n_told, 2);
	ck_assert_int_eq(told.result, BALANCE_LATER);
}
END_TEST

START_TEST(silence_ends_after_two_seconds)
{
	pending_await(ask(&alice, 1000), 7);
	ck_assert_uint_eq(pending_wake_us(&list), 1000 + BALANCE_CHANGE_TIMEOUT_US);
	pending_expire(&list, 1000 + BALANCE_CHANGE_TIMEOUT_US - 1);
	pending_deliver(&list);
	ck_assert_uint_eq(n_told, 0);
	pending_expire(&list, 1000 + BALANCE_CHANGE_TIMEOUT_US);
	pending_deliver(&list);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_int_eq(told.result, BALANCE_TIMED_OUT);
}
END_TEST

START_TEST(what_came_too_late_is_known_once)
{
	struct karmalb_applied applied = {.epoch = 7, .applied_us = 5000000};
	uint64_t took_us = 0;

	ck_assert(!pending_came_late(&list, &applied, &took_us)); /* nobody waited */
	pending_await(ask(&alice, 1000000), 8);
	pending_await(ask(&bob, 1500000), 9);
	pending_expire(&list, 4000000);
	pending_deliver(&list);
	applied.epoch = 8;
	ck_assert(!pending_came_late(&list, &applied, &took_us)); /* the newest of them decides */
	applied.epoch = 10;
	ck_assert(pending_came_late(&list, &applied, &took_us));
	ck_assert_uint_eq(took_us, 4000000);
	ck_assert(!pending_came_late(&list, &applied, &took_us));
}
END_TEST

START_TEST(what_was_taken_back_did_not_come_late)
{
	struct karmalb_applied applied = {.epoch = 8, .applied_us = 5000000};
	uint64_t took_us;

	pending_await(ask(&alice, 0), 7);
	pending_expire(&list, BALANCE_CHANGE_TIMEOUT_US);
	pending_deliver(&list);
	pending_taken_back(&list, "no room");
	ck_assert(!pending_came_late(&list, &applied, &took_us));
}
END_TEST

START_TEST(who_is_gone_is_not_told)
{
	pending_await(ask(&alice, 0), 7);
	pending_await(ask(&bob, 0), 7);
	pending_forget(&list, &alice);
	apply(7, 0, "", 10);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_ptr_eq(told_arg, &bob);
	ck_assert_ptr_null(list.first);
}
END_TEST

START_TEST(what_waits_for_nothing_yet_is_not_settled_by_others)
{
	struct pending *p = ask(&alice, 0);

	apply(7, 0, "", 10);
	ck_assert_uint_eq(n_told, 0);
	pending_settle(p, BALANCE_UNCHANGED);
	ck_assert_uint_eq(pending_wake_us(&list), 0);
	pending_deliver(&list);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_int_eq(told.result, BALANCE_UNCHANGED);
}
END_TEST

/* Whoever is told may ask again at once. */
static void
ask_again(void *arg, const struct balance_outcome *o)
{
	note(arg, o);
	if (n_told < 5)
		pending_settle(ask(&bob, 0), BALANCE_IN_FORCE);
}

START_TEST(asking_from_within_an_answer_is_fine)
{
	const struct balance_request request = {.done = ask_again, .arg = &alice};

	pending_settle(pending_add(&list, &request, &outcome, 0), BALANCE_IN_FORCE);
	pending_deliver(&list);
	ck_assert_uint_eq(n_told, 2);
	ck_assert_ptr_null(list.first);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pending");
	TCase *tc = tcase_create("list");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, told_once_when_its_epoch_is_in_force);
	tcase_add_test(tc, a_newer_epoch_includes_an_older_change);
	tcase_add_test(tc, what_is_odd_about_it_is_passed_on);
	tcase_add_test(tc, a_refusal_is_passed_on);
	tcase_add_test(tc, without_a_data_plane_it_comes_later);
	tcase_add_test(tc, silence_ends_after_two_seconds);
	tcase_add_test(tc, what_came_too_late_is_known_once);
	tcase_add_test(tc, what_was_taken_back_did_not_come_late);
	tcase_add_test(tc, who_is_gone_is_not_told);
	tcase_add_test(tc, what_waits_for_nothing_yet_is_not_settled_by_others);
	tcase_add_test(tc, asking_from_within_an_answer_is_fine);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
