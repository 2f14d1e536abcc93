/* SPDX-License-Identifier: BSD-3-Clause */
/* Words in front of words: nothing here knows what a statement means. */
#include "shortcut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "err.h"
#include "statement.h"

#define BLANKS " \t\r\n"

static char *
expand_check(const char *rest);
static char *
expand_events(const char *rest);
static char *
expand_top(const char *rest);
static char *
expand_why(const char *rest);

/* 'expand' NULL from it: the statement is one already. */
static const struct {
	const char *word;
	char *(*expand)(const char *rest);
} shortcuts[] = {
	{"top", expand_top},
	{"check", expand_check},
	{"events", expand_events},
	{"why", expand_why},
};
#define N_SHORTCUTS (sizeof(shortcuts) / sizeof(shortcuts[0]))

const char *
shortcut_at(unsigned i)
{
	return i < N_SHORTCUTS ? shortcuts[i].word : NULL;
}

static bool
is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

char *
shortcut_expand(const char *statement)
{
	const char *begin = statement + strspn(statement, BLANKS);
	size_t length = strcspn(begin, BLANKS);
	const char *rest = begin + length + strspn(begin + length, BLANKS);

	for (unsigned i = 0; i < N_SHORTCUTS; i++) {
		char *text;

		if (!is_word(begin, length, shortcuts[i].word))
			continue;
		text = shortcuts[i].expand(rest);
		if (text != NULL)
			return text;
	}
	return strdup(statement);
}

static char *
join(const char *begin, const char *rest)
{
	char *text;

	return asprintf(&text, "%s%s", begin, rest) < 0 ? NULL : text;
}

static char *
expand_check(const char *rest)
{
	return is_word(rest, strcspn(rest, BLANKS), "service") ? NULL
							       : join("CHECK SERVICE ", rest);
}

static char *
expand_events(const char *rest)
{
	return join(rest[0] == '\0' || is_word(rest, strcspn(rest, BLANKS), "since")
			    ? "SHOW EVENTS "
			    : "SHOW EVENTS SINCE ",
		rest);
}

static char *
expand_top(const char *rest)
{
	return join(rest[0] == '\0' ? "SHOW MIRRORS " : "SHOW MIRRORS FROM ", rest);
}

/* Of a client: a word with a ':', and another word behind it. */
static char *
expand_why(const char *rest)
{
	size_t length = strcspn(rest, BLANKS);
	const char *to = rest + length + strspn(rest + length, BLANKS);
	char *text;

	if (memchr(rest, ':', length) == NULL || rest[length] == '\0' ||
		asprintf(&text, "EXPLAIN %.*s TO %s", (int)length, rest, to) < 0)
		return NULL;
	return text;
}

bool
shortcut_is_top(const char *statement, char **service)
{
	struct statement *st = malloc(sizeof(*st));
	struct err err;
	bool is_top;

	*service = NULL;
	is_top = st != NULL && statement_read(st, statement, strlen(statement), &err) == 0 &&
		 st->n_tokens <= 2 && strcasecmp(st->tokens[0].text, "top") == 0;
	if (is_top && st->n_tokens == 2)
		*service = strdup(st->tokens[1].text);
	free(st);
	return is_top;
}
