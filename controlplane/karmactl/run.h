/* SPDX-License-Identifier: BSD-3-Clause */
/* Running statements one after the other and showing their answers. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "client.h"

struct err;

/* karmactl's exit status. */
enum run_status {
	RUN_DONE = 0,
	RUN_REFUSED = 1, /* or not understood */
	RUN_USAGE = 2,
	RUN_NO_ANSWER = 3,   /* no control plane there, or it does not answer */
	RUN_UNCONFIRMED = 4, /* a change that is taken, but not known to be in force yet */
};

/*
 * Runs the statements in 'text', separated by ';' or line ends, up to the first that fails or is
 * not confirmed. Answers go to standard output; what is wrong goes to standard error, or as JSON,
 * to standard output too.
 */
enum run_status
run_text(struct client *client, const char *text, enum client_form form);

/* The same from a file, line by line. */
enum run_status
run_file(struct client *client, FILE *in, enum client_form form);

/* Says on standard error why there is no answer.  Returns RUN_NO_ANSWER. */
enum run_status
run_no_answer(const struct err *err);
