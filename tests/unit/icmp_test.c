/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors about flows: who is believed, what counts, who is told. */
#include "datagrams.h"
#include "story.h"
#include "suite.h"

#define MS     UINT64_C(1000)
#define ROUTER 0x0a630063u

enum {
	UNREACHABLE = 3,
	EXCEEDED = 11,
	PARAMETER = 12,
};

static struct fixture f;

/* The frame that was last sent to a mirror or client. */
static uint8_t about[FRAME_MAX];

static void
keep_sent(void)
{
	memcpy(about, f.sent, f.sent_size);
}

static struct fixture_result
tell(uint8_t port_in, uint8_t type, uint8_t code, uint32_t from)
{
	uint8_t frame[FRAME_MAX];
	uint32_t to = datagram_get32(&about[DATAGRAM_IP_AT + 12]); /* who sent it */
	unsigned size = datagram_build_icmp(
		frame, (const uint8_t[]){type, code}, (const uint32_t[]){from, to}, about);

	return fixture_send_bytes(&f, port_in, frame, size);
}

static uint64_t
all_outcomes(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		sum += story_outcomes(&f, (enum karmalb_outcome)i);
	return sum;
}

/* A datagram asked, its way kept in 'about'. */
static struct datagram_talk
asked(void)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 1);

	ck_assert_int_eq(datagram_client(&t, "ask", 3), 0);
	keep_sent();
	return t;
}

/* A SYN sent, likewise. */
static struct talk
syn_sent(void)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, 1);

	ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
	keep_sent();
	return t;
}

/* What left embeds what its receiver had sent, and comes from where it had sent that to. */
static void
check_told(uint32_t source, uint32_t destination, uint16_t source_port)
{
	const uint8_t *ip = &f.sent[DATAGRAM_IP_AT], *icmp = &ip[20], *inner = &icmp[8];

	ck_assert_uint_eq(datagram_folded(datagram_sum(0, ip, 20)), 0xffff);
	ck_assert_uint_eq(datagram_folded(datagram_sum(0, icmp, f.sent_size - 34)), 0xffff);
	ck_assert_uint_eq(datagram_get32(&ip[12]), source);
	ck_assert_uint_eq(datagram_get32(&ip[16]), destination);
	ck_assert_uint_eq(datagram_get32(&inner[12]), destination);
	ck_assert_uint_eq(datagram_get32(&inner[16]), source);
	ck_assert_uint_eq(datagram_folded(datagram_sum(0, inner, 20)), 0xffff);
	ck_assert_uint_eq(datagram_get16(&inner[20]), source_port);
}

