/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "http_response.h"

#define HEAD "HTTP/1.1 200 OK\r\nServer: x\r\nX-Mirror: m2\r\n"

static struct http_response response;

/* Feeds 'text' in pieces of 'piece' bytes; returns the bytes used. */
static size_t
feed(const char *text, size_t piece)
{
	size_t size = strlen(text), used = 0;

	http_response_init(&response);
	while (used < size && response.state < HTTP_RESPONSE_COMPLETE) {
		size_t n = size - used < piece ? size - used : piece;

		used += http_response_feed(&response, text + used, n);
	}
	return used;
}

START_TEST(whole_answers_are_complete_however_they_are_cut)
{
	static const char *const texts[] = {HEAD
		"Content-Length: 5\r\nConnection: close\r\n\r\nabcde",
		HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
		     "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\n\r\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t piece = 1; piece <= strlen(texts[i]); piece++) {
			ck_assert_uint_eq(feed(texts[i], piece), strlen(texts[i]));
			ck_assert_int_eq(response.state, HTTP_RESPONSE_COMPLETE);
			ck_assert_uint_eq(response.status, 200);
			ck_assert_uint_eq(response.body_size, 5);
			ck_assert_str_eq(response.mirror, "m2");
			ck_assert(response.is_closing);
		}
}
END_TEST

START_TEST(an_answer_cut_anywhere_is_not_complete)
{
	static const char text[] = HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	char part[sizeof(text)];

	for (size_t size = 0; size < strlen(text); size++) {
		memcpy(part, text, size);
		part[size] = '\0';
		feed(part, sizeof(part));
		ck_assert_int_lt(response.state, HTTP_RESPONSE_COMPLETE);
	}
}
END_TEST

START_TEST(the_next_answer_is_left_alone)
{
	ck_assert_uint_eq(feed(HEAD "Content-Length: 0\r\n\r\n" HEAD, 1000),
		strlen(HEAD "Content-Length: 0\r\n\r\n"));
	ck_assert_int_eq(response.state, HTTP_RESPONSE_COMPLETE);
}
END_TEST

START_TEST(what_it_does_not_understand_is_broken)
{
	static const char *const texts[] = {"SSH-2.0-OpenSSH\r\n", "HTTP/1.1 2OO OK\r\n\r\n",
		HEAD "\r\nbody until close", HEAD "Content-Length: -5\r\n\r\n",
		HEAD "Content-Length: 5x\r\n\r\n", HEAD "no colon\r\n",
		HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		HEAD "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		HEAD "Content-Length: 99999999999999999999999\r\n\r\n"};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		feed(texts[i], 1000);
		ck_assert_msg(response.state == HTTP_RESPONSE_BROKEN, "%s", texts[i]);
	}
}
END_TEST

START_TEST(a_line_without_end_is_broken)
{
	char text[2 * HTTP_RESPONSE_LINE_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	feed(text, 7);
	ck_assert_int_eq(response.state, HTTP_RESPONSE_BROKEN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("http_response");
	TCase *tc = tcase_create("answers");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, whole_answers_are_complete_however_they_are_cut);
	tcase_add_test(tc, an_answer_cut_anywhere_is_not_complete);
	tcase_add_test(tc, the_next_answer_is_left_alone);
	tcase_add_test(tc, what_it_does_not_understand_is_broken);
	tcase_add_test(tc, a_line_without_end_is_broken);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
