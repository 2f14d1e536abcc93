/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening of flows.  Owning worker only. */
#include "connect.h"

#include "lookup.h"
#include "pick.h"
#include "source_port.h"
#include "sweep.h"
#include "tcp.h"
#include "udp.h"

static enum karmalb_worker_counter
choose_mirror(struct ledger *ledger, const struct table_service *service, uint16_t *slot);
static bool
take_turn(struct ledger *ledger, const struct table_service *service, uint16_t *slot);
static bool
draw(struct ledger *ledger, const struct table_service *service, uint16_t *slot);
static enum karmalb_worker_counter
enter_flow(struct ledger *ledger, const struct connect_request *request,
	const struct source_port *port, uint32_t record);

static const struct table_service *
service_of(const struct tables *tables, const struct flow_key *key)
{
	struct karmalb_endpoint listen = {
		.address = key->destination,
		.port_be = key->destination_port_be,
		.protocol = key->protocol,
	};

	return lookup_service(tables, &listen);
}

enum karmalb_worker_counter
connect_open(struct ledger *ledger, const struct connect_request *request, uint32_t *record)
{
	const struct flow_key *key = &request->view->key;
	const struct table_service *service = service_of(ledger->tables, key);
	struct source_port port;
	uint16_t slot;

	bool is_datagram = request->view->kind & PACKET_IS_UDP;
	bool is_syn = (request->view->tcp_flags & (PACKET_SYN | PACKET_ACK)) == PACKET_SYN;

	if (service != NULL && !is_syn && !is_datagram)
		return KARMALB_COUNTER_DROP_NO_FLOW;
	if (service == NULL)
		return lookup_source(ledger->tables, &key->destination) == LOOKUP_NONE
			       ? KARMALB_COUNTER_DROP_NO_SERVICE
			       : KARMALB_COUNTER_DROP_NO_FLOW;
	/* What a mirror answers to one of our own addresses would be a new client's packet. */
	if (!packet_is_unicast(&key->source) || lookup_is_own(ledger->tables, &key->source))
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (is_datagram ? udp_is_full(ledger->flows)
			: ledger->flows->worker->half_open_free == FLOW_NONE)
		return KARMALB_COUNTER_DROP_HALF_OPEN_FULL;
	enum karmalb_worker_counter reason = choose_mirror(ledger, service, &slot);

	if (reason != 0)
		return reason;
	if (!source_port_find(ledger->flows, ledger->tables, slot,
		    (uint32_t)(pick_random(ledger->random) >> 32), &port))
		return KARMALB_COUNTER_DROP_NO_SOURCE_PORT;
	*record = flow_take(ledger->flows, slot);
	if (*record == FLOW_NONE && sweep_reclaim(ledger, request->replaces))
		*record = flow_take(ledger->flows, slot);
	if (*record == FLOW_NONE)
		return KARMALB_COUNTER_DROP_FLOW_TABLE_FULL;
	return enter_flow(ledger, request, &port, *record);
}

static bool
is_reachable(const struct tables *tables, uint16_t slot)
{
	const struct table_slot *s = &tables->slots[slot];

	return s->has_next_hop && tables->ports[s->next_hop_port].is_up;
}

static enum karmalb_worker_counter
choose_mirror(struct ledger *ledger, const struct table_service *service, uint16_t *slot)
{
	const struct table_alias *columns = &ledger->tables->columns[service->first_column];
	uint32_t n = service->n_columns;

	if (n == 0)
		return KARMALB_COUNTER_DROP_NO_MIRROR;
	if (service->selector == KARMALB_SELECTOR_ROTATE ? take_turn(ledger, service, slot)
							 : draw(ledger, service, slot))
		return 0;
	uint32_t column = (uint32_t)(pick_random(ledger->random) % n);

	/* Bounded by KARMALB_MIRRORS_MAX.  Every mirror owns the main part of some column. */
	for (unsigned i = 0; i < n; i++) {
		*slot = columns[column].slot;
		if (is_reachable(ledger->tables, *slot))
			return 0;
		column = column + 1 < n ? column + 1 : 0;
	}
	return KARMALB_COUNTER_DROP_NO_NEXT_HOP;
}

/* The next in the order that all workers share.  Who cannot be reached loses its turn. */
static bool
take_turn(struct ledger *ledger, const struct table_service *service, uint16_t *slot)
{
	const struct table_alias *columns = &ledger->tables->columns[service->first_column];
	uint64_t *turns = &ledger->flows->header->turns[service->turn];

	/* Bounded by KARMALB_MIRRORS_MAX. */
	for (unsigned i = 0; i < service->n_columns; i++) {
		uint64_t turn = __atomic_fetch_add(turns, 1, __ATOMIC_RELAXED);

		*slot = columns[turn % service->n_columns].slot;
		if (is_reachable(ledger->tables, *slot))
			return true;
	}
	return false;
}

static bool
draw(struct ledger *ledger, const struct table_service *service, uint16_t *slot)
{
	const struct table_alias *columns = &ledger->tables->columns[service->first_column];

	for (unsigned i = 0; i < CONNECT_DRAWS; i++) {
		*slot = pick_draw(columns, service->n_columns, pick_random(ledger->random));
		if (is_reachable(ledger->tables, *slot))
			return true;
	}
	return false;
}

/* Nothing that can fail comes after the record is linked. */
static enum karmalb_worker_counter
enter_flow(struct ledger *ledger, const struct connect_request *request,
	const struct source_port *port, uint32_t record)
{
	struct flow_table *table = ledger->flows;
	struct flow *flow = &table->records[record];
	uint32_t entry = flow_entry(record, FLOW_CLIENT);

	if (!flow_link(table, port->hash, flow_entry(record, FLOW_MIRROR)))
		goto no_room;
	if (request->replaces != FLOW_NONE) {
		flow_relink(
			table, request->hash, flow_entry(request->replaces, FLOW_CLIENT), entry);
		tcp_replaced(ledger, &table->records[request->replaces]);
	} else if (!flow_link(table, request->hash, entry)) {
		goto no_client_room;
	}
	flow_change(flow);
	flow->client = request->view->key.source;
	flow->client_port_be = request->view->key.source_port_be;
	flow->source_port_be = port->key.destination_port_be;
	flow->source = port->source;
	memcpy(flow->client_mac, request->client_mac, sizeof(flow->client_mac));
	flow->client_port_in = request->client_port_in;
	flow->epoch = ledger->tables->epoch;
	flow->opened_ms = ledger->now_ms;
	flow_hold_vlan(table, flow, request->vlan);
	if (request->view->kind & PACKET_IS_UDP)
		udp_open(ledger, flow);
	else
		tcp_open(ledger, record, request->view);
	flow_changed(flow);
	return 0;

no_client_room:
	flow_unlink(table, port->hash, flow_entry(record, FLOW_MIRROR));
no_room:
	flow_give(table, record);
	return KARMALB_COUNTER_DROP_FLOW_TABLE_FULL;
}
