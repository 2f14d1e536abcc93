/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a text has the form of a configuration file, in the words of a person.  Comes before
 * libconfig, which calls everything a "syntax error", keeps 705032704 of 5000000000, and joins two
 * strings that a forgotten comma has left side by side.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct config_errors;

#define CONFIG_DEPTH_MAX 16   /* brackets within brackets */
#define CONFIG_WIDTH_MAX 1000 /* settings of one group: libconfig compares each with each */

/* 'text' holds no byte 0, but is followed by one.  True: all is well, and libconfig will agree.
 * Else errors about the file called 'name' have been added. */
bool
config_syntax_check(const char *name, const char *text, size_t size, struct config_errors *errors);
