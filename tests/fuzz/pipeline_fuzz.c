/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the pipelines of two workers in all modes.  An input is a row of items of 8 bytes
 * and what follows them: a packet put together from a few choices, so that flows are found soon; an
 * ICMP error about the last packet sent; an errand; or the bytes of a frame.  Frames may wait for
 * the next one, to come in one burst.  What must hold after any burst is checked in modes.c and
 * here; a violation aborts.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "craft.h"
#include "errands.h"
#include "halfopen.h"
#include "modes.h"
#include "source_port.h"
#include "sums.h"

/* Flows are few and budgets tight, so that all limits are met; two workers share them. */
#define N_CLIENTS 4
#define N_WORKERS 2
#define CONF                                               \
	(&(struct modes_conf){.max_flows = N_WORKERS * 12, \
		.max_half_open = N_WORKERS * 3,            \
		.n_workers = N_WORKERS})

enum item_kind {
	ITEM_PACKET,
	ITEM_ICMP,
	ITEM_RAW,
	ITEM_RAW_FINISHED
};

/* byte 0 */
#define ITEM_KIND(item)      ((item)[0] >> 6)
#define ITEM_IS_CLIENT(item) ((item)[0] & 1)
#define ITEM_IS_V6(item)     ((item)[0] >> 1 & 1)
#define ITEM_IS_UDP(item)    ((item)[0] >> 2 & 1)
#define ITEM_IS_LATER(item)  ((item)[0] >> 3 & 1)
#define ITEM_N_TAGS(item)    ((item)[0] >> 4 & 3)
#define ITEM_IS_ERRAND(item) (ITEM_KIND(item) == ITEM_ICMP && ITEM_N_TAGS(item) == 3)

/*
 * byte 3; bits 0 and 1: one more to acknowledge, one further on; 4 and 5: of the source port's
 * owner, of who receives it or has the errand
 */
#define ITEM_OWNER(item)  ((item)[3] >> 4 & 1)
#define ITEM_WORKER(item) ((item)[3] >> 5 & 1)
#define ITEM_WAITS(item)  (ITEM_KIND(item) != ITEM_ICMP && ((item)[3] & 64))

/* byte 2 of a mirror's packet: acknowledges the SYN sent last */
#define ITEM_ANSWERS_SYN 255

#define WAITING_MAX 8
#define FRAME_SIZE  512

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct modes modes;
static struct errands errands[N_WORKERS];
static struct modes_result last; /* sent */
static uint32_t syn_seq;         /* of the probe sent last */

/* To come in one burst. */
static struct modes_packet waiting[WAITING_MAX];
static uint8_t waiting_bytes[WAITING_MAX][FRAME_SIZE];
static unsigned n_waiting_frames;

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* Every record that was ever used and is free stands in the chain, once. */
static void
check_chains(const struct flow_table *flows)
{
	const struct flow_worker *worker = flows->worker;
	uint32_t n_free = worker->n_touched - worker->n_flows;
	uint32_t n_half_open_free = flows->max_half_open - worker->n_half_open;

	for (uint32_t at = worker->first_free; at != FLOW_NONE; at = flows->records[at].next_free) {
		must(at < worker->n_touched && flows->records[at].state == FLOW_FREE);
		must(n_free-- > 0); /* no ring */
	}
	must(n_free == 0);
	for (uint32_t at = worker->half_open_free; at != FLOW_NONE;
		at = flows->half_opens[at].next) {
		must(at < flows->max_half_open);
		must(n_half_open_free-- > 0);
	}
	must(n_half_open_free == 0);
}

/* What the worker counts of its records. */
static void
check_records(const struct flow_table *flows)
{
	const struct flow_worker *worker = flows->worker;
	uint32_t n_flows = 0, n_half_open = 0, n_unanswered = 0;
	uint32_t slot_uses[MODES_N_SLOTS] = {0}, vlan_uses[FLOW_VLANS] = {0};

	for (uint32_t i = 0; i < worker->n_touched; i++) {
		const struct flow *flow = &flows->records[i];

		must((flow->sequence & 1) == 0);
		if (flow->state == FLOW_FREE)
			continue;
		must(flow->slot < MODES_N_SLOTS && flow->vlan <= worker->n_vlans);
		n_flows++;
		n_unanswered += flow->state == FLOW_DATAGRAM_SENT;
		slot_uses[flow->slot]++;
		vlan_uses[flow->vlan]++;
		if (flow_is_half_open(flow)) {
			n_half_open++;
			must(flows->half_opens[flow->half_open].record == i);
		}
	}
	must(n_flows == worker->n_flows);
	must(n_half_open == worker->n_half_open && n_half_open <= flows->max_half_open);
	must(n_unanswered == worker->n_unanswered && n_unanswered <= flows->max_half_open);
	must(memcmp(slot_uses, worker->slot_uses, sizeof(slot_uses)) == 0);
	for (uint32_t i = 1; i <= worker->n_vlans; i++)
		must(vlan_uses[i] == worker->vlans[i].n_uses);
	check_chains(flows);
}

