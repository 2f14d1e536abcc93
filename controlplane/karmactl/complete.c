/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion: the same walk over syntaxes that the control plane's parser does.  Pure. */
#include "complete.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "err.h"
#include "shortcut.h"
#include "statement.h"

struct complete {
	struct json_object *help;
	struct json_object *arguments; /* of 'help' */
	unsigned n_syntaxes;
	const char **syntaxes; /* point into 'help' */
};

/* A text cut into the words that are complete and the one that is not. */
struct typed {
	const char *text;
	size_t done; /* bytes of complete words */
	const char *word;
	size_t word_size;
	char quote;   /* that it stands in; '\0': none */
	bool is_help; /* it stands behind HELP, which takes keywords in any number */
};

static char *
last_statement(const char *text, size_t size);
static void
split(const char *text, struct typed *typed);
static void
forget_help(struct statement *st, struct typed *typed);
static void
offer_shortcuts(const struct typed *typed, struct completions *completions);
static void
offer_item(const struct complete *c, const struct statement *st, struct statement_item item,
	const struct typed *typed, struct completions *completions);
static void
offer(const char *word, size_t length, bool is_keyword, const struct typed *typed,
	struct completions *completions);
static void
find_common(struct completions *completions);

struct complete *
complete_create(const char *json)
{
	struct complete *c = calloc(1, sizeof(*c));
	struct json_object *statements, *statement;

	if (c == NULL)
		return NULL;
	c->help = json_tokener_parse(json);
	if (!json_object_object_get_ex(c->help, "statements", &statements) ||
		!json_object_is_type(statements, json_type_array) ||
		!json_object_object_get_ex(c->help, "arguments", &c->arguments) ||
		!json_object_is_type(c->arguments, json_type_object))
		goto free;
	c->syntaxes = calloc(json_object_array_length(statements) + 1, sizeof(*c->syntaxes));
	if (c->syntaxes == NULL)
		goto free;
	for (size_t i = 0; i < json_object_array_length(statements); i++)
		if (json_object_object_get_ex(
			    json_object_array_get_idx(statements, i), "statement", &statement) &&
			json_object_is_type(statement, json_type_string))
			c->syntaxes[c->n_syntaxes++] = json_object_get_string(statement);
	return c;

free:
	complete_free(c);
	return NULL;
}

void
complete_free(struct complete *c)
{
	if (c == NULL)
		return;
	json_object_put(c->help);
	free(c->syntaxes);
	free(c);
}

void
complete_text(
	const struct complete *c, const char *text, size_t size, struct completions *completions)
{
	struct statement *st = malloc(sizeof(*st));
	struct statement_expected expected;
	char *last = last_statement(text, size);
	struct typed typed;
	struct err err;

	*completions = (struct completions){.n_words = 0};
	if (st == NULL || last == NULL)
		goto free;
	split(last, &typed);
	completions->typed = typed.word_size;
	completions->is_open = typed.quote != '\0';
	completions->quote = typed.quote;
	/* No words yet is no error here. */
	if (statement_read(st, typed.text, typed.done, &err) == 0 || st->n_tokens == 0) {
		forget_help(st, &typed);
		statement_expect(st, c->syntaxes, c->n_syntaxes, &expected);
		for (unsigned i = 0; expected.at == st->n_tokens && i < expected.n_items; i++)
			offer_item(c, st, expected.items[i], &typed, completions);
		if (st->n_tokens == 0 && !typed.is_help)
			offer_shortcuts(&typed, completions);
	}
	find_common(completions);

free:
	free(last);
	free(st);
}

/* What is written of the last statement, in full if its first word is complete and one of
 * karmactl's own.  NULL: out of memory. */
static char *
last_statement(const char *text, size_t size)
{
	size_t length;
	char *last, *full;

	while ((length = statement_length(text, size)) < size) {
		text += length + 1;
		size -= length + 1;
	}
	last = strndup(text, size);
	if (last == NULL ||
		last[strspn(last, " \t") + strcspn(last + strspn(last, " \t"), " \t")] == '\0')
		return last;
	full = shortcut_expand(last);
	free(last);
	return full;
}

/* Finds where the last word begins. */
static void
split(const char *text, struct typed *typed)
{
	char quote = '\0';
	size_t size = strlen(text), word = 0;

	for (size_t at = 0; at < size; at++) {
		if (quote != '\0') {
			if (text[at] == quote)
				quote = '\0';
		} else if (strchr("'\"`", text[at]) != NULL) {
			quote = text[at];
			word = at + 1;
		} else if (isspace((unsigned char)text[at]) || strchr("=,()", text[at]) != NULL) {
			word = at + 1;
		}
	}
	*typed = (struct typed){
		.text = text,
		.done = quote != '\0' ? word - 1 : word,
		.word = text + word,
		.word_size = size - word,
		.quote = quote,
	};
}

