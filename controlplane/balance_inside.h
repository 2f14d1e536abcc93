/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files behind balance.h share. */
#pragma once

#include "balance.h"
#include "epochs.h"
#include "pending.h"
#include "undo.h"

struct event;

struct balance {
	struct event_base *base;
	struct model *model;
	const struct config *config; /* what the model was made from */
	struct undo_list undo;       /* changes that the data plane has not answered */
	struct dplink *link;
	struct event *timer;
	bool is_judging_due; /* the timer ends at once */
	struct pending_list pending;
	struct transaction *sent; /* the newest on this link; NULL: none; of 'epochs' */
	struct epochs epochs;
	struct inquiries *inquiries;
	struct pingers *pingers;
};

/* Observations in, decisions out.  Cheap when there is nothing new: a pass over the mirrors. */
void
balance_tick(struct balance *b, uint64_t now_us);

/* For the next tick. */
void
balance_set_timer(struct balance *b, uint64_t now_us);

/* What was dropped is kept as long as a change may be taken back. */
void
balance_forget_dropped(struct balance *b);

/* APPLIED: how an epoch ended. */
void
balance_on_applied(struct balance *b, const void *message);
