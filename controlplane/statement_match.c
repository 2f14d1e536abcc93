/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words against syntaxes.  A syntax is walked as the text it is; an optional part is tried first
 * with, then without.  The furthest word that any syntax reached, and what each of them wanted
 * there, make both the error and the completion.  Pure.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <karmalb/limits.h>

#include "err.h"
#include "nearest.h"
#include "statement.h"
#include "text.h"

/* One syntax against the words. */
struct walk {
	const struct statement *st;
	struct statement_expected *expected;
	unsigned n_arguments;
	struct statement_argument arguments[STATEMENT_ARGUMENTS_MAX];
};

static bool
walk(struct walk *w, const char *syntax, unsigned token);
static const char *
skip_optional(const char *syntax);
static struct statement_item
item_at(const char *syntax);
static bool
item_takes(struct statement_item item, const struct statement_token *token);
static bool
item_is_rest(struct statement_item item);
static void
expect(struct statement_expected *expected, struct statement_item item, unsigned token);
static int
refuse(const struct statement *st, const struct statement_expected *expected, struct err *err);

int
statement_match(
	struct statement *st, const char *const *syntaxes, unsigned n_syntaxes, struct err *err)
{
	struct statement_expected expected = {.at = 0};

	for (unsigned i = 0; i < n_syntaxes; i++) {
		struct walk w = {.st = st, .expected = &expected};

		if (!walk(&w, syntaxes[i], 0))
			continue;
		st->n_arguments = w.n_arguments;
		memcpy(st->arguments, w.arguments, sizeof(w.arguments));
		return (int)i;
	}
	return refuse(st, &expected, err);
}

/* The argument's first word; 'n_tokens': it was left out. */
static unsigned
find_argument(const struct statement *st, const char *name)
{
	for (unsigned i = 0; i < st->n_arguments; i++) {
		struct statement_item item = statement_item_name(st->arguments[i].item);

		if (strlen(name) == item.length && memcmp(name, item.text, item.length) == 0)
			return st->arguments[i].token;
	}
	return st->n_tokens;
}

const char *
statement_argument(const struct statement *st, const char *name)
{
	unsigned token = find_argument(st, name);

	return token < st->n_tokens ? st->tokens[token].text : NULL;
}

const char *
statement_rest(const struct statement *st, const char *name, char *text, size_t size)
{
	unsigned first = find_argument(st, name);
	size_t n = 0;

	for (unsigned i = first; i < st->n_tokens && n < size; i++)
		n += (size_t)snprintf(
			text + n, size - n, "%s%s", i == first ? "" : " ", st->tokens[i].text);
	return first < st->n_tokens ? text : NULL;
}

void
statement_expect(const struct statement *st, const char *const *syntaxes, unsigned n_syntaxes,
	struct statement_expected *expected)
{
	*expected = (struct statement_expected){.at = 0};
	for (unsigned i = 0; i < n_syntaxes; i++) {
		struct walk w = {.st = st, .expected = expected};

		if (walk(&w, syntaxes[i], 0))
			expected->is_complete = true;
	}
}

bool
statement_item_is_keyword(struct statement_item item)
{
	return item.length > 0 && isupper((unsigned char)item.text[0]);
}

struct statement_item
statement_item_name(struct statement_item item)
{
	const char *bar = memrchr(item.text, '|', item.length);

	if (bar != NULL)
		item = (struct statement_item){
			bar + 1, item.length - (size_t)(bar + 1 - item.text)};
	if (item.length >= 2 && item.text[0] == '\'')
		item = (struct statement_item){item.text + 1, item.length - 2};
	if (item_is_rest(item))
		item.length -= 3;
	return item;
}

/* True if 'syntax', from here to its end, takes all words from 'token' on.  Recursion is as deep
 * as the syntax has optional parts. */
static bool
walk(struct walk *w, const char *syntax, unsigned token)
{
	unsigned n_arguments = w->n_arguments;

	while (*syntax == ' ' || *syntax == ']')
		syntax++;
	if (*syntax == '[')
		return walk(w, syntax + 1, token) ||
		       (w->n_arguments = n_arguments, walk(w, skip_optional(syntax), token));

	struct statement_item item = item_at(syntax);

	if (item.length == 0 && token == w->st->n_tokens)
		return true;
	if (token == w->st->n_tokens || !item_takes(item, &w->st->tokens[token])) {
		expect(w->expected, item, token);
		return false;
	}
	if ((islower((unsigned char)item.text[0]) || item.text[0] == '\'') &&
		w->n_arguments < STATEMENT_ARGUMENTS_MAX)
		w->arguments[w->n_arguments++] = (struct statement_argument){item, token};
	return walk(w, syntax + item.length, item_is_rest(item) ? w->st->n_tokens : token + 1);
}

