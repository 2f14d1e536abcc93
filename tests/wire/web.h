/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What most tests of the control plane need: the one service "web" with four mirrors behind one
 * listen, documented rule, periods of one second, no pings; and the fake data plane to it.
 */
#pragma once

#include "fake_dataplane.h"

#define WEB_PROMPT_MS 3000 /* for what happens at once on an idle machine */
#define WEB_INSTANCE  UINT64_C(0x1234)

struct web {
	struct fake fake;
	struct karmalb_slot_totals totals[4];
};

extern struct web web;
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
/* The whole answer; valid until the next call. */
const char *
web_read_answer(int fd);
