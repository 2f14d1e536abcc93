/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/clock.h>

#include "totals.h"

#define SLOT 7
/* Beyond the point at which the samples' 32-bit stamps have wrapped. */
#define NOW_US ((UINT64_C(5) << 32) + 1000)

static struct totals *totals;
static struct slot_counters counters[2][SLOT + 1];
static const struct slot_counters *const workers[2] = {counters[0], counters[1]};

static void
set_up(void)
{
	memset(counters, 0, sizeof(counters));
	totals = totals_create();
	ck_assert_ptr_nonnull(totals);
	totals_reset(totals, SLOT);
}

static void
tear_down(void)
{
	totals_free(totals);
}

static struct sample
sample(enum sample_kind kind, uint64_t at_us, uint32_t latency_us)
{
	return (struct sample){
		.kind = kind,
		.slot = SLOT,
		.at_us = (uint32_t)at_us,
		.latency_us = latency_us,
		.outcome = KARMALB_OUTCOME_CONNECT_TIMEOUTS,
	};
}

static void
add(const struct sample *samples, unsigned n_samples)
{
	struct totals_batch batch = {.samples = samples, .n_samples = n_samples};

	totals_add_samples(totals, &batch, 1, NOW_US);
	ck_assert_uint_eq(batch.n_samples, 0);
}

static void
add_one(enum sample_kind kind)
{
	struct sample s = sample(kind, NOW_US - 10, 5);

	add(&s, 1);
}

static void
read_counters(uint64_t now_us)
{
	struct totals_reading r = {workers, 2, now_us, now_us - 3};

	totals_add_counters(totals, SLOT, &r);
}

START_TEST(row_grows_with_failures_and_ends_with_a_success)
{
	const struct karmalb_slot_totals *t = totals_slot(totals, SLOT);

	for (unsigned i = 0; i < 5; i++)
		add_one(SAMPLE_FAILURE);
	ck_assert_uint_eq(t->errors_in_row, 5);
	ck_assert_uint_eq(t->last_error, KARMALB_OUTCOME_CONNECT_TIMEOUTS);
	ck_assert_uint_eq(t->last_error_us, NOW_US - 10);
	add_one(SAMPLE_QUERY);
	ck_assert_uint_eq(t->errors_in_row, 0);
	ck_assert_uint_eq(t->row_began_us, 0);
	ck_assert_uint_eq(t->last_success_us, NOW_US - 10);
	ck_assert_uint_eq(t->last_error_us, NOW_US - 10);
}
END_TEST

START_TEST(greeting_is_a_success_without_latency)
{
	add_one(SAMPLE_FAILURE);
	add_one(SAMPLE_GREETING);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 0);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->query.count, 0);
}
END_TEST

START_TEST(handshake_alone_proves_nothing)
{
	add_one(SAMPLE_FAILURE);
	add_one(SAMPLE_CONNECT);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 1);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->last_success_us, 0);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->connect.count, 1);
}
END_TEST

START_TEST(a_warning_neither_adds_to_a_row_nor_ends_it) /* D6, ours: 3 */
{
	struct sample warned = sample(SAMPLE_QUERY, NOW_US, 9);

	for (unsigned i = 0; i < 3; i++)
		add_one(SAMPLE_FAILURE);
	warned.outcome = KARMALB_OUTCOME_WARNINGS;
	add(&warned, 1);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 3);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->last_success_us, NOW_US);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->query.count, 1);
}
END_TEST

START_TEST(samples_of_several_workers_count_in_the_order_of_observation)
{
	/* Observed: failure 10, success 20, failure 30, failure 40; the clock wraps in between. */
	uint64_t base = (UINT64_C(5) << 32) - 25;
	struct sample one[] = {
		sample(SAMPLE_FAILURE, base + 10, 0), sample(SAMPLE_FAILURE, base + 40, 0)};
	struct sample two[] = {
		sample(SAMPLE_QUERY, base + 20, 9), sample(SAMPLE_FAILURE, base + 30, 0)};
	struct totals_batch batches[] = {
		{.samples = one, .n_samples = 2}, {.samples = two, .n_samples = 2}};

	totals_add_samples(totals, batches, 2, NOW_US);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 2);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->row_began_us, base + 30);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->last_success_us, base + 20);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->last_error_us, base + 40);
}
END_TEST

