/* SPDX-License-Identifier: BSD-3-Clause */
/* Stories of connections, told packet by packet, with a clock moved by hand. */
#include <string.h>

#include "story.h"
#include "suite.h"
#include "tcp.h"

static struct fixture f;

static void
setup(void)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
}

START_TEST(handshake_establishes_and_times_the_connect)
{
	setup();
	struct talk t = talk_new(&f, 1);

	ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_SENT);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 1);
	f.now_us += 1234;
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(f.seen[0].kind, SAMPLE_CONNECT);
	ck_assert_uint_eq(f.seen[0].latency_us, 1234);
	ck_assert_uint_eq(f.seen[0].epoch, 7);
	ck_assert_uint_eq(f.seen[0].slot, talk_slot(&t));
	ck_assert_uint_eq(f.slots[talk_slot(&t)].opened, 1);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(packets_and_bytes_are_counted_per_direction)
{
	setup();
	struct talk t = talk_new(&f, 2);

	talk_connect(&t, 10);
	for (unsigned i = 0; i < 5; i++) {
		talk_client(&t, SEG_ACK, 100);
		talk_mirror(&t, SEG_ACK, 1000);
	}
	struct slot_counters *s = &f.slots[talk_slot(&t)];

	ck_assert_uint_eq(s->to_mirror_packets, 2 + 5);
	ck_assert_uint_eq(s->to_mirror_bytes, 2 * 54 + 5 * 154);
	ck_assert_uint_eq(s->to_client_packets, 1 + 5);
	ck_assert_uint_eq(s->to_client_bytes, 54 + 5 * 1054);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_RX_PACKETS), 13);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_RX_BYTES), 3 * 54 + 5 * 154 + 5 * 1054);
	fixture_fini(&f);
}
END_TEST

