/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums by the book; clarity before speed. */
#include "sums.h"

#include <netinet/in.h>
#include <string.h>

/* Where things are in a frame. */
struct place {
	unsigned ip, ip_size; /* without extension headers */
	unsigned l4, l4_size;
	unsigned sum; /* of the L4 checksum */
	uint8_t protocol;
	bool is_v6;
};

static unsigned
get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static uint32_t
add(uint32_t sum, const uint8_t *bytes, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static bool
find_ip(const uint8_t *bytes, unsigned size, struct place *p)
{
	unsigned at = 12;

	while (at + 2 <= size && (get16(bytes + at) == 0x8100 || get16(bytes + at) == 0x88a8))
		at += 4;
	if (at + 2 > size)
		return false;
	p->ip = at + 2;
	p->is_v6 = get16(bytes + at) == 0x86dd;
	p->ip_size = p->is_v6 ? 40 : 20;
	if ((!p->is_v6 && get16(bytes + at) != 0x0800) || p->ip + p->ip_size > size)
		return false;
	const uint8_t *ip = bytes + p->ip;

	if (ip[0] >> 4 != (p->is_v6 ? 6 : 4))
		return false;
	if (!p->is_v6)
		p->ip_size = (ip[0] & 15) * 4u;
	return p->ip_size >= 20 && p->ip + p->ip_size <= size;
}

static bool
skip_extensions(const uint8_t *bytes, unsigned end, struct place *p)
{
	while (p->protocol == IPPROTO_HOPOPTS || p->protocol == IPPROTO_ROUTING ||
		p->protocol == IPPROTO_DSTOPTS) {
		if (p->l4 + 8 > end)
			return false;
		p->protocol = bytes[p->l4];
		p->l4 += (bytes[p->l4 + 1] + 1u) * 8;
	}
	return p->l4 <= end;
}

static bool
find_l4(const uint8_t *bytes, unsigned size, struct place *p)
{
	const uint8_t *ip = bytes + p->ip;
	unsigned end = p->ip + (p->is_v6 ? 40 + get16(ip + 4) : get16(ip + 2));

	p->l4 = p->ip + p->ip_size;
	p->protocol = p->is_v6 ? ip[6] : ip[9];
	if (end > size || end < p->l4 || (!p->is_v6 && (get16(ip + 6) & 0x3fff) != 0))
		return false;
	if (p->is_v6 && !skip_extensions(bytes, end, p))
		return false;
	p->l4_size = end - p->l4;
	unsigned header_size = p->protocol == IPPROTO_TCP ? 20 : 8;

	if (p->l4_size < header_size)
		return false;
	p->sum = p->l4 + (p->protocol == IPPROTO_TCP ? 16 : p->protocol == IPPROTO_UDP ? 6 : 2);
	if (p->protocol == IPPROTO_UDP) {
		if (get16(bytes + p->l4 + 4) < 8 || get16(bytes + p->l4 + 4) > p->l4_size)
			return false;
		p->l4_size = get16(bytes + p->l4 + 4);
	}
	return p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP ||
	       p->protocol == (p->is_v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
}

/* Over everything that the L4 checksum covers, itself included. */
static uint32_t
l4_sum(const uint8_t *bytes, const struct place *p)
{
	uint32_t sum = 0;

	if (p->protocol != IPPROTO_ICMP)
		sum = add(p->protocol + p->l4_size, bytes + p->ip + (p->is_v6 ? 8 : 12),
			p->is_v6 ? 32 : 8);
	return add(sum, bytes + p->l4, p->l4_size);
}

static void
put_sum(uint8_t *at, uint32_t sum)
{
	at[0] = (uint8_t)(~sum >> 8);
	at[1] = (uint8_t)~sum;
}

void
sums_finish(uint8_t *bytes, unsigned size)
{
	struct place p;

	if (!find_ip(bytes, size, &p))
		return;
	if (!p.is_v6) {
		memset(bytes + p.ip + 10, 0, 2);
		put_sum(bytes + p.ip + 10, add(0, bytes + p.ip, p.ip_size));
	}
	if (!find_l4(bytes, size, &p))
		return;
	memset(bytes + p.sum, 0, 2);
	put_sum(bytes + p.sum, l4_sum(bytes, &p));
	if (p.protocol == IPPROTO_UDP && get16(bytes + p.sum) == 0)
		memset(bytes + p.sum, 0xff, 2);
}

bool
sums_are_right(const uint8_t *bytes, unsigned size)
{
	struct place p;

	if (!find_ip(bytes, size, &p) || !find_l4(bytes, size, &p))
		return false;
	if (!p.is_v6 && add(0, bytes + p.ip, p.ip_size) != 0xffff)
		return false;
	if (p.protocol == IPPROTO_UDP && get16(bytes + p.sum) == 0)
		return !p.is_v6; /* none at all */
	return l4_sum(bytes, &p) == 0xffff;
}
