/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds and checks frames by the book, byte by byte and in full, sharing no code with the data
 * plane: the oracle for its parsing, rewriting and incremental checksums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX 2048

enum {
	SEG_FIN = 1,
	SEG_SYN = 2,
	SEG_RST = 4,
	SEG_PSH = 8,
	SEG_ACK = 16
};

/* A TCP segment over IPv4.  All numbers in host order. */
struct segment {
	uint8_t mac_to[6], mac_from[6];
	uint32_t source, destination;
	uint16_t source_port, destination_port;
	uint32_t seq, ack;
	uint8_t flags;
	uint8_t ttl; /* 0: 64 */
	uint16_t payload_size;
	uint8_t payload_seed;      /* its bytes follow from this */
	uint8_t ip_options;        /* words of no-operation */
	uint8_t tcp_options;       /* likewise */
	bool has_partial_checksum; /* pseudo-header's sum only */
};

/* Writes the frame, without padding.  Returns its size; 'bytes' has FRAME_MAX. */
unsigned
frame_build(uint8_t *bytes, const struct segment *segment);

/* Reads a frame back.  Returns false unless all sizes and both checksums are right. */
bool
frame_read(const uint8_t *bytes, unsigned size, struct segment *segment);

/* The TCP checksum that the frame should have, as a number. */
uint16_t
frame_tcp_checksum(const uint8_t *bytes);
uint16_t
frame_ip_checksum(const uint8_t *bytes);

/* Fills in both checksums. */
void
frame_finish(uint8_t *bytes);
