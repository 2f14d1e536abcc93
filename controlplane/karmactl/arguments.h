/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl's command line as one value.  Pure but for getopt's own state. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "client.h"

struct err;

enum arguments_action {
	ARGUMENTS_STATEMENTS, /* run 'statements' in order */
	ARGUMENTS_STDIN,      /* a prompt on a terminal, else statements from standard input */
	ARGUMENTS_TOP,        /* the live table, of all services or of 'service' */
	ARGUMENTS_COMPLETE,   /* what may stand at the end of 'line', for the shell */
	ARGUMENTS_HELP,
	ARGUMENTS_VERSION,
};

struct arguments {
	enum arguments_action action;
	const char *socket; /* NULL: search */
	enum client_form form;
	unsigned count;      /* of tables that top shows; 0: no end */
	const char *service; /* of top; NULL: all */
	const char *line;
	unsigned n_statements;
	char **statements; /* each may hold several, separated by ';' */
};

/* Returns 0, or -EINVAL with a sentence.  Reorders argv. */
int
arguments_parse(int argc, char **argv, struct arguments *arguments, struct err *err);
void
arguments_free(struct arguments *arguments);

/*
 * One statement out of a shell's words: "show" "mirrors" to "show mirrors".  The shell has taken
 * quotes away, so a word that is not one piece without them gets them back; a single word is taken
 * as it is.  Returns NULL when out of memory; free() it.
 */
char *
arguments_join(char *const *words, unsigned n_words);

void
arguments_print_help(FILE *out);