/* A ring that gives one sample at a time; 'arg' is one behind the last. */
static void
refill_one(struct totals_batch *batch, void *arg)
{
	if (batch->samples < (const struct sample *)arg)
		batch->n_samples = 1;
}

/* A busy worker's batch spans less time than an idle one's. */
START_TEST(what_follows_a_batch_is_merged_too)
{
	struct sample busy[] = {sample(SAMPLE_QUERY, NOW_US - 50, 1),
		sample(SAMPLE_QUERY, NOW_US - 40, 1), sample(SAMPLE_QUERY, NOW_US - 30, 1)};
	struct sample idle[] = {
		sample(SAMPLE_FAILURE, NOW_US - 45, 0), sample(SAMPLE_FAILURE, NOW_US - 20, 0)};
	struct totals_batch batches[] = {
		{.samples = busy, .n_samples = 1, .refill = refill_one, .arg = busy + 3},
		{.samples = idle, .n_samples = 2}};

	totals_add_samples(totals, batches, 2, NOW_US);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->query.count, 3);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 1);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->row_began_us, NOW_US - 20);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->last_success_us, NOW_US - 30);
}
END_TEST

START_TEST(samples_of_the_same_moment_keep_their_order)
{
	struct sample s[] = {sample(SAMPLE_FAILURE, 50, 0), sample(SAMPLE_QUERY, 50, 1),
		sample(SAMPLE_FAILURE, 50, 0)};

	add(s, 3);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->errors_in_row, 1);
}
END_TEST

START_TEST(latencies_add_up_by_kind)
{
	struct sample s[] = {sample(SAMPLE_QUERY, 1, 100), sample(SAMPLE_QUERY, 2, 300),
		sample(SAMPLE_CONNECT, 3, 7), sample(SAMPLE_FAILURE, 4, 1000000)};

	add(s, 4);
	const struct karmalb_slot_totals *t = totals_slot(totals, SLOT);

	ck_assert_uint_eq(t->query.count, 2);
	ck_assert_uint_eq(t->query.sum_us, 400);
	ck_assert_uint_eq(t->query.max_us, 300);
	ck_assert_uint_eq(t->query.histogram[karmalb_histogram_bucket(100)], 1);
	ck_assert_uint_eq(t->query.histogram[karmalb_histogram_bucket(300)], 1);
	ck_assert_uint_eq(t->connect.count, 1);
	ck_assert_uint_eq(t->connect.sum_us, 7);
}
END_TEST

START_TEST(first_errors_of_a_row_are_urgent)
{
	add_one(SAMPLE_QUERY);
	ck_assert(!totals_take_urgent(totals));
	for (unsigned i = 0; i < 16; i++) {
		add_one(SAMPLE_FAILURE);
		ck_assert(totals_take_urgent(totals));
		ck_assert(totals_is_urgent(totals, SLOT));
		totals_clear_changed(totals, SLOT);
		ck_assert(!totals_is_urgent(totals, SLOT));
	}
	add_one(SAMPLE_FAILURE);
	ck_assert(!totals_take_urgent(totals));
	ck_assert(totals_is_changed(totals, SLOT));
	add_one(SAMPLE_QUERY);
	add_one(SAMPLE_FAILURE);
	ck_assert(totals_take_urgent(totals));
}
END_TEST

START_TEST(counters_are_the_sum_over_workers)
{
	counters[0][SLOT].opened = 10;
	counters[1][SLOT].opened = 5;
	counters[1][SLOT].closed = 4;
	counters[0][SLOT].to_mirror_bytes = 100;
	counters[1][SLOT].to_client_packets = 3;
	counters[0][SLOT].outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] = 6;
	counters[1][SLOT].outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] = 1;
	read_counters(NOW_US);
	read_counters(NOW_US); /* twice: totals are no sum of what was read */
	const struct karmalb_slot_totals *t = totals_slot(totals, SLOT);

	ck_assert_uint_eq(t->opened, 15);
	ck_assert_uint_eq(t->closed, 4);
	ck_assert_uint_eq(t->to_mirror_bytes, 100);
	ck_assert_uint_eq(t->to_client_packets, 3);
	ck_assert_uint_eq(t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES], 7);
	ck_assert_uint_eq(t->stamp_us, NOW_US - 3);
}
END_TEST