static const char *
skip_optional(const char *syntax)
{
	unsigned depth = 0;

	do {
		if (*syntax == '[')
			depth++;
		else if (*syntax == ']')
			depth--;
		syntax++;
	} while (depth > 0 && *syntax != '\0');
	return syntax;
}

/* Empty at the end of the syntax. */
static struct statement_item
item_at(const char *syntax)
{
	return (struct statement_item){syntax, strcspn(syntax, " []")};
}

static bool
keyword_takes(struct statement_item item, const char *word)
{
	size_t length = strlen(word);

	for (size_t at = 0; at < item.length; at++) {
		size_t alternative = strcspn(item.text + at, "| []");

		if (alternative == length && strncasecmp(item.text + at, word, length) == 0)
			return true;
		at += alternative;
	}
	return false;
}

static bool
item_takes(struct statement_item item, const struct statement_token *token)
{
	if (item.length == 0)
		return false;
	if (statement_item_is_keyword(item))
		return token->kind == STATEMENT_WORD && keyword_takes(item, token->text);
	if (item.length == 1 && strchr("=,()", item.text[0]) != NULL)
		return token->kind == STATEMENT_SIGN && token->text[0] == item.text[0];
	return token->kind != STATEMENT_SIGN;
}

static bool
item_is_rest(struct statement_item item)
{
	return item.length > 3 && memcmp(item.text + item.length - 3, "...", 3) == 0;
}

static bool
is_same_item(struct statement_item a, struct statement_item b)
{
	return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* Keeps what was wanted at the furthest word only. */
static void
expect(struct statement_expected *expected, struct statement_item item, unsigned token)
{
	if (token < expected->at)
		return;
	if (token > expected->at)
		*expected = (struct statement_expected){
			.at = token, .is_complete = expected->is_complete};
	for (unsigned i = 0; i < expected->n_items; i++)
		if (is_same_item(expected->items[i], item))
			return;
	if (expected->n_items < STATEMENT_EXPECTED_MAX)
		expected->items[expected->n_items++] = item;
}

/* "SERVICES, MIRRORS or DROPS". */
static void
list_expected(const struct statement_expected *expected, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < expected->n_items && n < size; i++) {
		struct statement_item item = expected->items[i];
		const char *between = i == 0 ? "" : i + 1 == expected->n_items ? " or " : ", ";

		if (item.length == 0)
			item = (struct statement_item){"the end of the statement", 24};
		n += (size_t)snprintf(
			text + n, size - n, "%s%.*s", between, (int)item.length, item.text);
	}
}

/* The words before 'token', as they were written, the long ones cut. */
static void
list_words(const struct statement *st, unsigned n_words, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < n_words && n < size; i++) {
		char word[32];

		n += (size_t)snprintf(text + n, size - n, "%s%s", i == 0 ? "" : " ",
			text_escape(st->tokens[i].text, word, sizeof(word)));
	}
}

/* The keyword that 'word' was meant to be, into 'keyword' (of KARMALB_NAME_MAX); empty: none. */
static void
suggest(const struct statement_expected *expected, const char *word, char *keyword)
{
	struct nearest nearest = nearest_to(word);
	char offered[KARMALB_NAME_MAX];

	keyword[0] = '\0';
	for (unsigned i = 0; i < expected->n_items; i++) {
		struct statement_item item = expected->items[i];

		if (!statement_item_is_keyword(item) || item.length >= sizeof(offered))
			continue;
		memcpy(offered, item.text, item.length);
		offered[item.length] = '\0';
		for (char *rest = offered, *one; (one = strsep(&rest, "|")) != NULL;) {
			nearest_offer(&nearest, one);
			if (nearest.name == one)
				strcpy(keyword, one);
		}
		nearest.name = NULL; /* 'offered' changes; the distance to beat stays */
	}
}

static int
refuse(const struct statement *st, const struct statement_expected *expected, struct err *err)
{
	char before[120], wanted[240], found[48], keyword[KARMALB_NAME_MAX];

	list_expected(expected, wanted, sizeof(wanted));
	list_words(st, expected->at, before, sizeof(before));
	if (expected->at == st->n_tokens)
		return err_set(err, "%s what? %s", before, wanted);
	text_escape(st->tokens[expected->at].text, found, sizeof(found));
	suggest(expected, st->tokens[expected->at].text, keyword);
	return err_set(err, "found \"%s\"%s%s, expected %s%s%s%s", found,
		expected->at == 0 ? "" : " after ", before, wanted,
		keyword[0] != '\0' ? "; did you mean " : "", keyword,
		keyword[0] != '\0' ? "?" : "");
}
