/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From bytes to a view of what we need to know of a packet.  Every access is checked against the
 * frame's size.  Pure; any thread.  The way of untagged TCP over IPv4 is inline, as nearly every
 * packet goes it.
 */
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <karmalb/counters.h>

#include "checksum.h"
#include "flow_key.h"

#define PACKET_TYPE_IPV4     0x0800
#define PACKET_FRAGMENT_BE   0xff3f /* more-fragments flag and offset, as loaded */
#define PACKET_ETHERNET_SIZE 14
#define PACKET_IPV4_SIZE     20 /* without options */
#define PACKET_TCP_SIZE      20 /* without options */
#define PACKET_UDP_SIZE      8
#define PACKET_TAG_SIZE      4 /* of one VLAN tag */
#define PACKET_TAGS_MAX      2
#define PACKET_OPTIONS_MAX   4 /* extension headers of IPv6 */

enum packet_tcp_flag {
	PACKET_FIN = 1 << 0,
	PACKET_SYN = 1 << 1,
	PACKET_RST = 1 << 2,
	PACKET_PSH = 1 << 3,
	PACKET_ACK = 1 << 4,
	PACKET_URG = 1 << 5,
};

/* In what a packet differs from untagged TCP over IPv4. */
enum packet_kind {
	PACKET_IS_V6 = 1 << 0,
	PACKET_IS_UDP = 1 << 1,
	PACKET_IS_ICMP = 1 << 2, /* an ICMP error about a packet that we sent */
	PACKET_IS_TAGGED = 1 << 3,
};

/*
 * Numbers in host order unless named _be.  One cache line.  For an ICMP error, key and seq are
 * those of the embedded packet, the key turned round: it is that of the flow's packets from the
 * side that was sent to.
 */
struct packet_view {
	struct flow_key key;
	uint32_t seq;
	uint32_t ack;
	uint16_t l4_offset;    /* of the TCP header in the frame */
	uint16_t l4_size;      /* TCP header and payload */
	uint16_t payload_size; /* of TCP */
	uint16_t frame_size;   /* without Ethernet padding */
	uint8_t tcp_flags;     /* enum packet_tcp_flag; CWR and ECE above them */
	uint8_t ttl;
	uint8_t kind;             /* enum packet_kind; 0: nearly always */
	uint8_t ip_offset;        /* of the IP header */
	uint16_t inner_offset;    /* of the embedded IP header, where PACKET_IS_ICMP */
	uint16_t inner_l4_offset; /* and of what follows it */
};
static_assert(sizeof(struct packet_view) == 64, "one cache line");

/* As packet_parse(), slower, without a preference for untagged TCP over IPv4. */
enum karmalb_worker_counter
packet_parse_any(const uint8_t *frame, unsigned size, struct packet_view *view);

/* Of SYN, FIN and RST at most one; without SYN or RST, ACK. */
#define PACKET_SANE_MASK (PACKET_FIN | PACKET_SYN | PACKET_RST | PACKET_ACK)
#define PACKET_SANE                                                              \
	(1u << PACKET_ACK | 1u << (PACKET_ACK | PACKET_FIN) | 1u << PACKET_SYN | \
		1u << (PACKET_SYN | PACKET_ACK) | 1u << PACKET_RST |             \
		1u << (PACKET_RST | PACKET_ACK))

static inline uint16_t
packet_load16(const uint8_t *at)
{
	return __builtin_bswap16(checksum_load16(at));
}

static inline uint32_t
packet_load32(const uint8_t *at)
{
	return __builtin_bswap32(checksum_load32(at));
}

