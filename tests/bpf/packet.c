/* SPDX-License-Identifier: BSD-3-Clause */
/* By the book, byte by byte: shares no code with what it tests. */
#include "packet.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

static uint8_t *
append(struct packet *p, unsigned size)
{
	uint8_t *at = &p->bytes[p->size];

	assert(p->size + size <= PACKET_MAX);
	memset(at, 0, size);
	p->size += size;
	return at;
}

static void
put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void
packet_ethernet(struct packet *p, uint16_t type)
{
	p->size = 0;
	uint8_t *at = append(p, 14);

	memcpy(at, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02", 12);
	put16(&at[12], type);
}

void
packet_vlan(struct packet *p, uint16_t type)
{
	uint8_t *at = append(p, 4);

	put16(&at[0], 100);
	put16(&at[2], type);
}

void
packet_ipv4(struct packet *p, const struct packet_ip *ip)
{
	uint8_t *at = append(p, 20 + 4u * ip->option_words);

	at[0] = (uint8_t)(0x40 | (5 + ip->option_words));
	put16(&at[2], 60);
	put16(&at[6], (uint16_t)(ip->fragment_bytes / 8 | ip->more_fragments << 13));
	at[8] = 64;
	at[9] = ip->protocol;
	inet_pton(AF_INET, ip->source, &at[12]);
	inet_pton(AF_INET, ip->destination, &at[16]);
}

void
packet_ipv6(struct packet *p, const struct packet_ip *ip)
{
	uint8_t *at = append(p, 40);

	at[0] = 0x60;
	put16(&at[4], 60);
	at[6] = ip->protocol;
	at[7] = 64;
	inet_pton(AF_INET6, ip->source, &at[8]);
	inet_pton(AF_INET6, ip->destination, &at[24]);
}

void
packet_option(struct packet *p, uint8_t next_header, uint8_t units)
{
	uint8_t *at = append(p, 8u * (units + 1));

	at[0] = next_header;
	at[1] = units;
}

void
packet_authentication(struct packet *p, uint8_t next_header, uint8_t words)
{
	uint8_t *at = append(p, 4u * (words + 2));

	at[0] = next_header;
	at[1] = words;
}

void
packet_fragment_header(struct packet *p, uint8_t next_header, uint16_t offset_bytes)
{
	uint8_t *at = append(p, 8);

	at[0] = next_header;
	put16(&at[2], (uint16_t)(offset_bytes | 1));
}

void
packet_ports(struct packet *p, uint16_t source, uint16_t destination)
{
	uint8_t *at = append(p, 8);

	put16(&at[0], source);
	put16(&at[2], destination);
}

void
packet_icmp(struct packet *p, uint8_t type)
{
	append(p, 8)[0] = type;
}
