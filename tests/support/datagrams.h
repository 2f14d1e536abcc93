/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds and reads UDP datagrams and ICMP errors over IPv4, byte by byte, and VLAN tags before any
 * frame; shares no code with the data plane.  For a fixture made ready with datagram_fixture().
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "lookup.h"

#define DATAGRAM_IP_AT   14
#define DATAGRAM_UDP_AT  34
#define DATAGRAM_HEADERS 42

/* All numbers in host order. */
struct datagram {
	uint32_t source, destination;
	uint16_t source_port, destination_port;
	uint16_t payload_size;
	const void *payload; /* NULL: of any kind */
};

static inline void
datagram_put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static inline void
datagram_put32(uint8_t *at, uint32_t value)
{
	datagram_put16(at, value >> 16);
	datagram_put16(at + 2, value & 0xffff);
}

static inline unsigned
datagram_get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

static inline uint32_t
datagram_get32(const uint8_t *at)
{
	return (uint32_t)datagram_get16(at) << 16 | datagram_get16(at + 2);
}

/* The sum of RFC 1071 over 'size' bytes, on top of 'sum', not folded. */
static inline uint32_t
datagram_sum(uint32_t sum, const uint8_t *bytes, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
	return sum;
}

static inline unsigned
datagram_folded(uint32_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Ethernet and IPv4 around 'size' bytes that stand at DATAGRAM_UDP_AT. */
static inline unsigned
datagram_wrap(
	uint8_t *frame, uint8_t protocol, uint32_t source, uint32_t destination, unsigned size)
{
	uint8_t *ip = &frame[DATAGRAM_IP_AT];

	memset(frame, 0, DATAGRAM_UDP_AT);
	memcpy(&frame[6], "\x02\x00\x00\x00\x09\x07", 6);
	datagram_put16(&frame[12], 0x0800);
	ip[0] = 0x45;
	datagram_put16(&ip[2], 20 + size);
	ip[8] = 64;
	ip[9] = protocol;
	datagram_put32(&ip[12], source);
	datagram_put32(&ip[16], destination);
	datagram_put16(&ip[10], ~datagram_folded(datagram_sum(0, ip, 20)) & 0xffff);
	return DATAGRAM_UDP_AT + size;
}

/* Sum over a UDP datagram and its pseudo-header. */
static inline unsigned
datagram_udp_sum(const uint8_t *frame)
{
	unsigned size = datagram_get16(&frame[DATAGRAM_UDP_AT + 4]);
	uint32_t sum = datagram_sum(17 + size, &frame[DATAGRAM_IP_AT + 12], 8);

	return datagram_folded(datagram_sum(sum, &frame[DATAGRAM_UDP_AT], size));
}

/* Writes the frame; returns its size.  'frame' has FRAME_MAX bytes. */
static inline unsigned
datagram_build(uint8_t *frame, const struct datagram *d)
{
	uint8_t *udp = &frame[DATAGRAM_UDP_AT];
	unsigned size = 8u + d->payload_size;

	datagram_put16(&udp[0], d->source_port);
	datagram_put16(&udp[2], d->destination_port);
	datagram_put16(&udp[4], size);
	datagram_put16(&udp[6], 0);
	if (d->payload != NULL)
		memcpy(&udp[8], d->payload, d->payload_size);
	else
		memset(&udp[8], 'x', d->payload_size);
	unsigned frame_size = datagram_wrap(frame, 17, d->source, d->destination, size);

	unsigned checksum = ~datagram_udp_sum(frame) & 0xffff;

	datagram_put16(&udp[6], checksum != 0 ? checksum : 0xffff); /* 0 would say: none */
	return frame_size;
}

/* Reads an untagged frame; aborts unless it is a whole datagram with right checksums. */
static inline struct datagram
datagram_read(const uint8_t *frame, unsigned size)
{
	const uint8_t *ip = &frame[DATAGRAM_IP_AT], *udp = &frame[DATAGRAM_UDP_AT];

	if (size < DATAGRAM_HEADERS || datagram_get16(&frame[12]) != 0x0800 || ip[0] != 0x45 ||
		ip[9] != 17 || datagram_get16(&ip[2]) != size - DATAGRAM_IP_AT ||
		datagram_get16(&udp[4]) != size - DATAGRAM_UDP_AT ||
		datagram_folded(datagram_sum(0, ip, 20)) != 0xffff ||
		datagram_udp_sum(frame) != 0xffff)
		abort();
	return (struct datagram){
		.source = datagram_get32(&ip[12]),
		.destination = datagram_get32(&ip[16]),
		.source_port = (uint16_t)datagram_get16(&udp[0]),
		.destination_port = (uint16_t)datagram_get16(&udp[2]),
		.payload_size = (uint16_t)(size - DATAGRAM_HEADERS),
		.payload = &udp[8],
	};
}

/*
 * Writes an ICMP error from 'source' to 'destination' that embeds the first 28 bytes, IP header and
 * the 8 bytes behind it, of the frame 'about'.
 */
static inline unsigned
datagram_build_icmp(
	uint8_t *frame, const uint8_t type_code[2], const uint32_t way[2], const uint8_t *about)
{
	uint8_t *icmp = &frame[DATAGRAM_UDP_AT];

	memset(icmp, 0, 8);
	memcpy(icmp, type_code, 2);
	memcpy(&icmp[8], &about[DATAGRAM_IP_AT], 28);
	datagram_put16(&icmp[2], ~datagram_folded(datagram_sum(0, icmp, 36)) & 0xffff);
	return datagram_wrap(frame, 1, way[0], way[1], 36);
}

/* Puts 'n' tags, each type and identifier in one number, before what follows the MAC addresses. */
static inline unsigned
datagram_tag(uint8_t *frame, unsigned size, const uint32_t *tags, unsigned n)
{
	memmove(&frame[12 + 4 * n], &frame[12], size - 12);
	for (unsigned i = 0; i < n; i++)
		datagram_put32(&frame[12 + 4 * i], tags[i]);
	return size + 4 * n;
}

/* A world whose one service is UDP. */
static inline void
datagram_fixture(struct fixture *f, const struct fixture_conf *conf)
{
	fixture_init(f, conf);
	f->tables.services[0].listen.protocol = 17;
	for (unsigned i = 0; i < f->tables.n_slots; i++) {
		f->tables.slots[i].listen.protocol = 17;
		f->tables.slots[i].address.protocol = 17;
	}
	if (lookup_build(&f->tables) != 0)
		abort();
}

/* A conversation of datagrams between a client and the mirror that its first one went to. */
struct datagram_talk {
	struct fixture *f;
	uint32_t client, mirror, source;
	uint16_t client_port, source_port;
};

/* Sends a client's datagram and checks where it went.  Returns the drop counter that rose, or 0. */
static inline enum karmalb_worker_counter
datagram_client(struct datagram_talk *t, const void *payload, uint16_t size)
{
	struct datagram d = {.source = t->client,
		.destination = FIXTURE_VIP,
		.source_port = t->client_port,
		.destination_port = FIXTURE_VIP_PORT,
		.payload = payload,
		.payload_size = size};
	uint8_t frame[FRAME_MAX];
	struct fixture_result r = fixture_send_bytes(t->f, 0, frame, datagram_build(frame, &d));

	if (!r.is_sent)
		return r.reason;
	struct datagram out = datagram_read(t->f->sent, t->f->sent_size);

	if (r.port_out != 1 || out.destination_port != FIXTURE_MIRROR_PORT ||
		out.payload_size != size)
		abort();
	t->mirror = out.destination;
	t->source = out.source;
	t->source_port = out.source_port;
	return 0;
}

/* The mirror's. */
static inline enum karmalb_worker_counter
datagram_mirror(struct datagram_talk *t, const void *payload, uint16_t size)
{
	struct datagram d = {.source = t->mirror,
		.destination = t->source,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = t->source_port,
		.payload = payload,
		.payload_size = size};
	uint8_t frame[FRAME_MAX];
	struct fixture_result r = fixture_send_bytes(t->f, 1, frame, datagram_build(frame, &d));

	if (!r.is_sent)
		return r.reason;
	struct datagram out = datagram_read(t->f->sent, t->f->sent_size);

	if (r.port_out != 0 || out.destination != t->client ||
		out.destination_port != t->client_port || out.source != FIXTURE_VIP ||
		out.source_port != FIXTURE_VIP_PORT || out.payload_size != size)
		abort();
	return 0;
}

static inline struct datagram_talk
datagram_talk_new(struct fixture *f, unsigned number)
{
	return (struct datagram_talk){
		.f = f,
		.client = FIXTURE_CLIENT + number / 60000,
		.client_port = (uint16_t)(1024 + number % 60000),
	};
}
