/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a flow to where its packets go: whether they may, and MACs, addresses and ports towards
 * either side.  Pure; owning worker.
 */
#pragma once

#include "flow.h"
#include "ledger.h"
#include "packet.h"
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

static inline const struct table_gateway *
way_gateway(const struct tables *tables, const struct flow *flow)
{
	return &tables->ports[flow->client_port_in]
			.gateways[karmalb_address_is_v4(&flow->client) ? 0 : 1];
}

static inline struct rewrite
way_to_client(const struct tables *tables, const struct flow *flow)
{
	const struct table_port *port = &tables->ports[flow->client_port_in];
	const struct table_slot *slot = &tables->slots[flow->slot];

	return (struct rewrite){
		.mac_to =
			port->is_reply_by_route ? way_gateway(tables, flow)->mac : flow->client_mac,
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

	return !port->is_reply_by_route || way_gateway(tables, flow)->is_known;
}

/* Whether a packet may leave by that port; else it is counted.  Before it is rewritten. */
static inline bool
way_may_leave(struct ledger *ledger, const struct packet_view *view, uint8_t port_out)
{
	const struct table_port *port = &ledger->tables->ports[port_out];
	uint16_t size = (uint16_t)(view->frame_size - view->ip_offset);
	bool is_too_big = (uint16_t)(size - 1) > (uint16_t)(port->mtu - 1); /* MTU 0: no */

	if (__builtin_expect(port->is_up && !is_too_big, 1))
		return true;
	ledger_count(ledger,
		port->is_up ? KARMALB_COUNTER_DROP_TOO_BIG : KARMALB_COUNTER_DROP_PORT_DOWN);
	return false;
}

/* With its port's link a next hop goes, too: then the link is what to say. */
static inline void
way_drop_without_next_hop(struct ledger *ledger, uint8_t port_out)
{
	ledger_count(ledger, ledger->tables->ports[port_out].is_up
				     ? KARMALB_COUNTER_DROP_NO_NEXT_HOP
				     : KARMALB_COUNTER_DROP_PORT_DOWN);
}

/* The same as way_may_leave() of a packet to the flow's mirror. */
static inline bool
way_may_reach_mirror(struct ledger *ledger, const struct packet_view *view, const struct flow *flow)
{
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];

	if (__builtin_expect(slot->has_next_hop, 1))
		return way_may_leave(ledger, view, slot->next_hop_port);
	way_drop_without_next_hop(ledger, slot->next_hop_port);
	return false;
}
