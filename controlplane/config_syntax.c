/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pushdown automaton over the tokens.  What is wrong with a value alone (no quotes, too large) is
 * said and the walk goes on; after what is wrong with the structure nothing further can be said.
 */
#include "config_syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config_errors.h"
#include "config_token.h"
#include "err.h"

/* What may come next. */
enum state {
	STATE_NAME,       /* a name, or the end of the group */
	STATE_ASSIGN,     /* '=' */
	STATE_VALUE,      /* the value of a setting */
	STATE_AFTER,      /* behind a setting: ';', ',', or as STATE_NAME */
	STATE_FIRST_ITEM, /* an element of a list, or its end */
	STATE_ITEM,       /* an element behind a comma */
	STATE_AFTER_ITEM, /* ',' or the end of the list */
};

struct level {
	char open; /* '{', '(', '['; 0: the file itself */
	unsigned line;
	unsigned n_names;
};

/* The most of a token that a sentence quotes. */
#define SHOWN_MAX 60

struct walk {
	const char *file;
	struct config_errors *errors;
	struct config_scanner scanner;
	struct config_token token; /* the present one */
	struct config_token name;  /* the last name */
	struct config_token last;  /* the token before */
	unsigned n_errors;
	unsigned depth;
	struct level levels[CONFIG_DEPTH_MAX + 1];
	enum state state;
	char found[SHOWN_MAX + 3];
};

