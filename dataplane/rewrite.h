/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts new addresses into a packet and mends its checksums by what changed.  A wrong TCP checksum
 * stays wrong; nothing is repaired by accident.  Pure; any thread.
 */
#pragma once

#include <stdint.h>

#include "packet.h"

/* Where a packet is to go and where it says it is from.  Addresses and ports in network order. */
struct rewrite {
	const uint8_t *mac_to;
	const uint8_t *mac_from;
	uint32_t source_be;
	uint32_t destination_be;
	uint16_t source_port_be;
	uint16_t destination_port_be;
};

/* Rewrites the IPv4 TCP packet that 'view' was parsed from; its time to live goes down by one. */
void
rewrite_tcp_v4(uint8_t *frame, const struct packet_view *view, const struct rewrite *to);
