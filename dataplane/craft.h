/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments of our own making, without payload: what a worker sends that nobody sent to it.
 * Pure; any thread.
 */
#pragma once

#include <stdint.h>

struct flow_vlan;
struct rewrite;

#define CRAFT_FRAMES_MAX 64
#define CRAFT_SIZE_MAX   96 /* two VLAN tags, IPv6, TCP with the maximum segment size */

struct craft_tcp {
	const struct rewrite *way;    /* MACs, addresses, ports */
	const struct flow_vlan *vlan; /* NULL or size 0: no tag */
	uint32_t seq, ack;            /* 'ack' only with the flag */
	uint8_t flags; /* enum packet_tcp_flag; a SYN offers the usual segment size */
};

/* Writes a whole frame, checksums included, into CRAFT_SIZE_MAX bytes.  Returns its size. */
unsigned
craft_tcp(uint8_t *frame, const struct craft_tcp *tcp);

/* Frames to be sent.  The caller gives the places, takes the frames, and empties it. */
struct craft_frames {
	unsigned n;
	unsigned n_max;                  /* places there are */
	uint8_t *data[CRAFT_FRAMES_MAX]; /* CRAFT_SIZE_MAX each */
	uint16_t sizes[CRAFT_FRAMES_MAX];
	uint8_t ports[CRAFT_FRAMES_MAX]; /* to leave by: index into tables.ports */
};

/* craft_tcp() into the next place; there is one. */
void
craft_add(struct craft_frames *frames, uint8_t port_out, const struct craft_tcp *tcp);
