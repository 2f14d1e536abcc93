/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of a burst: parse and hash | compare signatures, first bucket | second bucket, for the
 * few not in the first | handle.  Each runs over the whole burst, and all but the last end with a
 * run of bare prefetches for the next.  These follow each other at once, since a prefetch whose
 * page is not in the TLB holds up what comes after it, and only neighbours overlap.  (Tried at 1 M
 * flows: prefetching while parsing costs half as much again, groups of 16 taking turns a fifth.)
 * Owning worker only: no lock, no syscall, no log.
 */
#include "pipeline.h"

#include <string.h>

#include "connect.h"
#include "errands.h"
#include "icmp.h"
#include "latency.h"
#include "ledger.h"
#include "owner.h"
#include "packet.h"
#include "probe.h"
#include "rewrite.h"
#include "sweep.h"
#include "tcp.h"
#include "udp.h"
#include "vlan.h"
#include "way.h"

#define PACKETS_AHEAD 8 /* frames prefetched before the one being parsed */
static_assert(ERRANDS_ENDS <= PIPELINE_SAMPLES_MAX, "room for their samples");

/* A packet on its way through the stages. */
struct passage {
	struct packet_view view;
	uint64_t hash;
	uint32_t entry; /* candidate, to be verified; FLOW_NONE: none */
	struct pipeline_packet *packet;
};

static unsigned
parse_all(struct ledger *ledger, struct passage *passages, struct pipeline_packet *packets,
	unsigned n_packets);
static void
match_all(const struct flow_table *table, struct passage *passages, unsigned n);
static void
handle(struct ledger *ledger, struct passage *passage);
static void
open_flow(struct ledger *ledger, struct passage *passage, uint32_t replaces);
static void
handle_client(struct ledger *ledger, struct passage *passage, uint32_t record);
static void
handle_mirror(struct ledger *ledger, struct passage *passage, uint32_t record);
static bool
judge_client(struct ledger *ledger, struct passage *passage, uint32_t record);
static bool
judge_mirror(struct ledger *ledger, struct passage *passage, uint32_t record);
static void
pass_icmp(
	struct ledger *ledger, struct passage *passage, struct flow *flow, enum flow_side sent_to);
static void
send_to_mirror(struct ledger *ledger, struct passage *passage, const struct flow *flow);
static void
send_to_client(struct ledger *ledger, struct passage *passage, const struct flow *flow);

static struct ledger
ledger_of(struct pipeline *p, uint64_t now_us)
{
	return (struct ledger){
		.tables = p->tables,
		.flows = p->flows,
		.counters = p->counters,
		.slots = p->slots,
		.random = &p->random,
		.samples = p->samples,
		.probes = p->errands ? p->errands->probes : NULL,
		.n_samples = p->n_samples,
		.max_samples = PIPELINE_SAMPLES_MAX,
		.now_ms = (uint32_t)(now_us / KARMALB_MILLISECOND),
		.now_us = now_us,
	};
}

void
pipeline_burst(
	struct pipeline *p, struct pipeline_packet *packets, unsigned n_packets, uint64_t now_us)
{
	struct ledger ledger = ledger_of(p, now_us);
	struct passage passages[PIPELINE_BURST_MAX];
	unsigned n = parse_all(&ledger, passages, packets, n_packets);

	match_all(p->flows, passages, n);
	/* Bounded by PIPELINE_BURST_MAX, as are all loops over a burst. */
	for (unsigned i = 0; i < n; i++)
		handle(&ledger, &passages[i]);
	p->n_samples = ledger.n_samples;
}

uint64_t
pipeline_tick(struct pipeline *p, uint64_t now_us)
{
	struct ledger ledger = ledger_of(p, now_us);
	uint64_t again_us = sweep_run(&ledger);

	p->n_samples = ledger.n_samples;
	return again_us;
}

bool
pipeline_run_errands(struct pipeline *p, struct craft_frames *out, uint64_t now_us)
{
	struct ledger ledger = ledger_of(p, now_us);
	bool is_more = errands_run(p->errands, &ledger, out);

	p->n_samples = ledger.n_samples;
	return is_more;
}

