/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that change something, and how they end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "web.h"

void
web_begin(void)
{
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
}

struct web_change
web_send_change(const char *statement)
{
	struct web_change s = {.fd = web_ask(statement)};

	s.intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	return s;
}

void
web_assert_says(const char *answer, const char *words)
{
	ck_assert_msg(strstr(answer, words) != NULL, "'%s' lacks '%s'", answer, words);
}

void
web_assert_told(struct web_change *s, const char *words)
{
	web_assert_says(web_read_answer(s->fd), words);
	intent_free(s->intent);
}

void
web_assert_shows(const char *statement, const char *words)
{
	web_assert_says(web_read_answer(web_ask(statement)), words);
}

void
web_expect_limits(unsigned connect_ms, unsigned query_ms)
{
	struct intent *intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);

	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, connect_ms);
	ck_assert_uint_eq(intent->services[0].query_timeout_ms, query_ms);
	web_apply_and_free(intent);
}

void
web_expect_silence(void)
{
	ck_assert_ptr_null(fake_next_intent(&web.fake, 200));
}

void
web_expect_in_log(const char *words, unsigned n)
{
	for (unsigned i = 0; i < WEB_PROMPT_MS / 10; i++) {
		if (fake_count_in_log(&web.fake, words) >= n)
			break;
		usleep(10000);
	}
	ck_assert_uint_eq(fake_count_in_log(&web.fake, words), n);
}
