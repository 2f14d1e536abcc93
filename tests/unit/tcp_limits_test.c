/* SPDX-License-Identifier: BSD-3-Clause */
/* Stories of connections that are replaced, run out of time, or meet a limit; clock moved by hand.
 */
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

START_TEST(new_syn_on_a_resting_flow_replaces_it_in_that_packet)
{
	setup();
	struct talk t = talk_new(&f, 15), next;

	talk_connect(&t, 10);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
	talk_client(&t, SEG_ACK | SEG_FIN, 0);
	talk_mirror(&t, SEG_ACK, 0);
	next = t;
	next.client_seq += 100000;
	ck_assert(talk_client(&next, SEG_SYN, 0).is_sent);
	ck_assert(next.source_port != t.source_port || next.source != t.source ||
		  next.mirror != t.mirror);
	ck_assert(talk_mirror(&next, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert(talk_client(&next, SEG_ACK, 0).is_sent);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_REPLACED), 1);
	/* What the old mirror still sends is not the new connection's. */
	ck_assert_int_eq(
		talk_mirror(&t, SEG_ACK | SEG_FIN, 0).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	/* The old 4-tuple goes on resting; then it is gone, the new flow is not. */
	ck_assert_uint_eq(f.flows.worker->n_flows, 2);
	for (unsigned i = 0; i < 62; i++) {
		fixture_pass(&f, 1000 * 1000);
		ck_assert(talk_client(&next, SEG_ACK, 1).is_sent);
		ck_assert(talk_mirror(&next, SEG_ACK, 1).is_sent);
	}
	ck_assert_uint_eq(f.flows.worker->n_flows, 1);
	ck_assert_int_eq(story_state(&next), FLOW_ESTABLISHED);
	fixture_fini(&f);
}
END_TEST

START_TEST(new_syn_on_a_closing_flow_ends_and_replaces_it)
{
	setup();
	struct talk t = talk_new(&f, 16), next;

	talk_connect(&t, 10);
	talk_client(&t, SEG_ACK, 10);
	talk_mirror(&t, SEG_ACK | SEG_FIN, 10);
	next = t;
	next.client_seq += 100000;
	ck_assert(talk_client(&next, SEG_SYN, 0).is_sent);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_CLOSED), 1);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 2);
	/* The mirror closed first: its side rests a minute. */
	fixture_pass(&f, 50 * 1000 * 1000ull);
	ck_assert_uint_eq(f.flows.worker->n_flows, 1);
	fixture_pass(&f, 12 * 1000 * 1000ull);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(syn_of_another_number_on_a_half_open_flow_replaces_it)
{
	for (int acked = 0; acked < 2; acked++) {
		setup();
		struct talk t = talk_new(&f, 17), next;

		talk_client(&t, SEG_SYN, 0);
		if (acked)
			talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
		next = t;
		next.client_seq += 5000;
		ck_assert(talk_client(&next, SEG_SYN, 0).is_sent);
		ck_assert_uint_eq(f.flows.worker->n_half_open, 1);
		ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_REPLACED), 1);
		ck_assert_int_eq(
			talk_mirror(&t, SEG_SYN | SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_NO_FLOW);
		ck_assert(talk_mirror(&next, SEG_SYN | SEG_ACK, 0).is_sent);
		ck_assert(talk_client(&next, SEG_ACK, 0).is_sent);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 0);
		fixture_pass(&f, 62 * 1000 * 1000ull);
		story_check_over(&f);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(syn_on_an_established_flow_is_the_mirrors_to_judge)
{
	setup();
	struct talk t = talk_new(&f, 18), stray;

	talk_connect(&t, 10);
	stray = t;
	stray.client_seq += 999999;
	ck_assert(talk_client(&stray, SEG_SYN, 0).is_sent);
	ck_assert_uint_eq(stray.source_port, t.source_port);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert(talk_mirror(&t, SEG_ACK, 0).is_sent);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(acknowledgement_of_a_forged_client_does_not_establish)
{
	setup();
	struct talk t = talk_new(&f, 19), forged;

	talk_client(&t, SEG_SYN, 0);
	/* Before any SYN-ACK, and after one, of a number it cannot know. */
	ck_assert_int_eq(talk_client(&t, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
	forged = t;
	forged.mirror_seq += 1;
	ck_assert_int_eq(talk_client(&forged, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
	fixture_pass(&f, 10 * 1000 * 1000ull);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
	fixture_pass(&f, 5 * 1000);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_TIMEOUTS), 0);
	fixture_pass(&f, 2 * 1000 * 1000);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(idle_flow_expires_and_a_busy_one_does_not)
{
	setup();
	struct talk idle = talk_new(&f, 20), busy = talk_new(&f, 21);

	talk_connect(&idle, 10);
	talk_connect(&busy, 10);
	for (unsigned i = 0; i < 61; i++) {
		fixture_pass(&f, 1000 * 1000);
		ck_assert(talk_mirror(&busy, SEG_ACK, 0).is_sent);
	}
	ck_assert_ptr_null(talk_flow(&idle));
	ck_assert_int_eq(talk_client(&idle, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	ck_assert_int_eq(talk_mirror(&idle, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	ck_assert_int_eq(story_state(&busy), FLOW_ESTABLISHED);
	fixture_pass(&f, 62 * 1000 * 1000ull);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(expired_flow_is_not_used_even_before_the_sweep)
{
	setup();
	struct talk t = talk_new(&f, 22);

	talk_connect(&t, 10);
	f.now_us += 61 * 1000 * 1000ull;
	ck_assert_int_eq(talk_client(&t, SEG_ACK, 10).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	story_check_over(&f);
	/* A SYN then begins anew. */
	ck_assert(talk_connect(&t, 10));
	fixture_fini(&f);
}
END_TEST

START_TEST(expiry_is_written_at_most_once_a_second)
{
	setup();
	struct talk t = talk_new(&f, 23);

	talk_connect(&t, 10);
	const struct flow *flow = talk_flow(&t);
	uint16_t sequence = flow->sequence;

	for (unsigned i = 0; i < 99; i++) {
		f.now_us += 10 * 1000;
		talk_client(&t, SEG_ACK, 0);
		talk_mirror(&t, SEG_ACK, 0);
	}
	ck_assert_uint_eq(flow->sequence, sequence);
	f.now_us += 20 * 1000;
	talk_client(&t, SEG_ACK, 0);
	ck_assert_uint_eq(flow->sequence, (uint16_t)(sequence + 2));
	fixture_fini(&f);
}
END_TEST

/* What its packets leave undone by not writing the expiry each time is an eighth at most. */
START_TEST(busy_flow_outlives_the_shortest_idle_timeout)
{
	static const uint32_t timeouts_ms[] = {1000, 1900, 7999, 8000, 60000};

	for (unsigned k = 0; k < sizeof(timeouts_ms) / sizeof(timeouts_ms[0]); k++) {
		setup();
		struct talk t = talk_new(&f, 24);

		for (unsigned i = 0; i < 4; i++)
			f.tables.slots[i].idle_timeout_ms = timeouts_ms[k];
		talk_connect(&t, 10);
		for (unsigned i = 0; i < 40; i++) {
			fixture_pass(&f, timeouts_ms[k] * UINT64_C(300));
			ck_assert(talk_client(&t, SEG_ACK, 10).is_sent);
			ck_assert(talk_mirror(&t, SEG_ACK, 10).is_sent);
			/* At the worst moment: just before it would be put off again. */
			fixture_pass(&f, timeouts_ms[k] * UINT64_C(120));
			ck_assert(talk_mirror(&t, SEG_ACK, 0).is_sent);
			fixture_pass(&f, timeouts_ms[k] * UINT64_C(870));
			ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
		}
		fixture_pass(&f, (timeouts_ms[k] + 1) * UINT64_C(1000) + 1000 * 1000);
		ck_assert_ptr_null(talk_flow(&t));
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(half_open_flows_cannot_push_out_established_ones)
{
	fixture_init(&f, &(struct fixture_conf){.max_flows = 200, .max_half_open = 50});
	struct talk old[100];

	for (unsigned i = 0; i < 100; i++) {
		old[i] = talk_new(&f, 1000 + i);
		ck_assert(talk_connect(&old[i], 10));
	}
	for (unsigned i = 0; i < 5000; i++) {
		struct talk flood = talk_new(&f, 5000 + i);
		struct fixture_result r = talk_client(&flood, SEG_SYN, 0);

		ck_assert_int_eq(r.is_sent, i < 50);
		if (!r.is_sent)
			ck_assert_int_eq(r.reason, KARMALB_COUNTER_DROP_HALF_OPEN_FULL);
		/* Half of them get a SYN-ACK, which does not free the budget. */
		if (r.is_sent && i % 2 == 0)
			ck_assert(talk_mirror(&flood, SEG_SYN | SEG_ACK, 0).is_sent);
	}
	for (unsigned i = 0; i < 100; i++) {
		ck_assert(talk_client(&old[i], SEG_ACK, 10).is_sent);
		ck_assert(talk_mirror(&old[i], SEG_ACK, 10).is_sent);
	}
	fixture_pass(&f, 20 * 1000 * 1000ull);
	struct talk late = talk_new(&f, 1);

	ck_assert(talk_connect(&late, 10));
	fixture_fini(&f);
}
END_TEST

START_TEST(full_table_refuses_the_new_and_keeps_the_old)
{
	fixture_init(&f, &(struct fixture_conf){.max_flows = 64, .max_half_open = 64});
	struct talk old[64];

	for (unsigned i = 0; i < 64; i++) {
		old[i] = talk_new(&f, i);
		ck_assert(talk_connect(&old[i], 10));
	}
	struct talk late = talk_new(&f, 100), again;

	ck_assert_int_eq(
		talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_FLOW_TABLE_FULL);
	/* Not even a replacement: what there is stays as it is. */
	talk_client(&old[0], SEG_ACK | SEG_FIN, 0);
	again = old[0];
	again.client_seq += 100000;
	ck_assert_int_eq(
		talk_client(&again, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_FLOW_TABLE_FULL);
	ck_assert(talk_mirror(&old[0], SEG_ACK, 100).is_sent);
	for (unsigned i = 1; i < 64; i++)
		ck_assert(talk_client(&old[i], SEG_ACK, 1).is_sent);
	fixture_pass(&f, 65 * 1000 * 1000ull);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

static void
close_by(struct talk *t, bool is_mirror_first)
{
	if (is_mirror_first) {
		talk_mirror(t, SEG_ACK | SEG_FIN, 0);
		talk_client(t, SEG_ACK | SEG_FIN, 0);
		talk_mirror(t, SEG_ACK, 0);
	} else {
		talk_client(t, SEG_ACK | SEG_FIN, 0);
		talk_mirror(t, SEG_ACK | SEG_FIN, 0);
		talk_client(t, SEG_ACK, 0);
	}
	ck_assert_int_eq(talk_flow(t)->state, FLOW_RESTING);
}

/* 8 of 64 rest, 4 of them because their mirror is in TIME-WAIT: these go last. */
START_TEST(full_table_makes_room_of_what_is_over)
{
	fixture_init(&f, &(struct fixture_conf){.max_flows = 64, .max_half_open = 64});
	struct talk old[64], late[10];

	for (unsigned i = 0; i < 64; i++) {
		old[i] = talk_new(&f, i);
		ck_assert(talk_connect(&old[i], 10));
	}
	for (unsigned i = 8; i < 16; i++)
		close_by(&old[i], i < 12);
	for (unsigned n_in = 0, n_tried = 0; n_in < 8; n_tried++) {
		ck_assert_uint_lt(n_tried, 64); /* every try looks at some more */
		late[n_in] = talk_new(&f, 100 + n_tried);
		n_in += talk_connect(&late[n_in], 0);
		for (unsigned i = 8; i < 12 && n_in <= 4; i++)
			ck_assert_ptr_nonnull(talk_flow(&old[i]));
	}
	late[8] = talk_new(&f, 1000);
	ck_assert_int_eq(
		talk_client(&late[8], SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_FLOW_TABLE_FULL);
	ck_assert_uint_eq(f.pipeline.counters[KARMALB_COUNTER_FLOWS_RECLAIMED], 8);
	for (unsigned i = 0; i < 64; i++)
		ck_assert_int_eq(talk_client(&old[i], SEG_ACK, 1).is_sent, i < 8 || i >= 16);
	for (unsigned i = 0; i < 8; i++)
		ck_assert(talk_mirror(&late[i], SEG_ACK, 1).is_sent);
	fixture_pass(&f, 125 * 1000 * 1000ull);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

/* The one that rests is the one whose client comes again. */
START_TEST(replaced_flow_is_not_what_makes_room)
{
	fixture_init(&f, &(struct fixture_conf){.max_flows = 64, .max_half_open = 64});
	struct talk old[64], again;

	for (unsigned i = 0; i < 64; i++) {
		old[i] = talk_new(&f, i);
		ck_assert(talk_connect(&old[i], 10));
	}
	close_by(&old[3], false);
	again = old[3];
	again.client_seq += 100000;
	ck_assert_int_eq(
		talk_client(&again, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_FLOW_TABLE_FULL);
	ck_assert_ptr_nonnull(talk_flow(&old[3]));
	ck_assert_uint_eq(f.pipeline.counters[KARMALB_COUNTER_FLOWS_RECLAIMED], 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(port_rests_until_its_time_is_over)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 1,
				 .n_sources = 1,
				 .n_workers = 64,
				 .max_flows = 200000,
				 .max_half_open = 6400});
	unsigned slice = f.flows.n_ports;

	/* Every port of the slice used once, the mirror closing first. */
	for (unsigned i = 0; i < slice; i++) {
		struct talk t = talk_new(&f, i);

		ck_assert(talk_connect(&t, 1));
		talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
		talk_client(&t, SEG_ACK | SEG_FIN, 0);
		talk_mirror(&t, SEG_ACK, 0);
	}
	struct talk late = talk_new(&f, slice);
	struct talk retry = late;

	ck_assert_int_eq(
		talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_NO_SOURCE_PORT);
	fixture_pass(&f, 59 * 1000 * 1000ull);
	late = retry;
	ck_assert_int_eq(
		talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_NO_SOURCE_PORT);
	fixture_pass(&f, 3 * 1000 * 1000ull);
	ck_assert(talk_connect(&retry, 1));
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {new_syn_on_a_resting_flow_replaces_it_in_that_packet,
		new_syn_on_a_closing_flow_ends_and_replaces_it,
		syn_of_another_number_on_a_half_open_flow_replaces_it,
		syn_on_an_established_flow_is_the_mirrors_to_judge,
		acknowledgement_of_a_forged_client_does_not_establish,
		idle_flow_expires_and_a_busy_one_does_not,
		expired_flow_is_not_used_even_before_the_sweep,
		expiry_is_written_at_most_once_a_second,
		busy_flow_outlives_the_shortest_idle_timeout,
		half_open_flows_cannot_push_out_established_ones,
		full_table_refuses_the_new_and_keeps_the_old, full_table_makes_room_of_what_is_over,
		replaced_flow_is_not_what_makes_room, port_rests_until_its_time_is_over, NULL};

	return suite_run("tcp_limits", tests);
}
