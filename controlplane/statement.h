/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person or a script says to us: text to words, words to a row of a table of syntaxes.  Both
 * programs of the surface use it, the control plane to understand, karmactl to complete.  Pure, no
 * allocation; text may come from anyone.
 *
 * A syntax is what help shows, and is matched as it stands:
 *
 *     SHOW MIRRORS [FROM|OF service]
 *
 *     SHOW       capitals: a keyword, in any case, never quoted
 *     FROM|OF    either keyword
 *     service    small letters: an argument, one word or quoted text.  Quotes around it are for
 *                the reader ('pattern'), and of 'host:port'|service the last is its name
 *     command... an argument that takes all words to the end, one at least
 *     = , ( )    themselves
 *     [ ... ]    may be left out
 *
 * Where two syntaxes fit, the earlier one is meant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

#define STATEMENT_SIZE_MAX      4096 /* bytes of a statement */
#define STATEMENT_TOKENS_MAX    128
#define STATEMENT_ARGUMENTS_MAX 8
#define STATEMENT_EXPECTED_MAX  48

enum statement_token_kind {
	STATEMENT_WORD,
	STATEMENT_QUOTED, /* '...', "..." or `...`; the quote itself is written twice */
	STATEMENT_SIGN,   /* one of = , ( ) */
};

struct statement_token {
	enum statement_token_kind kind;
	const char *text; /* without quotes; printable UTF-8 but for blanks in quotes */
};

/* Points into a syntax: "FROM|OF", "'pattern'", "=". */
struct statement_item {
	const char *text;
	size_t length;
};

struct statement_argument {
	struct statement_item item;
	unsigned token; /* its first, or only, word */
};

/* Holds pointers into itself: do not copy. */
struct statement {
	unsigned n_tokens;
	unsigned n_arguments; /* after statement_match() */
	struct statement_token tokens[STATEMENT_TOKENS_MAX];
	struct statement_argument arguments[STATEMENT_ARGUMENTS_MAX];
	char buffer[2 * STATEMENT_SIZE_MAX + 2];
};

/*
 * Splits 'text' (not necessarily terminated) into words; one statement, a ';' may end it.  Returns
 * 0, or -EINVAL with a sentence: too long, not printable UTF-8, an open quote, something after ';'.
 * Empty text is an error too.
 */
int
statement_read(struct statement *st, const char *text, size_t size, struct err *err);

/* The index of the syntax that the words fit, with the arguments filled in; or -EINVAL with a
 * sentence that says what was found, what was expected, and what may have been meant. */
int
statement_match(
	struct statement *st, const char *const *syntaxes, unsigned n_syntaxes, struct err *err);

/* The argument's text, or NULL if it was left out. */
const char *
statement_argument(const struct statement *st, const char *name);

/* The words of a "argument..." with a blank between, cut to 'size'; NULL if it was left out. */
const char *
statement_rest(const struct statement *st, const char *name, char *text, size_t size);

/* What could stand next, were the words only the beginning of a statement. */
struct statement_expected {
	unsigned at;      /* after so many words; below n_tokens, the word there does not fit */
	bool is_complete; /* the words as they are fit a syntax */
	unsigned n_items; /* each text once */
	struct statement_item items[STATEMENT_EXPECTED_MAX];
};

void
statement_expect(const struct statement *st, const char *const *syntaxes, unsigned n_syntaxes,
	struct statement_expected *expected);

bool
statement_item_is_keyword(struct statement_item item);

/* The name of an argument item: "service" for "'host:port'|service". */
struct statement_item
statement_item_name(struct statement_item item);

/*
 * The bytes of the first statement in a text that may hold several, up to and without the ';' or
 * the end of line that ends it.  Quotes are respected as far as the line goes.
 */
size_t
statement_length(const char *text, size_t size);
