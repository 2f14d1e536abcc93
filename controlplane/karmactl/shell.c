/* SPDX-License-Identifier: BSD-3-Clause */
/* For the shell: karmactl's own words, then the walk that the prompt does. */
#include "shell.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client.h"
#include "command_list.h"
#include "complete.h"
#include "err.h"

/* What is karmactl's, and the statement whose end its argument is. */
static const struct {
	const char *word, *statement;
} shortcuts[] = {
	{"top", "SHOW MIRRORS FROM "},
	{"check", "CHECK SERVICE "},
	{"events", NULL},
};

/* HELP's answer without a control plane: statements alone. */
static char *
own_help(void)
{
	static const char *const syntaxes[] = {
#define X(name, kind, syntax, help, example) syntax,
		COMMANDS(X)
#undef X
	};
	struct json_object *help = json_object_new_object();
	struct json_object *statements = json_object_new_array();
	char *text;

	for (size_t i = 0; i < sizeof(syntaxes) / sizeof(syntaxes[0]); i++) {
		struct json_object *statement = json_object_new_object();

		json_object_object_add(statement, "statement", json_object_new_string(syntaxes[i]));
		json_object_array_add(statements, statement);
	}
	json_object_object_add(help, "statements", statements);
	json_object_object_add(help, "arguments", json_object_new_object());
	text = strdup(json_object_to_json_string(help));
	json_object_put(help);
	return text;
}

/* Of a control plane that answers, else our own; NULL when out of memory. */
static char *
ask_help(const char *socket)
{
	struct client_answer answer;
	struct err err;
	struct client *client = client_open(socket, &err);
	char *text = NULL;

	if (client != NULL && client_ask(client, "HELP", CLIENT_JSON, &answer, &err) == 0) {
		if (answer.is_done)
			text = answer.body;
		else
			client_answer_free(&answer);
	}
	client_close(client);
	return text != NULL ? text : own_help();
}

/* After "check " comes what comes after CHECK SERVICE; in 'text', to be freed.  NULL: nothing. */
static char *
expand(const char *line, size_t length)
{
	char *text;

	for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]); i++) {
		const char *rest = line + length;

		if (length != strlen(shortcuts[i].word) ||
			strncasecmp(line, shortcuts[i].word, length) != 0)
			continue;
		rest += strspn(rest, " ");
		/* CHECK SERVICE in full is a statement like others. */
		if (shortcuts[i].statement != NULL && strchr(rest, ' ') == NULL &&
			strncasecmp(rest, "service", strlen(rest)) != 0 &&
			asprintf(&text, "%s%s", shortcuts[i].statement, rest) >= 0)
			return text;
		if (shortcuts[i].statement != NULL && rest[0] == '\0' &&
			asprintf(&text, "%s", shortcuts[i].statement) >= 0)
			return text;
	}
	return strdup(line);
}

static bool
is_offered(const struct completions *completions, const char *word)
{
	for (unsigned i = 0; i < completions->n_words; i++)
		if (strcasecmp(completions->words[i], word) == 0)
			return true;
	return false;
}

/* The first word may be one of karmactl's own. */
static void
offer_shortcuts(const char *line, size_t length, const struct completions *completions, FILE *out)
{
	for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]); i++)
		if (strncmp(shortcuts[i].word, line, length) == 0 &&
			!is_offered(completions, shortcuts[i].word))
			fprintf(out, "%s\n", shortcuts[i].word);
}

void
shell_complete(const char *line, const char *socket, FILE *out)
{
	struct completions completions = {.n_words = 0};
	struct complete *complete;
	char *help, *text;
	size_t length;
	bool is_first;

	line += strspn(line, " \t");
	length = strcspn(line, " \t");
	is_first = line[length] == '\0';
	help = ask_help(socket);
	text = is_first ? strdup(line) : expand(line, length);
	complete = help != NULL ? complete_create(help) : NULL;
	if (complete != NULL && text != NULL)
		complete_text(complete, text, strlen(text), &completions);
	for (unsigned i = 0; i < completions.n_words; i++)
		fprintf(out, "%s\n", completions.words[i]);
	if (is_first)
		offer_shortcuts(line, length, &completions, out);
	complete_free(complete);
	free(help);
	free(text);
}
