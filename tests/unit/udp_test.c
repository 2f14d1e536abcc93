/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of datagrams: their life, their budget, what counts as which outcome. */
#include "datagrams.h"
#include "story.h"
#include "suite.h"

#define MS     UINT64_C(1000)
#define SECOND UINT64_C(1000000)

static struct fixture f;

static void
begin(void)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
}

static uint64_t
failures(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_OUTCOME_WARNINGS; i++)
		sum += story_outcomes(&f, (enum karmalb_outcome)i);
	return sum;
}

/* The mirror's own ICMP error about the last datagram that went to it. */
static struct fixture_result
refuse(const struct datagram_talk *t)
{
	uint8_t about[FRAME_MAX], frame[FRAME_MAX];

	memcpy(about, f.sent, f.sent_size);
	unsigned size = datagram_build_icmp(
		frame, (const uint8_t[]){3, 3}, (const uint32_t[]){t->mirror, t->source}, about);

	return fixture_send_bytes(&f, 1, frame, size);
}

START_TEST(answer_within_time_is_a_succeeded_query_with_its_latency)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	f.now_us += 7 * MS;
	ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
	ck_assert_int_eq(datagram_mirror(&t, "more", 4), 0); /* no answer of its own */
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	ck_assert_uint_eq(fixture_count(&f, SAMPLE_QUERY, 0), 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 7 * MS);
	ck_assert_uint_eq(failures(), 0);
	/* The same flow carries the next query. */
	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 2);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(query_without_an_answer_times_out_once)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	datagram_client(&t, "ask", 3);
	fixture_pass(&f, 2 * SECOND);
	datagram_client(&t, "ask again", 9); /* while one waits, no other begins */
	fixture_pass(&f, 5 * SECOND);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	datagram_mirror(&t, "late", 4); /* forwarded, but no success */
	ck_assert_uint_eq(failures(), 1);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 0);
	/* Nobody repeats a datagram for us: the next is a new query. */
	datagram_client(&t, "ask", 3);
	datagram_mirror(&t, "told", 4);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(refusal_is_a_connect_failure_before_the_first_answer_and_a_network_error_after)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	datagram_client(&t, "ask", 3);
	ck_assert(refuse(&t).is_sent); /* the client is told, too */
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
	fixture_pass(&f, 2 * MS);
	datagram_client(&t, "ask", 3); /* a flow of its own */
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 2);
	datagram_mirror(&t, "told", 4);
	datagram_client(&t, "ask", 3);
	ck_assert(refuse(&t).is_sent);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_NETWORK_ERRORS), 1);
	ck_assert_uint_eq(failures(), 2);
	fixture_pass(&f, 2 * SECOND);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(reply_check_reads_datagrams_where_it_is_asked_to)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	for (unsigned i = 0; i < f.tables.n_slots; i++)
		f.tables.slots[i].reply_check = KARMALB_REPLY_CHECK_SPHINXAPI;
	datagram_client(&t, "ask", 3);
	datagram_mirror(&t, "\0\1\1\0\0\0\0\0", 8);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_WRONG_REPLIES), 1);
	datagram_client(&t, "ask", 3);
	datagram_mirror(&t, "\0\3\1\0\0\0\0\0", 8);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_WARNINGS), 1);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	fixture_fini(&f);
}
END_TEST

