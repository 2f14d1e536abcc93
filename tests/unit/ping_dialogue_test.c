/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of pings, as searchd 2.2.11, MariaDB and web servers were seen to speak them. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "ping_dialogue.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static struct ping_dialogue d;

static enum ping_verdict
hear(const void *bytes, size_t size)
{
	ck_assert_uint_le(d.n_heard + size, sizeof(d.heard));
	memcpy(d.heard + d.n_heard, bytes, size);
	return ping_dialogue_hear(&d, size);
}

static enum ping_verdict
hear_text(const char *text)
{
	return hear(text, strlen(text));
}

static void
begin(enum ping_kind kind)
{
	ck_assert_int_eq(ping_dialogue_begin(&d, kind, "/health", "10.0.0.11:80"), PING_OPEN);
}

static void
assert_said(const void *bytes, size_t size)
{
	ck_assert_uint_eq(d.n_say, size);
	ck_assert_mem_eq(d.say, bytes, size);
	d.n_say = 0;
}

START_TEST(for_tcp_a_connection_is_enough)
{
	ck_assert_int_eq(ping_dialogue_begin(&d, PING_TCP, "/", "h"), PING_ALIVE);
	ck_assert_uint_eq(d.n_say, 0);
}
END_TEST

START_TEST(http_asks_for_its_path)
{
	static const char asked[] = "GET /health HTTP/1.0\r\nHost: 10.0.0.11:80\r\n"
				    "User-Agent: karmalb\r\nConnection: close\r\n\r\n";

	begin(PING_HTTP);
	assert_said(asked, sizeof(asked) - 1);
	ck_assert_int_eq(ping_dialogue_begin(&d, PING_HTTP, "a", "h"), PING_OPEN);
	ck_assert_int_eq(memcmp(d.say, "GET /a HTTP", 11), 0);
}
END_TEST

static const struct {
	const char *answer;
	enum ping_verdict verdict;
	const char *failure;
} http[] = {
	{"HTTP/1.1 200 OK\r\n", PING_ALIVE, ""},
	{"HTTP/1.0 204", PING_ALIVE, ""},
	{"HTTP/1.1 302 Found\r\n", PING_ALIVE, ""},
	{"HTTP/1.1 20", PING_OPEN, ""},
	{"", PING_FAILED, "closed the connection without an answer"},
	{"HTTP/1.1 503 Service Unavailable", PING_FAILED, "HTTP status 503, expected 200 to 399"},
	{"HTTP/1.1 404 Not Found", PING_FAILED, "HTTP status 404, expected 200 to 399"},
	{"HTTP/1.1 2x0 OK", PING_FAILED, "the answer is not HTTP"},
	{"SSH-2.0-OpenSSH", PING_FAILED, "the answer is not HTTP"},
};

START_TEST(http_lives_with_status_200_to_399)
{
	begin(PING_HTTP);
	ck_assert_int_eq(hear_text(http[_i].answer), http[_i].verdict);
	ck_assert_str_eq(d.failure, http[_i].failure);
}
END_TEST

START_TEST(http_may_come_byte_by_byte)
{
	static const char answer[] = "HTTP/1.1 200";

	begin(PING_HTTP);
	for (unsigned i = 0; i < sizeof(answer) - 2; i++)
		ck_assert_int_eq(hear(&answer[i], 1), PING_OPEN);
	ck_assert_int_eq(hear("0", 1), PING_ALIVE);
}
END_TEST

START_TEST(sphinxapi_says_all_in_one_segment_and_wants_its_cookie_back)
{
	begin(PING_SPHINXAPI);
	assert_said(BYTES(0, 0, 0, 1, 0, 9, 1, 0, 0, 0, 0, 4, 'k', 'a', 'r', 'm'));
	ck_assert_int_eq(hear(BYTES(0, 0, 0, 1)), PING_OPEN);
	ck_assert_int_eq(hear(BYTES(0, 0, 1, 0, 0, 0, 0, 4, 'k', 'a', 'r')), PING_OPEN);
	ck_assert_int_eq(hear("m", 1), PING_ALIVE);
}
END_TEST

START_TEST(sphinxapi_fails_with_what_searchd_says)
{
	begin(PING_SPHINXAPI);
	ck_assert_int_eq(hear(BYTES(0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 9)), PING_FAILED);
	ck_assert_str_eq(d.failure, "SphinxAPI status 1");
	begin(PING_SPHINXAPI);
	ck_assert_int_eq(hear(BYTES(0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 4, 1, 2, 3, 4)), PING_FAILED);
	ck_assert_str_eq(d.failure, "SphinxAPI ping came back with another cookie");
	begin(PING_SPHINXAPI);
	ck_assert_int_eq(hear_text("HTTP/1.1 400"), PING_FAILED);
	ck_assert_str_eq(d.failure, "the answer is not SphinxAPI");
}
END_TEST

/* ---- MySQL ---- */

static const uint8_t greeting[] = {
	0x10, 0, 0, 0, 0x0a, '2', '.', '2', '.', '1', '1', 0, 1, 0, 0, 0, 1, 2, 3, 4};
static const uint8_t ok_2[] = {7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0};
static const uint8_t ok_1[] = {7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};

static void
greet(void)
{
	begin(PING_MYSQL);
	ck_assert_uint_eq(d.n_say, 0); /* the server speaks first */
	ck_assert_int_eq(hear(greeting, sizeof(greeting)), PING_OPEN);
	ck_assert_uint_gt(d.n_say, 36);
	ck_assert_uint_eq(d.say[0] + 4, d.n_say);
	ck_assert_uint_eq(d.say[3], 1);
	ck_assert_str_eq((const char *)d.say + 36, "karmalb");
	d.n_say = 0;
}

