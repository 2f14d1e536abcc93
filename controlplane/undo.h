/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way back from changes that the data plane has not answered yet.  Each stands on the one
 * before it, so what is turned down takes those after it along.  Decides nothing, does no I/O.
 * Loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct balance_request;
struct config;
struct undo;

/* Zeroed: empty. */
struct undo_list {
	struct undo *newest;
	unsigned n;
};

#define UNDO_MAX 64 /* of a list: each holds a configuration */

/* For a change that is about to be made; nothing of 'request' is needed after the call but its
 * 'ended' and 'ended_arg'.  NULL when out of memory.  Its 'what' is kept. */
struct undo *
undo_create(const struct balance_request *request);

/* It was not to be: 'ended' is not called.  Takes NULL. */
void
undo_drop(struct undo *u);

/* The change is made and waits for the answer to 'epoch', the highest so far.  Takes 'before', what
 * was in force until then. */
void
undo_add(struct undo_list *list, struct undo *u, const struct config *before, uint32_t epoch);

/* Nobody can turn it down: it is over.  Frees 'before'. */
void
undo_settle(struct undo *u, const struct config *before);

bool
undo_is_empty(const struct undo_list *list);

/* What the oldest one is, if undo_refuse() of this epoch would take it back; NULL: it would not. */
const char *
undo_refused(const struct undo_list *list, uint32_t epoch);

/* Every worker has 'epoch', hence all before it. */
void
undo_accept(struct undo_list *list, uint32_t epoch);

/* 'epoch' was turned down.  What to go back to, the caller's from then on, and the list is empty;
 * NULL: no change hangs on that epoch.  All are told 'why', the newest first. */
const struct config *
undo_refuse(struct undo_list *list, uint32_t epoch, const char *why);

/* There is no way back any more: all stay. */
void
undo_forget(struct undo_list *list);
