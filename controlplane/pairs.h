/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named values in order, as SHOW ... STATUS answers: built once, shown in any form, and filtered by
 * LIKE while they are built.  Pure; an allocation that fails is remembered, not reported each time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pair_kind {
	PAIR_TEXT,
	PAIR_NUMBER, /* 'value' is a decimal number */
	PAIR_NONE,   /* there is no value: "n/a" */
};

struct pair {
	enum pair_kind kind;
	char *name, *value;
};

struct pairs {
	const char *name_title, *value_title; /* "Key", "Value" */
	const char *pattern;                  /* only names that are LIKE this; NULL: all */
	bool is_incomplete;                   /* memory ran out */
	unsigned n_pairs;
	struct pair *pairs;
};

void
pairs_init(struct pairs *p, const char *name_title, const char *value_title, const char *pattern);
void
pairs_free(struct pairs *p);

/* The name is 'prefix' followed by 'name'. */
void
pairs_add_text(struct pairs *p, const char *prefix, const char *name, const char *text);
void
pairs_add_count(struct pairs *p, const char *prefix, const char *name, uint64_t count);
void
pairs_add_number(
	struct pairs *p, const char *prefix, const char *name, double number, int decimals);
void
pairs_add_none(struct pairs *p, const char *prefix, const char *name);
