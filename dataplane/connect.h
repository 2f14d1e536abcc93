/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A new connection's way to a mirror: service, mirror, source port, record.  Pure; owning worker.
 */
#pragma once

#include "ledger.h"
#include "packet.h"

#define CONNECT_DRAWS 4 /* before all columns are searched for a mirror that can be reached */

struct connect_request {
	const struct packet_view *view; /* opens a flow if it is a SYN or datagram to a service */
	uint64_t hash;                  /* of its key */
	const uint8_t *client_mac;
	uint8_t client_port_in;
	uint8_t vlan;      /* as in struct flow */
	uint32_t replaces; /* record that holds the client's entry now, or FLOW_NONE */
};

/*
 * Opens a flow.  Returns 0 and its record, or the KARMALB_COUNTER_DROP_ reason; then nothing has
 * changed, the flow to be replaced included.  Bounded by SOURCE_PORT_TRIES * SOURCE_PORT_PROBES
 * look-ups and KARMALB_MIRRORS_MAX columns.
 */
enum karmalb_worker_counter
connect_open(struct ledger *ledger, const struct connect_request *request, uint32_t *record);
