/* SPDX-License-Identifier: BSD-3-Clause */
/* What we drop ourselves, or cannot send as our own link is down, is no failure of a mirror's. */
#include <stdlib.h>

#include "datagrams.h"
#include "story.h"
#include "suite.h"

#define SECOND UINT64_C(1000000)

static struct fixture f;

static void
setup(void)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
}

static void
check_no_outcome(void)
{
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		ck_assert_uint_eq(story_outcomes(&f, (enum karmalb_outcome)i), 0);
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		ck_assert_uint_eq(f.slots[i].n_waiting, 0);
	fixture_fini(&f);
}

enum reason {
	TOO_BIG,
	PORT_DOWN,
	NO_NEXT_HOP,
	N_REASONS,
};

static enum karmalb_worker_counter
make(enum reason reason, unsigned slot)
{
	switch (reason) {
	case TOO_BIG:
		f.tables.ports[1].mtu = 100;
		return KARMALB_COUNTER_DROP_TOO_BIG;
	case PORT_DOWN:
		f.tables.ports[1].is_up = false;
		return KARMALB_COUNTER_DROP_PORT_DOWN;
	case NO_NEXT_HOP:
		f.tables.slots[slot].has_next_hop = false;
		return KARMALB_COUNTER_DROP_NO_NEXT_HOP;
	case N_REASONS:
		break;
	}
	abort();
}

START_TEST(query_that_we_drop_is_none)
{
	for (int reason = 0; reason < N_REASONS; reason++) {
		setup();
		struct talk t = talk_new(&f, 1);

		talk_connect(&t, 10);
		enum karmalb_worker_counter counter = make((enum reason)reason, talk_slot(&t));

		ck_assert_int_eq(talk_client(&t, SEG_ACK, 200).reason, counter);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
		fixture_pass(&f, 5 * SECOND);
		check_no_outcome();
	}
}
END_TEST

/* Nor with the acknowledgement that establishes the connection, which is dropped with it. */
START_TEST(query_with_the_handshake_that_we_drop_is_none)
{
	for (int reason = 0; reason < N_REASONS; reason++) {
		setup();
		struct talk t = talk_new(&f, 2);

		talk_client(&t, SEG_SYN, 0);
		talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
		enum karmalb_worker_counter counter = make((enum reason)reason, talk_slot(&t));

		ck_assert_int_eq(talk_client(&t, SEG_ACK, 200).reason, counter);
		ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
		fixture_pass(&f, 5 * SECOND);
		check_no_outcome();
	}
}
END_TEST

START_TEST(syn_that_is_too_big_begins_nothing)
{
	setup();
	struct talk t = talk_new(&f, 3), again = t;

	f.tables.ports[1].mtu = 100;
	ck_assert_int_eq(talk_client(&t, SEG_SYN, 200).reason, KARMALB_COUNTER_DROP_TOO_BIG);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	ck_assert_uint_eq(f.flows.worker->n_flows, 0);
	/* Without that much it goes through. */
	ck_assert(talk_connect(&again, 10));
	fixture_pass(&f, 5 * SECOND);
	check_no_outcome();
}
END_TEST

START_TEST(datagram_that_we_drop_is_no_query)
{
	static const uint8_t big[200];

	for (int is_first = 0; is_first < 2; is_first++)
		for (int reason = 0; reason < (is_first ? 1 : N_REASONS); reason++) {
			datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
			struct datagram_talk t = datagram_talk_new(&f, 4);

			if (!is_first) {
				datagram_client(&t, "ask", 3);
				datagram_mirror(&t, "yes", 3);
			}
			uint64_t n = story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES);
			enum karmalb_worker_counter counter =
				make((enum reason)reason, is_first ? 0 : t.mirror - FIXTURE_MIRROR);

			ck_assert_int_eq(datagram_client(&t, big, sizeof(big)), counter);
			fixture_pass(&f, 5 * SECOND);
			ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), n);
			ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 0);
			if (is_first)
				story_check_over(&f);
			fixture_fini(&f);
		}
}
END_TEST

/* What is dropped is no query that could be missed: nobody is to wait for that. */
START_TEST(datagram_goes_to_another_mirror_where_nothing_reaches_its_own)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 4);

	datagram_client(&t, "ask", 3);
	datagram_mirror(&t, "yes", 3);
	uint32_t mirror = t.mirror;
	struct table_slot *slot = &f.tables.slots[mirror - FIXTURE_MIRROR];

	slot->has_next_hop = false;
	slot->is_selected = false;
	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	ck_assert_uint_ne(t.mirror, mirror);
	fixture_fini(&f);
}
END_TEST

/* What was under way when our link went. */
START_TEST(time_that_passes_without_our_link_is_not_held_against_the_mirror)
{
	for (int is_query = 0; is_query < 2; is_query++)
		for (int is_up = 0; is_up < 2; is_up++) {
			setup();
			struct talk t = talk_new(&f, 5);

			if (is_query) {
				talk_connect(&t, 10);
				talk_client(&t, SEG_ACK, 10);
			} else {
				talk_client(&t, SEG_SYN, 0);
			}
			f.tables.ports[1].is_up = is_up;
			fixture_pass(&f, 5 * SECOND);
			ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
			if (!is_up) {
				check_no_outcome();
				continue;
			}
			ck_assert_uint_eq(
				story_outcomes(&f, is_query ? KARMALB_OUTCOME_QUERY_TIMEOUTS
							    : KARMALB_OUTCOME_CONNECT_TIMEOUTS),
				1);
			fixture_fini(&f);
		}
}
END_TEST

/* A client that ends its flow, or begins another, does so whatever becomes of the packet. */
START_TEST(end_and_new_beginning_count_without_our_link)
{
	setup();
	struct talk t = talk_new(&f, 6), ended = talk_new(&f, 7), next;

	talk_connect(&t, 10);
	talk_connect(&ended, 10);
	/* Those two mirrors' port loses its link, the others' does not. */
	f.tables.slots[talk_slot(&t)].next_hop_port = 0;
	f.tables.slots[talk_slot(&ended)].next_hop_port = 0;
	f.tables.ports[0].is_up = false;
	ck_assert_int_eq(talk_client(&ended, SEG_RST, 0).reason, KARMALB_COUNTER_DROP_PORT_DOWN);
	ck_assert_int_eq(story_state(&ended), FLOW_RESTING);
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	next = t;
	next.client_seq += 100000;
	ck_assert(talk_client(&next, SEG_SYN, 0).is_sent);
	ck_assert_uint_ne(next.mirror, t.mirror);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {query_that_we_drop_is_none,
		query_with_the_handshake_that_we_drop_is_none, syn_that_is_too_big_begins_nothing,
		datagram_that_we_drop_is_no_query,
		datagram_goes_to_another_mirror_where_nothing_reaches_its_own,
		time_that_passes_without_our_link_is_not_held_against_the_mirror,
		end_and_new_beginning_count_without_our_link, NULL};

	return suite_run("own_drops", tests);
}
