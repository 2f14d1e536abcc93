/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames from nothing.  Pure. */
#include "craft.h"

#include <assert.h>
#include <string.h>

#include "checksum.h"
#include "flow.h"
#include "packet.h"
#include "rewrite.h"

#define TTL                64
#define WINDOW             64240
#define MSS                1220 /* fits any path that IPv6 runs on */
#define TYPE_IPV6          0x86dd
#define IPV6_SIZE          40
#define IPV4_DONT_FRAGMENT 0x4000

static void
store16(uint8_t *at, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(at, &value, 2);
}

static void
store32(uint8_t *at, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(at, &value, 4);
}

/* Returns the header's size; adds the pseudo-header to '*sum'. */
static unsigned
write_ipv4(uint8_t *ip, const struct rewrite *way, uint16_t l4_size, uint64_t *sum)
{
	uint32_t source = karmalb_address_v4_be(way->source);
	uint32_t destination = karmalb_address_v4_be(way->destination);

	memset(ip, 0, PACKET_IPV4_SIZE);
	ip[0] = 0x45;
	store16(&ip[2], (uint16_t)(PACKET_IPV4_SIZE + l4_size));
	store16(&ip[6], IPV4_DONT_FRAGMENT);
	ip[8] = TTL;
	ip[9] = IPPROTO_TCP;
	memcpy(&ip[12], &source, 4);
	memcpy(&ip[16], &destination, 4);
	uint16_t checksum = (uint16_t)~checksum_fold(checksum_add(0, ip, PACKET_IPV4_SIZE));

	memcpy(&ip[10], &checksum, 2);
	*sum += checksum_pseudo_v4(source, destination, IPPROTO_TCP, l4_size);
	return PACKET_IPV4_SIZE;
}

static unsigned
write_ipv6(uint8_t *ip, const struct rewrite *way, uint16_t l4_size, uint64_t *sum)
{
	memset(ip, 0, 8);
	ip[0] = 0x60;
	store16(&ip[4], l4_size);
	ip[6] = IPPROTO_TCP;
	ip[7] = TTL;
	memcpy(&ip[8], way->source, 16);
	memcpy(&ip[24], way->destination, 16);
	*sum = checksum_add(*sum, &ip[8], 32);
	*sum += ((uint32_t)IPPROTO_TCP << 8) + __builtin_bswap16(l4_size);
	return IPV6_SIZE;
}

static unsigned
write_tcp(uint8_t *at, const struct craft_tcp *tcp, unsigned size, uint64_t sum)
{
	memset(at, 0, size);
	memcpy(&at[0], &tcp->way->source_port_be, 2);
	memcpy(&at[2], &tcp->way->destination_port_be, 2);
	store32(&at[4], tcp->seq);
	store32(&at[8], tcp->flags & PACKET_ACK ? tcp->ack : 0);
	at[12] = (uint8_t)(size / 4 << 4);
	at[13] = tcp->flags;
	store16(&at[14], tcp->flags & PACKET_RST ? 0 : WINDOW);
	if (size > PACKET_TCP_SIZE) {
		at[20] = 2; /* maximum segment size */
		at[21] = 4;
		store16(&at[22], MSS);
	}
	uint16_t checksum = (uint16_t)~checksum_fold(checksum_add(sum, at, size));

	memcpy(&at[16], &checksum, 2);
	return size;
}

unsigned
craft_tcp(uint8_t *frame, const struct craft_tcp *tcp)
{
	bool is_v4 = karmalb_address_is_v4(tcp->way->destination);
	uint16_t l4_size = tcp->flags & PACKET_SYN ? PACKET_TCP_SIZE + 4 : PACKET_TCP_SIZE;
	unsigned at = 12;
	uint64_t sum = 0;

	memcpy(&frame[0], tcp->way->mac_to, 6);
	memcpy(&frame[6], tcp->way->mac_from, 6);
	if (tcp->vlan != NULL) {
		memcpy(&frame[at], tcp->vlan->tags, tcp->vlan->size);
		at += tcp->vlan->size;
	}
	store16(&frame[at], is_v4 ? PACKET_TYPE_IPV4 : TYPE_IPV6);
	at += 2;
	at += is_v4 ? write_ipv4(&frame[at], tcp->way, l4_size, &sum)
		    : write_ipv6(&frame[at], tcp->way, l4_size, &sum);
	return at + write_tcp(&frame[at], tcp, l4_size, sum);
}

void
craft_add(struct craft_frames *frames, uint8_t port_out, const struct craft_tcp *tcp)
{
	assert(frames->n < frames->n_max);
	frames->sizes[frames->n] = (uint16_t)craft_tcp(frames->data[frames->n], tcp);
	frames->ports[frames->n++] = port_out;
}
