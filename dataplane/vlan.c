/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN tags.  Owning worker only; rare. */
#include "vlan.h"

#include <string.h>

#define ADDRESSES_SIZE 12 /* both MAC addresses, after which tags stand */

int
vlan_number(struct flow_worker *worker, const uint8_t *frame, unsigned ip_offset, unsigned likely)
{
	struct flow_vlan vlan = {.size = (uint8_t)(ip_offset - PACKET_ETHERNET_SIZE)};

	if (vlan.size == 0)
		return 0;
	memcpy(vlan.tags, &frame[ADDRESSES_SIZE], vlan.size);
	for (unsigned i = 2; i < vlan.size; i += PACKET_TAG_SIZE)
		vlan.tags[i] &=
			0x0f; /* priority and drop eligibility: else each would be another */
	if (memcmp(&worker->vlans[likely], &vlan, sizeof(vlan)) == 0)
		return (int)likely;
	/* Bounded by FLOW_VLANS. */
	for (unsigned i = 1; i <= worker->n_vlans; i++)
		if (memcmp(&worker->vlans[i], &vlan, sizeof(vlan)) == 0)
			return (int)i;
	if (worker->n_vlans == FLOW_VLANS - 1)
		return -1;
	worker->vlans[++worker->n_vlans] = vlan;
	return (int)worker->n_vlans;
}

void
vlan_retag(struct pipeline_packet *packet, unsigned ip_offset, const struct flow_vlan *vlan)
{
	int grows = (int)vlan->size - (int)(ip_offset - PACKET_ETHERNET_SIZE);
	uint8_t *frame = packet->data - grows;

	memmove(frame, packet->data, ADDRESSES_SIZE);
	memcpy(&frame[ADDRESSES_SIZE], vlan->tags, vlan->size);
	packet->data = frame;
	packet->size_out = (uint16_t)(packet->size_out + grows);
}
