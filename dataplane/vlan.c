/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN tags.  Owning worker only; rare. */
#include "vlan.h"

#include <string.h>

#define ADDRESSES_SIZE 12 /* both MAC addresses, after which tags stand */

static bool
is_equal(const struct flow_vlan *a, const struct flow_vlan *b)
{
	return a->size == b->size && memcmp(a->tags, b->tags, sizeof(a->tags)) == 0;
}

int
vlan_number(struct flow_worker *worker, const uint8_t *frame, unsigned ip_offset, unsigned likely)
{
	struct flow_vlan vlan = {.size = (uint8_t)(ip_offset - PACKET_ETHERNET_SIZE)};
	unsigned free = 0;

	if (vlan.size == 0)
		return 0;
	memcpy(vlan.tags, &frame[ADDRESSES_SIZE], vlan.size);
	for (unsigned i = 2; i < vlan.size; i += PACKET_TAG_SIZE)
		vlan.tags[i] &=
			0x0f; /* priority and drop eligibility: else each would be another */
	if (likely != 0 && is_equal(&worker->vlans[likely], &vlan))
		return (int)likely;
	/* Bounded by FLOW_VLANS. */
	for (unsigned i = 1; i <= worker->n_vlans; i++) {
		if (worker->vlans[i].n_uses == 0)
			free = i;
		else if (is_equal(&worker->vlans[i], &vlan))
			return (int)i;
	}
	if (free == 0 && worker->n_vlans == FLOW_VLANS - 1)
		return -1;
	if (free == 0)
		free = ++worker->n_vlans;
	worker->vlans[free] = vlan;
	return (int)free;
}

bool
vlan_retag(struct pipeline_packet *packet, unsigned ip_offset, const struct flow_vlan *vlan)
{
	int grows = (int)vlan->size - (int)(ip_offset - PACKET_ETHERNET_SIZE);

	if (grows > packet->headroom)
		return false;
	uint8_t *frame = packet->data - grows;

	memmove(frame, packet->data, ADDRESSES_SIZE);
	memcpy(&frame[ADDRESSES_SIZE], vlan->tags, vlan->size);
	packet->data = frame;
	packet->size_out = (uint16_t)(packet->size_out + grows);
	return true;
}
