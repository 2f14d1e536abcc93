/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds-checked parsing of what is not plain TCP over IPv4: VLAN tags, IPv6 and its extension
 * headers, UDP, ICMP errors.  No state, no I/O; any thread.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "checksum.h"
#include "packet.h"

#define TYPE_IPV4       0x0800
#define TYPE_IPV6       0x86dd
#define TYPE_VLAN       0x8100
#define TYPE_QINQ       0x88a8
#define IPV6_SIZE       40
#define IPV4_FRAGMENT   0x3fff /* more-fragments flag and offset */
#define IPV4_OFFSET     0x1fff
#define ICMP_SIZE       8
#define ICMP_INNER_SIZE 8u /* what RFC 792 promises of the embedded packet's L4 */

static enum karmalb_worker_counter
parse_tags(const uint8_t *frame, unsigned size, struct packet_view *view, uint16_t *type);
static enum karmalb_worker_counter
parse_ipv4(const uint8_t *frame, unsigned size, struct packet_view *view);
static enum karmalb_worker_counter
parse_ipv6(const uint8_t *frame, unsigned size, struct packet_view *view);
static enum karmalb_worker_counter
walk_options(const uint8_t *frame, unsigned end, unsigned *at, uint8_t *protocol);
static enum karmalb_worker_counter
parse_udp(const uint8_t *udp, struct packet_view *view);
static enum karmalb_worker_counter
parse_icmp(const uint8_t *frame, struct packet_view *view);
static bool
enter_ipv4(const uint8_t *frame, unsigned end, struct packet_view *view);
static bool
enter_ipv6(const uint8_t *frame, unsigned end, struct packet_view *view);

static uint16_t
load16_host(const uint8_t *at)
{
	return __builtin_bswap16(checksum_load16(at));
}

enum karmalb_worker_counter
packet_parse_any(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	enum karmalb_worker_counter reason;
	uint16_t type;

	memset(view, 0, sizeof(*view));
	reason = parse_tags(frame, size, view, &type);
	if (reason != 0)
		return reason;
	if (type == TYPE_IPV4)
		reason = parse_ipv4(frame, size, view);
	else if (type == TYPE_IPV6)
		reason = parse_ipv6(frame, size, view);
	else
		return KARMALB_COUNTER_DROP_PROTOCOL;
	if (reason != 0)
		return reason;
	switch (view->key.protocol) {
	case IPPROTO_TCP:
		return packet_parse_tcp(&frame[view->l4_offset], view);
	case IPPROTO_UDP:
		return parse_udp(&frame[view->l4_offset], view);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return parse_icmp(frame, view);
	}
	return KARMALB_COUNTER_DROP_PROTOCOL;
}

static enum karmalb_worker_counter
parse_tags(const uint8_t *frame, unsigned size, struct packet_view *view, uint16_t *type)
{
	unsigned at = PACKET_ETHERNET_SIZE;

	if (size < at)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	*type = load16_host(&frame[at - 2]);
	/* Bounded by PACKET_TAGS_MAX. */
	while (*type == TYPE_VLAN || *type == TYPE_QINQ) {
		at += PACKET_TAG_SIZE;
		if (at > PACKET_ETHERNET_SIZE + PACKET_TAGS_MAX * PACKET_TAG_SIZE)
			return KARMALB_COUNTER_DROP_VLAN;
		if (size < at)
			return KARMALB_COUNTER_DROP_TRUNCATED;
		*type = load16_host(&frame[at - 2]);
		view->kind |= PACKET_IS_TAGGED;
	}
	view->ip_offset = (uint8_t)at;
	return 0;
}

