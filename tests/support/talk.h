/* SPDX-License-Identifier: BSD-3-Clause */
/* A conversation between one client and its mirror through a fixture, told packet by packet. */
#pragma once

#include <stdlib.h>

#include "fixture.h"

struct talk {
	struct fixture *f;
	uint32_t client;
	uint16_t client_port;
	uint8_t client_mac_tail;         /* last byte of 02:00:00:00:09:.. */
	uint32_t client_seq, mirror_seq; /* of the next byte */
	/* learned from the forwarded SYN */
	uint32_t mirror, source;
	uint16_t source_port;
};

/* Sends and checks that both what is sent and what comes out make sense; moves numbers on. */
static inline struct fixture_result
talk_client(struct talk *t, uint8_t flags, uint16_t payload)
{
	struct segment s = {
		.mac_from = {2, 0, 0, 0, 9, t->client_mac_tail},
		.source = t->client,
		.destination = FIXTURE_VIP,
		.source_port = t->client_port,
		.destination_port = FIXTURE_VIP_PORT,
		.seq = t->client_seq,
		.ack = flags & SEG_ACK ? t->mirror_seq : 0,
		.flags = flags,
		.payload_size = payload,
	};
	struct fixture_result r = fixture_send(t->f, 0, &s);

	t->client_seq += payload + !!(flags & (SEG_SYN | SEG_FIN));
	if (r.is_sent && (flags & SEG_SYN)) {
		t->mirror = r.out.destination;
		t->source = r.out.source;
		t->source_port = r.out.source_port;
	}
	/* Whatever is forwarded is what was sent, but for the addresses. */
	if (r.is_sent && (r.port_out != 1 || r.out.seq != s.seq || r.out.ack != s.ack ||
				 r.out.flags != flags || r.out.payload_size != payload ||
				 r.out.destination != t->mirror || r.out.source != t->source ||
				 r.out.source_port != t->source_port ||
				 r.out.destination_port != FIXTURE_MIRROR_PORT || r.out.ttl != 63))
		abort();
	return r;
}

static inline struct fixture_result
talk_mirror(struct talk *t, uint8_t flags, uint16_t payload)
{
	struct segment s = {
		.source = t->mirror,
		.destination = t->source,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = t->source_port,
		.seq = t->mirror_seq,
		.ack = flags & SEG_ACK ? t->client_seq : 0,
		.flags = flags,
		.payload_size = payload,
	};
	struct fixture_result r = fixture_send(t->f, 1, &s);

	t->mirror_seq += payload + !!(flags & (SEG_SYN | SEG_FIN));
	if (r.is_sent &&
		(r.port_out != 0 || r.out.seq != s.seq || r.out.ack != s.ack ||
			r.out.flags != flags || r.out.payload_size != payload ||
			r.out.destination != t->client ||
			r.out.destination_port != t->client_port || r.out.source != FIXTURE_VIP ||
			r.out.source_port != FIXTURE_VIP_PORT ||
			r.out.mac_to[5] != t->client_mac_tail || r.out.ttl != 63))
		abort();
	return r;
}

static inline struct talk
talk_new(struct fixture *f, unsigned number)
{
	return (struct talk){
		.f = f,
		.client = FIXTURE_CLIENT + number / 60000,
		.client_port = (uint16_t)(1024 + number % 60000),
		.client_mac_tail = 7,
		.client_seq = number * 2654435761u - 50,
		.mirror_seq = number * 40503u + 0xfffffff0,
	};
}

/* SYN, SYN-ACK, ACK, 'us' microseconds apart.  Returns false when any was not forwarded. */
static inline bool
talk_connect(struct talk *t, uint64_t us)
{
	bool is_sent = talk_client(t, SEG_SYN, 0).is_sent;

	t->f->now_us += us;
	is_sent = is_sent && talk_mirror(t, SEG_SYN | SEG_ACK, 0).is_sent;
	t->f->now_us += us;
	return is_sent && talk_client(t, SEG_ACK, 0).is_sent;
}

/* The slot that the conversation's mirror has. */
static inline unsigned
talk_slot(const struct talk *t)
{
	return t->mirror - FIXTURE_MIRROR;
}

/* The flow's record, found from the client's side, or NULL. */
static inline const struct flow *
talk_flow(const struct talk *t)
{
	struct flow_key key = {
		.source = karmalb_address_from_v4(__builtin_bswap32(t->client)),
		.destination = karmalb_address_from_v4(__builtin_bswap32(FIXTURE_VIP)),
		.source_port_be = __builtin_bswap16(t->client_port),
		.destination_port_be = __builtin_bswap16(FIXTURE_VIP_PORT),
		.protocol = 6,
	};
	uint32_t entry =
		flow_find(&t->f->flows, &t->f->tables, &key, flow_hash(t->f->flows.hash_key, &key));

	return entry == FLOW_NONE ? NULL : &t->f->flows.records[flow_entry_record(entry)];
}
