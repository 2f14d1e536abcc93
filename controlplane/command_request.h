/* SPDX-License-Identifier: BSD-3-Clause */
/* A statement that somebody wants run, and where its answer goes: what the socket hands to the
 * commands without either knowing the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum command_result {
	COMMAND_DONE,
	COMMAND_WRONG,       /* not understood, or names something that does not exist */
	COMMAND_DENIED,      /* whoever asks may not change anything */
	COMMAND_NOT_NOW,     /* right, but out of our power at present */
	COMMAND_NOBODY,      /* done, and what was found is that no mirror answers */
	COMMAND_UNCONFIRMED, /* a change that is taken, but not known to be in force yet */
	COMMAND_N_RESULTS,
};

struct command_request {
	const char *text; /* the statement, not terminated; not needed after the call */
	size_t size;
	bool is_json;    /* the answer's form */
	bool is_tsv;     /* likewise; neither: text */
	bool may_change; /* else statements that change something are denied */
	uint32_t uid;    /* who asks, for the audit line */
	/* Called exactly once, before or after the statement's run returns.  'body' is the answer
	 * or, in the same form, the sentence that says what is wrong; valid during the call. */
	void (*answer)(void *arg, enum command_result result, const char *body, size_t size);
	/* More of the answer, as text, before the end; only for text.  NULL: nobody listens. */
	void (*progress)(void *arg, const char *text, size_t size);
	void *arg;
};
