/* SPDX-License-Identifier: BSD-3-Clause */
/* Errands in pieces.  Owning worker. */
#include "errands.h"

#include "craft.h"
#include "tcp.h"
#include "way.h"

#define FRAMES_PER_END 2 /* to the client and to the mirror */

static bool
run_reset(struct errands_reset *r, struct ledger *ledger, struct craft_frames *out);
static bool
end_flow(struct ledger *ledger, uint32_t record, struct craft_frames *out);
static void
reset_client(struct ledger *ledger, const struct flow *flow, struct craft_frames *out);
static void
reset_mirror(struct ledger *ledger, const struct flow *flow, struct craft_frames *out);

bool
errands_run(struct errands *e, struct ledger *ledger, struct craft_frames *out)
{
	bool is_more;

	/* First, so that an order which comes meanwhile is not overlooked. */
	atomic_exchange_explicit(&e->is_ordered, 0, memory_order_acquire);
	unsigned n_probes = probes_run(ledger, out);

	is_more = run_reset(&e->reset, ledger, out);
	if (n_probes > 0 || is_more)
		errands_order(e);
	/* Without any room nothing gets better by trying before the next tick. */
	return is_more && out->n_max >= FRAMES_PER_END;
}

/* By age, since of two stamps of 32 bits it cannot be told which one is the later. */
static bool
is_meant(const struct errands_reset *r, const struct ledger *ledger, const struct flow *flow)
{
	int32_t ordered_ago_ms = (int32_t)(ledger->now_ms - r->at_ms);

	return flow->state != FLOW_FREE && flow->state != FLOW_RESTING &&
	       flow->state != FLOW_PROBE && errands_has_slot(r->slots, flow->slot) &&
	       /* Control's clock may be read later than the worker's. */
	       (ordered_ago_ms <= 0 ||
		       flow_age_ms(flow, ledger->now_ms) >= (uint32_t)ordered_ago_ms);
}

/* False: nothing is left. */
static bool
run_reset(struct errands_reset *r, struct ledger *ledger, struct craft_frames *out)
{
	const struct flow_worker *worker = ledger->flows->worker;
	unsigned n_ended = 0;

	if (atomic_load_explicit(&r->state, memory_order_acquire) != ERRANDS_RESET_ORDERED)
		return false;
	/* Bounded by ERRANDS_RECORDS. */
	for (unsigned i = 0; i < ERRANDS_RECORDS && r->record < worker->n_touched; i++) {
		if (is_meant(r, ledger, &ledger->flows->records[r->record])) {
			if (n_ended == ERRANDS_ENDS || !end_flow(ledger, r->record, out))
				return true;
			n_ended++;
			r->n_ended++;
		}
		r->record++;
	}
	if (r->record < worker->n_touched)
		return true;
	atomic_store_explicit(&r->state, ERRANDS_RESET_DONE, memory_order_release);
	return false;
}

/* False: no room for what is to be sent, and nothing was done. */
static bool
end_flow(struct ledger *ledger, uint32_t record, struct craft_frames *out)
{
	const struct flow *flow = &ledger->flows->records[record];

	if (out->n + FRAMES_PER_END > out->n_max)
		return false;
	if (!flow_is_datagram(flow)) {
		reset_client(ledger, flow, out);
		reset_mirror(ledger, flow, out);
	}
	tcp_end(ledger, record);
	return true;
}

/* With the number that it expects next; a SYN without answer is refused. */
static void
reset_client(struct ledger *ledger, const struct flow *flow, struct craft_frames *out)
{
	bool is_refusal = flow->state == FLOW_SYN_SENT;

	if ((flow->flags & FLOW_FLAG_CLIENT_UNLINKED) ||
		!way_to_client_is_known(ledger->tables, flow))
		return;
	struct rewrite way = way_to_client(ledger->tables, flow);

	craft_add(out, flow->client_port_in,
		&(struct craft_tcp){
			.way = &way,
			.vlan = &ledger->flows->worker->vlans[flow->vlan],
			.seq = is_refusal ? 0 : flow->mirror_end,
			.ack = flow->client_end,
			.flags = is_refusal ? PACKET_RST | PACKET_ACK : PACKET_RST,
		});
}

static void
reset_mirror(struct ledger *ledger, const struct flow *flow, struct craft_frames *out)
{
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];

	if (!slot->has_next_hop)
		return;
	struct rewrite way = way_to_mirror(ledger->tables, flow);

	craft_add(out, slot->next_hop_port,
		&(struct craft_tcp){.way = &way, .seq = flow->client_end, .flags = PACKET_RST});
}