/* HELP takes the words of statements: what would stand there without it. */
static void
forget_help(struct statement *st, struct typed *typed)
{
	typed->is_help = st->n_tokens > 0 && st->tokens[0].kind == STATEMENT_WORD &&
			 strcasecmp(st->tokens[0].text, "HELP") == 0;
	if (!typed->is_help)
		return;
	st->n_tokens--;
	memmove(&st->tokens[0], &st->tokens[1], st->n_tokens * sizeof(st->tokens[0]));
}

static void
offer_shortcuts(const struct typed *typed, struct completions *completions)
{
	const char *word;

	for (unsigned i = 0; typed->quote == '\0' && (word = shortcut_at(i)) != NULL; i++)
		offer(word, strlen(word), true, typed, completions);
}

/* Of a mirror behind a service that stands there already, its name in it. */
static const char *
word_behind(const struct statement *st, const char *argument, const char *word)
{
	for (unsigned i = 1; strcmp(argument, "mirror") == 0 && i < st->n_tokens; i++) {
		const char *service = st->tokens[i].text;
		size_t length = strlen(service);

		if (strcasecmp(st->tokens[i - 1].text, "SERVICE") != 0)
			continue;
		if (strncmp(word, service, length) != 0 || word[length] != '.')
			return NULL;
		return word + length + 1;
	}
	return word;
}

static void
offer_words(const struct complete *c, const struct statement *st, const char *argument,
	const struct typed *typed, struct completions *completions)
{
	struct json_object *words;

	if (!json_object_object_get_ex(c->arguments, argument, &words) ||
		!json_object_is_type(words, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(words); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(words, i));

		if (word != NULL)
			word = word_behind(st, argument, word);
		if (word != NULL)
			offer(word, strlen(word), false, typed, completions);
	}
}

static void
offer_keywords(
	struct statement_item item, const struct typed *typed, struct completions *completions)
{
	for (size_t at = 0; at < item.length; at++) {
		size_t length = strcspn(item.text + at, "| []");

		if (typed->quote == '\0')
			offer(item.text + at, length, true, typed, completions);
		at += length;
	}
}

/* Each of "'host:port'|service" by its own name. */
static void
offer_item(const struct complete *c, const struct statement *st, struct statement_item item,
	const struct typed *typed, struct completions *completions)
{
	char argument[KARMALB_NAME_MAX];

	if (statement_item_is_keyword(item)) {
		offer_keywords(item, typed, completions);
		return;
	}
	if (typed->is_help)
		return;
	if (item.length == 1)
		offer(item.text, 1, false, typed, completions);
	for (size_t at = 0, length; at < item.length; at += length + 1) {
		const char *bar = memchr(item.text + at, '|', item.length - at);

		length = bar != NULL ? (size_t)(bar - item.text) - at : item.length - at;

		struct statement_item name =
			statement_item_name((struct statement_item){item.text + at, length});

		if (name.length >= sizeof(argument))
			continue;
		memcpy(argument, name.text, name.length);
		argument[name.length] = '\0';
		/* What a setting may be is listed under its own name: ... ha_strategy = */
		if (strcmp(argument, "value") == 0 && st->n_tokens >= 2)
			offer_words(c, st, st->tokens[st->n_tokens - 2].text, typed, completions);
		else
			offer_words(c, st, argument, typed, completions);
	}
}

/* Keywords fit in any case, and go on in the one begun with. */
static void
offer(const char *word, size_t length, bool is_keyword, const struct typed *typed,
	struct completions *completions)
{
	char *place = completions->words[completions->n_words];
	bool is_lower = typed->word_size > 0 && islower((unsigned char)typed->word[0]);

	if (length >= COMPLETE_WORD_MAX || completions->n_words == COMPLETE_WORDS_MAX ||
		length < typed->word_size ||
		(is_keyword ? strncasecmp : strncmp)(word, typed->word, typed->word_size) != 0)
		return;
	for (size_t i = 0; i < length; i++)
		place[i] = is_keyword && is_lower ? (char)tolower((unsigned char)word[i]) : word[i];
	place[length] = '\0';
	for (unsigned i = 0; i < completions->n_words; i++)
		if ((is_keyword ? strcasecmp : strcmp)(completions->words[i], place) == 0)
			return;
	completions->n_words++;
}

static void
find_common(struct completions *completions)
{
	const char *first = completions->words[0];
	size_t common = completions->n_words > 0 ? strlen(first) : completions->typed;

	for (unsigned i = 1; i < completions->n_words; i++) {
		size_t same = 0;

		while (same < common && completions->words[i][same] == first[same])
			same++;
		common = same;
	}
	completions->common = common;
}
