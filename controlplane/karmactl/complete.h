/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may stand at the end of a statement being typed, out of what HELP says as JSON: statements,
 * and the words that arguments may be now; and karmactl's own words.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <karmalb/limits.h>

struct complete;

#define COMPLETE_WORDS_MAX 512
#define COMPLETE_WORD_MAX  (2 * KARMALB_NAME_MAX) /* service.mirror */

/* Words that the last, unfinished one could become. */
struct completions {
	size_t typed;     /* bytes of that word there are, quotes not counted */
	unsigned n_words; /* the same word once */
	char words[COMPLETE_WORDS_MAX][COMPLETE_WORD_MAX];
	size_t common; /* bytes that all of them begin with, >= typed */
	bool is_open;  /* it stands in an open quote, 'quote' */
	char quote;
};

/* 'json' is the answer to HELP.  NULL: it is something else, or out of memory. */
struct complete *
complete_create(const char *json);
void
complete_free(struct complete *c);

/* Of the last statement in 'text'. */
void
complete_text(
	const struct complete *c, const char *text, size_t size, struct completions *completions);
