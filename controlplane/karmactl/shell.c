/* SPDX-License-Identifier: BSD-3-Clause */
/* For the shell: the walk that the prompt does. */
#include "shell.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command_list.h"
#include "complete.h"
#include "err.h"

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

void
shell_complete(const char *line, const char *socket, FILE *out)
{
	struct completions completions = {.n_words = 0};
	char *help = ask_help(socket);
	struct complete *complete = help != NULL ? complete_create(help) : NULL;

	if (complete != NULL)
		complete_text(complete, line, strlen(line), &completions);
	for (unsigned i = 0; i < completions.n_words; i++)
		fprintf(out, "%s\n", completions.words[i]);
	complete_free(complete);
	free(help);
}
