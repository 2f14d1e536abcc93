/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a flow to where its packets go: MACs, addresses and ports towards either side.  Pure; owning
 * worker.
 */
#pragma once

#include "flow.h"
#include "rewrite.h"
#include "tables.h"

static inline struct rewrite
way_to_mirror(const struct tables *tables, const struct flow *flow)
{
	const struct table_slot *slot = &tables->slots[flow->slot];

	return (struct rewrite){
		.mac_to = slot->next_hop_mac,
		.mac_from = tables->ports[slot->next_hop_port].mac,
		.source = &tables->sources[flow->source],
		.destination = &slot->address.address,
		.source_port_be = flow->source_port_be,
		.destination_port_be = slot->address.port_be,
	};
}

static inline struct rewrite
way_to_client(const struct tables *tables, const struct flow *flow)
{
	const struct table_port *port = &tables->ports[flow->client_port_in];
	const struct table_slot *slot = &tables->slots[flow->slot];

	return (struct rewrite){
		.mac_to = port->is_reply_by_route ? port->gateway_mac : flow->client_mac,
		.mac_from = port->mac,
		.source = &slot->listen.address,
		.destination = &flow->client,
		.source_port_be = slot->listen.port_be,
		.destination_port_be = flow->client_port_be,
	};
}

/* Before way_to_client(); that to the mirror is table_slot.has_next_hop. */
static inline bool
way_to_client_is_known(const struct tables *tables, const struct flow *flow)
{
	const struct table_port *port = &tables->ports[flow->client_port_in];

	return !port->is_reply_by_route || port->has_gateway;
}
