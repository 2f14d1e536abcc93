/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl: the command line of karmalb.  Knows text, no structs: what a statement means, and how
 * its answer looks, is the control plane's business. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "arguments.h"
#include "client.h"
#include "err.h"
#include "prompt.h"
#include "run.h"
#include "shell.h"
#include "top.h"

static enum run_status
run(struct arguments *arguments);
static enum run_status
run_statements(struct client *client, const struct arguments *arguments);
static bool
is_help(const struct arguments *arguments);

int
main(int argc, char **argv)
{
	struct arguments arguments;
	struct err err;
	enum run_status status;

	if (arguments_parse(argc, argv, &arguments, &err) < 0) {
		fprintf(stderr, "karmactl: %s; karmactl --help says more\n", err.sentence);
		arguments_free(&arguments);
		return RUN_USAGE;
	}
	status = run(&arguments);
	arguments_free(&arguments);
	return status;
}

static enum run_status
run(struct arguments *arguments)
{
	struct client *client;
	struct err err;
	enum run_status status = RUN_DONE;

	if (arguments->action == ARGUMENTS_HELP) {
		arguments_print_help(stdout);
		return RUN_DONE;
	}
	if (arguments->action == ARGUMENTS_VERSION) {
		puts("karmactl " KARMALB_VERSION);
		return RUN_DONE;
	}
	if (arguments->action == ARGUMENTS_COMPLETE) {
		shell_complete(arguments->line, arguments->socket, stdout);
		return RUN_DONE;
	}
	client = client_open(arguments->socket, &err);
	if (client == NULL && is_help(arguments)) {
		arguments_print_help(stdout);
		return RUN_DONE;
	}
	if (client == NULL)
		return run_no_answer(&err);
	if (arguments->action == ARGUMENTS_STATEMENTS)
		status = run_statements(client, arguments);
	else if (arguments->action == ARGUMENTS_TOP)
		status = top_run(client,
			&(struct top){arguments->service, arguments->count, arguments->form});
	else if (isatty(STDIN_FILENO))
		status = prompt_run(client, arguments->form);
	else
		status = run_file(client, stdin, arguments->form);
	client_close(client);
	return status;
}

static enum run_status
run_statements(struct client *client, const struct arguments *arguments)
{
	enum run_status status = RUN_DONE;

	for (unsigned i = 0; i < arguments->n_statements && status == RUN_DONE; i++)
		status = run_text(client, arguments->statements[i], arguments->form);
	return status;
}

/* Help needs no control plane. */
static bool
is_help(const struct arguments *arguments)
{
	return arguments->action == ARGUMENTS_STATEMENTS && arguments->n_statements == 1 &&
	       arguments->form == CLIENT_TEXT &&
	       strncasecmp(arguments->statements[0], "help", 4) == 0;
}