static bool
admit(struct ledger *ledger, const struct pipeline_packet *packet, struct packet_view *view)
{
	enum karmalb_worker_counter reason = packet_parse(packet->data, packet->size, view);

	if (__builtin_expect(reason != 0, 0)) {
		ledger_count(ledger, reason);
		return false;
	}
	/* Only groups: a virtual router's MAC is ours, too, and need not be the port's. */
	if (__builtin_expect(packet->data[0] & 1, 0)) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_GROUP_MAC);
		return false;
	}
	if (__builtin_expect(packet->is_l4_bad, 0)) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_L4_CHECKSUM);
		return false;
	}
	return true;
}

/* Nobody's packets are for whoever has them to drop. */
static bool
is_of_another(const struct ledger *ledger, struct passage *passage, struct pipeline_packet *packet)
{
	const struct flow_table *table = ledger->flows;

	if (packet->is_handed_over)
		return false;
	unsigned owner = owner_of(ledger->tables, table, &passage->view.key, passage->hash);

	if (owner == table->number)
		return false;
	packet->owner = (uint8_t)owner;
	packet->verdict = PIPELINE_HAND_OVER;
	return true;
}

/*
 * Whether an L4 checksum is right only the device looks (admit()); whatever it is, it is carried
 * through, but for one that its sender left unfinished.  See packet_is_checksum_partial().
 */
static inline void
complete_checksum(
	struct ledger *ledger, const struct pipeline_packet *packet, const struct packet_view *view)
{
	if (ledger->tables->ports[packet->port_in].is_partial_checksum &&
		packet_is_checksum_partial(packet->data, view)) {
		packet_complete_checksum(packet->data, view);
		ledger_count(ledger, KARMALB_COUNTER_CHECKSUM_COMPLETED);
	}
}

/* Returns how many are still alive; the others are counted, or are another worker's. */
static unsigned
parse_all(struct ledger *ledger, struct passage *passages, struct pipeline_packet *packets,
	unsigned n_packets)
{
	bool has_peers = ledger->flows->n_workers > 1;
	unsigned n = 0, n_others = 0;
	uint64_t n_bytes = 0;

	for (unsigned i = 0; i < n_packets; i++) {
		struct pipeline_packet *packet = &packets[i];
		struct passage *passage = &passages[n];

		if (i + PACKETS_AHEAD < n_packets)
			__builtin_prefetch(packets[i + PACKETS_AHEAD].data, 1);
		n_bytes += packet->size;
		packet->verdict = PIPELINE_DROP;
		if (!admit(ledger, packet, &passage->view))
			continue;
		passage->packet = packet;
		passage->hash = flow_hash(ledger->flows->hash_key, &passage->view.key);
		if (__builtin_expect(has_peers, 0) && is_of_another(ledger, passage, packet)) {
			n_bytes -= packet->size;
			n_others++;
			continue;
		}
		complete_checksum(ledger, packet, &passage->view);
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(flow_bucket_first(ledger->flows, passages[i].hash));
	counter_add(&ledger->counters[KARMALB_COUNTER_RX_PACKETS], n_packets - n_others);
	counter_add(&ledger->counters[KARMALB_COUNTER_RX_BYTES], n_bytes);
	return n;
}

/* The first entry in 'bucket' that may be it, or FLOW_NONE. */
static inline uint32_t
match(const struct flow_bucket *bucket, uint64_t hash)
{
	unsigned mask = flow_bucket_match(bucket, flow_signature(hash));

	return mask != 0 ? bucket->entries[__builtin_ctz(mask)] : FLOW_NONE;
}

static inline void
prefetch_record(const struct flow_table *table, const struct passage *passage)
{
	if (passage->entry != FLOW_NONE)
		__builtin_prefetch(&table->records[flow_entry_record(passage->entry)], 1);
}

static void
match_all(const struct flow_table *table, struct passage *passages, unsigned n)
{
	struct passage *missing[PIPELINE_BURST_MAX];
	unsigned n_missing = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t hash = passages[i].hash;

		passages[i].entry = match(flow_bucket_first(table, hash), hash);
		missing[n_missing] = &passages[i];
		n_missing += passages[i].entry == FLOW_NONE;
	}
	for (unsigned i = 0; i < n_missing; i++)
		__builtin_prefetch(flow_bucket_second(table, missing[i]->hash));
	for (unsigned i = 0; i < n; i++)
		prefetch_record(table, &passages[i]);
	for (unsigned i = 0; i < n_missing; i++) {
		uint64_t hash = missing[i]->hash;

		missing[i]->entry = match(flow_bucket_second(table, hash), hash);
		prefetch_record(table, missing[i]);
	}
}