START_TEST(mysql_logs_in_pings_and_takes_leave)
{
	greet();
	ck_assert_int_eq(hear(ok_2, sizeof(ok_2)), PING_OPEN);
	assert_said(BYTES(1, 0, 0, 0, 0x0e));
	ck_assert_int_eq(hear(ok_1, sizeof(ok_1)), PING_ALIVE);
	assert_said(BYTES(1, 0, 0, 0, 1));
}
END_TEST

START_TEST(mysql_another_way_to_log_in_is_tried_without_password_too)
{
	greet();
	ck_assert_int_eq(hear(BYTES(6, 0, 0, 2, 0xfe, 'p', 'l', 'u', 'g', 0)), PING_OPEN);
	assert_said(BYTES(0, 0, 0, 3));
	ck_assert_int_eq(hear(BYTES(7, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0)), PING_OPEN);
	assert_said(BYTES(1, 0, 0, 0, 0x0e));
}
END_TEST

START_TEST(mysql_a_login_turned_down_is_a_sign_of_life)
{
	greet();
	ck_assert_int_eq(hear(BYTES(9, 0, 0, 2, 0xff, 0x15, 0x04, '#', '2', '8', '0', '0', '0')),
		PING_ALIVE);
}
END_TEST

static const struct {
	unsigned error;
	enum ping_verdict verdict;
	const char *failure;
} first_errors[] = {
	{1040, PING_FAILED, "MySQL error 1040"}, {1129, PING_FAILED, "MySQL error 1129"},
	{1130, PING_ALIVE, ""}, /* not from this host: it may well serve our sources */
};

START_TEST(mysql_errors_about_the_servers_condition_are_none)
{
	unsigned error = first_errors[_i].error;

	begin(PING_MYSQL);
	ck_assert_int_eq(hear(BYTES(3, 0, 0, 0, 0xff, (uint8_t)error, (uint8_t)(error >> 8))),
		first_errors[_i].verdict);
	ck_assert_str_eq(d.failure, first_errors[_i].failure);
}
END_TEST

/* Longer than what is kept of an answer: the code alone decides, as soon as it is there. */
START_TEST(mysql_errors_may_have_long_sentences)
{
	greet();
	ck_assert_int_eq(hear(BYTES(0x08, 2, 0, 2, 0xff)), PING_OPEN);
	ck_assert_int_eq(hear(BYTES(0x15, 0x04)), PING_ALIVE);
	begin(PING_MYSQL);
	ck_assert_int_eq(hear(BYTES(0x08, 2, 0, 0, 0xff, 0x10, 0x04, '#')), PING_FAILED);
	ck_assert_str_eq(d.failure, "MySQL error 1040");
	begin(PING_MYSQL);
	ck_assert_int_eq(hear(BYTES(0, 0, 1, 0, 0xff, 0x15, 0x04)), PING_FAILED);
	ck_assert_str_eq(d.failure, "the answer is not MySQL's protocol");
}
END_TEST

START_TEST(what_is_no_mysql_fails)
{
	begin(PING_MYSQL);
	ck_assert_int_eq(hear_text("HTTP/1.1 400 Bad Request\r\n"), PING_FAILED);
	begin(PING_MYSQL);
	ck_assert_int_eq(hear(BYTES(0, 0, 0, 0, 1)), PING_FAILED);
	begin(PING_MYSQL);
	ck_assert_int_eq(hear(BYTES(1, 0, 0, 0, 9)), PING_FAILED);
	ck_assert_str_eq(d.failure, "the answer is not MySQL's protocol");
	greet();
	ck_assert_int_eq(hear("", 0), PING_FAILED);
	ck_assert_str_eq(d.failure, "closed the connection without an answer");
}
END_TEST

/* Whatever comes in, the dialogue ends within its memory. */
START_TEST(noise_ends)
{
	srand(1);
	for (unsigned round = 0; round < 1500; round++) {
		enum ping_verdict verdict = PING_OPEN;
		unsigned fed = 0;

		begin(PING_HTTP + round % 3);
		while (verdict == PING_OPEN) {
			uint8_t byte = (uint8_t)(rand() % 4 == 0 ? rand() : rand() % 12);

			if (fed == 0 && round % 3 == 2)
				verdict = hear(greeting, sizeof(greeting));
			else
				verdict = hear(&byte, 1);
			ck_assert_uint_le(d.n_say, sizeof(d.say));
			ck_assert_uint_lt(fed++, 100000);
			d.n_say = rand() % 2 ? 0 : d.n_say;
		}
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("ping_dialogue");
	TCase *tc = tcase_create("bytes");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, for_tcp_a_connection_is_enough);
	tcase_add_test(tc, http_asks_for_its_path);
	tcase_add_loop_test(
		tc, http_lives_with_status_200_to_399, 0, sizeof(http) / sizeof(http[0]));
	tcase_add_test(tc, http_may_come_byte_by_byte);
	tcase_add_test(tc, sphinxapi_says_all_in_one_segment_and_wants_its_cookie_back);
	tcase_add_test(tc, sphinxapi_fails_with_what_searchd_says);
	tcase_add_test(tc, mysql_logs_in_pings_and_takes_leave);
	tcase_add_test(tc, mysql_another_way_to_log_in_is_tried_without_password_too);
	tcase_add_test(tc, mysql_a_login_turned_down_is_a_sign_of_life);
	tcase_add_loop_test(tc, mysql_errors_about_the_servers_condition_are_none, 0,
		sizeof(first_errors) / sizeof(first_errors[0]));
	tcase_add_test(tc, mysql_errors_may_have_long_sentences);
	tcase_add_test(tc, what_is_no_mysql_fails);
	tcase_add_test(tc, noise_ends);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
