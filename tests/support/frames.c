/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames by the book; clarity before speed. */
#include "frames.h"

#include <string.h>

static void
put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void
put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

static uint16_t
get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint32_t
sum_words(uint32_t sum, const uint8_t *bytes, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint8_t *
ip_of(const uint8_t *bytes)
{
	return (uint8_t *)(uintptr_t)bytes + 14;
}

static uint8_t *
tcp_of(const uint8_t *bytes)
{
	return ip_of(bytes) + (ip_of(bytes)[0] & 15) * 4;
}

static uint32_t
pseudo_sum(const uint8_t *bytes)
{
	const uint8_t *ip = ip_of(bytes);
	unsigned l4_size = get16(ip + 2) - (ip[0] & 15) * 4u;

	return sum_words(6 + l4_size, ip + 12, 8);
}

uint16_t
frame_tcp_checksum(const uint8_t *bytes)
{
	const uint8_t *ip = ip_of(bytes), *tcp = tcp_of(bytes);
	unsigned l4_size = get16(ip + 2) - (ip[0] & 15) * 4u;
	uint32_t sum = sum_words(pseudo_sum(bytes), tcp, 16);

	return (uint16_t)~sum_words(sum, tcp + 18, l4_size - 18);
}

uint16_t
frame_ip_checksum(const uint8_t *bytes)
{
	const uint8_t *ip = ip_of(bytes);

	return (uint16_t)~sum_words(sum_words(0, ip, 10), ip + 12, (ip[0] & 15) * 4u - 12);
}

void
frame_finish(uint8_t *bytes)
{
	put16(ip_of(bytes) + 10, frame_ip_checksum(bytes));
	put16(tcp_of(bytes) + 16, frame_tcp_checksum(bytes));
}

unsigned
frame_build(uint8_t *bytes, const struct segment *s)
{
	unsigned ip_size = 20 + 4u * s->ip_options, tcp_size = 20 + 4u * s->tcp_options;
	unsigned total = ip_size + tcp_size + s->payload_size;
	uint8_t *ip = bytes + 14, *tcp = ip + ip_size;

	memset(bytes, 0, 14 + ip_size + tcp_size);
	memcpy(bytes, s->mac_to, 6);
	memcpy(bytes + 6, s->mac_from, 6);
	put16(bytes + 12, 0x0800);
	ip[0] = (uint8_t)(0x40 | ip_size / 4);
	put16(ip + 2, total);
	put16(ip + 4, s->seq & 0xffff);
	put16(ip + 6, 0x4000);
	ip[8] = s->ttl != 0 ? s->ttl : 64;
	ip[9] = 6;
	put32(ip + 12, s->source);
	put32(ip + 16, s->destination);
	memset(ip + 20, 1, 4u * s->ip_options);
	put16(tcp, s->source_port);
	put16(tcp + 2, s->destination_port);
	put32(tcp + 4, s->seq);
	put32(tcp + 8, s->ack);
	tcp[12] = (uint8_t)(tcp_size / 4 << 4);
	tcp[13] = s->flags;
	put16(tcp + 14, 502);
	memset(tcp + 20, 1, 4u * s->tcp_options);
	for (unsigned i = 0; i < s->payload_size; i++)
		tcp[tcp_size + i] = (uint8_t)(s->payload_seed + i * 7);
	frame_finish(bytes);
	if (s->has_partial_checksum)
		put16(tcp + 16, pseudo_sum(bytes));
	return 14 + total;
}

bool
frame_read(const uint8_t *bytes, unsigned size, struct segment *s)
{
	const uint8_t *ip = ip_of(bytes), *tcp;

	if (size < 54 || get16(bytes + 12) != 0x0800 || get16(ip + 2) + 14u != size)
		return false;
	tcp = tcp_of(bytes);
	unsigned ip_size = (ip[0] & 15) * 4u, tcp_size = (tcp[12] >> 4) * 4u;

	*s = (struct segment){
		.source = get32(ip + 12),
		.destination = get32(ip + 16),
		.source_port = get16(tcp),
		.destination_port = get16(tcp + 2),
		.seq = get32(tcp + 4),
		.ack = get32(tcp + 8),
		.flags = tcp[13],
		.ttl = ip[8],
		.payload_size = (uint16_t)(size - 14 - ip_size - tcp_size),
		.ip_options = (uint8_t)(ip_size / 4 - 5),
		.tcp_options = (uint8_t)(tcp_size / 4 - 5),
	};
	memcpy(s->mac_to, bytes, 6);
	memcpy(s->mac_from, bytes + 6, 6);
	if (s->payload_size > 0)
		s->payload_seed = tcp[tcp_size];
	return get16(ip + 10) == frame_ip_checksum(bytes) &&
	       get16(tcp + 16) == frame_tcp_checksum(bytes);
}