/*
 * What the stages found may have been another flow of the same signature, or packets before this
 * one in the burst may have opened, replaced or ended its flow; then the table is asked again.
 */
static void
handle(struct ledger *ledger, struct passage *passage)
{
	struct flow_table *table = ledger->flows;
	const struct flow_key *key = &passage->view.key;
	uint32_t entry = passage->entry;

	if (entry == FLOW_NONE || !flow_entry_matches(table, ledger->tables, entry, key))
		entry = flow_find(table, ledger->tables, key, passage->hash);
	/* Bounded: a time-out leaves a flow that rests, the end of its rest none. */
	while (entry != FLOW_NONE &&
		tcp_is_expired(ledger, &table->records[flow_entry_record(entry)])) {
		tcp_expire(ledger, flow_entry_record(entry));
		entry = flow_find(table, ledger->tables, key, passage->hash);
	}
	if (entry == FLOW_NONE)
		open_flow(ledger, passage, FLOW_NONE);
	else if (flow_entry_side(entry) == FLOW_CLIENT)
		handle_client(ledger, passage, flow_entry_record(entry));
	else
		handle_mirror(ledger, passage, flow_entry_record(entry));
}

static inline void
hold_payload(struct ledger *ledger, const struct passage *passage)
{
	const struct packet_view *view = &passage->view;

	ledger->payload =
		&passage->packet->data[view->l4_offset + view->l4_size - view->payload_size];
	ledger->payload_size = view->payload_size;
}

/* Neither side has heard of it: nothing of it rests. */
static void
take_back(struct ledger *ledger, uint32_t record)
{
	tcp_end(ledger, record);
	if (ledger->flows->records[record].state != FLOW_FREE)
		flow_remove(ledger->flows, ledger->tables, record);
}

/* Of packets that no flow knows, only a SYN or a datagram to a service lives. */
static void
open_flow(struct ledger *ledger, struct passage *passage, uint32_t replaces)
{
	if (passage->view.kind & PACKET_IS_ICMP) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_ICMP);
		return;
	}
	int vlan = vlan_number(
		ledger->flows->worker, passage->packet->data, passage->view.ip_offset, 0);

	if (vlan < 0) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_VLAN);
		return;
	}
	struct connect_request request = {
		.view = &passage->view,
		.hash = passage->hash,
		.client_mac = &passage->packet->data[6],
		.client_port_in = passage->packet->port_in,
		.vlan = (uint8_t)vlan,
		.replaces = replaces,
	};
	uint32_t record;

	hold_payload(ledger, passage);
	enum karmalb_worker_counter reason = connect_open(ledger, &request, &record);

	if (reason != 0)
		ledger_count(ledger, reason);
	else if (way_may_reach_mirror(ledger, &passage->view, &ledger->flows->records[record]))
		send_to_mirror(ledger, passage, &ledger->flows->records[record]);
	else
		take_back(ledger, record); /* it was too big: no failure of the mirror's */
}

static void
learn_anew(struct ledger *ledger, struct flow *flow, const struct passage *passage)
{
	const struct pipeline_packet *packet = passage->packet;
	int vlan = vlan_number(
		ledger->flows->worker, packet->data, passage->view.ip_offset, flow->vlan);

	if (vlan < 0)
		return; /* too many: this client's replies keep the tags they had */
	if (memcmp(flow->client_mac, &packet->data[6], sizeof(flow->client_mac)) == 0 &&
		flow->client_port_in == packet->port_in && flow->vlan == vlan)
		return;
	flow_change(flow);
	memcpy(flow->client_mac, &packet->data[6], sizeof(flow->client_mac));
	flow->client_port_in = packet->port_in;
	flow_hold_vlan(ledger->flows, flow, (uint8_t)vlan);
	flow_changed(flow);
}

