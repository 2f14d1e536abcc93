/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From bytes to a view of what we need to know of a packet.  Every access is checked against the
 * frame's size.  Pure; any thread.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <karmalb/counters.h>

#include "flow_key.h"

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

/*
 * Reads the headers of a frame.  Returns 0 and a whole 'view' for TCP, UDP or an ICMP error, over
 * IPv4 or IPv6, that may be forwarded, else the KARMALB_COUNTER_DROP_ reason, with 'view'
 * undefined.
 */
enum karmalb_worker_counter
packet_parse(const uint8_t *frame, unsigned size, struct packet_view *view);

/* The same, slower, without a preference for untagged TCP over IPv4. */
enum karmalb_worker_counter
packet_parse_any(const uint8_t *frame, unsigned size, struct packet_view *view);

/* The part that both share: 'tcp' has view->l4_size bytes. */
enum karmalb_worker_counter
packet_parse_tcp(const uint8_t *tcp, struct packet_view *view);

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