START_TEST(unreachable_about_a_syn_is_a_connect_failure_whoever_says_it)
{
	static const uint8_t codes[] = {0, 1, 2, 3, 9, 10, 13};

	for (unsigned i = 0; i < sizeof(codes); i++) {
		struct talk t = syn_sent();
		struct fixture_result r = tell(1, UNREACHABLE, codes[i], i % 2 ? ROUTER : t.mirror);

		ck_assert(r.is_sent);
		ck_assert_uint_eq(r.port_out, 0);
		check_told(FIXTURE_VIP, t.client, t.client_port);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
		tell(1, UNREACHABLE, codes[i], t.mirror); /* repeated: counted once */
		ck_assert_uint_eq(all_outcomes(), 1);
		ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(sequence_number_that_was_not_sent_is_dropped)
{
	syn_sent();
	about[38] ^= 1;
	ck_assert_int_eq(tell(1, UNREACHABLE, 1, ROUTER).reason, KARMALB_COUNTER_DROP_ICMP);
	ck_assert_uint_eq(all_outcomes(), 0);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(other_errors_about_a_syn_are_passed_on_and_count_nothing)
{
	struct talk t = syn_sent();

	ck_assert(tell(1, UNREACHABLE, 4, ROUTER).is_sent); /* fragmentation needed */
	check_told(FIXTURE_VIP, t.client, t.client_port);
	ck_assert(tell(1, EXCEEDED, 0, ROUTER).is_sent);
	ck_assert(tell(1, PARAMETER, 0, ROUTER).is_sent);
	ck_assert_uint_eq(all_outcomes(), 0);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(established_connection_is_not_ended_by_icmp)
{
	struct talk t = syn_sent();

	talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
	talk_client(&t, SEG_ACK, 0);
	talk_client(&t, SEG_ACK, 100);
	keep_sent();
	ck_assert(tell(1, UNREACHABLE, 3, t.mirror).is_sent);
	ck_assert_uint_eq(all_outcomes(), 0);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	ck_assert(talk_mirror(&t, SEG_ACK, 10).is_sent);
	fixture_fini(&f);
}
END_TEST

START_TEST(unreachable_about_a_datagram_counts_when_the_mirror_says_it)
{
	static const uint8_t codes[] = {1, 2, 3, 10, 13};

	for (unsigned i = 0; i < sizeof(codes); i++) {
		struct datagram_talk t = asked();
		struct fixture_result r = tell(1, UNREACHABLE, codes[i], t.mirror);

		ck_assert(r.is_sent);
		ck_assert_uint_eq(r.port_out, 0);
		check_told(FIXTURE_VIP, t.client, t.client_port);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 1);
		ck_assert_uint_eq(all_outcomes(), 1);
		fixture_fini(&f);
	}
}
END_TEST

/* Nothing in it is a secret: anybody could have sent it. */
START_TEST(unreachable_about_a_datagram_by_anybody_else_is_a_hint_only)
{
	static const uint8_t codes[] = {0, 1, 2, 3, 9, 10, 13};

	for (unsigned i = 0; i < sizeof(codes); i++) {
		struct datagram_talk t = asked();

		ck_assert(tell(1, UNREACHABLE, codes[i], ROUTER).is_sent);
		check_told(FIXTURE_VIP, t.client, t.client_port);
		ck_assert_uint_eq(all_outcomes(), 0);
		ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_CLOSED), 0);
		/* The flow is alive, and its query may be answered. */
		ck_assert_int_eq(datagram_mirror(&t, "told", 4), 0);
		ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_SUCCEEDED_QUERIES), 1);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(error_about_no_flow_of_ours_is_dropped)
{
	struct datagram_talk t = asked();

	about[35] ^= 1; /* source port of the embedded datagram */
	ck_assert_int_eq(tell(1, UNREACHABLE, 3, t.mirror).reason, KARMALB_COUNTER_DROP_ICMP);
	about[35] ^= 1;
	about[33] ^= 1; /* its destination: another mirror */
	ck_assert_int_eq(tell(1, UNREACHABLE, 3, t.mirror).reason, KARMALB_COUNTER_DROP_ICMP);
	ck_assert_uint_eq(all_outcomes(), 0);
	fixture_fini(&f);
}
END_TEST

/* A client that is gone, or a path to it that is narrow, is nothing that the mirror did. */
START_TEST(error_about_what_went_to_a_client_reaches_the_mirror_and_counts_nothing)
{
	struct datagram_talk t = asked();

	datagram_mirror(&t, "told", 4);
	keep_sent();
	for (unsigned code = 1; code <= 4; code++) {
		struct fixture_result r = tell(0, UNREACHABLE, (uint8_t)code, t.client);

		ck_assert(r.is_sent);
		ck_assert_uint_eq(r.port_out, 1);
		check_told(t.source, t.mirror, FIXTURE_MIRROR_PORT);
	}
	ck_assert_uint_eq(all_outcomes(), 1); /* the answer */
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_CLOSED), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(errors_do_not_keep_a_flow_alive)
{
	struct datagram_talk t = asked();

	for (unsigned i = 0; i < 70; i++) {
		fixture_pass(&f, 1000 * MS);
		tell(1, UNREACHABLE, 1, ROUTER);
	}
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_FLOWS_CLOSED), 1);
	ck_assert_int_eq(datagram_mirror(&t, "late", 4), KARMALB_COUNTER_DROP_NO_FLOW);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {unreachable_about_a_syn_is_a_connect_failure_whoever_says_it,
		sequence_number_that_was_not_sent_is_dropped,
		other_errors_about_a_syn_are_passed_on_and_count_nothing,
		established_connection_is_not_ended_by_icmp,
		unreachable_about_a_datagram_counts_when_the_mirror_says_it,
		unreachable_about_a_datagram_by_anybody_else_is_a_hint_only,
		error_about_no_flow_of_ours_is_dropped,
		error_about_what_went_to_a_client_reaches_the_mirror_and_counts_nothing,
		errors_do_not_keep_a_flow_alive, NULL};

	return suite_run("icmp", tests);
}
