/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges: what is measured, what counts as which outcome, and who is waiting. */
#include "suite.h"
#include "talk.h"

#define MS UINT64_C(1000)

static struct fixture f;

/* A new world and an established connection in it; the connect's sample is forgotten. */
static struct talk
connected(unsigned number)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, number);

	ck_assert(talk_connect(&t, 100));
	fixture_forget(&f);
	return t;
}

static uint64_t
outcome(const struct talk *t, enum karmalb_outcome o)
{
	return f.slots[talk_slot(t)].outcomes[o];
}

static uint64_t
all_outcomes(const struct talk *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		sum += outcome(t, (enum karmalb_outcome)i);
	return sum;
}

static uint64_t
waiting(const struct talk *t)
{
	const struct slot_counters *s = &f.slots[talk_slot(t)];

	if (s->n_waiting == 0)
		ck_assert_uint_eq(s->waiting_since_us, 0);
	return s->n_waiting;
}

static uint64_t
waiting_age(const struct talk *t)
{
	const struct slot_counters *s = &f.slots[talk_slot(t)];

	return s->n_waiting * f.now_us - s->waiting_since_us;
}

START_TEST(answer_time_is_first_byte_to_first_byte)
{
	struct talk t = connected(1);

	talk_client(&t, SEG_ACK, 100);
	ck_assert_uint_eq(waiting(&t), 1);
	f.now_us += 2 * MS;
	talk_client(&t, SEG_ACK, 50); /* more of the query */
	talk_mirror(&t, SEG_ACK, 0);  /* mere acknowledgement */
	ck_assert_uint_eq(waiting_age(&t), 2 * MS);
	f.now_us += 3 * MS;
	talk_mirror(&t, SEG_ACK, 1000);
	f.now_us += 4 * MS;
	talk_mirror(&t, SEG_ACK, 1000); /* more of the answer */
	talk_client(&t, SEG_ACK, 0);
	ck_assert_uint_eq(waiting(&t), 0);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].kind, SAMPLE_QUERY);
	ck_assert_uint_eq(f.seen[0].latency_us, 5 * MS);
	ck_assert_uint_eq(f.seen[0].slot, talk_slot(&t));
	ck_assert_uint_eq(f.seen[0].epoch, 7);
	ck_assert_uint_eq(f.seen[0].at_us, (uint32_t)(f.now_us - 4 * MS));
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(each_query_of_a_connection_is_measured)
{
	struct talk t = connected(2);

	for (unsigned i = 1; i <= 50; i++) {
		talk_client(&t, SEG_ACK, 10);
		f.now_us += i * MS;
		talk_mirror(&t, SEG_ACK, 10);
		ck_assert_uint_eq(f.seen[i - 1].latency_us, i * MS);
		f.now_us += 1 * MS;
	}
	ck_assert_uint_eq(f.n_seen, 50);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 50);
	fixture_fini(&f);
}
END_TEST

/* Around the wrap of sequence numbers, too: talk_new() begins shortly before it. */
START_TEST(retransmissions_are_neither_queries_nor_answers)
{
	struct talk t = connected(3), before, old;

	before = t;
	talk_client(&t, SEG_ACK, 100);
	f.now_us += 10 * MS;
	old = before;
	talk_client(&old, SEG_ACK, 100); /* query again */
	f.now_us += 10 * MS;
	talk_mirror(&t, SEG_ACK, 500);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 20 * MS);
	/* After the answer the query's repetition is no new query. */
	old = before;
	talk_client(&old, SEG_ACK, 100);
	ck_assert_uint_eq(waiting(&t), 0);
	/* While a second query waits, the first answer's repetition is no answer. */
	old = t;
	old.mirror_seq -= 500;
	talk_client(&t, SEG_ACK, 100);
	f.now_us += 5 * MS;
	talk_mirror(&old, SEG_ACK, 500);
	ck_assert_uint_eq(waiting(&t), 1);
	f.now_us += 5 * MS;
	talk_mirror(&t, SEG_ACK, 500);
	ck_assert_uint_eq(f.n_seen, 2);
	ck_assert_uint_eq(f.seen[1].latency_us, 10 * MS);
	fixture_fini(&f);
}
END_TEST

