/* SPDX-License-Identifier: BSD-3-Clause */
/* A short list, newest first. */
#include "undo.h"

#include <stdlib.h>
#include <string.h>

#include "balance.h"
#include "config.h"

struct undo {
	struct undo *older;
	char *what;
	const struct config *before;
	uint32_t epoch;
	void (*ended)(void *arg, const char *why);
	void *arg;
};

static void
end(struct undo *u, const char *why);

struct undo *
undo_create(const struct balance_request *request)
{
	struct undo *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->what = strdup(request->what);
	if (u->what == NULL) {
		free(u);
		return NULL;
	}
	u->ended = request->ended;
	u->arg = request->ended_arg;
	return u;
}

void
undo_drop(struct undo *u)
{
	if (u != NULL)
		free(u->what);
	free(u);
}

void
undo_add(struct undo_list *list, struct undo *u, const struct config *before, uint32_t epoch)
{
	u->before = before;
	u->epoch = epoch;
	u->older = list->newest;
	list->newest = u;
	list->n++;
}

void
undo_settle(struct undo *u, const struct config *before)
{
	u->before = before;
	end(u, NULL);
}

bool
undo_is_empty(const struct undo_list *list)
{
	return list->newest == NULL;
}

void
undo_accept(struct undo_list *list, uint32_t epoch)
{
	struct undo **at = &list->newest;
	struct undo *u;

	while (*at != NULL && (*at)->epoch > epoch)
		at = &(*at)->older;
	u = *at;
	*at = NULL;
	while (u != NULL) {
		struct undo *older = u->older;

		list->n--;
		end(u, NULL);
		u = older;
	}
}

/* NULL: no change hangs on that epoch. */
static struct undo *
oldest_of(const struct undo_list *list, uint32_t epoch)
{
	struct undo *oldest = list->newest;

	while (oldest != NULL && oldest->older != NULL)
		oldest = oldest->older;
	return oldest != NULL && oldest->epoch <= epoch ? oldest : NULL;
}

const char *
undo_refused(const struct undo_list *list, uint32_t epoch)
{
	const struct undo *oldest = oldest_of(list, epoch);

	return oldest != NULL ? oldest->what : NULL;
}

const struct config *
undo_refuse(struct undo_list *list, uint32_t epoch, const char *why)
{
	const struct config *before;
	struct undo *oldest = oldest_of(list, epoch);

	if (oldest == NULL)
		return NULL;
	before = oldest->before;
	oldest->before = NULL;
	while (list->newest != NULL) {
		struct undo *u = list->newest;

		list->newest = u->older;
		list->n--;
		end(u, why);
	}
	return before;
}

void
undo_forget(struct undo_list *list)
{
	undo_accept(list, UINT32_MAX);
}

static void
end(struct undo *u, const char *why)
{
	config_free(u->before);
	if (u->ended != NULL)
		u->ended(u->arg, why);
	undo_drop(u);
}