START_TEST(only_what_moved_is_changed)
{
	read_counters(NOW_US);
	ck_assert(!totals_is_changed(totals, SLOT));
	counters[1][SLOT].outcomes[KARMALB_OUTCOME_NETWORK_ERRORS]++;
	read_counters(NOW_US);
	ck_assert(totals_is_changed(totals, SLOT));
	totals_clear_changed(totals, SLOT);
	read_counters(NOW_US + 1);
	ck_assert(!totals_is_changed(totals, SLOT));
	add_one(SAMPLE_CONNECT);
	ck_assert(totals_is_changed(totals, SLOT));
}
END_TEST

START_TEST(waiting_queries_age_while_nothing_else_moves)
{
	counters[0][SLOT].n_waiting = 2;
	counters[0][SLOT].waiting_since_us = 2 * NOW_US - 300;
	counters[1][SLOT].n_waiting = 1;
	counters[1][SLOT].waiting_since_us = NOW_US - 50;
	read_counters(NOW_US);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->n_waiting, 3);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->waiting_age_us, 350);
	totals_clear_changed(totals, SLOT);
	read_counters(NOW_US + 10);
	ck_assert(totals_is_changed(totals, SLOT));
	ck_assert_uint_eq(totals_slot(totals, SLOT)->waiting_age_us, 380);
}
END_TEST

START_TEST(query_that_began_after_the_reading_has_no_age)
{
	counters[0][SLOT].n_waiting = 1;
	counters[0][SLOT].waiting_since_us = NOW_US + 40;
	read_counters(NOW_US);
	ck_assert_uint_eq(totals_slot(totals, SLOT)->waiting_age_us, 0);
}
END_TEST

START_TEST(unreachable_mirror_counts_on_top_of_the_workers_counters)
{
	counters[0][SLOT].outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] = 2;
	read_counters(NOW_US);
	totals_add_unreachable(totals, SLOT, NOW_US);
	read_counters(NOW_US);
	read_counters(NOW_US);
	const struct karmalb_slot_totals *t = totals_slot(totals, SLOT);

	ck_assert_uint_eq(t->outcomes[KARMALB_OUTCOME_CONNECT_FAILURES], 3);
	ck_assert_uint_eq(t->errors_in_row, 1);
	ck_assert_uint_eq(t->last_error, KARMALB_OUTCOME_CONNECT_FAILURES);
	ck_assert_uint_eq(t->row_began_us, NOW_US);
	ck_assert(totals_is_urgent(totals, SLOT));
}
END_TEST

START_TEST(new_life_of_a_slot_begins_at_zero)
{
	static struct karmalb_slot_totals fresh;

	fresh.slot = SLOT;
	fresh.header.message = KARMALB_MESSAGE_SLOT_TOTALS;
	fresh.header.version = KARMALB_PROTOCOL_VERSION;
	fresh.header.size = sizeof(fresh);
	counters[0][SLOT].opened = 9;
	add_one(SAMPLE_FAILURE);
	totals_add_unreachable(totals, SLOT, NOW_US);
	read_counters(NOW_US);
	totals_reset(totals, SLOT);
	ck_assert_mem_eq(totals_slot(totals, SLOT), &fresh, sizeof(fresh));
	ck_assert(!totals_is_changed(totals, SLOT));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("totals");
	TCase *tc = tcase_create("totals");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, row_grows_with_failures_and_ends_with_a_success);
	tcase_add_test(tc, greeting_is_a_success_without_latency);
	tcase_add_test(tc, handshake_alone_proves_nothing);
	tcase_add_test(tc, a_warning_neither_adds_to_a_row_nor_ends_it);
	tcase_add_test(tc, samples_of_several_workers_count_in_the_order_of_observation);
	tcase_add_test(tc, what_follows_a_batch_is_merged_too);
	tcase_add_test(tc, samples_of_the_same_moment_keep_their_order);
	tcase_add_test(tc, latencies_add_up_by_kind);
	tcase_add_test(tc, first_errors_of_a_row_are_urgent);
	tcase_add_test(tc, counters_are_the_sum_over_workers);
	tcase_add_test(tc, only_what_moved_is_changed);
	tcase_add_test(tc, waiting_queries_age_while_nothing_else_moves);
	tcase_add_test(tc, query_that_began_after_the_reading_has_no_age);
	tcase_add_test(tc, unreachable_mirror_counts_on_top_of_the_workers_counters);
	tcase_add_test(tc, new_life_of_a_slot_begins_at_zero);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
