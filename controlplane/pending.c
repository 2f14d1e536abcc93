/* SPDX-License-Identifier: BSD-3-Clause */
/* A short list, oldest first: a person types the changes. */
#include "pending.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct pending {
	struct pending *next;
	void (*done)(void *arg, const struct balance_outcome *outcome);
	void *arg;      /* NULL 'done': its author is gone */
	uint32_t epoch; /* 0: none yet */
	bool is_settled;
	uint64_t began_us;
	struct balance_outcome outcome;
};

static void
settle(struct pending *p, enum balance_result result, uint64_t at_us, const char *detail);

struct pending *
pending_add(struct pending_list *list, const struct balance_request *request,
	const struct balance_outcome *outcome, uint64_t now_us)
{
	struct pending *p = calloc(1, sizeof(*p)), **end = &list->first;

	if (p == NULL)
		return NULL;
	p->done = request->done;
	p->arg = request->arg;
	p->began_us = now_us;
	p->outcome = *outcome;
	while (*end != NULL)
		end = &(*end)->next;
	*end = p;
	return p;
}

void
pending_drop(struct pending_list *list, struct pending *p)
{
	struct pending **at = &list->first;

	while (*at != NULL && *at != p)
		at = &(*at)->next;
	if (*at != NULL)
		*at = p->next;
	free(p);
}

void
pending_await(struct pending *p, uint32_t epoch)
{
	p->epoch = epoch;
}

void
pending_settle(struct pending *p, enum balance_result result)
{
	settle(p, result, 0, "");
}

void
pending_applied(struct pending_list *list, const struct karmalb_applied *applied)
{
	for (struct pending *p = list->first; p != NULL; p = p->next) {
		if (p->is_settled || p->epoch == 0 || p->epoch > applied->epoch)
			continue;
		settle(p, applied->error == 0 ? BALANCE_IN_FORCE : BALANCE_REFUSED,
			applied->applied_us, applied->sentence);
	}
}

void
pending_taken_back(struct pending_list *list, const char *why)
{
	char detail[KARMALB_SENTENCE_MAX];

	list->late_epoch = 0;
	snprintf(detail, sizeof(detail), "with a change before it: %.170s", why);
	for (struct pending *p = list->first; p != NULL; p = p->next) {
		if (!p->is_settled && p->epoch != 0)
			settle(p, BALANCE_REFUSED, 0, detail);
	}
}

/* How it ends is told when it is known. */
static void
settle_as_late(
	struct pending_list *list, struct pending *p, enum balance_result result, uint64_t now_us)
{
	settle(p, result, now_us, "");
	if (list->late_epoch == 0)
		list->late_since_us = p->began_us;
	list->late_epoch = p->epoch;
}

void
pending_lost(struct pending_list *list)
{
	for (struct pending *p = list->first; p != NULL; p = p->next) {
		if (!p->is_settled)
			settle_as_late(list, p, BALANCE_LATER, 0);
	}
}

void
pending_expire(struct pending_list *list, uint64_t now_us)
{
	for (struct pending *p = list->first; p != NULL; p = p->next) {
		if (p->is_settled || now_us < p->began_us + BALANCE_CHANGE_TIMEOUT_US)
			continue;
		settle_as_late(list, p, BALANCE_TIMED_OUT, now_us);
	}
}

bool
pending_came_late(
	struct pending_list *list, const struct karmalb_applied *applied, uint64_t *took_us)
{
	if (list->late_epoch == 0 || applied->epoch < list->late_epoch)
		return false;
	list->late_epoch = 0;
	*took_us = applied->applied_us > list->late_since_us
			   ? applied->applied_us - list->late_since_us
			   : 0;
	return true;
}

uint64_t
pending_wake_us(const struct pending_list *list)
{
	uint64_t wake_us = UINT64_MAX;

	for (const struct pending *p = list->first; p != NULL; p = p->next) {
		uint64_t at_us = p->is_settled ? 0 : p->began_us + BALANCE_CHANGE_TIMEOUT_US;

		if (at_us < wake_us)
			wake_us = at_us;
	}
	return wake_us;
}

void
pending_deliver(struct pending_list *list)
{
	struct pending **at = &list->first;

	while (*at != NULL) {
		struct pending *p = *at;

		if (!p->is_settled) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		if (p->done != NULL)
			p->done(p->arg, &p->outcome);
		free(p);
		at = &list->first; /* the call may have added or forgotten some */
	}
}

void
pending_forget(struct pending_list *list, const void *arg)
{
	for (struct pending *p = list->first; p != NULL; p = p->next) {
		if (p->arg == arg)
			p->done = NULL;
	}
}

static void
settle(struct pending *p, enum balance_result result, uint64_t at_us, const char *detail)
{
	struct balance_outcome *o = &p->outcome;
	const char *why = detail[0] != '\0' ? detail : "no reason given";

	p->is_settled = true;
	o->result = result;
	o->epoch = result == BALANCE_REFUSED ? 0 : p->epoch;
	o->took_us = at_us > p->began_us ? (uint32_t)(at_us - p->began_us) : 0;
	switch (result) {
	case BALANCE_IN_FORCE:
		if (p->epoch == 0)
			snprintf(o->sentence, sizeof(o->sentence), "in force at once");
		else
			snprintf(o->sentence, sizeof(o->sentence), "in force after %u ms%s%.180s",
				(o->took_us + 999) / 1000,
				detail[0] != '\0' ? "; the data plane says: " : "", detail);
		return;
	case BALANCE_UNCHANGED:
		snprintf(o->sentence, sizeof(o->sentence), "it has that value already");
		return;
	case BALANCE_LATER:
		snprintf(o->sentence, sizeof(o->sentence),
			"taken, not in force yet: it will be when the data plane is back; SHOW "
			"EVENTS tells how it ends");
		return;
	case BALANCE_TIMED_OUT:
		snprintf(o->sentence, sizeof(o->sentence),
			"taken, but not confirmed by the data plane within %u s; SHOW EVENTS tells how "
			"it ends",
			(unsigned)(BALANCE_CHANGE_TIMEOUT_US / KARMALB_SECOND));
		return;
	case BALANCE_REFUSED:
		snprintf(o->sentence, sizeof(o->sentence),
			"turned down by the data plane, all is as before: %.180s", why);
		return;
	}
}