/* Replies go where the client's packets come from; they may come by another router now. */
static inline void
learn_way_back(struct ledger *ledger, struct flow *flow, const struct passage *passage)
{
	const struct pipeline_packet *packet = passage->packet;

	if (memcmp(flow->client_mac, &packet->data[6], sizeof(flow->client_mac)) != 0 ||
		flow->client_port_in != packet->port_in ||
		((passage->view.kind & PACKET_IS_TAGGED) | flow->vlan) != 0)
		learn_anew(ledger, flow, passage);
}

static void
drop(struct ledger *ledger, enum tcp_verdict verdict)
{
	ledger_count(ledger, verdict == TCP_DROP_NO_FLOW ? KARMALB_COUNTER_DROP_NO_FLOW
							 : KARMALB_COUNTER_DROP_TCP_STATE);
}

static void
handle_client(struct ledger *ledger, struct passage *passage, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	const struct packet_view *view = &passage->view;

	hold_payload(ledger, passage);
	if (tcp_is_plain(flow, view)) {
		/* Before its payload is a query: what we drop, no mirror is to answer. */
		if (!way_may_reach_mirror(ledger, &passage->view, flow))
			return;
		if (tcp_has_client_payload(flow, view)) {
			flow_change(flow);
			latency_client_payload(ledger, flow, view->seq + view->payload_size);
			flow_changed(flow);
		}
		tcp_touch(ledger, flow, ledger->tables->slots[flow->slot].idle_timeout_ms);
	} else if (!judge_client(ledger, passage, record)) {
		return;
	}
	learn_way_back(ledger, flow, passage);
	send_to_mirror(ledger, passage, flow);
}

static void
handle_mirror(struct ledger *ledger, struct passage *passage, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	const struct packet_view *view = &passage->view;

	hold_payload(ledger, passage);
	if (tcp_is_plain(flow, view)) {
		if (tcp_has_mirror_payload(flow, view)) {
			flow_change(flow);
			latency_mirror_payload(ledger, flow, view->seq + view->payload_size);
			flow_changed(flow);
		}
		tcp_touch(ledger, flow, ledger->tables->slots[flow->slot].idle_timeout_ms);
	} else if (!judge_mirror(ledger, passage, record)) {
		return;
	}
	send_to_client(ledger, passage, flow);
}

/* What a mirror says to our own SYN; an RST goes back in the same buffer. */
static void
answer_probe(struct ledger *ledger, struct passage *passage, uint32_t record)
{
	struct pipeline_packet *packet = passage->packet;
	uint8_t port_out;
	unsigned size = probe_answer(ledger, record, &passage->view, packet->data, &port_out);

	if (size == 0)
		return;
	packet->verdict = PIPELINE_SEND;
	packet->port_out = port_out;
	packet->size_out = (uint16_t)size;
}

/* All but plain packets.  Returns whether it is still to be sent. */
static bool
judge_client(struct ledger *ledger, struct passage *passage, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	const struct packet_view *view = &passage->view;

	if (view->kind & PACKET_IS_ICMP) {
		pass_icmp(ledger, passage, flow, FLOW_CLIENT);
		return false;
	}
	if (view->kind & PACKET_IS_UDP) {
		if (udp_is_forsaken(ledger, flow)) {
			tcp_end(ledger, record);
			open_flow(ledger, passage, FLOW_NONE);
			return false;
		}
		if (!way_may_reach_mirror(ledger, view, flow))
			return false;
		udp_client_packet(ledger, flow);
		return true;
	}
	/* A SYN may go to another mirror; that the client ends its flow counts in any case. */
	bool is_always_judged = view->tcp_flags & (PACKET_SYN | PACKET_FIN | PACKET_RST);

	if (!is_always_judged && !way_may_reach_mirror(ledger, view, flow))
		return false;
	enum tcp_verdict verdict = tcp_client_packet(ledger, flow, view);

	if (verdict == TCP_FORWARD)
		return !is_always_judged || way_may_reach_mirror(ledger, view, flow);
	if (verdict == TCP_REPLACE)
		open_flow(ledger, passage, record);
	else
		drop(ledger, verdict);
	return false;
}

