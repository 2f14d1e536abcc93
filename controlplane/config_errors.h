/* SPDX-License-Identifier: BSD-3-Clause */
/* Collecting what is wrong with a file; for the files that make up config.h only. */
#pragma once

#include <stddef.h>

struct config_errors;
struct err;

/* Adds a sentence about a line; 0: about the file as a whole. */
void
config_errors_add(struct config_errors *errors, const char *file, unsigned line, const char *format,
	...) __attribute__((format(printf, 4, 5)));

/* The same with a sentence that is there already. */
void
config_errors_take(
	struct config_errors *errors, const char *file, unsigned line, const struct err *err);

/* Puts errors in the order of their lines; those of one line stay in the order of finding. */
void
config_errors_sort(struct config_errors *errors);

/* Fills in each error's source line. */
void
config_errors_quote(struct config_errors *errors, const char *text, size_t size);
