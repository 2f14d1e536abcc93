/* SPDX-License-Identifier: BSD-3-Clause */
/* UDP flows.  Owning worker only. */
#include "udp.h"

#include "latency.h"
#include "tcp.h"

static uint32_t
idle_deadline(const struct ledger *ledger, const struct flow *flow)
{
	return tcp_deadline(ledger, ledger->tables->slots[flow->slot].idle_timeout_ms);
}

void
udp_open(struct ledger *ledger, struct flow *flow)
{
	flow->state = FLOW_DATAGRAM_SENT;
	counter_add32(&ledger->flows->worker->n_unanswered, 1);
	flow->expires_ms = idle_deadline(ledger, flow);
	ledger_count(ledger, KARMALB_COUNTER_FLOWS_OPENED);
	counter_add(&ledger->slots[flow->slot].opened, 1);
	latency_client_datagram(ledger, flow);
}

bool
udp_is_forsaken(const struct ledger *ledger, const struct flow *flow)
{
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];

	if (slot->is_selected)
		return false;
	return slot->is_one_way || !slot->has_next_hop || flow->exchange == FLOW_EXCHANGE_IDLE ||
	       flow->exchange == FLOW_EXCHANGE_LATE || latency_is_overdue(ledger, flow);
}

void
udp_client_packet(struct ledger *ledger, struct flow *flow)
{
	flow_change(flow);
	flow->expires_ms = idle_deadline(ledger, flow);
	latency_client_datagram(ledger, flow);
	flow_changed(flow);
}

void
udp_mirror_packet(struct ledger *ledger, struct flow *flow)
{
	flow_change(flow);
	if (flow->state == FLOW_DATAGRAM_SENT) {
		flow->state = FLOW_DATAGRAM;
		counter_add32(&ledger->flows->worker->n_unanswered, -1u);
	}
	flow->expires_ms = idle_deadline(ledger, flow);
	latency_mirror_datagram(ledger, flow);
	flow_changed(flow);
}

/* Nothing listens there: what a refused SYN is to TCP, unless it has answered before. */
void
udp_unreachable(struct ledger *ledger, struct flow *flow)
{
	flow_change(flow);
	latency_unreachable(ledger, flow,
		flow->state == FLOW_DATAGRAM_SENT ? KARMALB_OUTCOME_CONNECT_FAILURES
						  : KARMALB_OUTCOME_NETWORK_ERRORS);
	flow->expires_ms = ledger->now_ms;
	flow_changed(flow);
}
