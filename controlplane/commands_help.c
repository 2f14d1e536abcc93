/* SPDX-License-Identifier: BSD-3-Clause */
/* HELP: the list of statements, and the words that their arguments may be now.  Loop's thread. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent_status.h"
#include "commands_call.h"
#include "config.h"
#include "settings.h"
#include "status.h"
#include "strategy.h"
#include "units.h"

static const struct render_command rows[] = {
#define X(name, kind, syntax, help, example) {syntax, help, example},
	COMMANDS(X)
#undef X
};
#define N_MIRROR_WORDS (SETTINGS_MIRROR_MAINTENANCE + 1)
#define N_ROWS         (sizeof(rows) / sizeof(rows[0]))

/* A word that is kept nowhere else: "web.m1", "10.0.0.11:80", "192.0.2.1:80/tcp". */
struct composed {
	char text[2 * KARMALB_NAME_MAX];
};
static_assert(sizeof(struct composed) >= UNITS_TEXT_MAX, "an address fits");

/* Words being collected for the statements chosen. */
struct words {
	const struct render_command *commands;
	unsigned n_commands;
	unsigned n_words, n_composed;
	struct render_word *words; /* room for all there can be; likewise: */
	struct composed *composed;
};

static unsigned
choose(const struct statement *statement, struct render_command *chosen);
static bool
has_word(const char *syntax, const char *word);
static bool
has_argument(const char *syntax, const char *argument);
static int
refuse_words(const struct command_call *call);
static unsigned
count_composed(const struct status *status);
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
	words.composed = calloc(count_composed(call->status), sizeof(*words.composed));
	if (words.words == NULL || words.composed == NULL) {
		free(words.words);
		free(words.composed);
		return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	}
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
	free(words.composed);
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

/* As it stands there, quotes aside: "host:port" of 'host:port'|service. */
static bool
has_argument(const char *syntax, const char *argument)
{
	size_t length = strlen(argument);

	for (const char *at = syntax; (at = strstr(at, argument)) != NULL; at += length)
		if ((at == syntax || strchr(" [|'", at[-1]) != NULL) &&
			(at[length] == '\0' || strchr(" ]|'.", at[length]) != NULL))
			return true;
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

/* One of the few values that a setting may have; NULL: no more, or there are many. */
static const char *
value_at(const struct setting *s, unsigned i)
{
	static const char *const truths[] = {"true", "false"};

	if (s->scope != SETTING_SCOPE_SERVICE || !s->is_live)
		return NULL;
	if (s->type == SETTING_BOOL)
		return i < 2 ? truths[i] : NULL;
	return s->type == SETTING_CHOICE ? setting_choice(s, i) : NULL;
}

/* Likewise: mirrors by name, mirrors by address, listens. */
static unsigned
count_composed(const struct status *status)
{
	unsigned n = 1;

	for (unsigned i = 0; i < status->n_services; i++)
		n += 2 * status->services[i].n_mirrors + status->services[i].n_listens;
	return n;
}

/* At most; one more so that it is never 0. */
static unsigned
count_words(const struct status *status)
{
	unsigned n = 1 + status->n_services + N_MIRROR_WORDS + count_composed(status);

	for (const struct setting *s = settings; s->name != NULL; s++) {
		n += 1 + (s->word != NULL);
		for (unsigned i = 0; value_at(s, i) != NULL; i++)
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
		if (has_argument(words->commands[i].syntax, argument))
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
		for (unsigned i = 0; value_at(s, i) != NULL; i++)
			add(words, s->name, value_at(s, i), "");
	for (const struct setting *s = settings; s->name != NULL; s++)
		if (s->scope == SETTING_SCOPE_SERVICE && s->is_live && s->word != NULL)
			add(words, s->name, s->word, "");
}

/* Room for a word to be composed; valid as long as the words. */
static char *
compose(struct words *words)
{
	return words->composed[words->n_composed++].text;
}

static void
collect_mirrors(struct words *words, const struct status *status)
{
	for (unsigned i = 0; i < status->n_services; i++)
		for (unsigned k = 0; k < status->services[i].n_mirrors; k++) {
			char *name = compose(words);

			snprintf(name, sizeof(struct composed), "%s.%s", status->services[i].name,
				status->services[i].mirrors[k].name);
			add(words, "mirror", name, "");
		}
}

static void
collect_hosts(struct words *words, const struct status *status)
{
	char host[UNITS_TEXT_MAX];

	for (unsigned i = 0; agent_status_host(status, i, host, sizeof(host)); i++)
		add(words, "host:port", strcpy(compose(words), host), "");
}

static void
collect_listens(struct words *words, const struct status *status)
{
	for (unsigned i = 0; i < status->n_services; i++)
		for (unsigned k = 0; k < status->services[i].n_listens; k++)
			add(words, "vip:port/proto",
				units_format_endpoint(&status->services[i].listens[k],
					compose(words), sizeof(struct composed)),
				status->services[i].name);
}

static void
collect(struct words *words, const struct status *status)
{
	for (unsigned i = 0; is_argument(words, "service") && i < status->n_services; i++)
		add(words, "service", status->services[i].name, "");
	if (is_argument(words, "mirror"))
		collect_mirrors(words, status);
	if (is_argument(words, "host:port"))
		collect_hosts(words, status);
	if (is_argument(words, "vip:port/proto"))
		collect_listens(words, status);
	for (unsigned i = 0; is_argument(words, "state") && i < N_MIRROR_WORDS; i++)
		add(words, "state", settings_mirror_state_name(i), "");
	if (is_argument(words, "setting"))
		collect_settings(words);
	for (const struct strategy *s = strategies;
		is_argument(words, "strategy") && s->name != NULL; s++)
		add(words, "strategy", s->name, s->help);
}
