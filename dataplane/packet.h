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

enum packet_tcp_flag {
	PACKET_FIN = 1 << 0,
	PACKET_SYN = 1 << 1,
	PACKET_RST = 1 << 2,
	PACKET_PSH = 1 << 3,
	PACKET_ACK = 1 << 4,
	PACKET_URG = 1 << 5,
};

/* Numbers in host order unless named _be.  One cache line. */
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
	uint8_t pad[6];
};
static_assert(sizeof(struct packet_view) == 64, "one cache line");

/*
 * Reads the headers of a frame.  Returns 0 and a whole 'view' for a TCP segment over IPv4 that may
 * be forwarded, else the KARMALB_COUNTER_DROP_ reason, with 'view' undefined.
 */
enum karmalb_worker_counter
packet_parse(const uint8_t *frame, unsigned size, struct packet_view *view);

/*
 * Whether the TCP checksum is unfinished, that is, the sum of the pseudo-header and nothing else
 * (as between a virtual device and its peer).
 */
bool
packet_is_checksum_partial(const uint8_t *frame, const struct packet_view *view);

/* Finishes such a checksum, over the payload. */
void
packet_complete_checksum(uint8_t *frame, const struct packet_view *view);

/* Whether a client may have this address: not "this network", loopback, multicast or above. */
bool
packet_is_unicast_v4(const struct karmalb_address *address);
