/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where to send a packet for an address: the kernel's route and neighbour tables, read and followed
 * over rtnetlink.  The kernel sees none of our traffic, so it is asked to keep each wanted
 * neighbour resolved (NTF_EXT_MANAGED).  Link, MTU and MAC of the ports are followed here, too,
 * because they come on the same socket.  Control thread only; waits for nothing but the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/wire.h>

#include "err.h"

struct next_hops;
struct ports;

struct next_hop {
	uint8_t mac[6]; /* the last known one, valid when RESOLVED */
	uint8_t port;   /* index into ports->port, valid if 'has_port' */
	bool has_port;  /* a route leads, or led once, there by one of ours */
	uint8_t state;  /* enum karmalb_next_hop_state */
};

/* Begins to follow the kernel.  'ports' are open and outlive it; link, MTU, MAC are written there.
 */
int
next_hops_open(struct next_hops **next_hops, struct ports *ports, struct err *err);

/* To be watched for reading; then call next_hops_process(). */
int
next_hops_fd(const struct next_hops *next_hops);

/*
 * The complete list of addresses whose next hop is wanted (at most KARMALB_SLOTS_MAX; repetitions
 * are fine): new ones are asked for, the neighbours of others are given back to the kernel.
 * Idempotent.  0, or -ENOMEM or -ENOSPC with a sentence; an address that cannot be reached is a
 * state, not an error.
 */
int
next_hops_want(struct next_hops *next_hops, const struct karmalb_address *addresses,
	unsigned n_addresses, struct err *err);

/*
 * Takes in what the kernel reported.  True: a next hop, a gateway or a port's link, MTU or MAC has
 * changed since process or tick last returned true, so build a new snapshot.
 */
bool
next_hops_process(struct next_hops *next_hops, uint64_t now_us);

/* Time's share: asks again where nobody answered.  Every second or oftener; true as above. */
bool
next_hops_tick(struct next_hops *next_hops, uint64_t now_us);

/* What is known of a wanted address.  UNKNOWN for one that is not wanted. */
struct next_hop
next_hops_get(const struct next_hops *next_hops, const struct karmalb_address *address);

/* Why a wanted address is not RESOLVED, as a sentence without full stop; empty if it is. */
void
next_hops_why(const struct next_hops *next_hops, const struct karmalb_address *address,
	struct err *sentence);

/*
 * The MAC of the gateway of either family's default route out of a port, for reply_via=route.
 * False: there is none, or it is not resolved (yet).
 */
bool
next_hops_gateway(const struct next_hops *next_hops, uint8_t port, bool is_ipv6, uint8_t mac[6]);

/* Stops following and gives the neighbour entries that we made back.  NULL is fine. */
void
next_hops_close(struct next_hops *next_hops);
