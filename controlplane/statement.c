/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text to words.  Pure; the text is an enemy's until it has been through here, so what leaves is
 * printable UTF-8 of bounded length.  Matching is in statement_match.c.
 */
#include "statement.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "text.h"

static int
check_text(const char *text, size_t size, struct err *err);
static size_t
read_quoted(struct statement *st, const char *text, size_t size, char **out);
static size_t
read_plain(struct statement *st, const char *text, size_t size, char **out);
static size_t
blanks(const char *text, size_t size);
static int
check_end(const char *text, size_t size, struct err *err);
static bool
is_sign(char c);
static bool
is_quote(char c);

int
statement_read(struct statement *st, const char *text, size_t size, struct err *err)
{
	char *out = st->buffer;
	size_t at = 0;

	st->n_tokens = st->n_arguments = 0;
	if (check_text(text, size, err) < 0)
		return -EINVAL;
	for (;;) {
		at += blanks(text + at, size - at);
		if (at == size || text[at] == ';')
			break;
		if (st->n_tokens == STATEMENT_TOKENS_MAX)
			return err_set(
				err, "a statement has at most %d words", STATEMENT_TOKENS_MAX);
		size_t used = is_quote(text[at]) ? read_quoted(st, text + at, size - at, &out)
						 : read_plain(st, text + at, size - at, &out);

		if (used == 0)
			return err_set(err, "the quote %c opened at byte %zu is not closed",
				text[at], at + 1);
		at += used;
	}
	if (st->n_tokens == 0)
		return err_set(err, "no statement was given; HELP lists them");
	return check_end(text + at, size - at, err);
}

size_t
statement_length(const char *text, size_t size)
{
	char quote = '\0';
	size_t at = 0;

	for (; at < size && text[at] != '\n'; at++) {
		if (quote != '\0')
			quote = text[at] == quote ? '\0' : quote;
		else if (is_quote(text[at]))
			quote = text[at];
		else if (text[at] == ';')
			break;
	}
	return at;
}

static int
check_text(const char *text, size_t size, struct err *err)
{
	if (size > STATEMENT_SIZE_MAX)
		return err_set(err, "the statement is %zu bytes long, more than %d are not taken",
			size, STATEMENT_SIZE_MAX);
	for (size_t at = 0; at < size;) {
		at += text_printable(text + at, size - at);
		if (at == size)
			break;
		if (strchr("\t\r\n", text[at]) != NULL && text[at] != '\0') {
			at++;
			continue;
		}
		return err_set(err,
			"byte %zu of the statement is 0x%02x, expected printable UTF-8 text",
			at + 1, (unsigned char)text[at]);
	}
	return 0;
}

static void
add_token(struct statement *st, enum statement_token_kind kind, const char *text)
{
	st->tokens[st->n_tokens].kind = kind;
	st->tokens[st->n_tokens++].text = text;
}

/* Returns the bytes used, 0 if the closing quote is missing. */
static size_t
read_quoted(struct statement *st, const char *text, size_t size, char **out)
{
	char *start = *out;

	for (size_t at = 1; at < size; at++) {
		if (text[at] == text[0]) {
			if (at + 1 == size || text[at + 1] != text[0]) {
				*(*out)++ = '\0';
				add_token(st, STATEMENT_QUOTED, start);
				return at + 1;
			}
			at++; /* written twice: itself */
		}
		*(*out)++ = text[at];
	}
	return 0;
}

/* A sign, or a word up to the next blank, quote, sign or ';'.  Returns the bytes used, >= 1. */
static size_t
read_plain(struct statement *st, const char *text, size_t size, char **out)
{
	size_t length = 1;

	while (!is_sign(text[0]) && length < size && blanks(text + length, 1) == 0 &&
		!is_quote(text[length]) && !is_sign(text[length]) && text[length] != ';')
		length++;
	memcpy(*out, text, length);
	(*out)[length] = '\0';
	add_token(st, is_sign(text[0]) ? STATEMENT_SIGN : STATEMENT_WORD, *out);
	*out += length + 1;
	return length;
}

static size_t
blanks(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && (text[n] == ' ' || (text[n] >= '\t' && text[n] <= '\r')))
		n++;
	return n;
}

static int
check_end(const char *text, size_t size, struct err *err)
{
	for (size_t at = 0; at < size; at++)
		if (text[at] != ';' && blanks(text + at, 1) == 0)
			return err_set(err, "one statement at a time: there is more after the ';'");
	return 0;
}

static bool
is_sign(char c)
{
	return c == '=' || c == ',' || c == '(' || c == ')';
}

static bool
is_quote(char c)
{
	return c == '\'' || c == '"' || c == '`';
}
