/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What next_hop.c (who is wanted, and what is known) and next_hop_events.c (what the kernel
 * reports, and time) share.  Nobody else includes it.
 */
#pragma once

#include "hop.h"
#include "netlink.h"
#include "next_hop.h"
#include "ports.h"

struct next_hops {
	struct netlink requests;
	struct netlink events;
	struct ports *ports;
	struct hop *hops; /* sorted by address, each once */
	unsigned n_hops;
	struct hop
		gateways[2 * KARMALB_PORTS_MAX]; /* by port, IPv4's and IPv6's; ifindex 0: none */
	bool is_list_new;                        /* neighbours of a former list may be left */
	bool is_changed;                         /* since true was returned last */
	bool is_reroute_due;
	bool is_resync_due; /* events were lost */
	uint64_t rerouted_us;
};

/*
 * Looks all routes up anew, asks for neighbours that are new with them, and notes in 'is_changed'
 * what became of it.
 */
void
next_hops_reroute(struct next_hops *n, uint64_t now_us);

/* Has the kernel resolve the neighbour and keep it so, and reads what it knows already. */
void
next_hops_ask(struct next_hops *n, struct hop *hop, uint64_t now_us);

/* After changing a hop: derives its reason, and notes a difference from 'before'. */
void
next_hops_settle(struct next_hops *n, const struct hop *before, struct hop *hop);
