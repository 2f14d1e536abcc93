/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts new addresses into a packet and mends its checksums by what changed.  A wrong TCP or UDP
 * checksum stays wrong; nothing is repaired by accident.  Pure; any thread.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "checksum.h"
#include "packet.h"

/* Where a packet is to go and where it says it is from.  Both addresses of the packet's family. */
struct rewrite {
	const uint8_t *mac_to;
	const uint8_t *mac_from;
	const struct karmalb_address *source;
	const struct karmalb_address *destination;
	uint16_t source_port_be;
	uint16_t destination_port_be;
};

/* Rewrites the untagged IPv4 TCP packet that 'view' was parsed from; its time to live goes down by
 * one. */
static inline void
rewrite_tcp_v4(uint8_t *frame, const struct packet_view *view, const struct rewrite *to)
{
	uint8_t *ip = &frame[PACKET_ETHERNET_SIZE], *tcp = &frame[view->l4_offset];
	uint32_t addresses[2] = {
		karmalb_address_v4_be(to->source), karmalb_address_v4_be(to->destination)};
	uint32_t ports = to->source_port_be | (uint32_t)to->destination_port_be << 16;
	uint64_t of_addresses =
		checksum_change32(karmalb_address_v4_be(&view->key.source), addresses[0]) +
		checksum_change32(karmalb_address_v4_be(&view->key.destination), addresses[1]);
	/* Time to live is the low byte of its word as loaded, hence minus one is minus one. */
	uint16_t ip_checksum = checksum_update(checksum_load16(&ip[10]),
		of_addresses + checksum_change32(view->ttl, view->ttl - 1u));
	uint16_t tcp_checksum = checksum_update(checksum_load16(&tcp[16]),
		of_addresses + checksum_change32(checksum_load32(tcp), ports));

	memcpy(&frame[0], to->mac_to, 6);
	memcpy(&frame[6], to->mac_from, 6);
	ip[8] = (uint8_t)(view->ttl - 1);
	memcpy(&ip[10], &ip_checksum, 2);
	memcpy(&ip[12], addresses, 8);
	memcpy(tcp, &ports, 4);
	memcpy(&tcp[16], &tcp_checksum, 2);
}

/* The same for any TCP or UDP packet.  A UDP checksum of 0 over IPv4 stays 0: there is none. */
void
rewrite_any(uint8_t *frame, const struct packet_view *view, const struct rewrite *to);

/*
 * Rewrites an ICMP error: its own addresses and MACs by 'to', the embedded packet's addresses and
 * ports by 'inner', whose MACs do not matter.  The embedded checksums follow by what changed, as
 * far as they are there; the ICMP checksum, which was right, is made anew.
 */
void
rewrite_icmp(uint8_t *frame, const struct packet_view *view, const struct rewrite *to,
	const struct rewrite *inner);