static bool
judge_mirror(struct ledger *ledger, struct passage *passage, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	enum tcp_verdict verdict;

	if (flow->state == FLOW_PROBE) {
		answer_probe(ledger, passage, record);
		return false;
	}
	if (passage->view.kind & PACKET_IS_ICMP) {
		pass_icmp(ledger, passage, flow, FLOW_MIRROR);
		return false;
	}
	if (passage->view.kind & PACKET_IS_UDP) {
		udp_mirror_packet(ledger, flow);
		return true;
	}
	verdict = tcp_mirror_packet(ledger, flow, &passage->view);
	if (verdict == TCP_FORWARD)
		return true;
	drop(ledger, verdict);
	return false;
}

/* Returns false where there was no room for the tags, which is counted. */
static inline bool
finish(struct ledger *ledger, struct passage *passage, uint8_t port_out, unsigned vlan)
{
	static const struct flow_vlan untagged;
	struct pipeline_packet *packet = passage->packet;

	packet->port_out = port_out;
	packet->size_out = passage->view.frame_size;
	if (__builtin_expect(((passage->view.kind & PACKET_IS_TAGGED) | vlan) != 0, 0) &&
		!vlan_retag(packet, passage->view.ip_offset,
			vlan != 0 ? &ledger->flows->worker->vlans[vlan] : &untagged)) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_HEADROOM);
		return false;
	}
	packet->verdict = PIPELINE_SEND;
	return true;
}

static inline void
rewrite(struct passage *passage, const struct rewrite *to)
{
	if (__builtin_expect(passage->view.kind == 0, 1))
		rewrite_tcp_v4(passage->packet->data, &passage->view, to);
	else
		rewrite_any(passage->packet->data, &passage->view, to);
}

/* After way_may_reach_mirror(). */
static void
send_to_mirror(struct ledger *ledger, struct passage *passage, const struct flow *flow)
{
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];
	struct slot_counters *counters = &ledger->slots[flow->slot];
	struct rewrite to = way_to_mirror(ledger->tables, flow);

	rewrite(passage, &to);
	finish(ledger, passage, slot->next_hop_port, 0);
	counter_add(&counters->to_mirror_packets, 1);
	counter_add(&counters->to_mirror_bytes, passage->view.frame_size);
}

static void
send_to_client(struct ledger *ledger, struct passage *passage, const struct flow *flow)
{
	struct slot_counters *counters = &ledger->slots[flow->slot];

	if (!way_to_client_is_known(ledger->tables, flow)) {
		way_drop_without_next_hop(ledger, flow->client_port_in);
		return;
	}
	if (!way_may_leave(ledger, &passage->view, flow->client_port_in))
		return;
	struct rewrite to = way_to_client(ledger->tables, flow);

	rewrite(passage, &to);
	if (!finish(ledger, passage, flow->client_port_in, flow->vlan))
		return;
	counter_add(&counters->to_client_packets, 1);
	counter_add(&counters->to_client_bytes, passage->view.frame_size);
}

/*
 * Passes an ICMP error on to the other side than the embedded packet was sent to.  There it comes
 * from the address that this side knows, and what it embeds is what this side has sent.
 */
static void
pass_icmp(struct ledger *ledger, struct passage *passage, struct flow *flow, enum flow_side sent_to)
{
	const struct tables *tables = ledger->tables;
	const struct table_slot *slot = &tables->slots[flow->slot];
	const uint8_t *frame = passage->packet->data;
	bool is_to_mirror = sent_to == FLOW_CLIENT;
	uint8_t port_out = is_to_mirror ? slot->next_hop_port : flow->client_port_in;

	if (!icmp_take(ledger, flow, sent_to, frame, &passage->view)) {
		ledger_count(ledger, KARMALB_COUNTER_DROP_ICMP);
		return;
	}
	if (is_to_mirror ? !slot->has_next_hop : !way_to_client_is_known(tables, flow)) {
		way_drop_without_next_hop(ledger, port_out);
		return;
	}
	if (!way_may_leave(ledger, &passage->view, port_out))
		return;
	struct rewrite to =
		is_to_mirror ? way_to_mirror(tables, flow) : way_to_client(tables, flow);
	struct rewrite inner = {
		.source = to.destination,
		.destination = to.source,
		.source_port_be = to.destination_port_be,
		.destination_port_be = to.source_port_be,
	};

	rewrite_icmp(passage->packet->data, &passage->view, &to, &inner);
	finish(ledger, passage, port_out, is_to_mirror ? 0 : flow->vlan);
}
