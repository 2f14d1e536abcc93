/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes on their way out and back.  Owning worker. */
#include "probe.h"

#include <karmalb/clock.h>

#include "craft.h"
#include "icmp.h"
#include "pick.h"
#include "source_port.h"
#include "tcp.h"
#include "way.h"

static void
take_order(struct ledger *ledger, unsigned index, struct craft_frames *out);
static enum karmalb_check_result
send_syn(struct ledger *ledger, unsigned index, struct craft_frames *out);
static void
finish(struct ledger *ledger, struct probe *probe, enum karmalb_check_result result);

static bool
is_over(const struct ledger *ledger, const struct probe *probe, uint64_t began_us)
{
	return ledger->now_us >= began_us + probe->timeout_ms * (uint64_t)KARMALB_MILLISECOND;
}

unsigned
probes_run(struct ledger *ledger, struct craft_frames *out)
{
	unsigned n_under_way = 0;

	/* Bounded by PROBES_MAX. */
	for (unsigned i = 0; i < PROBES_MAX; i++) {
		struct probe *p = &ledger->probes[i];
		uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);

		if (state == PROBE_ORDERED)
			take_order(ledger, i, out);
		else if (state == PROBE_SENT && is_over(ledger, p, p->sent_us))
			finish(ledger, p, KARMALB_CHECK_SILENT);
		state = atomic_load_explicit(&p->state, memory_order_relaxed);
		n_under_way += state == PROBE_ORDERED || state == PROBE_SENT;
	}
	return n_under_way;
}

/* Without room it stays ordered, but no longer than an answer would be waited for. */
static void
take_order(struct ledger *ledger, unsigned index, struct craft_frames *out)
{
	struct probe *p = &ledger->probes[index];
	enum karmalb_check_result result;

	p->record = FLOW_NONE;
	p->took_us = 0;
	if (out->n < out->n_max)
		result = send_syn(ledger, index, out);
	else if (is_over(ledger, p, p->ordered_us))
		result = KARMALB_CHECK_NOT_SENT;
	else
		return;
	if (result != KARMALB_CHECK_SILENT)
		finish(ledger, p, result);
}

/* KARMALB_CHECK_SILENT: it is out. */
static enum karmalb_check_result
send_syn(struct ledger *ledger, unsigned index, struct craft_frames *out)
{
	struct probe *p = &ledger->probes[index];
	const struct tables *tables = ledger->tables;
	struct source_port port;

	if (p->slot >= tables->n_slots || !tables->slots[p->slot].has_next_hop)
		return KARMALB_CHECK_NO_NEXT_HOP;
	if (!source_port_find(ledger->flows, tables, p->slot,
		    (uint32_t)(pick_random(ledger->random) >> 32), &port))
		return KARMALB_CHECK_NO_PORT;
	uint32_t record = flow_take(ledger->flows, p->slot);

	if (record == FLOW_NONE)
		return KARMALB_CHECK_NOT_SENT;
	if (!flow_link(ledger->flows, port.hash, flow_entry(record, FLOW_MIRROR))) {
		flow_give(ledger->flows, record);
		return KARMALB_CHECK_NOT_SENT;
	}
	struct flow *flow = &ledger->flows->records[record];

	flow_change(flow);
	flow->state = FLOW_PROBE;
	flow->flags = FLOW_FLAG_CLIENT_UNLINKED;
	flow->source = port.source;
	flow->source_port_be = port.key.destination_port_be;
	flow->client_port_be = (uint16_t)index;
	flow->client_end = (uint32_t)pick_random(ledger->random);
	flow->epoch = tables->epoch;
	flow->opened_ms = ledger->now_ms;
	flow_changed(flow);
	p->record = record;
	p->source = flow->source;
	p->source_port_be = flow->source_port_be;
	p->sent_us = ledger->now_us;
	struct rewrite way = way_to_mirror(tables, flow);

	craft_add(out, tables->slots[p->slot].next_hop_port,
		&(struct craft_tcp){.way = &way, .seq = flow->client_end - 1, .flags = PACKET_SYN});
	atomic_store_explicit(&p->state, PROBE_SENT, memory_order_relaxed);
	return KARMALB_CHECK_SILENT;
}

/* Gives the entry back to control; the record rests as that of any reset connection. */
static void
finish(struct ledger *ledger, struct probe *probe, enum karmalb_check_result result)
{
	if (probe->record != FLOW_NONE) {
		struct flow *flow = &ledger->flows->records[probe->record];

		flow_change(flow);
		flow->state = FLOW_RESTING;
		flow->expires_ms = tcp_deadline(ledger, TCP_REST_MS);
		flow_changed(flow);
	}
	probe->result = (uint8_t)result;
	atomic_store_explicit(&probe->state, PROBE_DONE, memory_order_release);
}

/* The probe that the record is of; NULL: it is over. */
static struct probe *
probe_of(struct ledger *ledger, uint32_t record)
{
	struct probe *p =
		&ledger->probes[ledger->flows->records[record].client_port_be % PROBES_MAX];

	if (atomic_load_explicit(&p->state, memory_order_relaxed) != PROBE_SENT ||
		p->record != record)
		return NULL;
	return p;
}

/* Whether it decides anything: of what others say only that the SYN itself cannot arrive. */
static bool
is_answer(const struct flow *flow, const uint8_t *frame, const struct packet_view *view)
{
	if (view->kind & PACKET_IS_ICMP)
		return icmp_ends_connect(flow, frame, view);
	return (view->tcp_flags & PACKET_ACK) && view->ack == flow->client_end;
}

unsigned
probe_answer(struct ledger *ledger, uint32_t record, const struct packet_view *view, uint8_t *frame,
	uint8_t *port_out)
{
	const struct flow *flow = &ledger->flows->records[record];
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];
	struct probe *p = probe_of(ledger, record);
	bool is_icmp = view->kind & PACKET_IS_ICMP;

	if (p == NULL || !is_answer(flow, frame, view)) {
		ledger_count(ledger,
			is_icmp ? KARMALB_COUNTER_DROP_ICMP : KARMALB_COUNTER_DROP_TCP_STATE);
		return 0;
	}
	ledger_count(ledger, KARMALB_COUNTER_PROBES_ANSWERED);
	p->took_us = (uint32_t)(ledger->now_us - p->sent_us);
	if (is_icmp || (view->tcp_flags & PACKET_RST)) {
		finish(ledger, p, is_icmp ? KARMALB_CHECK_UNREACHABLE : KARMALB_CHECK_REFUSED);
		return 0;
	}
	finish(ledger, p, KARMALB_CHECK_OPEN);
	if (!slot->has_next_hop)
		return 0;
	struct rewrite way = way_to_mirror(ledger->tables, flow);

	*port_out = slot->next_hop_port;
	return craft_tcp(frame,
		&(struct craft_tcp){.way = &way, .seq = flow->client_end, .flags = PACKET_RST});
}
