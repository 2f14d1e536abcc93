/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payload with numbers that its flow does not know: of who sees nothing of a connection but its
 * addresses and ports, and of who lost much before us.
 */
#include <stdlib.h>

#include "story.h"
#include "suite.h"
#include "tcp.h"

#define SECOND UINT64_C(1000000)

static struct fixture f;

static struct talk
connected(unsigned number)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, number);

	ck_assert(talk_connect(&t, 10));
	return t;
}

/* A query and its answer count, and both FINs end the flow. */
static void
check_books(struct talk *t)
{
	uint64_t n = story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES);

	ck_assert(talk_client(t, SEG_ACK, 10).is_sent);
	ck_assert(talk_mirror(t, SEG_ACK, 10).is_sent);
	ck_assert(talk_client(t, SEG_ACK, 10).is_sent);
	ck_assert_uint_eq(f.slots[talk_slot(t)].n_waiting, 1);
	ck_assert(talk_mirror(t, SEG_ACK, 10).is_sent);
	ck_assert_uint_ge(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), n + 1);
	talk_client(t, SEG_ACK | SEG_FIN, 0);
	talk_mirror(t, SEG_ACK | SEG_FIN, 0);
	ck_assert_int_eq(story_state(t), FLOW_CLOSING);
	talk_client(t, SEG_ACK, 0);
	ck_assert_int_eq(story_state(t), FLOW_RESTING);
	fixture_pass(&f, 62 * SECOND);
	story_check_over(&f);
	fixture_fini(&f);
}

/* A byte of payload half of all numbers away makes near what would end the flow. */
START_TEST(blind_payload_does_not_prepare_the_way_for_a_blind_end)
{
	static const uint8_t ends[] = {SEG_RST, SEG_RST | SEG_ACK, SEG_FIN | SEG_ACK};

	for (unsigned i = 0; i < sizeof(ends) * 2; i++) {
		struct talk t = connected(8), blind;
		bool is_mirror = i % 2;

		talk_client(&t, SEG_ACK, 100);
		talk_mirror(&t, SEG_ACK, 100);
		for (unsigned half = 0; half < 2; half++) {
			blind = t;
			blind.client_seq += half * 0x80000000u + 0x20000000u;
			blind.mirror_seq += half * 0x80000000u + 0x30000000u;
			if (is_mirror) {
				ck_assert(talk_mirror(&blind, SEG_ACK, 1).is_sent);
				ck_assert(talk_mirror(&blind, ends[i / 2], 0).is_sent);
			} else {
				ck_assert(talk_client(&blind, SEG_ACK, 1).is_sent);
				ck_assert(talk_client(&blind, ends[i / 2], 0).is_sent);
			}
			ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
		}
		check_books(&t);
	}
}
END_TEST

START_TEST(stray_segment_hides_no_query)
{
	for (unsigned side = 0; side < 2; side++) {
		struct talk t = connected(9), stray = t;

		stray.client_seq += 0x40000000;
		stray.mirror_seq += 0x30000000;
		if (side == 0)
			talk_client(&stray, SEG_ACK, 1);
		else
			talk_mirror(&stray, SEG_ACK, 1);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
		check_books(&t);
	}
}
END_TEST

/* Numbers drawn at random; the flow does not come nearer to any of them by those before. */
START_TEST(blind_payload_succeeds_as_seldom_as_said)
{
	struct talk t = connected(10);
	const struct flow *flow = talk_flow(&t);
	uint32_t client_end = flow->client_end, n_moved = 0;
	enum {
		N_TRIES = 100000
	};

	srandom(20);
	for (unsigned i = 0; i < N_TRIES; i++) {
		struct talk blind = t;

		blind.client_seq = (uint32_t)random() << 16 ^ (uint32_t)random();
		blind.mirror_seq = (uint32_t)random() << 16 ^ (uint32_t)random();
		talk_client(&blind, SEG_ACK, 1);
		if (flow->client_end == client_end)
			continue;
		n_moved++;
		fixture_fini(&f);
		t = connected(10);
		flow = talk_flow(&t);
	}
	/* 21 are to be expected, and 45 in less than one of 100,000 seeds. */
	ck_assert_uint_le(n_moved, 45);
	fixture_fini(&f);
}
END_TEST

/*
 * What is lost before us is sent anew, but not what came through behind it and is acknowledged: the
 * flow then sees a leap by that much.
 */
START_TEST(leap_after_a_loss_before_us_is_followed)
{
	static const uint32_t leaps[] = {1000, TCP_NEAR, 4 * TCP_NEAR, 1u << 30};

	for (unsigned i = 0; i < sizeof(leaps) / sizeof(leaps[0]) * 2; i++) {
		struct talk t = connected(11);

		talk_client(&t, SEG_ACK, 100);
		talk_mirror(&t, SEG_ACK, 100);
		if (i % 2 == 0)
			t.client_seq += leaps[i / 2];
		else
			t.mirror_seq += leaps[i / 2];
		check_books(&t);
	}
}
END_TEST

/* Both sides send much at once, and each acknowledgement lags behind by what is under way. */
START_TEST(leap_of_both_sides_at_once_is_followed)
{
	static const uint32_t leaps[] = {TCP_NEAR + 1, 4 * TCP_NEAR, TCP_REACH - 1000};

	for (unsigned i = 0; i < sizeof(leaps) / sizeof(leaps[0]); i++) {
		struct talk t = connected(12), lag;

		talk_client(&t, SEG_ACK, 100);
		talk_mirror(&t, SEG_ACK, 100);
		lag = t;
		t.client_seq += leaps[i];
		t.mirror_seq += leaps[i];
		lag.client_seq = t.client_seq;
		talk_client(&lag, SEG_ACK, 100); /* acknowledges nothing of the leap */
		t.client_seq = lag.client_seq;
		check_books(&t);
	}
}
END_TEST

/* Some 64 MiB each way, acknowledgements a window of 8 MiB behind. */
START_TEST(bulk_each_way_with_great_windows_keeps_its_books)
{
	struct talk t = connected(13);
	const uint32_t window = 8u << 20;
	uint32_t client_begin = t.client_seq, mirror_begin = t.mirror_seq;

	for (unsigned i = 0; i < 1024 * 48; i++) {
		struct talk lag = t;

		lag.mirror_seq -= t.mirror_seq - mirror_begin < window ? 0 : window;
		talk_client(&lag, SEG_ACK, 1400);
		t.client_seq = lag.client_seq;
		lag = t;
		lag.client_seq -= t.client_seq - client_begin < window ? 0 : window;
		talk_mirror(&lag, SEG_ACK, 1400);
		t.mirror_seq = lag.mirror_seq;
	}
	ck_assert_uint_eq(talk_flow(&t)->client_end, t.client_seq);
	ck_assert_uint_eq(talk_flow(&t)->mirror_end, t.mirror_seq);
	check_books(&t);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {blind_payload_does_not_prepare_the_way_for_a_blind_end,
		stray_segment_hides_no_query, blind_payload_succeeds_as_seldom_as_said,
		leap_after_a_loss_before_us_is_followed, leap_of_both_sides_at_once_is_followed,
		bulk_each_way_with_great_windows_keeps_its_books, NULL};

	return suite_run("tcp_blind", tests);
}
