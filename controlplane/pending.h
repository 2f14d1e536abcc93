/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes that were accepted and whose authors wait to hear how they ended.  Decides nothing and
 * does no I/O; the clock is an argument.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "balance.h"

struct pending;

/* Zeroed: empty. */
struct pending_list {
	struct pending *first;  /* oldest first */
	uint32_t late_epoch;    /* whose authors were told BALANCE_TIMED_OUT or BALANCE_LATER, the
				   newest; 0: none */
	uint64_t late_since_us; /* when the oldest of them began */
};

/* Takes note of a request; 'outcome' holds what is known of it, service and change.  What it waits
 * for is said by one of the next two.  NULL when out of memory. */
struct pending *
pending_add(struct pending_list *list, const struct balance_request *request,
	const struct balance_outcome *outcome, uint64_t now_us);

/* It was not to be.  Takes NULL. */
void
pending_drop(struct pending_list *list, struct pending *p);

/* It comes into force with 'epoch'. */
void
pending_await(struct pending *p, uint32_t epoch);

/* It has ended already. */
void
pending_settle(struct pending *p, enum balance_result result);

/* Every worker has the epoch, hence all before it; or it was turned down. */
void
pending_applied(struct pending_list *list, const struct karmalb_applied *applied);

/* 'applied' is in force.  True, once: it brings all of which was said that nobody knew, the oldest
 * after '*took_us'. */
bool
pending_came_late(
	struct pending_list *list, const struct karmalb_applied *applied, uint64_t *took_us);

/* All that still wait for an epoch went back with one before them, which was turned down. */
void
pending_taken_back(struct pending_list *list, const char *why);

/* There is no data plane: nobody will confirm anything. */
void
pending_lost(struct pending_list *list);

/* Settles those that waited too long. */
void
pending_expire(struct pending_list *list, uint64_t now_us);

/* When the next one has waited too long; UINT64_MAX: never. */
uint64_t
pending_wake_us(const struct pending_list *list);

/* Tells the authors of all that is settled, and forgets it.  They may add new ones. */
void
pending_deliver(struct pending_list *list);

/* The author is gone. */
void
pending_forget(struct pending_list *list, const void *arg);
