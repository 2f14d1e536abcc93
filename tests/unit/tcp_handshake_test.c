/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes out of the ordinary: several SYN-ACKs that contradict each other, data in the SYN. */
#include "story.h"
#include "suite.h"
#include "tcp.h"

#define MS UINT64_C(1000)

static struct fixture f;

/* A SYN with payload of that size; the numbers go on behind the SYN itself. */
static struct talk
syn_sent(unsigned number, uint16_t payload)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, number);

	ck_assert(talk_client(&t, SEG_SYN, payload).is_sent);
	t.client_seq -= payload;
	return t;
}

/* The client's SYN once more, as it was first but without payload. */
static struct fixture_result
repeat_syn(const struct talk *t)
{
	struct talk again = *t;

	again.client_seq--;
	return talk_client(&again, SEG_SYN, 0);
}

/* SYN-ACK of a mirror that counts from elsewhere than 't' does; gives how the talk would go on. */
static struct talk
syn_ack(const struct talk *t, uint32_t ahead)
{
	struct talk other = *t;

	other.mirror_seq += ahead;
	ck_assert(talk_mirror(&other, SEG_SYN | SEG_ACK, 0).is_sent);
	return other;
}

/* The client asks, the mirror answers 3 ms later: one success more. */
static void
check_exchange(struct talk *t)
{
	uint64_t before = story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES);

	ck_assert(talk_client(t, SEG_ACK, 100).is_sent);
	f.now_us += 3 * MS;
	ck_assert(talk_mirror(t, SEG_ACK, 200).is_sent);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), before + 1);
	ck_assert_uint_eq(f.seen[f.n_seen - 1].kind, SAMPLE_QUERY);
	ck_assert_uint_eq(f.seen[f.n_seen - 1].latency_us, 3 * MS);
}

/* ---- several SYN-ACKs ---- */

/* The first one never reached the client, which repeats its SYN; by then the mirror was restarted.
 */