START_TEST(sequence_numbers_wrap_inside_a_query)
{
	struct talk t = connected(4);

	/* talk 4's numbers: bring both to the edge by ordinary traffic. */
	while (t.client_seq < 0xffffff00u || t.mirror_seq > 0x80000000u) {
		struct talk jump = t;
		uint32_t far = 0xffffff00u - t.client_seq;

		if (far == 0)
			break;
		jump.client_seq += far < 0x40000000u ? far - 1 : 0x40000000u;
		talk_client(&jump, SEG_ACK, 1);
		t.client_seq = jump.client_seq;
		talk_mirror(&t, SEG_ACK, 1);
	}
	fixture_forget(&f);
	talk_client(&t, SEG_ACK, 200);
	f.now_us += 1 * MS;
	talk_client(&t, SEG_ACK, 200); /* crosses 2^32 */
	ck_assert_uint_lt(t.client_seq, 0x1000);
	f.now_us += 1 * MS;
	talk_mirror(&t, SEG_ACK, 10);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 2 * MS);
	talk_client(&t, SEG_ACK, 10);
	ck_assert_uint_eq(waiting(&t), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(greeting_is_a_sign_of_life_and_no_query)
{
	struct talk t = connected(5);

	f.now_us += 3 * MS;
	talk_mirror(&t, SEG_ACK, 80);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].kind, SAMPLE_GREETING);
	ck_assert_uint_eq(f.seen[0].latency_us, 0);
	talk_mirror(&t, SEG_ACK, 80);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	talk_client(&t, SEG_ACK, 20);
	f.now_us += 4 * MS;
	talk_mirror(&t, SEG_ACK, 20);
	ck_assert_uint_eq(f.seen[1].kind, SAMPLE_QUERY);
	ck_assert_uint_eq(f.seen[1].latency_us, 4 * MS);
	fixture_fini(&f);
}
END_TEST

START_TEST(fin_instead_of_an_answer_is_an_unexpected_closing)
{
	struct talk t = connected(6);

	talk_client(&t, SEG_ACK, 100);
	f.now_us += 7 * MS;
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_UNEXPECTED_CLOSINGS), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	ck_assert_uint_eq(
		fixture_count(&f, SAMPLE_FAILURE, KARMALB_OUTCOME_UNEXPECTED_CLOSINGS), 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 7 * MS);
	ck_assert_uint_eq(waiting(&t), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(fin_with_or_after_the_answer_is_none)
{
	struct talk t = connected(7);

	talk_client(&t, SEG_ACK, 100);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 500);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	fixture_fini(&f);
	t = connected(8);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0); /* nothing asked */
	ck_assert_uint_eq(all_outcomes(&t), 0);
	fixture_fini(&f);
}
END_TEST

/* As TLS's farewell, which most clients send whoever closes first. */
START_TEST(what_is_sent_after_the_mirrors_fin_is_no_query)
{
	struct talk t = connected(13);

	talk_client(&t, SEG_ACK, 100);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 500);
	talk_client(&t, SEG_ACK, 31);
	ck_assert_uint_eq(waiting(&t), 0);
	talk_mirror(&t, SEG_RST, 0); /* nobody is there any more to read it */
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	fixture_fini(&f);
	t = connected(14);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0); /* nothing asked */
	talk_client(&t, SEG_ACK, 31);
	fixture_pass(&f, 5000 * MS);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(reset_instead_of_an_answer_is_a_network_error)
{
	struct talk t = connected(9);

	talk_client(&t, SEG_ACK, 100);
	f.now_us += 9 * MS;
	talk_mirror(&t, SEG_RST, 0);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_NETWORK_ERRORS), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 9 * MS);
	ck_assert_uint_eq(waiting(&t), 0);
	fixture_fini(&f);
	t = connected(10);
	talk_client(&t, SEG_ACK, 100);
	talk_mirror(&t, SEG_ACK, 100);
	talk_mirror(&t, SEG_RST, 0); /* answered before */
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_NETWORK_ERRORS), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(client_that_goes_away_is_no_failure_of_the_mirror)
{
	struct talk t = connected(11);

	talk_client(&t, SEG_ACK, 100);
	f.now_us += 1 * MS;
	talk_client(&t, SEG_RST | SEG_ACK, 0);
	ck_assert_uint_eq(waiting(&t), 0);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	fixture_fini(&f);
	t = connected(12);
	talk_client(&t, SEG_ACK, 100);
	f.now_us += 1 * MS;
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	ck_assert_uint_eq(waiting(&t), 0);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
	talk_client(&t, SEG_ACK, 0);
	fixture_pass(&f, 5000 * MS);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	ck_assert_uint_eq(f.n_seen, 0);
	fixture_fini(&f);
}
END_TEST

