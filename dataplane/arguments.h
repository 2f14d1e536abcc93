/* SPDX-License-Identifier: BSD-3-Clause */
/* The argument vector, with the content of files that --arguments names put in its place. */
#pragma once

#include "err.h"

#define ARGUMENTS_MAX     1024
#define ARGUMENT_LINE_MAX 512

/* A zeroed one is empty. */
struct arguments {
	int n;
	char *list[ARGUMENTS_MAX + 1]; /* as argv, NULL at its end */
	char *owned[ARGUMENTS_MAX];    /* those that were read from a file */
	int n_owned;
};

/*
 * Fills 'a' from 'argv'.  A file has one argument a line, as "--name=value", "--name value" or
 * "--name"; empty lines and lines that begin with '#' are skipped; files do not nest.  0, or a
 * negative errno with a sentence.  Call arguments_forget() in either case.
 */
int
arguments_gather(struct arguments *a, int argc, char **argv, struct err *err);

void
arguments_forget(struct arguments *a);
