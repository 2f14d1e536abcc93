/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splits a configuration text into tokens, like libconfig's scanner where that accepts, and saying
 * why where it does not.  Pure.  Never reads beyond the end that it is given.
 */
#include "config_token.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "err.h"

/* The longest integer worth reading: a sign, 0x, 64 bits in any base, LL. */
#define INTEGER_TEXT_MAX 32

struct config_scanner
config_scanner_of(const char *text, size_t size)
{
	return (struct config_scanner){.next = text, .end = text + size, .line = 1};
}

static bool
starts_with(const struct config_scanner *scanner, const char *prefix)
{
	size_t n = strlen(prefix);

	return (size_t)(scanner->end - scanner->next) >= n && memcmp(scanner->next, prefix, n) == 0;
}

static void
skip_line(struct config_scanner *scanner)
{
	while (scanner->next < scanner->end && *scanner->next != '\n')
		scanner->next++;
}

/* Behind the end of a comment that has begun; false: it has none. */
static bool
skip_block_comment(struct config_scanner *scanner)
{
	for (scanner->next += 2; scanner->next < scanner->end; scanner->next++) {
		if (starts_with(scanner, "*/")) {
			scanner->next += 2;
			return true;
		}
		if (*scanner->next == '\n')
			scanner->line++;
	}
	return false;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

/* Over blanks, lines' ends and comments; false: a comment is not closed. */
static bool
skip_blanks(struct config_scanner *scanner, struct err *err)
{
	while (scanner->next < scanner->end) {
		unsigned line = scanner->line;

		if (*scanner->next == '\n') {
			scanner->line++;
			scanner->next++;
		} else if (is_blank(*scanner->next)) {
			scanner->next++;
		} else if (*scanner->next == '#' || starts_with(scanner, "//")) {
			skip_line(scanner);
		} else if (!starts_with(scanner, "/*")) {
			return true;
		} else if (!skip_block_comment(scanner)) {
			scanner->line = line;
			err_fill(err, "the comment that begins here is not closed, expected */");
			return false;
		}
	}
	return true;
}

static bool
is_mark(char c)
{
	return c != '\0' && strchr("=:;,()[]{}", c) != NULL;
}

/* Whether a word goes on at 'p'; a ':' is part of a value, but not of a name. */
static bool
is_word_at(const char *p, const char *end, bool is_value)
{
	if (p == end || (is_mark(*p) && !(is_value && *p == ':')) || *p == '"' || *p == '#')
		return false;
	if (*p == '/' && p + 1 < end && (p[1] == '/' || p[1] == '*'))
		return false;
	return *p > ' ' && *p <= '~';
}

static struct config_token
wrong_token(const struct config_scanner *scanner)
{
	return (struct config_token){
		.kind = CONFIG_TOKEN_WRONG, .text = scanner->next, .line = scanner->line};
}

static struct config_token
take_string(struct config_scanner *scanner, struct err *err)
{
	struct config_token token = {
		.kind = CONFIG_TOKEN_STRING, .text = scanner->next, .line = scanner->line};
	const char *p = scanner->next + 1;

	for (; p < scanner->end && *p != '"'; p++) {
		if (*p == '\n')
			break;
		if (*p != '\\')
			continue;
		if (scanner->end - p >= 4 && strncasecmp(p, "\\x00", 4) == 0) {
			err_fill(err, "\\x00 in a string: expected no byte 0");
			return wrong_token(scanner);
		}
		if (p + 1 < scanner->end && p[1] != '\n')
			p++;
	}
	if (p == scanner->end || *p != '"') {
		err_fill(err, "the string is not closed on its line, expected a '\"'");
		return wrong_token(scanner);
	}
	scanner->next = p + 1;
	token.length = (size_t)(scanner->next - token.text);
	return token;
}

/* A byte that begins nothing. */
static struct config_token
refuse_byte(const struct config_scanner *scanner, struct err *err)
{
	if (scanner->line == 1 && starts_with(scanner, "\xef\xbb\xbf"))
		err_fill(err, "a byte order mark, expected UTF-8 without one");
	else if (starts_with(scanner, "@include"))
		err_fill(err, "@include is not available in this version, expected one file");
	else
		err_fill(err, "found byte 0x%02x, expected ASCII outside comments and strings",
			(unsigned char)*scanner->next);
	return wrong_token(scanner);
}

struct config_token
config_scanner_next(struct config_scanner *scanner, struct err *err)
{
	struct config_token token = {.kind = CONFIG_TOKEN_END};

	if (!skip_blanks(scanner, err))
		return wrong_token(scanner);
	token.text = scanner->next;
	token.line = scanner->line;
	if (scanner->next == scanner->end)
		return token;
	if (*scanner->next == '"')
		return take_string(scanner, err);
	if (is_mark(*scanner->next)) {
		token.kind = CONFIG_TOKEN_MARK;
		scanner->next++;
	} else if (*scanner->next == '@' || !is_word_at(scanner->next, scanner->end, false)) {
		return refuse_byte(scanner, err);
	} else {
		token.kind = CONFIG_TOKEN_WORD;
		while (is_word_at(scanner->next, scanner->end, false))
			scanner->next++;
	}
	token.length = (size_t)(scanner->next - token.text);
	return token;
}

struct config_token
config_token_extend(const struct config_scanner *scanner, struct config_token token)
{
	const char *p = token.text + token.length;

	while (is_word_at(p, scanner->end, true))
		p++;
	if (scanner->end - p >= 2 && p[0] == ' ' && p[1] == '%')
		p += 2;
	token.length = (size_t)(p - token.text);
	return token;
}

static bool
is_equal(const struct config_token *token, const char *word)
{
	return strlen(word) == token->length && strncasecmp(token->text, word, token->length) == 0;
}

static bool
is_name(const struct config_token *token)
{
	const char *p = token->text;

	if (!isalpha((unsigned char)*p) && *p != '*')
		return false;
	for (size_t i = 1; i < token->length; i++) {
		if (!isalnum((unsigned char)p[i]) && p[i] != '-' && p[i] != '_' && p[i] != '*')
			return false;
	}
	return true;
}

/* Copies a number without its L or LL; false: too long for any integer. */
static bool
copy_integer(const struct config_token *token, char *text, bool *is_64)
{
	size_t length = token->length;

	while (length > 0 && token->text[length - 1] == 'L' && token->length - length < 2)
		length--;
	*is_64 = length < token->length;
	if (length == 0 || length >= INTEGER_TEXT_MAX)
		return false;
	memcpy(text, token->text, length);
	text[length] = '\0';
	return true;
}

static size_t
span_digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && isdigit((unsigned char)p[n]))
		n++;
	return n;
}

