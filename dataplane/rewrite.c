/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewriting of headers in place.  Hot: runs for every packet that is forwarded. */
#include "rewrite.h"

#include <string.h>

#include "checksum.h"

void
rewrite_tcp_v4(uint8_t *frame, const struct packet_view *view, const struct rewrite *to)
{
	uint8_t *ip = &frame[PACKET_ETHERNET_SIZE], *tcp = &frame[view->l4_offset];
	uint32_t addresses[2] = {to->source_be, to->destination_be};
	uint32_t ports = to->source_port_be | (uint32_t)to->destination_port_be << 16;
	uint64_t of_addresses =
		checksum_change32(karmalb_address_v4_be(&view->key.source), to->source_be) +
		checksum_change32(
			karmalb_address_v4_be(&view->key.destination), to->destination_be);
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