START_TEST(client_closing_first_rests_a_second)
{
	setup();
	struct talk t = talk_new(&f, 3);

	talk_connect(&t, 10);
	ck_assert(talk_client(&t, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	ck_assert(talk_mirror(&t, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 1);
	fixture_pass(&f, 900 * 1000);
	ck_assert_uint_eq(f.flows.worker->n_flows, 1);
	fixture_pass(&f, 1100 * 1000);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(mirror_closing_first_rests_a_minute)
{
	setup();
	struct talk t = talk_new(&f, 4);

	talk_connect(&t, 10);
	ck_assert(talk_mirror(&t, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert(talk_client(&t, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert(talk_mirror(&t, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_pass(&f, 59900 * 1000ull);
	ck_assert_uint_eq(f.flows.worker->n_flows, 1);
	fixture_pass(&f, 1200 * 1000);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

/* Each FIN sent before the other was seen: both ends go to TIME-WAIT. */
START_TEST(simultaneous_close_rests_a_minute)
{
	setup();
	struct talk t = talk_new(&f, 5), before;

	talk_connect(&t, 10);
	before = t;
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	before.mirror_seq = t.mirror_seq;
	ck_assert(talk_mirror(&before, SEG_ACK | SEG_FIN, 0).is_sent);
	t.mirror_seq = before.mirror_seq;
	talk_mirror(&t, SEG_ACK, 0);
	talk_client(&t, SEG_ACK, 0);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_pass(&f, 50 * 1000 * 1000ull);
	ck_assert_uint_eq(f.flows.worker->n_flows, 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(last_packets_of_a_close_still_pass)
{
	setup();
	struct talk t = talk_new(&f, 6), repeat;

	talk_connect(&t, 10);
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	repeat = t;
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
	talk_client(&t, SEG_ACK, 0);
	/* The last ACK was lost: mirror's FIN again, ACK again. */
	ck_assert(talk_mirror(&repeat, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 1);
	ck_assert_uint_eq(fixture_drops(&f), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(reset_ends_a_flow_from_either_side)
{
	for (int side = 0; side < 2; side++) {
		setup();
		struct talk t = talk_new(&f, 7);

		talk_connect(&t, 10);
		if (side == 0)
			ck_assert(talk_client(&t, SEG_RST | SEG_ACK, 0).is_sent);
		else
			ck_assert(talk_mirror(&t, SEG_RST, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_RESTING);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 1);
		fixture_pass(&f, 2000 * 1000);
		story_check_over(&f);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(reset_out_of_window_passes_but_changes_nothing)
{
	setup();
	struct talk t = talk_new(&f, 8), blind;

	talk_connect(&t, 10);
	talk_client(&t, SEG_ACK, 100);
	blind = t;
	blind.client_seq += 0x40000000;
	blind.mirror_seq -= 0x10000000;
	ck_assert(talk_client(&blind, SEG_RST, 0).is_sent);
	ck_assert(talk_mirror(&blind, SEG_RST | SEG_ACK, 0).is_sent);
	ck_assert(talk_mirror(&blind, SEG_FIN | SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&blind, SEG_FIN | SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_NETWORK_ERRORS), 0);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 1);
	ck_assert(talk_mirror(&t, SEG_ACK, 10).is_sent);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(repeated_syn_stays_on_its_flow_and_gives_no_connect_time)
{
	setup();
	struct talk t = talk_new(&f, 9), again = t;

	talk_client(&t, SEG_SYN, 0);
	again = t;
	again.client_seq--;
	for (unsigned i = 0; i < 3; i++) {
		f.now_us += 200 * 1000;
		struct talk repeat = again;

		ck_assert(talk_client(&repeat, SEG_SYN, 0).is_sent);
		ck_assert_uint_eq(repeat.mirror, t.mirror);
		ck_assert_uint_eq(repeat.source_port, t.source_port);
	}
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert_uint_eq(f.n_seen, 0);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(connect_timeout_is_counted_once_and_the_next_syn_goes_on)
{
	setup();
	struct talk t = talk_new(&f, 10), again;

	again = t;
	talk_client(&t, SEG_SYN, 0);
	fixture_pass(&f, 999 * 1000);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 0);
	fixture_pass(&f, 3 * 1000);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 1);
	ck_assert_uint_eq(f.seen[0].outcome, KARMALB_OUTCOME_CONNECT_TIMEOUTS);
	ck_assert_uint_ge(f.seen[0].latency_us, 1000 * 1000);
	ck_assert_uint_le(f.seen[0].latency_us, 1003 * 1000);
	/* Its SYN-ACK no longer comes through. */
	ck_assert_int_eq(
		talk_mirror(&t, SEG_SYN | SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	/* The same SYN again is a new flow of its own. */
	ck_assert(talk_client(&again, SEG_SYN, 0).is_sent);
	ck_assert(again.source_port != t.source_port || again.source != t.source ||
		  again.mirror != t.mirror);
	ck_assert(talk_mirror(&again, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_REPLACED), 1);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 2);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(connect_timeout_is_noticed_even_before_the_tick)
{
	setup();
	struct talk t = talk_new(&f, 11);

	talk_client(&t, SEG_SYN, 0);
	f.now_us += 1100 * 1000;
	ck_assert_int_eq(
		talk_mirror(&t, SEG_SYN | SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 1);
	fixture_pass(&f, 3000 * 1000);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 1);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(refused_connect_is_a_failure_and_reaches_the_client)
{
	setup();
	struct talk t = talk_new(&f, 12), again = t;

	talk_client(&t, SEG_SYN, 0);
	f.now_us += 300;
	uint32_t seq = t.mirror_seq;

	t.mirror_seq = 0;
	ck_assert(talk_mirror(&t, SEG_RST | SEG_ACK, 0).is_sent);
	t.mirror_seq = seq;
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
	ck_assert_uint_eq(fixture_count(&f, SAMPLE_FAILURE, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 300);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	/* Another try is another flow, and may succeed. */
	ck_assert(talk_connect(&again, 10));
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_REPLACED), 1);
	fixture_pass(&f, 62 * 1000 * 1000ull);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(forged_refusal_is_no_failure)
{
	setup();
	struct talk t = talk_new(&f, 13);

	talk_client(&t, SEG_SYN, 0);
	struct talk forged = t;

	forged.client_seq -= 77;
	ck_assert(talk_mirror(&forged, SEG_RST | SEG_ACK, 0).is_sent);
	ck_assert(talk_mirror(&forged, SEG_RST, 0).is_sent);
	ck_assert_int_eq(
		talk_mirror(&forged, SEG_SYN | SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 0);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_SENT);
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	fixture_fini(&f);
}
END_TEST

/* A mirror still in TIME-WAIT challenges; the client's answering RST must not end the new flow. */
START_TEST(challenge_acknowledgement_does_not_end_the_connect)
{
	setup();
	struct talk t = talk_new(&f, 14), stale, repeat;

	repeat = t;
	talk_client(&t, SEG_SYN, 0);
	stale = t;
	stale.client_seq += 123456;
	ck_assert(talk_mirror(&stale, SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&stale, SEG_RST, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_SENT);
	repeat.source = t.source;
	ck_assert(talk_client(&repeat, SEG_SYN, 0).is_sent);
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	fixture_fini(&f);
}
END_TEST

/* Each side's FIN, and nothing less, has to be acknowledged. */
START_TEST(flow_is_not_over_before_both_fins_are_acknowledged)
{
	setup();
	struct talk t = talk_new(&f, 30), early, behind;

	talk_connect(&t, 10);
	early = t;
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	/* Crosses the client's: does not acknowledge it. */
	early.mirror_seq = t.mirror_seq;
	talk_mirror(&early, SEG_ACK | SEG_FIN, 0);
	behind = t;
	t.mirror_seq = early.mirror_seq;
	talk_client(&behind, SEG_ACK, 0); /* not yet the mirror's FIN */
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	talk_mirror(&t, SEG_ACK, 0); /* the client's FIN */
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 0);
	talk_client(&t, SEG_ACK, 0);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_fini(&f);
	/* The other way round. */
	setup();
	t = talk_new(&f, 31);
	talk_connect(&t, 10);
	early = t;
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	early.mirror_seq = t.mirror_seq;
	talk_mirror(&early, SEG_ACK | SEG_FIN, 0);
	t.mirror_seq = early.mirror_seq;
	talk_client(&t, SEG_ACK, 0);
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	talk_mirror(&early, SEG_ACK, 0); /* still without the client's FIN */
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	talk_mirror(&t, SEG_ACK, 0);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_fini(&f);
}
END_TEST

START_TEST(half_closed_flow_lives_on)
{
	for (int side = 0; side < 2; side++) {
		setup();
		struct talk t = talk_new(&f, 32);

		talk_connect(&t, 10);
		if (side == 0)
			talk_client(&t, SEG_ACK | SEG_FIN, 0);
		else
			talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
		/* Longer than a close may take, shorter than the idle time-out. */
		for (unsigned i = 0; i < 10; i++) {
			fixture_pass(&f, 20 * 1000 * 1000);
			ck_assert(talk_client(&t, SEG_ACK, side == 1 ? 10 : 0).is_sent);
			ck_assert(talk_mirror(&t, SEG_ACK, side == 0 ? 10 : 0).is_sent);
		}
		ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(packets_that_no_state_allows_are_dropped)
{
	setup();
	struct talk t = talk_new(&f, 33), stray;

	talk_client(&t, SEG_SYN, 0);
	stray = t;
	ck_assert_int_eq(
		talk_client(&stray, SEG_SYN | SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_int_eq(talk_mirror(&stray, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_int_eq(talk_mirror(&stray, SEG_ACK, 9).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_int_eq(
		talk_mirror(&stray, SEG_ACK | SEG_FIN, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_SENT);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {handshake_establishes_and_times_the_connect,
		flow_is_not_over_before_both_fins_are_acknowledged, half_closed_flow_lives_on,
		packets_that_no_state_allows_are_dropped,
		packets_and_bytes_are_counted_per_direction, client_closing_first_rests_a_second,
		mirror_closing_first_rests_a_minute, simultaneous_close_rests_a_minute,
		last_packets_of_a_close_still_pass, reset_ends_a_flow_from_either_side,
		reset_out_of_window_passes_but_changes_nothing,
		repeated_syn_stays_on_its_flow_and_gives_no_connect_time,
		connect_timeout_is_counted_once_and_the_next_syn_goes_on,
		connect_timeout_is_noticed_even_before_the_tick,
		refused_connect_is_a_failure_and_reaches_the_client, forged_refusal_is_no_failure,
		challenge_acknowledgement_does_not_end_the_connect, NULL};

	return suite_run("tcp", tests);
}