static void
complain(struct walk *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
complain(struct walk *w, const char *format, ...)
{
	char sentence[ERR_SENTENCE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	config_errors_add(w->errors, w->file, w->token.line, "%s", sentence);
	w->n_errors++;
}

/* A name or value as it is written, for "%.*s". */
static int
shown(const struct config_token *token)
{
	return token->length < SHOWN_MAX ? (int)token->length : SHOWN_MAX;
}
#define SHOWN(token) shown(token), (token)->text

/* Whatever was found, for "found %s": a mark stands out. */
static const char *
found(struct walk *w)
{
	snprintf(w->found, sizeof(w->found), w->token.kind == CONFIG_TOKEN_MARK ? "'%.*s'" : "%.*s",
		SHOWN(&w->token));
	return w->found;
}

static bool
is_mark(const struct config_token *token, char mark)
{
	return token->kind == CONFIG_TOKEN_MARK && *token->text == mark;
}

static bool
is_name(const struct config_token *token)
{
	return token->kind == CONFIG_TOKEN_WORD && config_token_word(token) == CONFIG_WORD_NAME;
}

static char
closer_of(char open)
{
	return open == '{' ? '}' : open == '(' ? ')' : ']';
}

static struct level *
top(struct walk *w)
{
	return &w->levels[w->depth];
}

/* After a value: which state it leaves behind depends on what it stands in. */
static void
end_value(struct walk *w)
{
	w->state = w->depth == 0 || top(w)->open == '{' ? STATE_AFTER : STATE_AFTER_ITEM;
}

static bool
open_level(struct walk *w)
{
	char open = *w->token.text;

	if (w->depth == CONFIG_DEPTH_MAX) {
		complain(w, "found brackets within brackets %u deep, expected at most %u",
			CONFIG_DEPTH_MAX + 1, CONFIG_DEPTH_MAX);
		return false;
	}
	if (top(w)->open == '[') {
		complain(w, "found %s within [ ], expected ( ) around a list of groups or lists",
			found(w));
		return false;
	}
	w->depth++;
	*top(w) = (struct level){.open = open, .line = w->token.line};
	w->state = open == '{' ? STATE_NAME : STATE_FIRST_ITEM;
	return true;
}

static bool
close_level(struct walk *w)
{
	if (w->depth == 0) {
		complain(w, "found %s, but nothing is open that it could close", found(w));
		return false;
	}
	if (!is_mark(&w->token, closer_of(top(w)->open))) {
		complain(w, "found %s, expected '%c' to close the '%c' of line %u", found(w),
			closer_of(top(w)->open), top(w)->open, top(w)->line);
		return false;
	}
	w->depth--;
	end_value(w);
	return true;
}

/* "name = ", or nothing in front of an element of a list. */
static const char *
left_side(const struct walk *w, char *text, size_t size)
{
	text[0] = '\0';
	if (w->state == STATE_VALUE)
		snprintf(text, size, "%.*s = ", SHOWN(&w->name));
	return text;
}

static bool
is_truth_of_elsewhere(const struct config_token *token)
{
	static const char *const words[] = {"yes", "no", "on", "off"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (token->length == strlen(words[i]) &&
			strncasecmp(token->text, words[i], token->length) == 0)
			return true;
	}
	return false;
}

/* A word where a value belongs.  Goes on in any case. */
static void
take_word(struct walk *w)
{
	struct config_token whole = config_token_extend(&w->scanner, w->token);
	enum config_word word = config_token_word(&whole);
	char left[SHOWN_MAX + 8];

	left_side(w, left, sizeof(left));
	w->scanner.next = whole.text + whole.length;
	if (word == CONFIG_WORD_INTEGER && !config_token_fits(&whole))
		complain(w,
			"%s%.*s does not fit into an integer, expected at most 2147483647 (a size "
			"may have a suffix, in quotes: \"5G\")",
			left, SHOWN(&whole));
	else if (is_truth_of_elsewhere(&whole))
		complain(w, "%s%.*s: expected true or false, or quotes: \"%.*s\"", left,
			SHOWN(&whole), SHOWN(&whole));
	else if (word == CONFIG_WORD_NAME || word == CONFIG_WORD_ODD)
		complain(
			w, "%s%.*s: expected quotes: \"%.*s\"", left, SHOWN(&whole), SHOWN(&whole));
	w->token = whole;
	end_value(w);
}

static bool
take_value(struct walk *w)
{
	if (w->token.kind == CONFIG_TOKEN_STRING) {
		end_value(w);
		return true;
	}
	if (w->token.kind == CONFIG_TOKEN_WORD) {
		take_word(w);
		return true;
	}
	if (strchr("{([", *w->token.text) != NULL)
		return open_level(w);
	if (w->state == STATE_VALUE)
		complain(w, "found %s behind %.*s =, expected a value", found(w), SHOWN(&w->name));
	else
		complain(w, "found %s, expected an element of the list", found(w));
	return false;
}

static bool
take_name(struct walk *w)
{
	if (is_mark(&w->token, '}') || is_mark(&w->token, ')') || is_mark(&w->token, ']'))
		return close_level(w);
	if (is_mark(&w->token, ';') || is_mark(&w->token, ',')) {
		complain(w, "found a %s too many, expected the name of a setting", found(w));
		return false;
	}
	if (!is_name(&w->token)) {
		complain(w, "found %s, expected the name of a setting (letters, digits, '-', '_')",
			found(w));
		return false;
	}
	if (++top(w)->n_names > CONFIG_WIDTH_MAX) {
		complain(w, "found more than %u settings in one group", CONFIG_WIDTH_MAX);
		return false;
	}
	w->name = w->token;
	w->state = STATE_ASSIGN;
	return true;
}

/* "2 m": a number, and behind it on the same line what is no setting's name but a unit. */
static bool
is_unit_behind_number(const struct walk *w)
{
	static const char *const units[] = {
		"us", "ms", "s", "m", "h", "d", "w", "k", "M", "G", "T", NULL};

	if (w->last.kind != CONFIG_TOKEN_WORD || w->last.line != w->token.line ||
		(config_token_word(&w->last) != CONFIG_WORD_INTEGER &&
			config_token_word(&w->last) != CONFIG_WORD_FLOAT))
		return false;
	for (unsigned i = 0; units[i] != NULL; i++) {
		if (w->token.length == strlen(units[i]) &&
			strncasecmp(w->token.text, units[i], w->token.length) == 0)
			return true;
	}
	return false;
}

static bool
take_after(struct walk *w)
{
	if (is_mark(&w->token, ';') || is_mark(&w->token, ',')) {
		w->state = STATE_NAME;
		return true;
	}
	if (w->token.kind == CONFIG_TOKEN_STRING && w->last.kind == CONFIG_TOKEN_STRING) {
		complain(w, "found two strings in a row, expected [ ] around several");
		return false;
	}
	if (is_name(&w->token) && is_unit_behind_number(w)) {
		complain(w, "%.*s = %.*s %.*s: expected quotes: \"%.*s%.*s\"", SHOWN(&w->name),
			SHOWN(&w->last), SHOWN(&w->token), SHOWN(&w->last), SHOWN(&w->token));
		return false;
	}
	if (is_name(&w->token) || is_mark(&w->token, '}') || is_mark(&w->token, ')') ||
		is_mark(&w->token, ']'))
		return take_name(w);
	complain(w, "found %s behind the value of %.*s, expected ';'", found(w), SHOWN(&w->name));
	return false;
}

static bool
take_assign(struct walk *w)
{
	if (is_mark(&w->token, '=') || is_mark(&w->token, ':')) {
		w->state = STATE_VALUE;
		return true;
	}
	complain(w, "found %s behind the name %.*s, expected '='", found(w), SHOWN(&w->name));
	return false;
}

static bool
take_item(struct walk *w)
{
	char closer = closer_of(top(w)->open);

	if (!is_mark(&w->token, closer))
		return take_value(w);
	if (w->state == STATE_FIRST_ITEM)
		return close_level(w);
	complain(w, "found a comma before '%c', expected none behind the last element", closer);
	return false;
}

static bool
take_after_item(struct walk *w)
{
	char open = top(w)->open, closer = closer_of(open);

	if (is_mark(&w->token, ',')) {
		w->state = STATE_ITEM;
		return true;
	}
	if (is_mark(&w->token, ')') || is_mark(&w->token, ']') || is_mark(&w->token, '}'))
		return close_level(w);
	if (is_mark(&w->token, '{'))
		complain(w, "found '{', expected a comma between two groups: }, {");
	else
		complain(w, "found %s, expected ',' or '%c' in the list that line %u opens",
			found(w), closer, top(w)->line);
	return false;
}

static bool
take_end(struct walk *w)
{
	w->token.line = w->last.line; /* where something still stands */
	if (w->depth > 0)
		complain(w, "the file ends, but the '%c' of line %u is not closed", top(w)->open,
			top(w)->line);
	else if (w->state == STATE_ASSIGN || w->state == STATE_VALUE)
		complain(w, "the file ends, but %.*s has no value", SHOWN(&w->name));
	return false;
}

/* Takes one token; false: the walk is over. */
static bool
take(struct walk *w)
{
	struct err err;

	w->token = config_scanner_next(&w->scanner, &err);
	if (w->token.kind == CONFIG_TOKEN_WRONG) {
		complain(w, "%s", err.sentence);
		return false;
	}
	if (w->token.kind == CONFIG_TOKEN_END)
		return take_end(w);
	switch (w->state) {
	case STATE_NAME:
		return take_name(w);
	case STATE_ASSIGN:
		return take_assign(w);
	case STATE_VALUE:
		return take_value(w);
	case STATE_AFTER:
		return take_after(w);
	case STATE_AFTER_ITEM:
		return take_after_item(w);
	default:
		return take_item(w);
	}
}

bool
config_syntax_check(const char *name, const char *text, size_t size, struct config_errors *errors)
{
	struct walk w = {
		.file = name,
		.errors = errors,
		.scanner = config_scanner_of(text, size),
	};

	/* Bounded by the text: each round takes at least one byte of it, or ends. */
	while (take(&w))
		w.last = w.token;
	return w.n_errors == 0;
}
