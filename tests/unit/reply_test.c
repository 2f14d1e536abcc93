/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads of queries and answers, and what each says. */
#include <string.h>

#include "reply.h"
#include "suite.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static const enum karmalb_reply_check http = KARMALB_REPLY_CHECK_HTTP,
				      sphinxapi = KARMALB_REPLY_CHECK_SPHINXAPI,
				      mysql = KARMALB_REPLY_CHECK_MYSQL;

START_TEST(without_a_check_everything_is_a_query_and_a_good_answer)
{
	const enum karmalb_reply_check none = KARMALB_REPLY_CHECK_NONE;

	ck_assert_int_eq(reply_query(none, false, BYTES("\0\0\0\1")), REPLY_QUERY);
	ck_assert_int_eq(reply_query(none, true, BYTES("\1\0\0\0\1")), REPLY_QUERY);
	ck_assert_int_eq(reply_judge(none, false, BYTES("HTTP/1.1 500 no\r\n")), REPLY_GOOD);
	ck_assert_int_eq(
		reply_judge(none, false, BYTES("\x1f\0\0\1\xff\xfd\x03#HY000")), REPLY_GOOD);
}
END_TEST

START_TEST(http_500_and_above_is_wrong_and_400_is_not)
{
	static const struct {
		const char *status;
		enum reply_verdict verdict;
	} rows[] = {{"200", REPLY_GOOD}, {"101", REPLY_GOOD}, {"304", REPLY_GOOD},
		{"400", REPLY_GOOD}, {"499", REPLY_GOOD}, {"500", REPLY_WRONG},
		{"503", REPLY_WRONG}, {"599", REPLY_WRONG}, {"999", REPLY_WRONG}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char head[64];
		int size = snprintf(
			head, sizeof(head), "HTTP/1.%u %s x\r\n\r\n", i % 2, rows[i].status);

		ck_assert_msg(reply_judge(http, false, (const uint8_t *)head, (unsigned)size) ==
				      rows[i].verdict,
			"%s", head);
		ck_assert_int_eq(reply_judge(http, false, (const uint8_t *)head, 11), REPLY_GOOD);
	}
	ck_assert_int_eq(
		reply_judge(http, false, BYTES("\x16\x03\x03\x05\x00 500 599")), REPLY_GOOD);
	ck_assert_int_eq(reply_query(http, false, BYTES("GET / HTTP/1.1\r\n\r\n")), REPLY_QUERY);
}
END_TEST

START_TEST(interim_answer_of_http_is_none_yet)
{
	static const char early[] = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
	char whole[200];

	ck_assert_int_eq(
		reply_judge(http, false, BYTES("HTTP/1.1 100 Continue\r\n\r\n")), REPLY_NOT_YET);
	ck_assert_int_eq(reply_judge(http, false, BYTES("HTTP/1.1 100 Cont")), REPLY_NOT_YET);
	ck_assert_int_eq(reply_judge(http, false, BYTES(early)), REPLY_NOT_YET);
	snprintf(whole, sizeof(whole), "%sHTTP/1.1 502 no\r\n\r\n", early);
	ck_assert_int_eq(reply_judge(http, false, (const uint8_t *)whole, (unsigned)strlen(whole)),
		REPLY_WRONG);
	snprintf(whole, sizeof(whole), "%sHTTP/1.1 200 OK\r\n\r\n", early);
	ck_assert_int_eq(reply_judge(http, false, (const uint8_t *)whole, (unsigned)strlen(whole)),
		REPLY_GOOD);
}
END_TEST

/* Where the last answer begins of which there is something before 'cut'. */
static unsigned
last_answer(const char *text, unsigned cut)
{
	do
		cut--;
	while (strncmp(&text[cut], "HTTP/1.", 7) != 0 || (cut > 0 && text[cut - 1] != '\n'));
	return cut;
}

/* As one segment and as two, cut at every place.  Of less than 12 bytes nothing can be told. */
static void
check_http(enum reply_verdict expected, const char *text)
{
	const uint8_t *head = (const uint8_t *)text;
	unsigned size = (unsigned)strlen(text), final = last_answer(text, size);

	ck_assert_msg(reply_judge(http, false, head, size) == expected, "%s", text);
	for (unsigned cut = 1; cut < size; cut++) {
		enum reply_verdict first = reply_judge(http, false, head, cut);
		unsigned begin = last_answer(text, cut);
		bool is_short = cut - begin < 12;

		if (begin == final || is_short) {
			ck_assert_msg(
				first == (is_short ? REPLY_GOOD : expected), "%u: %s", cut, text);
			continue;
		}
		ck_assert_msg(first == REPLY_NOT_YET, "cut at %u: %s", cut, text);
		ck_assert_msg(reply_judge_next(http, false, head + cut, size - cut) == expected,
			"cut at %u: %s", cut, text);
	}
}

