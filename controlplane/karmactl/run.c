/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements in order, answers out. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "err.h"
#include "shortcut.h"
#include "statement.h"

static enum run_status
run_one(struct client *client, const char *statement, enum client_form form);
static bool
is_empty(const char *statement);

enum run_status
run_text(struct client *client, const char *text, enum client_form form)
{
	size_t size = strlen(text);
	enum run_status status = RUN_DONE;

	while (size > 0 && status == RUN_DONE) {
		size_t length = statement_length(text, size);
		char *written = strndup(text, length);
		char *statement = written != NULL ? shortcut_expand(written) : NULL;

		free(written);
		if (statement == NULL)
			return RUN_NO_ANSWER;
		if (!is_empty(statement))
			status = run_one(client, statement, form);
		free(statement);
		text += length < size ? length + 1 : length;
		size -= length < size ? length + 1 : length;
	}
	return status;
}

enum run_status
run_file(struct client *client, FILE *in, enum client_form form)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	enum run_status status = RUN_DONE;

	while (status == RUN_DONE && (length = getline(&line, &room, in)) >= 0) {
		/* A byte 0 would end the line early; the control plane refuses it by this one. */
		for (ssize_t i = 0; i < length; i++)
			line[i] = line[i] == '\0' ? '\1' : line[i];
		status = run_text(client, line, form);
	}
	free(line);
	return status;
}

enum run_status
run_no_answer(const struct err *err)
{
	fflush(stdout);
	fprintf(stderr, "karmactl: %s\n", err->sentence);
	return RUN_NO_ANSWER;
}

static enum run_status
run_one(struct client *client, const char *statement, enum client_form form)
{
	struct client_answer answer;
	struct err err;
	int rc;

	client_stream(client, stdout);
	rc = client_ask(client, statement, form, &answer, &err);
	client_stream(client, NULL);

	if (rc == -E2BIG) {
		run_no_answer(&err);
		return RUN_REFUSED;
	}
	if (rc < 0)
		return run_no_answer(&err);
	bool is_done = answer.is_done, is_unconfirmed = answer.is_unconfirmed;
	bool is_bad = answer.is_bad;

	fflush(stdout);
	fwrite(answer.body != NULL ? answer.body : "", 1, answer.size,
		is_done || form == CLIENT_JSON ? stdout : stderr);
	client_answer_free(&answer);
	if (is_unconfirmed)
		return RUN_UNCONFIRMED;
	return is_done && !is_bad ? RUN_DONE : RUN_REFUSED;
}

static bool
is_empty(const char *statement)
{
	return statement[strspn(statement, " \t\r\n\v\f")] == '\0';
}
