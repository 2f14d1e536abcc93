/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts intent in force: slots, next hops, steering and addresses, snapshot, and the proof that
 * every worker has taken it.  A machine that never waits: apply_step() does what can be done now
 * and says when to call again.  One intent rises at a time; what is committed meanwhile waits, and
 * a newer one takes its place.  Whatever fails leaves the former snapshot in force, whole.
 *
 *   IDLE ── committed ──> RESOLVING ── next hops known, a newer intent, or 300 ms ──> PUBLISHED ──
 *   all workers ──> IDLE
 *
 * It also follows the network: when a next hop or a port changes, a snapshot of the same epoch is
 * built from the intent in force.  Control thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "err.h"

struct apply;
struct instance;
struct intent;

struct apply_events {
	/* An intent was put in force, or failed, or gave way to a newer one. */
	void (*done)(void *context, const struct karmalb_applied *applied);
	/* What apply_slot() says may have changed. */
	void (*slots_changed)(void *context);
	void *context;
};

/* 0, or -ENOMEM with a sentence.  'instance' runs and outlives it. */
int
apply_open(struct apply **apply, struct instance *instance, const struct apply_events *events,
	struct err *err);

/* NULL is fine.  The snapshot in force stays with the workers. */
void
apply_close(struct apply *a);

/* Owns 'intent' from here on; its fate comes as events.done.  Call apply_step() then. */
void
apply_commit(struct apply *a, struct intent *intent);

/* A next hop or a port changed.  Call apply_step() then. */
void
apply_network_changed(struct apply *a);

/* Does what can be done now; returns the time at which to be called again at the latest. */
uint64_t
apply_step(struct apply *a, uint64_t now_us);

/* The epoch in force; 0: none yet. */
uint32_t
apply_epoch(const struct apply *a);

/* Nothing rises or waits: what is in force is all that was committed. */
bool
apply_is_idle(const struct apply *a);

/* The newest epoch that is in force, rises or waits. */
uint32_t
apply_newest_epoch(const struct apply *a);

/* Fills in what is to be known of a slot.  False: the number stands for nothing. */
bool
apply_slot(const struct apply *a, uint16_t slot, struct karmalb_slot *message);

/* Highest slot in use + 1. */
unsigned
apply_n_slots(const struct apply *a);