START_TEST(answer_of_http_is_found_behind_any_number_of_interim_ones)
{
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define EARLY    "HTTP/1.1 103 Early Hints\r\nLink: </HTTP/2>\r\nHost: x\r\n\r\n"
	check_http(REPLY_WRONG, CONTINUE "HTTP/1.1 500 no\r\n\r\n");
	check_http(REPLY_WRONG, CONTINUE EARLY "HTTP/1.1 500 no\r\n\r\n");
	check_http(REPLY_WRONG, EARLY CONTINUE EARLY EARLY "HTTP/1.1 502 no\r\n\r\n");
	check_http(REPLY_GOOD, CONTINUE EARLY EARLY "HTTP/1.1 200 OK\r\n\r\n");
	check_http(REPLY_GOOD, CONTINUE EARLY "HTTP/1.1 101 go\r\n\r\n");
	/* The last one goes on with the next segment, whatever of it is here. */
	ck_assert_int_eq(reply_judge(http, false, BYTES(CONTINUE EARLY)), REPLY_NOT_YET);
	ck_assert_int_eq(reply_judge_next(http, false, BYTES(EARLY)), REPLY_NOT_YET);
	ck_assert_int_eq(reply_judge_next(http, false, BYTES("nk: y\r\nA: b")), REPLY_NOT_YET);
	ck_assert_int_eq(reply_judge_next(http, false, BYTES("\n")), REPLY_NOT_YET);
	/* Elsewhere there is nothing to go on. */
	ck_assert_int_eq(
		reply_judge_next(sphinxapi, false, BYTES("\0\1\1\x19\0\0\0\4data")), REPLY_WRONG);
	ck_assert_int_eq(reply_judge_next(sphinxapi, true, BYTES("\0\0\0\1")), REPLY_HANDSHAKE);
}
END_TEST

/* Work is bounded; what lies beyond cannot be told, and is an answer. */
START_TEST(interim_answers_without_end_are_not_followed_for_ever)
{
	static char many[4 * REPLY_HEAD_MAX];
	size_t size = 0;

	while (size + sizeof(EARLY) + 30 < sizeof(many))
		size += (size_t)snprintf(&many[size], sizeof(many) - size, "%s", EARLY);
	size += (size_t)snprintf(&many[size], sizeof(many) - size, "HTTP/1.1 500 no\r\n\r\n");
	ck_assert_int_eq(
		reply_judge(http, false, (const uint8_t *)many, (unsigned)size), REPLY_GOOD);
	size = REPLY_HEAD_MAX / (sizeof(EARLY) - 1) * (sizeof(EARLY) - 1);
	ck_assert_int_eq(
		reply_judge(http, false, (const uint8_t *)many, (unsigned)size), REPLY_NOT_YET);
	memset(many, 'x', sizeof(many));
	ck_assert_int_eq(
		reply_judge_next(http, false, (const uint8_t *)many, sizeof(many)), REPLY_GOOD);
	ck_assert_int_eq(reply_judge_next(http, false, (const uint8_t *)many, REPLY_HEAD_MAX),
		REPLY_NOT_YET);
}
END_TEST

START_TEST(versions_of_sphinxapi_are_no_query_and_no_answer)
{
	ck_assert_int_eq(reply_query(sphinxapi, false, BYTES("\0\0\0\1")), REPLY_QUERY_HANDSHAKE);
	/* The server's version came by itself: nothing is due. */
	ck_assert_int_eq(reply_query(sphinxapi, true, BYTES("\0\0\0\1")), REPLY_QUERY_NONE);
	ck_assert_int_eq(reply_query(sphinxapi, false, BYTES("\0\0\0\1\0\0\1\x19")), REPLY_QUERY);
	ck_assert_int_eq(reply_query(sphinxapi, true, BYTES("\0\0\1\x19\0\0\0\0")), REPLY_QUERY);
	ck_assert_int_eq(reply_judge(sphinxapi, true, BYTES("\0\0\0\1")), REPLY_HANDSHAKE);
	ck_assert_int_eq(reply_judge(sphinxapi, false, BYTES("\0\0\0\1")), REPLY_NOT_YET);
}
END_TEST

