/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes out of the ordinary: several SYN-ACKs that contradict each other. */
#include "story.h"
#include "suite.h"
#include "tcp.h"

#define MS UINT64_C(1000)

static struct fixture f;

static struct talk
syn_sent(unsigned number)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, number);

	ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
	return t;
}

/* The client's SYN once more, as it was first. */
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
	struct talk t = syn_sent(1);

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
		struct talk t = syn_sent(2);
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
		struct talk t = syn_sent(3), first = syn_ack(&t, 0);

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
		struct talk t = syn_sent(4), talks[3];

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
	struct talk t = syn_sent(5), first = syn_ack(&t, 0);

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
		struct talk t = syn_sent(6);

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
	struct talk t = syn_sent(7), refusal;

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
	struct talk t = syn_sent(8), first = syn_ack(&t, 0), blind = first;

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

int
main(void)
{
	const TTest *const tests[] = {syn_ack_of_a_restarted_mirror_takes_the_place_of_a_lost_one,
		of_two_syn_acks_the_client_may_have_either,
		client_that_has_the_dead_mirrors_syn_ack_is_reset_by_the_new_one,
		of_three_syn_acks_the_last_two_hold, syn_ack_to_another_syn_changes_nothing,
		another_syn_ack_gives_the_client_time_anew_and_the_same_one_does_not,
		refusal_of_a_repeated_syn_ends_the_connect,
		reset_that_only_comes_near_does_not_end_a_half_open_flow, NULL};

	return suite_run("tcp_handshake", tests);
}
