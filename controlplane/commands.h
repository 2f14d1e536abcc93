/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements and what they do: reads the text, checks the right to change, answers from one copy of
 * the status, or asks balance for the change and answers when it is in force.  Knows no sockets and
 * no HTTP.  Loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance;
struct commands;

enum command_result {
	COMMAND_DONE,
	COMMAND_WRONG,   /* not understood, or names something that does not exist */
	COMMAND_DENIED,  /* whoever asks may not change anything */
	COMMAND_NOT_NOW, /* right, but out of our power at present */
	COMMAND_N_RESULTS,
};

struct command_request {
	const char *text; /* the statement, not terminated; not needed after the call */
	size_t size;
	bool is_json;    /* the answer's form; else text */
	bool may_change; /* else statements that change something are denied */
	uint32_t uid;    /* who asks, for the audit line */
	/* Called exactly once, before or after commands_run() returns.  'body' is the answer or, in
	 * the same form, the sentence that says what is wrong; valid during the call. */
	void (*answer)(void *arg, enum command_result result, const char *body, size_t size);
	void *arg;
};

/* 'balance' must live as long as statements are run.  Returns NULL when out of memory. */
struct commands *
commands_create(struct balance *balance);

/* Call it after balance_free(), which answers whatever still waits for a change.  Takes NULL. */
void
commands_free(struct commands *c);

void
commands_run(struct commands *c, const struct command_request *request);