/* Counters, records and budgets agree. */
static void
check_worker(const struct modes_worker *w)
{
	uint64_t opened = 0, closed = 0, n_waiting = 0, n_live = 0;

	for (unsigned i = 0; i < MODES_N_SLOTS; i++) {
		const struct slot_counters *s = &w->slot_counters[i];

		opened += s->opened;
		closed += s->closed;
		n_waiting += s->n_waiting;
		must(s->n_waiting > 0 || s->waiting_since_us == 0);
	}
	for (uint32_t i = 0; i < w->flows.worker->n_touched; i++) {
		const struct flow *flow = &w->flows.records[i];

		n_live += flow->state != FLOW_FREE && flow->state != FLOW_RESTING &&
			  flow->state != FLOW_PROBE;
		if (flow->state != FLOW_FREE && flow->exchange == FLOW_EXCHANGE_WAIT)
			n_waiting--;
	}
	must(opened - closed == n_live);
	must(n_waiting == 0);
	must(w->pipeline.counters[KARMALB_COUNTER_SAMPLES_LOST] == 0);
	check_records(&w->flows);
}

static void
check_books(void)
{
	for (unsigned i = 0; i < N_WORKERS; i++)
		check_worker(&modes.workers[i]);
}

/* Those that wait.  What was right comes out right, and by the port that leads there. */
static void
send_waiting(void)
{
	static struct modes_result results[WAITING_MAX];
	unsigned n = n_waiting_frames;

	if (n == 0)
		return;
	n_waiting_frames = 0;
	modes_send_burst(&modes, waiting, n, results);
	check_books();
	for (unsigned i = 0; i < n; i++) {
		if (!results[i].is_sent)
			continue;
		must(results[i].port_out < 2 && results[i].size >= 14 + 20 + 8);
		if (sums_are_right(waiting[i].bytes, waiting[i].size))
			must(sums_are_right(results[i].bytes, results[i].size));
		last = results[i];
	}
}

static void
send_frame(const uint8_t *item, uint8_t port, const uint8_t *bytes, unsigned size)
{
	must(size <= FRAME_SIZE);
	memcpy(waiting_bytes[n_waiting_frames], bytes, size);
	waiting[n_waiting_frames] = (struct modes_packet){
		port, ITEM_WORKER(item), waiting_bytes[n_waiting_frames], size};
	n_waiting_frames++;
	if (!ITEM_WAITS(item) || n_waiting_frames == WAITING_MAX)
		send_waiting();
}