START_TEST(syn_ack_of_a_restarted_mirror_takes_the_place_of_a_lost_one)
{
	struct talk t = syn_sent(1, 0);

	f.now_us += 2 * MS;
	syn_ack(&t, 0);
	f.now_us += 1000 * MS;
	ck_assert(repeat_syn(&t).is_sent);
	struct talk second = syn_ack(&t, 0x12345678);

	ck_assert(talk_client(&second, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	ck_assert_uint_eq(fixture_count(&f, SAMPLE_CONNECT, 0), 1);
	ck_assert_uint_eq(f.seen[0].latency_us, 2 * MS);
	check_exchange(&second);
	ck_assert_uint_eq(fixture_drops(&f), 0);
	fixture_fini(&f);
}
END_TEST

/* As with SYN cookies, of which both are good; whichever the client has, it goes on with. */
START_TEST(of_two_syn_acks_the_client_may_have_either)
{
	for (unsigned round = 0; round < 6; round++) {
		struct talk t = syn_sent(2, 0);
		struct talk first = syn_ack(&t, 0), second = syn_ack(&t, 0x80000001);
		struct talk *chosen = round % 2 == 0 ? &first : &second;

		if (round / 2 == 1)
			syn_ack(&t, 0); /* the first once more */
		if (round / 2 == 2) {
			syn_ack(&t, 0);
			syn_ack(&t, 0x80000001);
		}
		ck_assert(talk_client(chosen, SEG_ACK, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
		ck_assert_uint_eq(fixture_count(&f, SAMPLE_CONNECT, 0), 1);
		check_exchange(chosen);
		ck_assert(talk_mirror(chosen, SEG_ACK | SEG_FIN, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
		fixture_fini(&f);
	}
}
END_TEST

/* What it resets is an acknowledgement of the connection that it knows nothing of any more. */
START_TEST(client_that_has_the_dead_mirrors_syn_ack_is_reset_by_the_new_one)
{
	for (unsigned round = 0; round < 2; round++) {
		struct talk t = syn_sent(3, 0), first = syn_ack(&t, 0);

		if (round == 0)
			syn_ack(&t, 0x7654321);
		ck_assert(talk_client(&first, SEG_ACK, 0).is_sent);
		if (round == 1) /* later: the client will challenge it */
			syn_ack(&t, 0x7654321);
		ck_assert(talk_client(&first, SEG_ACK, 0).is_sent);
		ck_assert(talk_mirror(&first, SEG_RST, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_RESTING);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].closed, 1);
		ck_assert_uint_eq(fixture_drops(&f), 0);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(of_three_syn_acks_the_last_two_hold)
{
	for (unsigned which = 0; which < 3; which++) {
		struct talk t = syn_sent(4, 0), talks[3];

		for (unsigned i = 0; i < 3; i++)
			talks[i] = syn_ack(&t, i * 0x10000000);
		ck_assert_int_eq(talk_client(&talks[which], SEG_ACK, 0).is_sent, which > 0);
		ck_assert_int_eq(story_state(&t), which > 0 ? FLOW_ESTABLISHED : FLOW_SYN_ACKED);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(syn_ack_to_another_syn_changes_nothing)
{
	struct talk t = syn_sent(5, 0), first = syn_ack(&t, 0);

	for (unsigned round = 0; round < 3; round++) {
		struct talk forged = t;

		forged.mirror_seq += 0x1000;
		forged.client_seq += round == 0 ? 0x20000 : round == 1 ? 0x80000000 : 0xffffffff;
		ck_assert_int_eq(talk_mirror(&forged, SEG_SYN | SEG_ACK, 0).reason,
			KARMALB_COUNTER_DROP_TCP_STATE);
		forged.client_seq = t.client_seq;
		ck_assert_int_eq(
			talk_client(&forged, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	}
	ck_assert_int_eq(talk_mirror(&first, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_TCP_STATE);
	first.mirror_seq--;
	ck_assert(talk_client(&first, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	fixture_fini(&f);
}
END_TEST

START_TEST(another_syn_ack_gives_the_client_time_anew_and_the_same_one_does_not)
{
	for (unsigned round = 0; round < 2; round++) {
		struct talk t = syn_sent(6, 0);

		syn_ack(&t, 0);
		fixture_pass(&f, 9000 * MS);
		struct talk again = syn_ack(&t, round * 77);

		fixture_pass(&f, 2000 * MS);
		ck_assert_int_eq(story_state(&t), round == 1 ? FLOW_SYN_ACKED : FLOW_RESTING);
		if (round == 1)
			ck_assert(talk_client(&again, SEG_ACK, 0).is_sent);
		fixture_fini(&f);
	}
}
END_TEST

/* It was restarted, and its server is not back yet. */
START_TEST(refusal_of_a_repeated_syn_ends_the_connect)
{
	struct talk t = syn_sent(7, 0), refusal;

	syn_ack(&t, 0);
	f.now_us += 1000 * MS;
	ck_assert(repeat_syn(&t).is_sent);
	refusal = t;
	refusal.mirror_seq = 0;
	ck_assert(talk_mirror(&refusal, SEG_RST | SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	fixture_pass(&f, 3000 * MS);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(reset_that_only_comes_near_does_not_end_a_half_open_flow)
{
	struct talk t = syn_sent(8, 0), first = syn_ack(&t, 0), blind = first;

	blind.mirror_seq++;
	ck_assert(talk_mirror(&blind, SEG_RST, 0).is_sent);
	blind.mirror_seq = 0;
	blind.client_seq--;
	ck_assert(talk_mirror(&blind, SEG_RST | SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
	ck_assert(talk_mirror(&first, SEG_RST, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_fini(&f);
}
END_TEST

/* ---- data in the SYN (TCP Fast Open) ---- */

START_TEST(data_of_a_syn_that_the_mirror_leaves_comes_again_and_is_the_query)
{
	struct talk t = syn_sent(10, 50);

	f.now_us += 4 * MS;
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
	ck_assert(talk_client(&t, SEG_ACK, 50).is_sent);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 1);
	f.now_us += 1 * MS;
	ck_assert(talk_mirror(&t, SEG_ACK, 10).is_sent);
	ck_assert_uint_eq(f.n_seen, 2);
	ck_assert_uint_eq(f.seen[0].kind, SAMPLE_CONNECT);
	ck_assert_uint_eq(f.seen[1].kind, SAMPLE_QUERY);
	ck_assert_uint_eq(f.seen[1].latency_us, 1 * MS);
	fixture_fini(&f);
}
END_TEST

/* Whether the client's acknowledgement is there before the answer or not, or is lost. */
START_TEST(data_of_a_syn_that_the_mirror_takes_is_a_query_since_the_syn)
{
	for (unsigned round = 0; round < 3; round++) {
		struct talk t = syn_sent(11, 50);

		f.now_us += 4 * MS;
		t.client_seq += 50;
		ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 1);
		if (round == 0)
			ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
		f.now_us += 2 * MS;
		struct talk behind = t;

		ck_assert(talk_mirror(&t, SEG_ACK, 500).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
		if (round == 1) /* crossed the answer */
			ck_assert(talk_client(&behind, SEG_ACK, 0).is_sent);
		ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
		ck_assert_uint_eq(f.n_seen, 2);
		ck_assert_uint_eq(f.seen[0].kind, SAMPLE_CONNECT);
		ck_assert_uint_eq(f.seen[0].latency_us, 4 * MS);
		ck_assert_uint_eq(f.seen[1].kind, SAMPLE_QUERY);
		ck_assert_uint_eq(f.seen[1].latency_us, 6 * MS);
		check_exchange(&t);
		ck_assert_uint_eq(fixture_drops(&f), 0);
		fixture_fini(&f);
	}
}
END_TEST

/* Answer and FIN may come before the client has acknowledged anything. */
START_TEST(mirror_may_close_with_its_answer_to_a_syn)
{
	struct talk t = syn_sent(12, 50);

	t.client_seq += 50;
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	ck_assert(talk_mirror(&t, SEG_ACK | SEG_FIN, 500).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_CLOSING);
	ck_assert(talk_client(&t, SEG_ACK | SEG_FIN, 0).is_sent);
	ck_assert(talk_mirror(&t, SEG_ACK, 0).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_UNEXPECTED_CLOSINGS), 0);
	fixture_pass(&f, 62000 * MS);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(client_or_mirror_may_reset_after_data_in_the_syn)
{
	for (unsigned side = 0; side < 2; side++) {
		struct talk t = syn_sent(13, 50);

		t.client_seq += 50;
		ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
		ck_assert((side == 0 ? talk_client(&t, SEG_RST, 0) : talk_mirror(&t, SEG_RST, 0))
				  .is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_RESTING);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_NETWORK_ERRORS), side);
		fixture_pass(&f, 3000 * MS);
		story_check_over(&f);
		fixture_fini(&f);
	}
}
END_TEST

/* Its SYN-ACK was lost; the one to the SYN that comes again may be another's. */
START_TEST(syn_with_data_may_come_again_after_its_syn_ack)
{
	struct talk t = syn_sent(14, 50), taken = t, left;

	taken.client_seq += 50;
	ck_assert(talk_mirror(&taken, SEG_SYN | SEG_ACK, 0).is_sent);
	f.now_us += 1000 * MS;
	ck_assert(repeat_syn(&t).is_sent);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_OPENED), 1);
	left = syn_ack(&t, 0x5555);
	ck_assert(talk_client(&left, SEG_ACK, 50).is_sent);
	f.now_us += 1 * MS;
	ck_assert(talk_mirror(&left, SEG_ACK, 10).is_sent);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
	check_exchange(&left);
	fixture_fini(&f);
}
END_TEST

START_TEST(refusal_of_a_syn_with_data_is_known_by_either_number)
{
	for (unsigned round = 0; round < 2; round++) {
		struct talk t = syn_sent(15, 50), beyond = t;

		beyond.mirror_seq = 0;
		beyond.client_seq += 51;
		ck_assert(talk_mirror(&beyond, SEG_RST | SEG_ACK, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_SYN_SENT);
		t.client_seq += round * 50;
		t.mirror_seq = 0;
		ck_assert(talk_mirror(&t, SEG_RST | SEG_ACK, 0).is_sent);
		ck_assert_int_eq(story_state(&t), FLOW_RESTING);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
		fixture_fini(&f);
	}
}
END_TEST

/* Nobody but a mirror that took the client's word can have sent it. */
START_TEST(payload_before_the_clients_acknowledgement_establishes_if_its_numbers_are_right)
{
	struct talk t = syn_sent(16, 0), first = syn_ack(&t, 0), stray = first;

	stray.mirror_seq++;
	ck_assert(talk_mirror(&stray, SEG_ACK, 10).is_sent);
	stray.mirror_seq = first.mirror_seq;
	stray.client_seq -= 1;
	ck_assert(talk_mirror(&stray, SEG_ACK, 10).is_sent);
	ck_assert_int_eq(story_state(&t), FLOW_SYN_ACKED);
	ck_assert(talk_mirror(&first, SEG_ACK, 10).is_sent); /* a greeting */
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert_uint_eq(fixture_count(&f, SAMPLE_GREETING, 0), 1);
	check_exchange(&first);
	fixture_fini(&f);
}
END_TEST

START_TEST(query_in_a_syn_whose_client_never_comes_back_ends_with_the_handshake)
{
	struct talk t = syn_sent(17, 50);

	for (unsigned i = 0; i < 4; i++)
		f.tables.slots[i].query_timeout_ms = 60000;
	t.client_seq += 50;
	ck_assert(talk_mirror(&t, SEG_SYN | SEG_ACK, 0).is_sent);
	fixture_pass(&f, 12000 * MS);
	story_check_over(&f);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 0);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {syn_ack_of_a_restarted_mirror_takes_the_place_of_a_lost_one,
		of_two_syn_acks_the_client_may_have_either,
		client_that_has_the_dead_mirrors_syn_ack_is_reset_by_the_new_one,
		of_three_syn_acks_the_last_two_hold, syn_ack_to_another_syn_changes_nothing,
		another_syn_ack_gives_the_client_time_anew_and_the_same_one_does_not,
		refusal_of_a_repeated_syn_ends_the_connect,
		reset_that_only_comes_near_does_not_end_a_half_open_flow,
		data_of_a_syn_that_the_mirror_leaves_comes_again_and_is_the_query,
		data_of_a_syn_that_the_mirror_takes_is_a_query_since_the_syn,
		mirror_may_close_with_its_answer_to_a_syn,
		client_or_mirror_may_reset_after_data_in_the_syn,
		syn_with_data_may_come_again_after_its_syn_ack,
		refusal_of_a_syn_with_data_is_known_by_either_number,
		payload_before_the_clients_acknowledgement_establishes_if_its_numbers_are_right,
		query_in_a_syn_whose_client_never_comes_back_ends_with_the_handshake, NULL};

	return suite_run("tcp_handshake", tests);
}
