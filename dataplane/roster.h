/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mirrors that have a slot, and what is known of each: next hop, share in force, use.  A slot
 * comes with the first intent that names its mirror, stays while flows refer to it, and is given
 * back a minute after the last of them.  Control thread only.
 *
 * A mirror whose next hop does not answer gets no new flows, hence no worker can see it fail.  So
 * that strategies learn of it all the same, one connect failure is counted when its next hop fails
 * and one a second from then on, as long as it has a share above 0 and our own port is up; all of
 * ours, where no route has ever said which.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "err.h"
#include "intent.h"
#include "log_limit.h"
#include "tables.h"

struct instance;

struct roster_entry {
	bool is_alive;    /* the slot stands for a mirror */
	bool is_selected; /* part of the intent in force */
	uint8_t next_hop; /* enum karmalb_next_hop_state */
	bool has_port; /* its table_slot.next_hop_port is known, though the next hop may not be */
	double share;  /* in force */
	uint64_t idle_us; /* since when neither selected nor used by a flow; 0: it is */
	char label[2 * KARMALB_NAME_MAX]; /* "web/m1", for sentences */
};

struct roster {
	struct instance *instance;
	struct table_slot slots[KARMALB_SLOTS_MAX]; /* as the next snapshot is to have them */
	struct roster_entry entries[KARMALB_SLOTS_MAX];
	unsigned n_slots;    /* highest slot alive + 1 */
	uint64_t counted_us; /* when unreachable mirrors were last counted */
	struct log_limit limit;
};

/* An intent with its mirrors' slots. */
struct roster_plan {
	struct intent *intent;                    /* owned */
	uint16_t mirror_slots[KARMALB_SLOTS_MAX]; /* of intent->mirrors[i] */
};

/*
 * Gives every mirror of an intent its slot, new ones a fresh one, and asks for their next hops.
 * Owns 'intent' on success only.  0, or with a sentence -ENOSPC when slots run out (then nothing
 * was assigned), -ENOMEM, or what the kernel says; slots given in vain come back by themselves.
 */
int
roster_plan(struct roster *r, struct intent *intent, struct roster_plan **result, struct err *err);

/* NULL is fine. */
void
roster_plan_free(struct roster_plan *plan);

/* Some mirror's next hop is neither known nor known not to answer. */
bool
roster_is_resolving(const struct roster *r, const struct roster_plan *plan);

/* Takes in what is known of all next hops; logs what changed.  True: something did. */
bool
roster_refresh(struct roster *r, uint64_t now_us);

/* Builds a snapshot of a plan; its time-outs hold from here on.  NULL with a sentence. */
struct tables *
roster_build(struct roster *r, const struct roster_plan *plan, struct err *err);

/* The plan is in force: its mirrors are selected, at its shares. */
void
roster_select(struct roster *r, const struct roster_plan *plan);

/*
 * Once a second: counts failures of unreachable mirrors, and gives slots back that are not in
 * 'rising' (NULL: none) and that no flow has used for a minute.
 */
void
roster_tick(struct roster *r, const struct roster_plan *rising, uint64_t now_us);

/* Why the first mirror of a plan that gets no flows gets none; empty if all do. */
void
roster_why_unreachable(
	const struct roster *r, const struct roster_plan *plan, struct err *sentence);