static uint8_t *
put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static void
put32(uint8_t *at, uint32_t value)
{
	put16(put16(at, value >> 16), value & 0xffff);
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Clients 1 .. 4, VIP, source and mirrors of modes.h, by their last byte. */
static void
put_address(uint8_t *at, bool is_v6, unsigned net, unsigned host)
{
	const uint8_t v6[16] = {0x20, 1, 0xd, 0xb8, 0, (uint8_t)net, [15] = (uint8_t)host};
	const uint8_t v4[4] = {10, (uint8_t)net, 0, (uint8_t)host};

	memcpy(at, is_v6 ? v6 : v4, is_v6 ? sizeof(v6) : sizeof(v4));
}

/* Ethernet, tags and IP; returns where L4 begins. */
static uint8_t *
put_headers(uint8_t *at, const uint8_t *item, uint8_t protocol, unsigned l4_size)
{
	bool is_v6 = ITEM_IS_V6(item), is_client = ITEM_IS_CLIENT(item);
	unsigned address_size = is_v6 ? 16 : 4;

	memset(at, 0, 14 + 8 + 40);
	at[0] = 2;
	at[11] = item[1];
	at += 12;
	for (unsigned i = 0; i < ITEM_N_TAGS(item); i++)
		at = put16(put16(at, i % 2 == 0 ? 0x8100 : 0x88a8), item[6]);
	at = put16(at, is_v6 ? 0x86dd : 0x0800);
	at[0] = is_v6 ? 0x60 : 0x45;
	put16(at + (is_v6 ? 4 : 2), l4_size + (is_v6 ? 0 : 20));
	at[is_v6 ? 6 : 9] = protocol;
	at[is_v6 ? 7 : 8] = item[5] == 0 ? 1 : 64;
	at += is_v6 ? 8 : 12;
	put_address(at, is_v6, is_client ? 9 : 1, is_client ? 1 : 1 + (item[1] & 1));
	put_address(at + address_size, is_v6, is_client ? 0 : 2, 1);
	return at + 2 * address_size;
}

/* A packet of a client or a mirror that may well belong to a flow. */
static void
send_packet(const uint8_t *item, const uint8_t *payload, unsigned payload_size)
{
	bool is_client = ITEM_IS_CLIENT(item), is_udp = ITEM_IS_UDP(item);
	unsigned l4_size = (is_udp ? 8 : 20) + payload_size;
	uint8_t frame[FRAME_SIZE];
	uint8_t *l4 = put_headers(frame, item, is_udp ? IPPROTO_UDP : IPPROTO_TCP, l4_size);

	memset(l4, 0, 20);
	put16(l4, is_client ? 2000 + item[1] % N_CLIENTS : is_udp ? 5353 : 8080);
	put16(l4 + 2,
		is_client ? (is_udp ? 53 : 80)
			  : source_port_first(ITEM_OWNER(item), N_WORKERS) + (item[1] >> 1 & 7u));
	if (is_udp)
		put16(l4 + 4, l4_size);
	else {
		put16(l4 + 6, (item[2] >> 4) * 100u + (item[3] >> 1 & 1));
		put16(l4 + 10, (item[2] & 15) * 100u + (item[3] & 1));
		l4[12] = 0x50;
		l4[13] = item[4] & 31;
		if (!is_client && item[2] == ITEM_ANSWERS_SYN)
			put32(l4 + 8, syn_seq + 1);
	}
	memcpy(l4 + (is_udp ? 8 : 20), payload, payload_size);
	unsigned size = (unsigned)(l4 - frame) + l4_size;

	sums_finish(frame, size);
	if (item[3] & 128) /* wrong is to stay wrong, and harmless */
		l4[is_udp ? 7 : 17] ^= item[4];
	send_frame(item, is_client ? 0 : 1, frame, size);
}

/* An ICMP error of its receiver, or of a router, about the packet sent last. */
static void
send_icmp(uint8_t *item)
{
	static const uint8_t types[2][4] = {{3, 11, 12, 3}, {1, 2, 3, 4}};
	unsigned at = 12;

	if (!last.is_sent)
		return;
	while (last.bytes[at] == 0x81 || last.bytes[at] == 0x88)
		at += 4;
	bool is_v6 = last.bytes[at] == 0x86;
	const uint8_t *inner = &last.bytes[at + 2];
	unsigned inner_size = last.size - at - 2;
	uint8_t frame[14 + 12 + 40 + 8 + 256];

	if (inner_size > 28u + item[3])
		inner_size = 28u + item[3];
	if (inner_size > 256)
		inner_size = 256;
	item[0] = (uint8_t)((item[0] & ~3) | (last.port_out == 0) | is_v6 << 1);
	uint8_t *icmp =
		put_headers(frame, item, is_v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, 8 + inner_size);

	memset(icmp, 0, 8);
	icmp[0] = types[is_v6][item[2] & 3];
	icmp[1] = item[4] & 7;
	put16(icmp + 6, 1400);
	memcpy(icmp + 8, inner, inner_size);
	if (item[3] & 128)
		icmp[8 + item[4] % inner_size] ^= item[1];
	unsigned size = (unsigned)(icmp - frame) + 8 + inner_size;

	sums_finish(frame, size);
	send_frame(item, last.port_out, frame, size);
}

static void
send_raw(const uint8_t *item, const uint8_t *bytes, unsigned size)
{
	uint8_t frame[256];

	memcpy(frame, bytes, size);
	if (ITEM_KIND(item) == ITEM_RAW_FINISHED)
		sums_finish(frame, size);
	send_frame(item, ITEM_IS_CLIENT(item) ? 0 : 1, frame, size);
}

/* Control's half: a reset of the slots in byte 2, a probe of the slot in byte 2, or neither. */
static void
order_errand(const uint8_t *item)
{
	struct errands *e = &errands[ITEM_WORKER(item)];
	struct errands_reset *r = &e->reset;
	struct probe *p = &e->probes[item[4] >> 2 & 3];

	if ((item[4] & 3) == 1 && r->state != ERRANDS_RESET_ORDERED) {
		r->slots[0] = item[2];
		r->at_ms = (uint32_t)(modes.now_us / 1000);
		r->record = 0;
		r->n_ended = 0;
		r->state = ERRANDS_RESET_ORDERED;
	} else if ((item[4] & 3) == 2 && (p->state == PROBE_FREE || p->state == PROBE_DONE)) {
		p->slot = item[2] % MODES_N_SLOTS;
		p->timeout_ms = 1 + item[1];
		p->ordered_us = modes.now_us;
		p->state = PROBE_ORDERED;
	}
	errands_order(e);
}

/* The worker's half, with room for as many frames as byte 3 says. */
static void
run_errands(const uint8_t *item)
{
	static uint8_t places[16][CRAFT_SIZE_MAX];
	struct pipeline *pipeline = &modes.workers[ITEM_WORKER(item)].pipeline;
	struct craft_frames out = {.n_max = item[3] % 16};

	for (unsigned i = 0; i < out.n_max; i++)
		out.data[i] = places[i];
	pipeline_run_errands(pipeline, &out, modes.now_us);
	must(pipeline->n_samples <= ERRANDS_ENDS && out.n <= out.n_max);
	modes_take_samples(&modes);
	for (unsigned i = 0; i < out.n; i++) {
		const uint8_t *frame = out.data[i];

		must(out.ports[i] < 2 && sums_are_right(frame, out.sizes[i]));
		last.is_sent = true;
		last.port_out = out.ports[i];
		last.size = out.sizes[i];
		memcpy(last.bytes, frame, last.size);
		if (out.ports[i] == 1) /* towards a mirror there are no tags */
			syn_seq = get32(frame + 14 + (frame[12] == 0x08 ? 20 : 40) + 4);
	}
}

static void
run_item(uint8_t *item, const uint8_t *bytes, unsigned n_bytes)
{
	if (ITEM_IS_LATER(item) || ITEM_KIND(item) == ITEM_ICMP)
		send_waiting();
	if (ITEM_IS_LATER(item))
		modes_pass(&modes, (uint64_t)item[5] << (item[4] % 14));
	if (ITEM_IS_ERRAND(item)) {
		order_errand(item);
		run_errands(item);
		check_books();
		return;
	}
	switch (ITEM_KIND(item)) {
	case ITEM_PACKET:
		send_packet(item, bytes, n_bytes);
		break;
	case ITEM_ICMP:
		send_icmp(item);
		break;
	default:
		send_raw(item, bytes, n_bytes);
	}
	check_books();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (modes.header == NULL)
		modes_open(&modes, CONF);
	modes_restart(&modes);
	memset(errands, 0, sizeof(errands));
	for (unsigned i = 0; i < N_WORKERS; i++)
		modes.workers[i].pipeline.errands = &errands[i];
	last.is_sent = false;
	if (size > 0) {
		for (unsigned i = 0; i < MODES_N_SLOTS; i++) {
			modes.slots[i].reply_check = data[0] % KARMALB_N_REPLY_CHECKS;
			modes.slots[i].connect_timeout_ms = 200; /* short enough to be met */
			modes.slots[i].query_timeout_ms = 500;
			modes.slots[i].idle_timeout_ms = 2000;
		}
		data++;
		size--;
	}
	while (size >= 8) {
		uint8_t item[8];
		size_t n_bytes = data[7];

		memcpy(item, data, sizeof(item));
		if (n_bytes > size - 8)
			n_bytes = size - 8;
		run_item(item, data + 8, (unsigned)n_bytes);
		data += 8 + n_bytes;
		size -= 8 + n_bytes;
	}
	send_waiting();
	return 0;
}
