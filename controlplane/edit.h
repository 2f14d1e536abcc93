/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that change what is wanted, as edits of a configuration: what a person types, and what
 * a state file holds, goes through here.  Each returns 0 or a negative errno with a sentence.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "command_list.h"

struct config;
struct err;
struct statement;

struct edit {
	struct config *config;             /* a copy, to be thrown away where an edit fails */
	const struct config *file;         /* what the operator's file says, for RESET SERVICE */
	const struct statement *statement; /* matched with its row */
	uint64_t now_unix_us;              /* what WITHIN counts from; an UNTIL may be over */
	bool is_part;                      /* of several that are only good together */
};

/* edit_NAME() for each row of kind EDIT; and for SET SERVICE, which has an answer of its own. */
#define EDIT_OF_READ(name)
#define EDIT_OF_CHANGE(name)
#define EDIT_OF_EDIT(name)                   int edit_##name(struct edit *e, struct err *err);
#define X(name, kind, syntax, help, example) EDIT_OF_##kind(name)
COMMANDS(X)
#undef X
#undef EDIT_OF_EDIT
#undef EDIT_OF_CHANGE
#undef EDIT_OF_READ
int
edit_set_service(struct edit *e, struct err *err);

/* What an edit is made from beside its text; as in struct edit. */
struct edit_base {
	const struct config *file;
	uint64_t now_unix_us;
	bool is_part;
};

/* The whole way from a text: reads, matches one of the above, edits, and checks unless 'is_part':
 * then config_edit_check() is the caller's.  What fails leaves '*config' as it was, else it is
 * another one and the former is freed. */
int
edit_text(struct config **config, const struct edit_base *base, const char *text, struct err *err);

/* "service.mirror" taken apart by what there is; names may have dots.  'service' has room for
 * KARMALB_NAME_MAX.  The mirror's name, or NULL with a sentence. */
const char *
edit_split(const struct config *config, const char *text, char *service, struct err *err);