/* What only connections can come to. */
START_TEST(connect_timeouts_and_unexpected_closings_never_happen)
{
	uint64_t random = suite_seed();

	begin();
	for (unsigned i = 0; i < 3000; i++) {
		struct datagram_talk t = datagram_talk_new(&f, i % 90);

		if (datagram_client(&t, NULL, (uint16_t)(suite_random(&random) % 200)) == 0) {
			if (suite_random(&random) % 2)
				datagram_mirror(&t, NULL, (uint16_t)(suite_random(&random) % 200));
			else if (suite_random(&random) % 4 == 0)
				refuse(&t);
		}
		fixture_pass(&f, suite_random(&random) % 50 * MS);
	}
	fixture_pass(&f, 62 * SECOND);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 0);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_UNEXPECTED_CLOSINGS), 0);
	ck_assert_uint_gt(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 100);
	ck_assert_uint_gt(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 10);
	ck_assert_uint_gt(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 10);
	ck_assert_uint_eq(f.flows.worker->n_unanswered, 0);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(silent_flow_ends_and_one_in_use_does_not)
{
	begin();
	struct datagram_talk silent = datagram_talk_new(&f, 1), busy = datagram_talk_new(&f, 2);

	datagram_client(&silent, "ask", 3);
	datagram_client(&busy, "ask", 3);
	datagram_mirror(&busy, "told", 4);
	for (unsigned i = 0; i < 4; i++) {
		fixture_pass(&f, 30 * SECOND);
		/* Either side keeps it. */
		ck_assert_int_eq(i % 2 ? datagram_client(&busy, "ask", 3)
				       : datagram_mirror(&busy, "told", 4),
			0);
	}
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 2);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_CLOSED), 1);
	ck_assert_int_eq(datagram_mirror(&silent, "late", 4), KARMALB_COUNTER_DROP_NO_FLOW);
	fixture_pass(&f, 62 * SECOND);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

/* Forged sources: as many flows as there may be half-open ones, and not one more. */
START_TEST(flood_without_answers_fills_its_budget_and_nothing_else)
{
	datagram_fixture(&f, &(struct fixture_conf){.max_flows = 1000, .max_half_open = 100});
	struct datagram_talk honest = datagram_talk_new(&f, 50000);

	ck_assert_int_eq(datagram_client(&honest, "ask", 3), 0);
	ck_assert_int_eq(datagram_mirror(&honest, "told", 4), 0);
	for (unsigned i = 0; i < 2000; i++) {
		struct datagram_talk forged = datagram_talk_new(&f, i);

		ck_assert_int_eq(datagram_client(&forged, "x", 1),
			i < 100 ? 0 : KARMALB_COUNTER_DROP_HALF_OPEN_FULL);
	}
	ck_assert_uint_eq(f.flows.worker->n_unanswered, 100);
	ck_assert_uint_eq(f.flows.worker->n_flows, 101);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_DROP_FLOW_TABLE_FULL), 0);
	/* Who has been answered goes on, and TCP's half-open flows have their own places. */
	ck_assert_int_eq(datagram_client(&honest, "ask", 3), 0);
	ck_assert_int_eq(datagram_mirror(&honest, "told", 4), 0);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	/* The flood's flows end, and there is room again. */
	fixture_pass(&f, 62 * SECOND);
	ck_assert_uint_eq(f.flows.worker->n_unanswered, 0);
	struct datagram_talk late = datagram_talk_new(&f, 7);

	ck_assert_int_eq(datagram_client(&late, "ask", 3), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(answer_makes_room_in_the_budget)
{
	datagram_fixture(&f, &(struct fixture_conf){.max_flows = 1000, .max_half_open = 10});
	for (unsigned i = 0; i < 500; i++) {
		struct datagram_talk t = datagram_talk_new(&f, i);

		ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
		ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
	}
	ck_assert_uint_eq(f.flows.worker->n_unanswered, 0);
	ck_assert_uint_eq(f.flows.worker->n_flows, 500);
	fixture_fini(&f);
}
END_TEST

/* Like syslog: nobody answers, and nothing is missed. */
START_TEST(one_way_service_has_no_queries_but_may_be_refused)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	for (unsigned i = 0; i < f.tables.n_slots; i++)
		f.tables.slots[i].is_one_way = true;
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(datagram_client(&t, "line", 4), 0);
		fixture_pass(&f, 5 * SECOND);
		for (unsigned k = 0; k < f.tables.n_slots; k++)
			ck_assert_uint_eq(f.slots[k].n_waiting, 0);
	}
	ck_assert_uint_eq(failures(), 0);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	datagram_client(&t, "line", 4);
	ck_assert(refuse(&t).is_sent);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
	/* What a mirror sends all the same arrives. */
	fixture_pass(&f, 2 * MS);
	datagram_client(&t, "line", 4);
	ck_assert_int_eq(datagram_mirror(&t, "well", 4), 0);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 0);
	fixture_fini(&f);
}
END_TEST