/* With its query or later, whatever the protocol: it may have given up. */
START_TEST(mirror_that_ends_after_its_client_closed_has_no_outcome)
{
	for (unsigned round = 0; round < 8; round++) {
		struct talk t = connected(20);

		f.tables.slots[talk_slot(&t)].reply_check =
			round & 1 ? KARMALB_REPLY_CHECK_HTTP : KARMALB_REPLY_CHECK_NONE;
		if (round & 2) {
			talk_client(&t, SEG_ACK | SEG_FIN, 100);
		} else {
			talk_client(&t, SEG_ACK, 100);
			f.now_us += 2 * MS;
			talk_client(&t, SEG_ACK | SEG_FIN, 0);
		}
		f.now_us += 1 * MS;
		talk_mirror(&t, round & 4 ? SEG_RST : SEG_ACK | SEG_FIN, 0);
		fixture_pass(&f, 5000 * MS);
		ck_assert_uint_eq(all_outcomes(&t), 0);
		ck_assert_uint_eq(f.n_seen, 0);
		ck_assert_uint_eq(waiting(&t), 0);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(answer_to_a_half_closed_client_still_counts)
{
	struct talk t = connected(13);

	talk_client(&t, SEG_ACK | SEG_FIN, 100);
	f.now_us += 6 * MS;
	talk_mirror(&t, SEG_ACK, 0);
	talk_mirror(&t, SEG_ACK, 500);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 500);
	talk_client(&t, SEG_ACK, 0);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 6 * MS);
	ck_assert_uint_eq(waiting(&t), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(query_timeout_is_counted_once_within_a_second)
{
	struct talk t = connected(14);

	talk_client(&t, SEG_ACK, 100);
	fixture_pass(&f, 2999 * MS);
	ck_assert_uint_eq(waiting(&t), 1);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	fixture_pass(&f, 1001 * MS);
	ck_assert_uint_eq(waiting(&t), 0);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_uint_eq(f.n_seen, 1);
	fixture_pass(&f, 10000 * MS);
	/* An answer that comes at last is no success; the next query is measured again. */
	talk_mirror(&t, SEG_ACK, 100);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	talk_client(&t, SEG_ACK, 100);
	f.now_us += 3 * MS;
	talk_mirror(&t, SEG_ACK, 100);
	ck_assert_uint_eq(f.n_seen, 2);
	ck_assert_uint_eq(f.seen[1].kind, SAMPLE_QUERY);
	ck_assert_uint_eq(f.seen[1].latency_us, 3 * MS);
	fixture_fini(&f);
}
END_TEST

START_TEST(late_answer_before_the_sweep_is_a_timeout)
{
	struct talk t = connected(15);

	talk_client(&t, SEG_ACK, 100);
	f.now_us += 3000 * MS;
	talk_mirror(&t, SEG_ACK, 100);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	ck_assert_uint_eq(waiting(&t), 0);
	fixture_pass(&f, 5000 * MS);
	ck_assert_uint_eq(all_outcomes(&t), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(timed_out_query_has_no_second_outcome)
{
	for (unsigned flags = SEG_FIN; flags <= SEG_RST; flags += SEG_RST - SEG_FIN) {
		struct talk t = connected(16);

		talk_client(&t, SEG_ACK, 100);
		fixture_pass(&f, 4000 * MS);
		talk_mirror(&t, (uint8_t)(SEG_ACK | flags), 0);
		ck_assert_uint_eq(all_outcomes(&t), 1);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(idle_expiry_takes_the_waiting_back)
{
	struct talk t = connected(17);

	f.tables.slots[talk_slot(&t)].idle_timeout_ms = 1000;
	f.tables.slots[talk_slot(&t)].query_timeout_ms = 3600000;
	talk_client(&t, SEG_ACK, 0);
	talk_client(&t, SEG_ACK, 100);
	ck_assert_uint_eq(waiting(&t), 1);
	/* The stamp of the handshake still stands; the shorter time-out is in force from now on. */
	fixture_pass(&f, 62000 * MS);
	ck_assert_ptr_null(talk_flow(&t));
	ck_assert_uint_eq(waiting(&t), 0);
	ck_assert_uint_eq(all_outcomes(&t), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(longest_query_timeout_holds_over_an_hour)
{
	struct talk t = connected(18);
	struct table_slot *slot = &f.tables.slots[talk_slot(&t)];

	slot->idle_timeout_ms = 604800000;
	slot->query_timeout_ms = 3600000;
	talk_client(&t, SEG_ACK, 100);
	f.now_us += 3599900 * MS;
	fixture_pass(&f, 50 * MS);
	ck_assert_uint_eq(waiting(&t), 1);
	ck_assert_uint_eq(waiting_age(&t), 3599950 * MS);
	fixture_pass(&f, 1100 * MS);
	ck_assert_uint_eq(outcome(&t, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_uint_eq(waiting(&t), 0);
	fixture_fini(&f);
}
END_TEST

/* Against a plain sum over the flows that wait. */
START_TEST(waiting_age_is_exact_over_many_flows)
{
	enum {
		N = 300
	};
	static struct talk talks[N];
	static uint64_t since[N];
	uint64_t random = suite_seed();

	fixture_init(&f, &(struct fixture_conf){.max_half_open = 400});
	for (unsigned i = 0; i < 4; i++)
		f.tables.slots[i].query_timeout_ms = 3600000;
	for (unsigned i = 0; i < N; i++) {
		talks[i] = talk_new(&f, i);
		talk_connect(&talks[i], 1);
	}
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = suite_random(&random) % N;
		uint64_t n = 0, age = 0, got_n = 0, got_age = 0;

		f.now_us += suite_random(&random) % 2000;
		if (suite_random(&random) % 2 == 0) {
			talk_client(&talks[i], SEG_ACK, 10);
			if (since[i] == 0)
				since[i] = f.now_us;
		} else {
			talk_mirror(&talks[i], SEG_ACK, 10);
			since[i] = 0;
		}
		for (unsigned k = 0; k < N; k++) {
			n += since[k] != 0;
			age += since[k] != 0 ? f.now_us - since[k] : 0;
		}
		for (unsigned k = 0; k < 4; k++) {
			got_n += f.slots[k].n_waiting;
			got_age += f.slots[k].n_waiting * f.now_us - f.slots[k].waiting_since_us;
		}
		ck_assert_uint_eq(got_n, n);
		ck_assert_uint_eq(got_age, age);
	}
	fixture_fini(&f);
}
END_TEST

START_TEST(full_sample_buffer_costs_samples_but_no_counts)
{
	fixture_init(&f, &(struct fixture_conf){.max_half_open = 1000});
	uint64_t failures = 0;

	for (unsigned i = 0; i < 1000; i++) {
		struct talk t = talk_new(&f, i);

		talk_client(&t, SEG_SYN, 0);
	}
	/* All time out at once: a tick stops when the buffer is full, and asks to go on. */
	f.now_us += 1500 * MS;
	uint64_t again = pipeline_tick(&f.pipeline, f.now_us);

	ck_assert_uint_le(f.pipeline.n_samples, PIPELINE_SAMPLES_MAX);
	ck_assert_uint_eq(again, f.now_us);
	f.pipeline.n_samples = 0;
	for (unsigned i = 0; i < 20; i++) {
		pipeline_tick(&f.pipeline, f.now_us);
		f.pipeline.n_samples = 0;
	}
	for (unsigned i = 0; i < 4; i++)
		failures += f.slots[i].outcomes[KARMALB_OUTCOME_CONNECT_TIMEOUTS];
	ck_assert_uint_eq(failures, 1000);
	ck_assert_uint_eq(f.pipeline.counters[KARMALB_COUNTER_SAMPLES_LOST], 0);
	fixture_fini(&f);
}
END_TEST

/* As a worker calls the tick: when it asked for it. */
START_TEST(query_timeout_among_a_million_flows_is_found_within_a_second)
{
	fixture_init(&f, &(struct fixture_conf){.max_flows = 1000000});
	struct talk t = talk_new(&f, 19);
	unsigned n_ticks = 0;

	talk_connect(&t, 100);
	f.flows.worker->n_touched = 1000000; /* the others are free by now */
	talk_client(&t, SEG_ACK, 100);
	uint64_t due_us = f.now_us + 3000 * MS;

	while (outcome(&t, KARMALB_OUTCOME_QUERY_TIMEOUTS) == 0) {
		f.now_us = pipeline_tick(&f.pipeline, f.now_us);
		f.pipeline.n_samples = 0;
		ck_assert_uint_lt(n_ticks++, 100000);
	}
	ck_assert_uint_ge(f.now_us, due_us);
	ck_assert_uint_le(f.now_us, due_us + 1000 * MS);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {answer_time_is_first_byte_to_first_byte,
		query_timeout_among_a_million_flows_is_found_within_a_second,
		each_query_of_a_connection_is_measured,
		retransmissions_are_neither_queries_nor_answers,
		sequence_numbers_wrap_inside_a_query, greeting_is_a_sign_of_life_and_no_query,
		fin_instead_of_an_answer_is_an_unexpected_closing,
		fin_with_or_after_the_answer_is_none,
		what_is_sent_after_the_mirrors_fin_is_no_query,
		reset_instead_of_an_answer_is_a_network_error,
		client_that_goes_away_is_no_failure_of_the_mirror,
		mirror_that_ends_after_its_client_closed_has_no_outcome,
		answer_to_a_half_closed_client_still_counts,
		query_timeout_is_counted_once_within_a_second,
		late_answer_before_the_sweep_is_a_timeout, timed_out_query_has_no_second_outcome,
		idle_expiry_takes_the_waiting_back, longest_query_timeout_holds_over_an_hour,
		waiting_age_is_exact_over_many_flows,
		full_sample_buffer_costs_samples_but_no_counts, NULL};

	return suite_run("latency", tests);
}