START_TEST(status_word_of_sphinxapi_decides)
{
	static const enum reply_verdict verdicts[] = {
		REPLY_GOOD, REPLY_WRONG, REPLY_WRONG, REPLY_WARNING, REPLY_GOOD};

	for (uint8_t status = 0; status < 5; status++) {
		const uint8_t answer[] = {
			0, 0, 0, 1, 0, status, 1, 0x19, 0, 0, 0, 4, 'd', 'a', 't', 'a'};

		ck_assert_int_eq(
			reply_judge(sphinxapi, false, answer, sizeof(answer)), verdicts[status]);
		ck_assert_int_eq(reply_judge(sphinxapi, false, answer + 4, sizeof(answer) - 4),
			verdicts[status]);
		ck_assert_int_eq(reply_judge(sphinxapi, false, answer + 4, 7), REPLY_GOOD);
	}
}
END_TEST

/* As searchd 2.2.11 says it: the reply is well, the query in it is not. */
START_TEST(a_search_without_its_index_is_wrong_and_a_mistaken_one_is_not)
{
#define SEARCH(status, text) BYTES("\0\0\1\x19\0\0\0\x40\0\0\0" status "\0\0\0\x20" text)
	ck_assert_int_eq(reply_judge(sphinxapi, false,
				 SEARCH("\1", "unknown local index 'rt' in search request")),
		REPLY_WRONG);
	ck_assert_int_eq(reply_judge(sphinxapi, false,
				 SEARCH("\1", "index rt: syntax error, unexpected ')'")),
		REPLY_GOOD);
	ck_assert_int_eq(reply_judge(sphinxapi, false, SEARCH("\2", "maxed out")), REPLY_WRONG);
	ck_assert_int_eq(
		reply_judge(sphinxapi, false, SEARCH("\3", "no such word")), REPLY_WARNING);
	ck_assert_int_eq(reply_judge(sphinxapi, false, SEARCH("\0", "title")), REPLY_GOOD);
	ck_assert_int_eq(reply_judge(mysql, false,
				 BYTES("\x36\0\0\1\xff\x28\4#42000"
				       "unknown local index 'rt' in search request")),
		REPLY_WRONG);
	ck_assert_int_eq(reply_judge(mysql, false,
				 BYTES("\x36\0\0\1\xff\x28\4#42000"
				       "sphinxql: syntax error, unexpected IDENT, exp")),
		REPLY_GOOD);
}
END_TEST

START_TEST(mysql_login_is_no_query)
{
	static const char greeting[] = "\x4a\0\0\0\x0a"
				       "8.0.30\0";
	static const char login[] = "\x20\0\0\1\x85\xa6\xff\x01\0\0\0\1";

	ck_assert_int_eq(reply_judge(mysql, false, BYTES(greeting)), REPLY_HANDSHAKE);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(login)), REPLY_QUERY_HANDSHAKE);
	/* OK, a switch of the method, more of it, access denied. */
	ck_assert_int_eq(
		reply_judge(mysql, true, BYTES("\x07\0\0\2\0\0\0\2\0\0\0")), REPLY_HANDSHAKE);
	ck_assert_int_eq(reply_judge(mysql, true,
				 BYTES("\x07\0\0\2\xfe"
				       "abcdef")),
		REPLY_HANDSHAKE);
	ck_assert_int_eq(reply_judge(mysql, true, BYTES("\x02\0\0\4\x01\x03xx")), REPLY_HANDSHAKE);
	ck_assert_int_eq(
		reply_judge(mysql, true, BYTES("\x20\0\0\2\xff\x15\x04#28000no")), REPLY_HANDSHAKE);
	/* In a login, too, the server may speak of itself. */
	ck_assert_int_eq(
		reply_judge(mysql, true, BYTES("\x20\0\0\2\xff\xb3\x04#42000many")), REPLY_WRONG);
	ck_assert_int_eq(
		reply_judge(mysql, false, BYTES("\x17\0\0\0\xff\x10\x04Too many")), REPLY_WRONG);
}
END_TEST

