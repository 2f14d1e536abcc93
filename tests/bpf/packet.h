/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes packets header by header, outermost first, for the tests of the BPF programs.  Checksums
 * are left 0: nobody looks at them there.  Addresses are text; IPv4 and IPv6 by their own calls.
 */
#pragma once

#include <stdint.h>

#define PACKET_MAX 1024

struct packet {
	unsigned size;
	uint8_t bytes[PACKET_MAX];
};

/* An Ethernet header; starts the packet anew. */
void
packet_ethernet(struct packet *p, uint16_t type);

/* A tag whose content is 'type'. */
void
packet_vlan(struct packet *p, uint16_t type);

struct packet_ip {
	const char *source, *destination;
	uint8_t protocol;
	uint8_t option_words;    /* IPv4: 0 .. 10 words of options */
	uint16_t fragment_bytes; /* IPv4: offset, a multiple of 8 */
	uint8_t more_fragments;  /* IPv4 */
};

void
packet_ipv4(struct packet *p, const struct packet_ip *ip);

/* 'protocol' is the first next header. */
void
packet_ipv6(struct packet *p, const struct packet_ip *ip);

/* An IPv6 extension header of 8 * (units + 1) bytes. */
void
packet_option(struct packet *p, uint8_t next_header, uint8_t units);

/* An authentication header of 4 * (words + 2) bytes. */
void
packet_authentication(struct packet *p, uint8_t next_header, uint8_t words);

void
packet_fragment_header(struct packet *p, uint8_t next_header, uint16_t offset_bytes);

/* The first 8 bytes of TCP or UDP: what an ICMP error must quote. */
void
packet_ports(struct packet *p, uint16_t source, uint16_t destination);

/* ICMP or ICMPv6 header of 8 bytes. */
void
packet_icmp(struct packet *p, uint8_t type);
