/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts new addresses into a packet and mends its checksums by what changed.  A wrong TCP or UDP
 * checksum stays wrong; nothing is repaired by accident.  Pure; any thread.
 */
#pragma once

#include <stdint.h>

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
void
rewrite_tcp_v4(uint8_t *frame, const struct packet_view *view, const struct rewrite *to);

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
