/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VLAN tags.  Clients' packets may come with one or two; what is sent to a client carries those
 * that its packets last came with, at priority 0.  Towards the mirrors packets go untagged, since
 * next hops are those of the port's interface itself.  Pure; owning worker only.
 */
#pragma once

#include "flow.h"
#include "packet.h"
#include "pipeline.h"

#define VLAN_HEADROOM (PACKET_TAGS_MAX * PACKET_TAG_SIZE)

/*
 * The number in flow_worker.vlans of a frame's tags; 0: none.  What no flow holds gets a free
 * number, which is its own only when a flow holds it before the next call (flow_hold_vlan).
 * 'likely', 0 or one held by a flow, is tried first.  -1 when flows hold FLOW_VLANS - 1 others.
 */
int
vlan_number(struct flow_worker *worker, const uint8_t *frame, unsigned ip_offset, unsigned likely);

/*
 * Lets a packet carry 'vlan' (of size 0: no tag) in place of what it carries.  Returns false, and
 * has changed nothing, where there is no room for that before the packet.
 */
bool
vlan_retag(struct pipeline_packet *packet, unsigned ip_offset, const struct flow_vlan *vlan);