/* Else what a mirror answers to it would come back as the next datagram, and so on for ever. */
START_TEST(forged_datagram_from_an_address_of_ours_is_dropped)
{
	const uint32_t ours[] = {FIXTURE_VIP, FIXTURE_SOURCE, FIXTURE_SOURCE + 1};

	begin();
	for (unsigned i = 0; i < 3; i++) {
		struct datagram_talk t = datagram_talk_new(&f, 1);

		t.client = ours[i];
		t.client_port = FIXTURE_VIP_PORT;
		ck_assert_int_eq(datagram_client(&t, "ask", 3), KARMALB_COUNTER_DROP_MALFORMED);
	}
	ck_assert_uint_eq(f.flows.worker->n_flows, 0);
	/* A mirror may well be a client. */
	struct datagram_talk t = datagram_talk_new(&f, 1);

	t.client = FIXTURE_MIRROR;
	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	fixture_fini(&f);
}
END_TEST

static void
take_out(uint32_t mirror)
{
	double shares[] = {1, 1, 1, 1};

	shares[mirror - FIXTURE_MIRROR] = 0;
	fixture_shares(&f, shares, 4);
}

/* Its client keeps its port, and asks for ever. */
START_TEST(silent_mirror_that_was_taken_out_loses_its_client)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	datagram_client(&t, "ask", 3);
	datagram_mirror(&t, "told", 4);
	uint32_t mirror = t.mirror;

	take_out(mirror);
	for (unsigned i = 0; i < 2; i++) { /* one query is to be missed before */
		ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
		ck_assert_uint_eq(t.mirror, mirror);
		fixture_pass(&f, 2 * SECOND);
	}
	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	ck_assert_uint_ne(t.mirror, mirror);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
	fixture_pass(&f, 62 * SECOND);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(drained_mirror_that_answers_keeps_its_client)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	datagram_client(&t, "ask", 3);
	take_out(t.mirror);
	for (unsigned i = 0; i < 20; i++) {
		ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
		fixture_pass(&f, 10 * SECOND);
		ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	}
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(one_way_client_leaves_a_mirror_that_was_taken_out_at_once)
{
	begin();
	struct datagram_talk t = datagram_talk_new(&f, 1);

	for (unsigned i = 0; i < f.tables.n_slots; i++)
		f.tables.slots[i].is_one_way = true;
	datagram_client(&t, "line", 4);
	uint32_t mirror = t.mirror;

	take_out(mirror);
	ck_assert_int_eq(datagram_client(&t, "line", 4), 0);
	ck_assert_uint_ne(t.mirror, mirror);
	ck_assert_uint_eq(f.flows.worker->n_unanswered, 1);
	ck_assert_uint_eq(failures(), 0);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {answer_within_time_is_a_succeeded_query_with_its_latency,
		query_without_an_answer_times_out_once,
		refusal_is_a_connect_failure_before_the_first_answer_and_a_network_error_after,
		reply_check_reads_datagrams_where_it_is_asked_to,
		connect_timeouts_and_unexpected_closings_never_happen,
		silent_flow_ends_and_one_in_use_does_not,
		flood_without_answers_fills_its_budget_and_nothing_else,
		answer_makes_room_in_the_budget, one_way_service_has_no_queries_but_may_be_refused,
		forged_datagram_from_an_address_of_ours_is_dropped,
		silent_mirror_that_was_taken_out_loses_its_client,
		drained_mirror_that_answers_keeps_its_client,
		one_way_client_leaves_a_mirror_that_was_taken_out_at_once, NULL};

	return suite_run("udp", tests);
}