static enum karmalb_worker_counter
parse_ipv4(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	const uint8_t *ip = &frame[view->ip_offset];

	if (size - view->ip_offset < PACKET_IPV4_SIZE)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	unsigned header_size = (ip[0] & 15) * 4u, total = load16_host(&ip[2]);

	if (ip[0] >> 4 != 4 || header_size < PACKET_IPV4_SIZE || total < header_size)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (total > size - view->ip_offset)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	if (checksum_fold(checksum_add(0, ip, header_size)) != 0xffff)
		return KARMALB_COUNTER_DROP_IP_CHECKSUM;
	if ((load16_host(&ip[6]) & IPV4_FRAGMENT) != 0)
		return KARMALB_COUNTER_DROP_FRAGMENT;
	if (ip[9] == IPPROTO_ICMPV6)
		return KARMALB_COUNTER_DROP_PROTOCOL;
	if (ip[8] <= 1)
		return KARMALB_COUNTER_DROP_TTL;
	view->key.source = karmalb_address_from_v4(checksum_load32(&ip[12]));
	view->key.destination = karmalb_address_from_v4(checksum_load32(&ip[16]));
	view->key.protocol = ip[9];
	view->ttl = ip[8];
	view->l4_offset = (uint16_t)(view->ip_offset + header_size);
	view->l4_size = (uint16_t)(total - header_size);
	view->frame_size = (uint16_t)(view->ip_offset + total);
	return 0;
}

static enum karmalb_worker_counter
parse_ipv6(const uint8_t *frame, unsigned size, struct packet_view *view)
{
	const uint8_t *ip = &frame[view->ip_offset];
	unsigned at = view->ip_offset + IPV6_SIZE, end;

	if (size < at)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	end = at + load16_host(&ip[4]);
	if (ip[0] >> 4 != 6 || end == at)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (end > size)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	memcpy(&view->key.source, &ip[8], 16);
	memcpy(&view->key.destination, &ip[24], 16);
	/* Such an address never travels, and would pass for an IPv4 one in our tables. */
	if (karmalb_address_is_v4(&view->key.source) ||
		karmalb_address_is_v4(&view->key.destination))
		return KARMALB_COUNTER_DROP_MALFORMED;
	view->key.protocol = ip[6];
	enum karmalb_worker_counter reason = walk_options(frame, end, &at, &view->key.protocol);

	if (reason != 0)
		return reason;
	if (view->key.protocol == IPPROTO_ICMP)
		return KARMALB_COUNTER_DROP_PROTOCOL;
	if (ip[7] <= 1)
		return KARMALB_COUNTER_DROP_TTL;
	view->kind |= PACKET_IS_V6;
	view->ttl = ip[7];
	view->l4_offset = (uint16_t)at;
	view->l4_size = (uint16_t)(end - at);
	view->frame_size = (uint16_t)end;
	return 0;
}

/* Moves '*at' behind the extension headers, to what '*protocol' then names. */
static enum karmalb_worker_counter
walk_options(const uint8_t *frame, unsigned end, unsigned *at, uint8_t *protocol)
{
	/* Bounded by PACKET_OPTIONS_MAX. */
	for (unsigned i = 0;; i++) {
		const uint8_t *option = &frame[*at];

		if (*protocol == IPPROTO_FRAGMENT)
			return KARMALB_COUNTER_DROP_FRAGMENT;
		if (*protocol != IPPROTO_HOPOPTS && *protocol != IPPROTO_ROUTING &&
			*protocol != IPPROTO_DSTOPTS)
			return 0;
		if (i == PACKET_OPTIONS_MAX)
			return KARMALB_COUNTER_DROP_PROTOCOL;
		if (end - *at < 8)
			return KARMALB_COUNTER_DROP_TRUNCATED;
		/* With segments left, this is not yet the destination that checksums speak of. */
		if (*protocol == IPPROTO_ROUTING && option[3] != 0)
			return KARMALB_COUNTER_DROP_MALFORMED;
		unsigned option_size = (option[1] + 1u) * 8;

		if (option_size > end - *at)
			return KARMALB_COUNTER_DROP_TRUNCATED;
		*protocol = option[0];
		*at += option_size;
	}
}

