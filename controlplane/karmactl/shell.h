/* SPDX-License-Identifier: BSD-3-Clause */
/* What the shell's completion asks: the same table of statements as anywhere, with the words that a
 * running control plane knows. */
#pragma once

#include <stdio.h>

/*
 * Prints what the last, unfinished word of 'line' (all after "karmactl") could become, a word a
 * line.  'socket' as for client_open(); without a control plane there are statements and no names.
 */
void
shell_complete(const char *line, const char *socket, FILE *out);
