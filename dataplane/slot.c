/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slot table.  Control thread only.  A new mirror costs a scan of 4096 slots, one that is there
 * and asked for in its order none.
 */
#include "slot.h"

#include <errno.h>

int
slot_assign(struct slot *slots, unsigned near, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address)
{
	int slot = slot_find(slots, near, listen, address);

	if (slot >= 0)
		return slot;
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++) {
		if (!slot_is_free(&slots[i]))
			continue;
		slots[i].listen = *listen;
		slots[i].address = *address;
		slots[i].n_assigned++;
		return (int)i;
	}
	return -ENOSPC;
}

int
slot_find(const struct slot *slots, unsigned near, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address)
{
	for (unsigned n = 0; n < KARMALB_SLOTS_MAX; n++) {
		unsigned i = (near + n) % KARMALB_SLOTS_MAX;

		if (karmalb_endpoint_equal(&slots[i].listen, listen) &&
			karmalb_endpoint_equal(&slots[i].address, address))
			return (int)i;
	}
	return -ENOENT;
}

void
slot_release(struct slot *slots, unsigned slot)
{
	memset(&slots[slot].listen, 0, sizeof(slots[slot].listen));
	memset(&slots[slot].address, 0, sizeof(slots[slot].address));
}
