/* SPDX-License-Identifier: BSD-3-Clause */
/* HELP: the list of statements, and the words that their arguments may be now.  Loop's thread. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "commands_call.h"
#include "config.h"
#include "settings.h"
#include "status.h"
#include "strategy.h"

static const struct render_command rows[] = {
#define X(name, kind, syntax, help, example) {syntax, help, example},
	COMMANDS(X)
#undef X
};
#define N_MIRROR_WORDS (SETTINGS_MIRROR_MAINTENANCE + 1)
#define N_ROWS         (sizeof(rows) / sizeof(rows[0]))

/* Words being collected for the statements chosen. */
struct words {
	const struct render_command *commands;
	unsigned n_commands;
	unsigned n_words;
	struct render_word *words; /* room for all there can be */
};

static unsigned
choose(const struct statement *statement, struct render_command *chosen);
static bool
has_word(const char *syntax, const char *word);
static int
refuse_words(const struct command_call *call);
static unsigned
count_words(const struct status *status);
static void
collect(struct words *words, const struct status *status);

int
command_help(const struct command_call *call)
{
	struct render_command chosen[N_ROWS];
	struct words words = {.commands = chosen};

	words.n_commands = choose(call->statement, chosen);
	if (words.n_commands == 0)
		return refuse_words(call);
	words.words = calloc(count_words(call->status), sizeof(*words.words));
	if (words.words == NULL)
		return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	collect(&words, call->status);

	struct render_help help = {
		.is_full = call->statement->n_tokens > 1,
		.commands = chosen,
		.n_commands = words.n_commands,
		.words = words.words,
		.n_words = words.n_words,
	};

	call->render->help(call->out, &help);
	free(words.words);
	return COMMAND_DONE;
}

/* The rows that have all the words after HELP. */
static unsigned
choose(const struct statement *statement, struct render_command *chosen)
{
	unsigned n_chosen = 0;

	for (unsigned i = 0; i < N_ROWS; i++) {
		bool has_all = true;

		for (unsigned j = 1; j < statement->n_tokens; j++)
			has_all = has_all && has_word(rows[i].syntax, statement->tokens[j].text);
		if (has_all)
			chosen[n_chosen++] = rows[i];
	}
	return n_chosen;
}

static bool
is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A keyword, or an argument's name. */
static bool
has_word(const char *syntax, const char *word)
{
	while (*syntax != '\0') {
		size_t length = 0;

		while (is_letter(syntax[length]))
			length++;
		if (length > 0 && length == strlen(word) && strncasecmp(syntax, word, length) == 0)
			return true;
		syntax += length > 0 ? length : 1;
	}
	return false;
}

static int
refuse_words(const struct command_call *call)
{
	char said[200] = "";
	size_t n = 0;

	for (unsigned i = 1; i < call->statement->n_tokens && n < sizeof(said); i++)
		n += (size_t)snprintf(said + n, sizeof(said) - n, "%s%s", i == 1 ? "" : " ",
			call->statement->tokens[i].text);
	return command_refuse(call, COMMAND_WRONG,
		"there is no statement with \"%s\"; HELP alone lists them all", said);
}

static bool
is_live_choice(const struct setting *s)
{
	return s->scope == SETTING_SCOPE_SERVICE && s->is_live && s->type == SETTING_CHOICE;
}

/* At most; one more so that it is never 0. */
static unsigned
count_words(const struct status *status)
{
	unsigned n = 1 + status->n_services + N_MIRROR_WORDS;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		n += 1 + (s->word != NULL);
		for (unsigned i = 0; is_live_choice(s) && setting_choice(s, i) != NULL; i++)
			n++;
	}
	for (const struct strategy *s = strategies; s->name != NULL; s++)
		n++;
	return n;
}

static bool
is_argument(const struct words *words, const char *argument)
{
	for (unsigned i = 0; i < words->n_commands; i++)
		if (has_word(words->commands[i].syntax, argument))
			return true;
	return false;
}

static void
add(struct words *words, const char *argument, const char *word, const char *help)
{
	words->words[words->n_words++] = (struct render_word){argument, word, help};
}

/* "setting" lists what may be set, and each setting with few values lists those. */
static void
collect_settings(struct words *words)
{
	for (const struct setting *s = settings; s->name != NULL; s++)
		if (s->scope == SETTING_SCOPE_SERVICE && s->is_live && s->type != SETTING_LATER)
			add(words, "setting", s->name, s->help);
	for (const struct setting *s = settings; s->name != NULL; s++)
		for (unsigned i = 0; is_live_choice(s) && setting_choice(s, i) != NULL; i++)
			add(words, s->name, setting_choice(s, i), "");
	for (const struct setting *s = settings; s->name != NULL; s++)
		if (s->scope == SETTING_SCOPE_SERVICE && s->is_live && s->word != NULL)
			add(words, s->name, s->word, "");
}

static void
collect(struct words *words, const struct status *status)
{
	for (unsigned i = 0; is_argument(words, "service") && i < status->n_services; i++)
		add(words, "service", status->services[i].name, "");
	for (unsigned i = 0; is_argument(words, "state") && i < N_MIRROR_WORDS; i++)
		add(words, "state", settings_mirror_state_name(i), "");
	if (is_argument(words, "setting"))
		collect_settings(words);
	for (const struct strategy *s = strategies;
		is_argument(words, "strategy") && s->name != NULL; s++)
		add(words, "strategy", s->name, s->help);
}
