/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewriting of headers in place, for what is not untagged TCP over IPv4. */
#include "rewrite.h"

#include <netinet/in.h>
#include <string.h>

#include "checksum.h"

#define TCP_CHECKSUM_AT 16
#define UDP_CHECKSUM_AT 6
#define V4_SOURCE_AT    12
#define V6_SOURCE_AT    8

static uint64_t
put_addresses(uint8_t *ip, bool is_v6, const struct rewrite *to);
static uint64_t
put_ports(uint8_t *l4, const struct rewrite *to);
static void
put_hop(uint8_t *frame, const struct packet_view *view, const struct rewrite *to,
	uint64_t of_addresses);
static void
mend(uint8_t *l4, unsigned size, uint8_t protocol, uint64_t changes);

void
rewrite_any(uint8_t *frame, const struct packet_view *view, const struct rewrite *to)
{
	uint8_t *ip = &frame[view->ip_offset], *l4 = &frame[view->l4_offset];
	uint64_t changes = put_addresses(ip, view->kind & PACKET_IS_V6, to);

	put_hop(frame, view, to, changes);
	changes += put_ports(l4, to);
	mend(l4, view->l4_size, view->key.protocol, changes);
}

void
rewrite_icmp(uint8_t *frame, const struct packet_view *view, const struct rewrite *to,
	const struct rewrite *inner)
{
	bool is_v6 = view->kind & PACKET_IS_V6;
	uint8_t *ip = &frame[view->ip_offset], *icmp = &frame[view->l4_offset];
	uint8_t *inner_ip = &frame[view->inner_offset], *l4 = &frame[view->inner_l4_offset];
	unsigned l4_size = view->l4_offset + view->l4_size - view->inner_l4_offset;
	uint64_t changes = put_addresses(inner_ip, is_v6, inner), sum = 0;
	uint16_t checksum;

	if (!is_v6) {
		checksum = checksum_update(checksum_load16(&inner_ip[10]), changes);
		memcpy(&inner_ip[10], &checksum, 2);
	}
	changes += put_ports(l4, inner);
	mend(l4, l4_size, view->key.protocol, changes);
	put_hop(frame, view, to, put_addresses(ip, is_v6, to));
	if (is_v6)
		sum = checksum_add((58u << 8) + (uint64_t)__builtin_bswap16(view->l4_size),
			&ip[V6_SOURCE_AT], 32);
	memset(&icmp[2], 0, 2);
	checksum = (uint16_t)~checksum_fold(checksum_add(sum, icmp, view->l4_size));
	memcpy(&icmp[2], &checksum, 2);
}

static uint64_t
change(const uint8_t *before, const uint8_t *after, unsigned size)
{
	uint64_t changes = 0;

	for (unsigned i = 0; i < size; i += 4)
		changes +=
			checksum_change32(checksum_load32(&before[i]), checksum_load32(&after[i]));
	return changes;
}

/* Returns what that changes in a sum over them. */
static uint64_t
put_addresses(uint8_t *ip, bool is_v6, const struct rewrite *to)
{
	unsigned size = is_v6 ? 16 : 4, at = is_v6 ? V6_SOURCE_AT : V4_SOURCE_AT;
	const uint8_t *source = &to->source->bytes[16 - size];
	const uint8_t *destination = &to->destination->bytes[16 - size];
	uint64_t changes =
		change(&ip[at], source, size) + change(&ip[at + size], destination, size);

	memcpy(&ip[at], source, size);
	memcpy(&ip[at + size], destination, size);
	return changes;
}

static uint64_t
put_ports(uint8_t *l4, const struct rewrite *to)
{
	uint32_t ports = to->source_port_be | (uint32_t)to->destination_port_be << 16;
	uint64_t changes = checksum_change32(checksum_load32(l4), ports);

	memcpy(l4, &ports, 4);
	return changes;
}

/* MACs, and time to live or hop limit with what covers it. */
static void
put_hop(uint8_t *frame, const struct packet_view *view, const struct rewrite *to,
	uint64_t of_addresses)
{
	uint8_t *ip = &frame[view->ip_offset];

	memcpy(&frame[0], to->mac_to, 6);
	memcpy(&frame[6], to->mac_from, 6);
	if (view->kind & PACKET_IS_V6) {
		ip[7]--;
		return;
	}
	uint16_t checksum = checksum_update(checksum_load16(&ip[10]),
		of_addresses + checksum_change32(view->ttl, view->ttl - 1u));

	ip[8]--;
	memcpy(&ip[10], &checksum, 2);
}

/* The L4 checksum after 'changes', if 'size' bytes of L4 hold one. */
static void
mend(uint8_t *l4, unsigned size, uint8_t protocol, uint64_t changes)
{
	unsigned at = protocol == IPPROTO_UDP ? UDP_CHECKSUM_AT : TCP_CHECKSUM_AT;

	if (size < at + 2)
		return;
	uint16_t checksum = checksum_load16(&l4[at]);

	if (protocol == IPPROTO_UDP && checksum == 0)
		return;
	checksum = checksum_update(checksum, changes);
	if (protocol == IPPROTO_UDP && checksum == 0)
		checksum = 0xffff;
	memcpy(&l4[at], &checksum, 2);
}
