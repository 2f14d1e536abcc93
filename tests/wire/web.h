/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What most tests of the control plane need: the one service "web" with four mirrors behind one
 * listen, documented rule, periods of one second, no pings; and the fake data plane to it.
 */
#pragma once

#include "fake_dataplane.h"

#define WEB_PROMPT_MS 3000 /* for what happens at once on an idle machine */
#define WEB_INSTANCE  UINT64_C(0x1234)

/* Its time limits as configured. */
#define WEB_CONNECT_MS 1000
#define WEB_QUERY_MS   3000

struct web {
	struct fake fake;
	struct karmalb_slot_totals totals[4];
};

extern struct web web;
extern const char web_services[]; /* as configured */
extern const double web_equal[4]; /* shares as configured */
extern const double web_w1[4];    /* after the first period of web_send_answers() */

/* Check's fixture: the control plane runs and has said HELLO. */
void
web_set_up(void);
void
web_tear_down(void);

void
web_assert_shares(const struct intent *intent, const double *expected, double tolerance);

/* Every slot with these shares in force, and its totals. */
void
web_send_pairs(const double *shares);

/* 'n' answers of each mirror, in 10, 5, 30 and 3 ms. */
void
web_send_answers(unsigned n);

/* fake_apply() and intent_free(). */
void
web_apply_and_free(struct intent *intent);

/* Sends a statement to control.sock; the answer is read by web_read_answer(). */
int
web_ask(const char *statement);
/* The same with an answer for programs. */
int
web_ask_json(const char *statement);
/* The whole answer; valid until the next call. */
const char *
web_read_answer(int fd);

/* ---- changes ---- */

/* A statement on its way, and the transaction that it led to. */
struct web_change {
	int fd;
	struct intent *intent;
};

/* The data plane is welcome and has the service as configured. */
void
web_begin(void);

struct web_change
web_send_change(const char *statement);
/* Its author is answered so; frees the transaction. */
void
web_assert_told(struct web_change *c, const char *words);

void
web_assert_says(const char *answer, const char *words);
/* A statement that is answered at once. */
void
web_assert_shows(const char *statement, const char *words);

/* The next transaction has these time limits, and is taken. */
void
web_expect_limits(unsigned connect_ms, unsigned query_ms);
/* There is no next transaction. */
void
web_expect_silence(void);
/* The log has it 'n' times, soon. */
void
web_expect_in_log(const char *words, unsigned n);