/* 'frame' has at least the sizes of an Ethernet and an IPv4 header. */
static inline enum karmalb_worker_counter
packet_parse_ipv4(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	const uint8_t *ip = &frame[PACKET_ETHERNET_SIZE];
	unsigned header_size = (ip[0] & 15) * 4u, total = packet_load16(&ip[2]);

	if (ip[0] >> 4 != 4 || header_size < PACKET_IPV4_SIZE || total < header_size)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (total > size - PACKET_ETHERNET_SIZE)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	uint64_t sum = (uint64_t)checksum_load32(&ip[0]) + checksum_load32(&ip[4]) +
		       checksum_load32(&ip[8]) + checksum_load32(&ip[12]) +
		       checksum_load32(&ip[16]);

	if (__builtin_expect(header_size != PACKET_IPV4_SIZE, 0))
		sum = checksum_add(sum, &ip[PACKET_IPV4_SIZE], header_size - PACKET_IPV4_SIZE);
	if (checksum_fold(sum) != 0xffff)
		return KARMALB_COUNTER_DROP_IP_CHECKSUM;
	if ((checksum_load16(&ip[6]) & PACKET_FRAGMENT_BE) != 0)
		return KARMALB_COUNTER_DROP_FRAGMENT;
	if (ip[8] <= 1)
		return KARMALB_COUNTER_DROP_TTL;
	view->key.source = karmalb_address_from_v4(checksum_load32(&ip[12]));
	view->key.destination = karmalb_address_from_v4(checksum_load32(&ip[16]));
	view->ttl = ip[8];
	view->kind = 0;
	view->ip_offset = PACKET_ETHERNET_SIZE;
	view->l4_offset = (uint16_t)(PACKET_ETHERNET_SIZE + header_size);
	view->l4_size = (uint16_t)(total - header_size);
	view->frame_size = (uint16_t)(PACKET_ETHERNET_SIZE + total);
	return 0;
}

/* 'tcp' has view->l4_size bytes. */
static inline enum karmalb_worker_counter
packet_parse_tcp(const uint8_t *tcp, struct packet_view *view)
{
	if (view->l4_size < PACKET_TCP_SIZE)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	unsigned header_size = (tcp[12] >> 4) * 4u;
	uint8_t flags = tcp[13];

	if (header_size < PACKET_TCP_SIZE)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (header_size > view->l4_size)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	memcpy(&view->key.source_port_be, tcp, 4);
	if (view->key.source_port_be == 0 || view->key.destination_port_be == 0 ||
		(PACKET_SANE >> (flags & PACKET_SANE_MASK) & 1) == 0)
		return KARMALB_COUNTER_DROP_MALFORMED;
	view->key.protocol = IPPROTO_TCP;
	memset(view->key.pad, 0, sizeof(view->key.pad));
	view->seq = packet_load32(&tcp[4]);
	view->ack = packet_load32(&tcp[8]);
	view->payload_size = (uint16_t)(view->l4_size - header_size);
	view->tcp_flags = flags;
	return 0;
}

/*
 * Reads the headers of a frame.  Returns 0 and a whole 'view' for TCP, UDP or an ICMP error, over
 * IPv4 or IPv6, that may be forwarded, else the KARMALB_COUNTER_DROP_ reason, with 'view'
 * undefined.
 */
static inline enum karmalb_worker_counter
packet_parse(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	if (__builtin_expect(size < PACKET_ETHERNET_SIZE + PACKET_IPV4_SIZE, 0))
		return packet_parse_any(frame, size, view);
	if (__builtin_expect(packet_load16(&frame[12]) != PACKET_TYPE_IPV4 ||
				     frame[PACKET_ETHERNET_SIZE + 9] != IPPROTO_TCP,
		    0))
		return packet_parse_any(frame, size, view);
	enum karmalb_worker_counter reason = packet_parse_ipv4(frame, size, view);

	if (__builtin_expect(reason != 0, 0))
		return reason;
	return packet_parse_tcp(&frame[view->l4_offset], view);
}

/* The sum of the pseudo-header that goes with view->key and view->l4_size. */
uint64_t
packet_pseudo_sum(const struct packet_view *view);

/*
 * Whether the TCP or UDP checksum is unfinished, that is, the sum of the pseudo-header and nothing
 * else (as between a virtual device and its peer).
 */
bool
packet_is_checksum_partial(const uint8_t *frame, const struct packet_view *view);

/* Finishes such a checksum, over the payload. */
void
packet_complete_checksum(uint8_t *frame, const struct packet_view *view);

/* Whether a client may have this address: not unspecified, loopback, multicast or reserved. */
bool
packet_is_unicast(const struct karmalb_address *address);
