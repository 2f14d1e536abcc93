/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds-checked parsing of Ethernet, IPv4 and TCP.  Hot: runs for every packet, in whichever
 * worker.  No state, no I/O.
 */
#include "packet.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "checksum.h"

#define ETHERTYPE_IPV4   0x0800
#define IPV4_FRAGMENT_BE 0xff3f /* more-fragments flag and offset, as loaded */
#define TCP_CHECKSUM_AT  16
#define UDP_CHECKSUM_AT  6

static enum karmalb_worker_counter
parse_ipv4(const uint8_t *frame, unsigned size, struct packet_view *view);

/* Of SYN, FIN and RST at most one; without SYN or RST, ACK. */
#define SANE_FLAGS_MASK (PACKET_FIN | PACKET_SYN | PACKET_RST | PACKET_ACK)
#define SANE_FLAGS                                                               \
	(1u << PACKET_ACK | 1u << (PACKET_ACK | PACKET_FIN) | 1u << PACKET_SYN | \
		1u << (PACKET_SYN | PACKET_ACK) | 1u << PACKET_RST |             \
		1u << (PACKET_RST | PACKET_ACK))

static uint16_t
load16_host(const uint8_t *at)
{
	return __builtin_bswap16(checksum_load16(at));
}

static uint32_t
load32_host(const uint8_t *at)
{
	return __builtin_bswap32(checksum_load32(at));
}

enum karmalb_worker_counter
packet_parse(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	if (__builtin_expect(size < PACKET_ETHERNET_SIZE + PACKET_IPV4_SIZE, 0))
		return packet_parse_any(frame, size, view);
	if (__builtin_expect(load16_host(&frame[12]) != ETHERTYPE_IPV4 ||
				     frame[PACKET_ETHERNET_SIZE + 9] != IPPROTO_TCP,
		    0))
		return packet_parse_any(frame, size, view);
	enum karmalb_worker_counter reason = parse_ipv4(frame, size, view);

	if (__builtin_expect(reason != 0, 0))
		return reason;
	return packet_parse_tcp(&frame[view->l4_offset], view);
}

enum karmalb_worker_counter
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
		(SANE_FLAGS >> (flags & SANE_FLAGS_MASK) & 1) == 0)
		return KARMALB_COUNTER_DROP_MALFORMED;
	view->key.protocol = IPPROTO_TCP;
	memset(view->key.pad, 0, sizeof(view->key.pad));
	view->seq = load32_host(&tcp[4]);
	view->ack = load32_host(&tcp[8]);
	view->payload_size = (uint16_t)(view->l4_size - header_size);
	view->tcp_flags = flags;
	return 0;
}

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

static enum karmalb_worker_counter
parse_ipv4(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	const uint8_t *ip = &frame[PACKET_ETHERNET_SIZE];
	unsigned header_size = (ip[0] & 15) * 4u, total = load16_host(&ip[2]);

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
	if ((checksum_load16(&ip[6]) & IPV4_FRAGMENT_BE) != 0)
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
