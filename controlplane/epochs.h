/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shares that were announced of late, by epoch: a flow remembers the epoch that its mirror was
 * drawn at, and this says what the shares were.  Pure; loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EPOCHS_MAX 64 /* kept; older ones are forgotten */

struct karmalb_endpoint;
struct transaction;

struct epochs_entry {
	struct transaction *transaction; /* NULL: none; owned */
	uint64_t in_force_us;            /* CLOCK_MONOTONIC; 0: not, or not yet */
};

/* Zeroed: none. */
struct epochs {
	struct epochs_entry entries[EPOCHS_MAX];
	unsigned n; /* ever added */
};

/* Keeps 't', which is owned from here on and stays until EPOCHS_MAX others were added. */
void
epochs_add(struct epochs *e, struct transaction *t);
void
epochs_fini(struct epochs *e);

/* The data plane has it in force since then. */
void
epochs_note(struct epochs *e, uint32_t epoch, uint64_t in_force_us);

/* NULL: not kept, or no longer. */
const struct epochs_entry *
epochs_find(const struct epochs *e, uint32_t epoch);

/* The share that the mirror 'address' had behind 'listen'; false: it had no part in it. */
bool
epochs_share(const struct epochs_entry *entry, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address, double *share);
