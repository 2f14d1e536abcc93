/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slot table: which number stands for which mirror of which service.  It lies in the flow
 * memory, since flow records hold slot numbers.  Only the control thread writes it; workers never
 * look here, they read the slots of their snapshot (struct table_slot).  Pure.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

/* One identity.  A zeroed 'listen' means that the slot is free. */
struct slot {
	struct karmalb_endpoint listen;
	struct karmalb_endpoint address;
	uint32_t n_assigned; /* how often this number was given out; tells reuses apart */
	uint32_t pad[5];
};
static_assert(sizeof(struct slot) == 64, "shared memory layout");

static inline bool
slot_is_free(const struct slot *slot)
{
	static const struct karmalb_endpoint none;

	return karmalb_endpoint_equal(&slot->listen, &none);
}

/*
 * The slot of (listen, address), the same one for as long as the identity lives; a fresh one on
 * first sight.  'slots' has KARMALB_SLOTS_MAX elements, and the search begins at 'near': mirrors
 * are asked for in the order in which they came, so the number after the last one found is mostly
 * right at once.  Returns the number, or -ENOSPC.
 */
int
slot_assign(struct slot *slots, unsigned near, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address);

/* The slot of (listen, address), or -ENOENT. */
int
slot_find(const struct slot *slots, unsigned near, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address);

/*
 * Gives number 'slot' back.  The caller knows that no snapshot in any worker's hand selects it any
 * more, that afterwards flow_slot_uses() was 0, and that its totals have been read.
 */
void
slot_release(struct slot *slots, unsigned slot);