START_TEST(mysql_commands_without_an_answer_call_for_none)
{
	static const char quit[] = "\1\0\0\0\x01", close[] = "\5\0\0\0\x19\1\0\0\0";
	static const char both[] = "\5\0\0\0\x19\1\0\0\0\1\0\0\0\x01";
	static const char followed[] = "\5\0\0\0\x19\1\0\0\0\x09\0\0\0\x03SELECT 1";
	static const char select[] = "\x09\0\0\0\x03SELECT 1",
			  data[] = "\xff\xff\0\0\x18 and so on";

	ck_assert_int_eq(reply_query(mysql, true, BYTES(quit)), REPLY_QUERY_NONE);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(close)), REPLY_QUERY_NONE);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(both)), REPLY_QUERY_NONE);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(data)), REPLY_QUERY_NONE);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(followed)), REPLY_QUERY);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(select)), REPLY_QUERY);
	ck_assert_int_eq(reply_query(mysql, true, BYTES("\1\0\0")), REPLY_QUERY);
}
END_TEST

START_TEST(mysql_error_is_wrong_only_where_the_server_is_to_blame)
{
	static const struct {
		unsigned code;
		enum reply_verdict verdict;
	} rows[] = {{1064, REPLY_GOOD}, {1045, REPLY_GOOD}, {1062, REPLY_GOOD}, {1146, REPLY_GOOD},
		{1153, REPLY_GOOD}, {1205, REPLY_GOOD}, {1213, REPLY_GOOD}, {1290, REPLY_GOOD},
		{1317, REPLY_GOOD}, {1792, REPLY_GOOD}, {1836, REPLY_GOOD}, {1927, REPLY_GOOD},
		{1969, REPLY_GOOD}, {3024, REPLY_GOOD}, {1021, REPLY_WRONG}, {1037, REPLY_WRONG},
		{1040, REPLY_WRONG}, {1047, REPLY_WRONG}, {1053, REPLY_WRONG}, {1130, REPLY_WRONG},
		{1194, REPLY_WRONG}, {1203, REPLY_WRONG}, {1881, REPLY_WRONG}, {3032, REPLY_WRONG},
		{3168, REPLY_WRONG}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t error[] = "\x1f\0\0\1\xff\0\0#HY000what happened";

		error[5] = (uint8_t)rows[i].code;
		error[6] = (uint8_t)(rows[i].code >> 8);
		ck_assert_msg(reply_judge(mysql, false, error, sizeof(error)) == rows[i].verdict,
			"%u", rows[i].code);
	}
}
END_TEST

START_TEST(mysql_ok_may_carry_warnings)
{
	ck_assert_int_eq(reply_judge(mysql, false, BYTES("\x07\0\0\1\0\0\0\2\0\0\0")), REPLY_GOOD);
	ck_assert_int_eq(
		reply_judge(mysql, false, BYTES("\x07\0\0\1\0\1\0\2\0\3\0")), REPLY_WARNING);
	ck_assert_int_eq(
		reply_judge(mysql, false, BYTES("\x01\0\0\1\x02\x2a\0\0\2\3def")), REPLY_GOOD);
}
END_TEST

/* As servers send it before they know who the client is: without a state, by number 0. */
START_TEST(mysql_error_in_place_of_the_greeting_is_judged_too)
{
	static const struct {
		unsigned code;
		enum reply_verdict verdict;
	} rows[] = {{1040, REPLY_WRONG}, {1047, REPLY_WRONG}, {1053, REPLY_WRONG},
		{1129, REPLY_WRONG}, {1130, REPLY_WRONG}, {1045, REPLY_HANDSHAKE}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t error[] = "\x12\0\0\0\xff\0\0Host is blocked";

		error[5] = (uint8_t)rows[i].code;
		error[6] = (uint8_t)(rows[i].code >> 8);
		ck_assert_msg(
			reply_judge(mysql, false, error, sizeof(error) - 1) == rows[i].verdict,
			"%u", rows[i].code);
	}
}
END_TEST

#define TEN "0123456789"

