/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person typed was wrong: one sentence for that person, with the file and line it is about
 * where there are any.  A sentence says what was found and what was expected, ends without a full
 * stop, and holds no control characters.  The caller owns the struct; functions that may fail take
 * a pointer to one (never NULL) and fill it only when they return an error.
 */
#pragma once

#include <errno.h>

#define ERR_FILE_MAX     256
#define ERR_SENTENCE_MAX 512

struct err {
	unsigned line;           /* 0: about no line in particular */
	char file[ERR_FILE_MAX]; /* empty: about no file, as for a statement */
	char sentence[ERR_SENTENCE_MAX];
};

/* Fills in the sentence, with no file and line.  -EINVAL, for 'return err_set(err, ...)'. */
#define err_set(...) (err_fill(__VA_ARGS__), err_invalid())

/* Puts words before an already filled sentence: "service web: ".  -EINVAL likewise. */
#define err_prefix(...) (err_fill_before(__VA_ARGS__), err_invalid())

/* What these two are made of, so that the compiler sees that the result is never 0. */
void
err_fill(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void
err_fill_before(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline int
err_invalid(void)
{
	return -EINVAL;
}

/* Says which file and line an already filled sentence is about. */
void
err_locate(struct err *err, const char *file, unsigned line);

/* Puts "file:line: sentence", "file: sentence" or "sentence" into 'text'; returns 'text'. */
const char *
err_format(const struct err *err, char *text, unsigned size);

/* Enough for any err_format(). */
#define ERR_TEXT_MAX (ERR_FILE_MAX + ERR_SENTENCE_MAX + 16)
