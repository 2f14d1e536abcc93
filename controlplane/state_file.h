/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What SAVE CONFIG keeps: the statements that lead from the operator's file to what was in force,
 * one a line, applied after that file at start and by RELOAD: all together, for on the way from the
 * one to the other there may be what no configuration may say.  A line that no longer applies is
 * reported and left out; all others hold.  The file is ours alone and written whole: a crash leaves
 * the old one or the new one.
 */
#pragma once

#include <stddef.h>

struct config;
struct err;

#define STATE_FILE_NAME "saved.statements"

struct state_report {
	unsigned n_applied, n_refused;
	char first_refused[512]; /* the first line that was left out, and why */
};

/* Applies the lines of the file at 'path' to '*config', which may become another one; 'file' is
 * what the operator's file says; 'report' NULL: nobody is told of what is left out.  No such file:
 * nothing to apply.  0, or a negative errno with a sentence when it cannot be read, and '*config'
 * is as it was. */
int
state_file_apply(const char *path, struct config **config, const struct config *file,
	struct state_report *report, struct err *err);

/* Writes 'text' in its place: a new file, synced, renamed over the old one.  0 or a negative errno
 * with a sentence. */
int
state_file_write(const char *path, const char *text, struct err *err);