/* Under TLS 1.2 an alert says what it is, under 1.3 its size does. */
START_TEST(farewell_of_tls_is_no_query)
{
	static const char plain[] = "\x15\3\1\0\2\2\x2e",
			  tls12[] = "\x15\3\3\0\x1a" TEN TEN "123456",
			  tls13[] = "\x17\3\3\0\x13" TEN "012345678",
			  after_cipher[] = "\x14\3\3\0\1\1\x17\3\3\0\x13" TEN "012345678",
			  cipher[] = "\x14\3\3\0\1\1", data[] = "\x17\3\3\0\x14" TEN TEN,
			  alert_and_data[] = "\x15\3\3\0\2\1\1\x17\3\3\0\x14" TEN TEN,
			  hello[] = "\x16\3\1\0\4\1\0\0\0", cut[] = "\x15\3\3\0\x1a" TEN;

	for (enum karmalb_reply_check c = 0; c < KARMALB_N_REPLY_CHECKS; c++) {
		ck_assert_int_eq(reply_query(c, true, BYTES(plain)), REPLY_QUERY_NONE);
		ck_assert_int_eq(reply_query(c, true, BYTES(tls12)), REPLY_QUERY_NONE);
		ck_assert_int_eq(reply_query(c, true, BYTES(tls13)), REPLY_QUERY_NONE);
		ck_assert_int_eq(reply_query(c, true, BYTES(after_cipher)), REPLY_QUERY_NONE);
		ck_assert_int_eq(reply_query(c, true, BYTES(cipher)), REPLY_QUERY);
		ck_assert_int_eq(reply_query(c, true, BYTES(data)), REPLY_QUERY);
		ck_assert_int_eq(reply_query(c, true, BYTES(alert_and_data)), REPLY_QUERY);
		ck_assert_int_eq(reply_query(c, false, BYTES(hello)), REPLY_QUERY);
		ck_assert_int_eq(reply_query(c, true, BYTES(cut)), REPLY_QUERY);
	}
}
END_TEST

/* The same bytes elsewhere mean nothing. */
START_TEST(what_cannot_be_read_is_good)
{
	static const char tls[] = "\x17\x03\x03\x01\xff\x10\x04many, by chance";
	static const char compressed[] = "\x0b\0\0\1\0\0\0\x07\0\0\1\0\0\0\2\0\1\0";

	ck_assert_int_eq(reply_judge(mysql, false, BYTES(tls)), REPLY_GOOD);
	ck_assert_int_eq(reply_query(mysql, true, BYTES(tls)), REPLY_QUERY);
	ck_assert_int_eq(reply_judge(mysql, false, BYTES(compressed)), REPLY_GOOD);
}
END_TEST

START_TEST(any_bytes_of_any_size_are_read_within_bounds)
{
	uint64_t random = suite_seed();

	for (unsigned round = 0; round < 200000; round++) {
		unsigned size = (unsigned)(suite_random(&random) % 48);
		uint8_t *head = malloc(size + 1); /* sanitizers see a byte too far */

		for (unsigned i = 0; i < size; i++)
			head[i] = suite_random(&random) % 3 == 0 ? (uint8_t)suite_random(&random)
								 : (uint8_t)(round & 1);
		head = realloc(head, size > 0 ? size : 1);
		for (unsigned check = 0; check < KARMALB_N_REPLY_CHECKS; check++) {
			enum karmalb_reply_check c = (enum karmalb_reply_check)check;

			ck_assert_int_le(reply_query(c, round & 2, head, size), REPLY_QUERY_NONE);
			ck_assert_int_le(reply_judge(c, round & 2, head, size), REPLY_NOT_YET);
			ck_assert_int_le(reply_judge_next(c, round & 2, head, size), REPLY_NOT_YET);
		}
		free(head);
	}
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {without_a_check_everything_is_a_query_and_a_good_answer,
		http_500_and_above_is_wrong_and_400_is_not, interim_answer_of_http_is_none_yet,
		answer_of_http_is_found_behind_any_number_of_interim_ones,
		interim_answers_without_end_are_not_followed_for_ever,
		versions_of_sphinxapi_are_no_query_and_no_answer, status_word_of_sphinxapi_decides,
		a_search_without_its_index_is_wrong_and_a_mistaken_one_is_not,
		mysql_login_is_no_query, mysql_commands_without_an_answer_call_for_none,
		mysql_error_is_wrong_only_where_the_server_is_to_blame,
		mysql_error_in_place_of_the_greeting_is_judged_too, mysql_ok_may_carry_warnings,
		farewell_of_tls_is_no_query, what_cannot_be_read_is_good,
		any_bytes_of_any_size_are_read_within_bounds, NULL};

	return suite_run("reply", tests);
}
