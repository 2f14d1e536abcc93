/* SPDX-License-Identifier: BSD-3-Clause */
/* What few packets need besides parsing.  No state, no I/O; any worker. */
#include "packet.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "checksum.h"

#define TCP_CHECKSUM_AT 16
#define UDP_CHECKSUM_AT 6

uint64_t
packet_pseudo_sum(const struct packet_view *view)
{
	const struct flow_key *key = &view->key;
	uint64_t sum = ((uint32_t)key->protocol << 8) + __builtin_bswap16(view->l4_size);

	if (!(view->kind & PACKET_IS_V6))
		return sum + karmalb_address_v4_be(&key->source) +
		       karmalb_address_v4_be(&key->destination);
	sum = checksum_add(sum, key->source.bytes, 16);
	return checksum_add(sum, key->destination.bytes, 16);
}

static unsigned
checksum_offset(const struct packet_view *view)
{
	return view->l4_offset + (view->kind & PACKET_IS_UDP ? UDP_CHECKSUM_AT : TCP_CHECKSUM_AT);
}

bool
packet_is_checksum_partial(const uint8_t *frame, const struct packet_view *view)
{
	return !(view->kind & PACKET_IS_ICMP) && checksum_load16(&frame[checksum_offset(view)]) ==
							 checksum_fold(packet_pseudo_sum(view));
}

void
packet_complete_checksum(uint8_t *frame, const struct packet_view *view)
{
	/* The pseudo-header's sum stands in the field already. */
	uint16_t checksum =
		(uint16_t)~checksum_fold(checksum_add(0, &frame[view->l4_offset], view->l4_size));

	if (checksum == 0 && (view->kind & PACKET_IS_UDP))
		checksum = 0xffff; /* 0 would say that there is none */
	memcpy(&frame[checksum_offset(view)], &checksum, 2);
}

static bool
is_unicast_v6(const struct karmalb_address *address)
{
	static const uint8_t zeros[15];

	if (memcmp(address->bytes, zeros, 15) == 0 && address->bytes[15] <= 1)
		return false; /* unspecified, loopback */
	return address->bytes[0] != 0xff;
}

bool
packet_is_unicast(const struct karmalb_address *address)
{
	uint8_t first = address->bytes[12];

	if (!karmalb_address_is_v4(address))
		return is_unicast_v6(address);
	return first != 0 && first != 127 && first < 224;
}
