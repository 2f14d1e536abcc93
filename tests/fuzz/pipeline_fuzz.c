/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the pipeline in all modes.  An input is a row of items of 8 bytes and what follows
 * them: a packet put together from a few choices, so that flows are found soon; an ICMP error about
 * the last packet sent; or the bytes of a frame.  What must hold after any packet is checked in
 * modes_send() and here; a violation aborts.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "modes.h"
#include "sums.h"

/* Flows are few and budgets tight, so that all limits are met. */
#define N_CLIENTS 4
#define CONF      (&(struct modes_conf){.max_flows = 12, .max_half_open = 3})

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct modes modes;
static struct modes_result last; /* sent */

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* Counters, records and budgets agree. */
static void
check_books(void)
{
	uint64_t opened = 0, closed = 0, n_waiting = 0, n_live = 0, n_flows = 0;

	for (unsigned i = 0; i < MODES_N_SLOTS; i++) {
		const struct slot_counters *s = &modes.slot_counters[i];

		opened += s->opened;
		closed += s->closed;
		n_waiting += s->n_waiting;
		must(s->n_waiting > 0 || s->waiting_since_us == 0);
	}
	for (uint32_t i = 0; i < modes.flows.worker->n_touched; i++) {
		const struct flow *flow = &modes.flows.records[i];

		must((flow->sequence & 1) == 0);
		n_flows += flow->state != FLOW_FREE;
		n_live += flow->state != FLOW_FREE && flow->state != FLOW_RESTING;
		if (flow->state != FLOW_FREE && flow->exchange == FLOW_EXCHANGE_WAIT)
			n_waiting--;
	}
	must(opened - closed == n_live);
	must(n_flows == modes.flows.worker->n_flows);
	must(n_waiting == 0);
	must(modes.pipeline.counters[KARMALB_COUNTER_SAMPLES_LOST] == 0);
}

/* What was right comes out right, and by the port that leads there. */
static void
send_frame(uint8_t port, const uint8_t *bytes, unsigned size)
{
	static struct modes_result result;

	modes_send(&modes, port, bytes, size, &result);
	check_books();
	if (!result.is_sent)
		return;
	must(result.port_out < 2 && result.size >= 14 + 20 + 8);
	if (sums_are_right(bytes, size))
		must(sums_are_right(result.bytes, result.size));
	last = result;
}

static uint8_t *
put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
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
	uint8_t frame[512];
	uint8_t *l4 = put_headers(frame, item, is_udp ? IPPROTO_UDP : IPPROTO_TCP, l4_size);

	memset(l4, 0, 20);
	put16(l4, is_client ? 2000 + item[1] % N_CLIENTS : is_udp ? 5353 : 8080);
	put16(l4 + 2, is_client ? (is_udp ? 53 : 80) : 1024 + (item[1] >> 1 & 7));
	if (is_udp)
		put16(l4 + 4, l4_size);
	else {
		put16(l4 + 6, (item[2] >> 4) * 100u);
		put16(l4 + 10, (item[2] & 15) * 100u + (item[3] & 1));
		l4[12] = 0x50;
		l4[13] = item[4] & 31;
	}
	memcpy(l4 + (is_udp ? 8 : 20), payload, payload_size);
	unsigned size = (unsigned)(l4 - frame) + l4_size;

	sums_finish(frame, size);
	if (item[3] & 128) /* wrong is to stay wrong, and harmless */
		l4[is_udp ? 7 : 17] ^= item[4];
	send_frame(is_client ? 0 : 1, frame, size);
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
	send_frame(last.port_out, frame, size);
}

static void
send_raw(const uint8_t *item, const uint8_t *bytes, unsigned size)
{
	uint8_t frame[256];

	memcpy(frame, bytes, size);
	if (ITEM_KIND(item) == ITEM_RAW_FINISHED)
		sums_finish(frame, size);
	send_frame(ITEM_IS_CLIENT(item) ? 0 : 1, frame, size);
}

static void
run_item(uint8_t *item, const uint8_t *bytes, unsigned n_bytes)
{
	if (ITEM_IS_LATER(item))
		modes_pass(&modes, (uint64_t)item[5] << (item[4] % 14));
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
	return 0;
}