static bool
is_integer(const struct config_token *token)
{
	const char *p = token->text, *end = p + token->length;
	size_t n;

	if (token->length > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		p += 2;
		for (n = 0; p + n < end && isxdigit((unsigned char)p[n]);)
			n++;
	} else {
		p += *p == '+' || *p == '-';
		n = span_digits(p, end);
	}
	p += n;
	return n > 0 && end - p <= 2 && strspn(p, "L") >= (size_t)(end - p);
}

/* Digits on at least one side of the point; an exponent needs a digit too. */
static bool
is_float(const struct config_token *token)
{
	const char *p = token->text, *end = p + token->length;

	p += *p == '+' || *p == '-';
	size_t n = span_digits(p, end), n_after = 0;
	bool has_point = p + n < end && p[n] == '.';

	if (has_point)
		n_after = span_digits(p + n + 1, end);
	p += n + has_point + n_after;
	if (n + n_after == 0 || p == end || (*p != 'e' && *p != 'E'))
		return n + n_after > 0 && has_point && p == end;
	p++;
	p += p < end && (*p == '+' || *p == '-');
	n = span_digits(p, end);
	return n > 0 && p + n == end;
}

enum config_word
config_token_word(const struct config_token *token)
{
	if (is_equal(token, "true") || is_equal(token, "false"))
		return CONFIG_WORD_BOOL;
	if (is_name(token))
		return CONFIG_WORD_NAME;
	if (is_integer(token))
		return CONFIG_WORD_INTEGER;
	return is_float(token) ? CONFIG_WORD_FLOAT : CONFIG_WORD_ODD;
}

bool
config_token_fits(const struct config_token *token)
{
	char text[INTEGER_TEXT_MAX];
	bool is_64;

	if (!copy_integer(token, text, &is_64))
		return false;
	errno = 0;
	long long value = strtoll(text, NULL, text[0] == '0' && tolower(text[1]) == 'x' ? 16 : 10);

	return errno == 0 && (is_64 || (value >= INT32_MIN && value <= INT32_MAX));
}