static enum karmalb_worker_counter
parse_udp(const uint8_t *udp, struct packet_view *view)
{
	if (view->l4_size < PACKET_UDP_SIZE)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	unsigned size = load16_host(&udp[4]);

	if (size < PACKET_UDP_SIZE)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if (size > view->l4_size)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	memcpy(&view->key.source_port_be, udp, 4);
	if (view->key.source_port_be == 0 || view->key.destination_port_be == 0)
		return KARMALB_COUNTER_DROP_MALFORMED;
	if ((view->kind & PACKET_IS_V6) && checksum_load16(&udp[6]) == 0)
		return KARMALB_COUNTER_DROP_MALFORMED; /* RFC 8200 section 8.1 */
	view->kind |= PACKET_IS_UDP;
	view->l4_size = (uint16_t)size;
	view->payload_size = (uint16_t)(size - PACKET_UDP_SIZE);
	return 0;
}

static bool
is_icmp_error(uint8_t type, bool is_v6)
{
	return is_v6 ? type >= 1 && type <= 4 : type == 3 || type == 11 || type == 12;
}

static enum karmalb_worker_counter
parse_icmp(const uint8_t *frame, struct packet_view *view)
{
	const uint8_t *icmp = &frame[view->l4_offset];
	unsigned end = view->l4_offset + view->l4_size;
	bool is_v6 = view->kind & PACKET_IS_V6;
	uint64_t sum = is_v6 ? packet_pseudo_sum(view) : 0;

	if (view->l4_size < ICMP_SIZE)
		return KARMALB_COUNTER_DROP_TRUNCATED;
	if (!is_icmp_error(icmp[0], is_v6))
		return KARMALB_COUNTER_DROP_ICMP;
	if (checksum_fold(checksum_add(sum, icmp, view->l4_size)) != 0xffff)
		return KARMALB_COUNTER_DROP_L4_CHECKSUM;
	view->inner_offset = (uint16_t)(view->l4_offset + ICMP_SIZE);
	if (!(is_v6 ? enter_ipv6(frame, end, view) : enter_ipv4(frame, end, view)))
		return KARMALB_COUNTER_DROP_ICMP;
	if ((view->key.protocol != IPPROTO_TCP && view->key.protocol != IPPROTO_UDP) ||
		view->inner_l4_offset + ICMP_INNER_SIZE > end)
		return KARMALB_COUNTER_DROP_ICMP;
	const uint8_t *l4 = &frame[view->inner_l4_offset];

	view->key.source_port_be = checksum_load16(&l4[2]);
	view->key.destination_port_be = checksum_load16(&l4[0]);
	view->seq = __builtin_bswap32(checksum_load32(&l4[4]));
	view->kind |= PACKET_IS_ICMP;
	view->tcp_flags = PACKET_SYN | PACKET_RST; /* never plain */
	return 0;
}

/* The key becomes that of the packet to which the embedded one was an answer. */
static bool
enter_ipv4(const uint8_t *frame, unsigned end, struct packet_view *view)
{
	const uint8_t *ip = &frame[view->inner_offset];

	if (end - view->inner_offset < PACKET_IPV4_SIZE)
		return false;
	unsigned header_size = (ip[0] & 15) * 4u;

	if (ip[0] >> 4 != 4 || header_size < PACKET_IPV4_SIZE ||
		(load16_host(&ip[6]) & IPV4_OFFSET) != 0)
		return false;
	view->key.source = karmalb_address_from_v4(checksum_load32(&ip[16]));
	view->key.destination = karmalb_address_from_v4(checksum_load32(&ip[12]));
	view->key.protocol = ip[9];
	view->inner_l4_offset = (uint16_t)(view->inner_offset + header_size);
	return true;
}

static bool
enter_ipv6(const uint8_t *frame, unsigned end, struct packet_view *view)
{
	const uint8_t *ip = &frame[view->inner_offset];
	unsigned at = view->inner_offset + IPV6_SIZE;

	if (end < at || ip[0] >> 4 != 6)
		return false;
	memcpy(&view->key.source, &ip[24], 16);
	memcpy(&view->key.destination, &ip[8], 16);
	view->key.protocol = ip[6];
	if (karmalb_address_is_v4(&view->key.source) ||
		karmalb_address_is_v4(&view->key.destination) ||
		walk_options(frame, end, &at, &view->key.protocol) != 0)
		return false;
	view->inner_l4_offset = (uint16_t)at;
	return true;
}
