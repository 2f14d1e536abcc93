/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl's own short words for statements, the same on its command line, at its prompt and in a
 * pipe.  Pure. */
#pragma once

#include <stdbool.h>

/* The words: "top", "check", "events", "why"; NULL: there are no more. */
const char *
shortcut_at(unsigned i);

/*
 * One statement with such a word at its beginning, in full: "check web" is "CHECK SERVICE web",
 * "top web" is "SHOW MIRRORS FROM web", "why 192.0.2.1:5 web" is "EXPLAIN 192.0.2.1:5 TO web".
 * Others are copied.  The end stays as it is, so that it may also be one that is still being
 * written.  NULL: out of memory; free() it.
 */
char *
shortcut_expand(const char *statement);

/* "top" alone, "top web": SHOW MIRRORS again every second.  '*service', to be freed, is as it was
 * written but without quotes; NULL: all. */
bool
shortcut_is_top(const char *statement, char **service);
