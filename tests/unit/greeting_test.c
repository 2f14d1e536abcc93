/* SPDX-License-Identifier: BSD-3-Clause */
/* Mirrors that are to speak first, as those of MySQL, and what it is if they do not. */
#include "story.h"
#include "suite.h"

#define SECOND UINT64_C(1000000)

static struct fixture f;

static struct talk
connected(enum karmalb_reply_check check)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	for (unsigned i = 0; i < 4; i++) {
		f.tables.slots[i].reply_check = (uint8_t)check;
		f.tables.slots[i].query_timeout_ms = 2000;
	}
	struct talk t = talk_new(&f, 1);

	talk_client(&t, SEG_SYN, 0);
	f.now_us += SECOND / 2;
	talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
	f.now_us += 3 * SECOND; /* the client's time, and no wait for a greeting */
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	fixture_forget(&f);
	return t;
}

static uint64_t
all_outcomes(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		sum += story_outcomes(&f, (enum karmalb_outcome)i);
	return sum;
}

enum end {
	END_FIN,
	END_RST,
	END_SILENCE,
	N_ENDS,
};

static void
end_by(struct talk *t, enum end end)
{
	if (end == END_FIN)
		talk_mirror(t, SEG_ACK | SEG_FIN, 0);
	else if (end == END_RST)
		talk_mirror(t, SEG_ACK | SEG_RST, 0);
	else
		fixture_pass(&f, 4 * SECOND);
}

static const enum karmalb_outcome outcomes[] = {
	[END_FIN] = KARMALB_OUTCOME_UNEXPECTED_CLOSINGS,
	[END_RST] = KARMALB_OUTCOME_NETWORK_ERRORS,
	[END_SILENCE] = KARMALB_OUTCOME_QUERY_TIMEOUTS,
};

START_TEST(mirror_that_accepts_and_does_not_greet_fails)
{
	for (int end = 0; end < N_ENDS; end++) {
		struct talk t = connected(KARMALB_REPLY_CHECK_MYSQL);

		fixture_pass(&f, SECOND);
		ck_assert_uint_eq(all_outcomes(), 0);
		end_by(&t, (enum end)end);
		ck_assert_uint_eq(story_outcomes(&f, outcomes[end]), 1);
		ck_assert_uint_eq(fixture_count(&f, SAMPLE_FAILURE, outcomes[end]), 1);
		/* Once, whatever comes after it. */
		fixture_pass(&f, 4 * SECOND);
		talk_mirror(&t, SEG_ACK | SEG_FIN, 0);
		talk_mirror(&t, SEG_ACK | SEG_RST, 0);
		ck_assert_uint_eq(all_outcomes(), 1);
		ck_assert_uint_eq(f.slots[talk_slot(&t)].n_waiting, 0);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(greeting_that_is_late_is_a_timeout_even_before_the_sweep)
{
	struct talk t = connected(KARMALB_REPLY_CHECK_MYSQL);

	f.now_us += 2 * SECOND + 1000;
	talk_mirror(&t, SEG_ACK, 80);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_uint_eq(all_outcomes(), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(after_a_greeting_none_is_due)
{
	for (int end = 0; end < N_ENDS; end++) {
		struct talk t = connected(KARMALB_REPLY_CHECK_MYSQL);

		talk_mirror(&t, SEG_ACK, 80);
		end_by(&t, (enum end)end);
		ck_assert_uint_eq(all_outcomes(), 0);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(client_that_leaves_before_the_greeting_is_no_failure)
{
	static const uint8_t how[] = {SEG_ACK | SEG_FIN, SEG_RST};

	for (unsigned i = 0; i < sizeof(how); i++)
		for (int end = 0; end < N_ENDS; end++) {
			struct talk t = connected(KARMALB_REPLY_CHECK_MYSQL);

			talk_client(&t, how[i], 0);
			end_by(&t, (enum end)end);
			fixture_pass(&f, 4 * SECOND);
			ck_assert_uint_eq(all_outcomes(), 0);
			fixture_fini(&f);
		}
}
END_TEST

START_TEST(where_the_client_speaks_first_no_greeting_is_due)
{
	static const enum karmalb_reply_check checks[] = {
		KARMALB_REPLY_CHECK_NONE, KARMALB_REPLY_CHECK_HTTP, KARMALB_REPLY_CHECK_SPHINXAPI};

	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		for (int end = 0; end < N_ENDS; end++) {
			struct talk t = connected(checks[i]);

			end_by(&t, (enum end)end);
			ck_assert_uint_eq(all_outcomes(), 0);
			fixture_fini(&f);
		}
}
END_TEST

/* A client whose address is forged, or that never comes back, is owed nothing. */
START_TEST(half_open_connection_is_owed_no_greeting)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	for (unsigned i = 0; i < 4; i++)
		f.tables.slots[i].reply_check = KARMALB_REPLY_CHECK_MYSQL;
	struct talk t = talk_new(&f, 2), gone = talk_new(&f, 3);

	talk_client(&t, SEG_SYN, 0);
	talk_mirror(&t, SEG_SYN | SEG_ACK, 0);
	talk_client(&gone, SEG_SYN, 0);
	talk_mirror(&gone, SEG_SYN | SEG_ACK, 0);
	talk_mirror(&t, SEG_RST, 0);
	fixture_pass(&f, 15 * SECOND);
	ck_assert_uint_eq(all_outcomes(), 0);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(greeting_that_our_link_keeps_back_is_no_failure)
{
	struct talk t = connected(KARMALB_REPLY_CHECK_MYSQL);

	f.tables.ports[1].is_up = false;
	fixture_pass(&f, 4 * SECOND);
	ck_assert_uint_eq(all_outcomes(), 0);
	ck_assert_int_eq(story_state(&t), FLOW_ESTABLISHED);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {mirror_that_accepts_and_does_not_greet_fails,
		greeting_that_is_late_is_a_timeout_even_before_the_sweep,
		after_a_greeting_none_is_due, client_that_leaves_before_the_greeting_is_no_failure,
		where_the_client_speaks_first_no_greeting_is_due,
		half_open_connection_is_owed_no_greeting,
		greeting_that_our_link_keeps_back_is_no_failure, NULL};

	return suite_run("greeting", tests);
}
