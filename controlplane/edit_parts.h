/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of statements that have a form of their own; for edit*.c only. */
#pragma once

#include <stdbool.h>

#include "err.h"

struct config_mirror;
struct karmalb_endpoint;
struct statement;

/* The words of a statement's last argument, one after the other. */
struct edit_cursor {
	const struct statement *st;
	unsigned at;
	struct err *err;
};
struct edit_cursor
edit_cursor_of(const struct statement *st, struct err *err);

/* 0, or -EINVAL: something is left. */
int
edit_cursor_end(const struct edit_cursor *c);

/* "'a:80/tcp', 'b:80/tcp'" into room for KARMALB_SERVICES_MAX; their number or -EINVAL. */
int
edit_read_listens(struct edit_cursor *c, struct karmalb_endpoint *listens);

/* As typed; 'weight' may be NULL. */
struct edit_mirror {
	const char *name, *address, *weight;
};
int
edit_read_mirror(const struct edit_mirror *m, struct config_mirror *mirror, struct err *err);
