/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One next hop's state: what a route, a neighbour's entry and a port's link make of it.  Pure: the
 * module next_hop asks the kernel and hands in what it said.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/wire.h>

#include "err.h"
#include "neighbour.h"
#include "route.h"

enum hop_reason {
	HOP_ASKED,     /* not answered yet */
	HOP_RESOLVED,  /* packets flow */
	HOP_SILENT,    /* nobody answers for the address */
	HOP_NO_ROUTE,  /* the kernel knows no way, or refuses it */
	HOP_LOCAL,     /* an address of this host */
	HOP_ELSEWHERE, /* the way leaves by an interface that is no port */
	HOP_NO_LINK,   /* the port is down */
};

struct hop {
	struct karmalb_address address; /* wanted */
	struct karmalb_address via;     /* the neighbour: the address itself or a gateway */
	unsigned ifindex;               /* where the neighbour is; 0: nowhere, or static */
	bool is_static;                 /* a person has named 'mac' and 'port' */
	uint8_t port;                   /* index of the port there, or of the last one there was */
	uint8_t reason;                 /* enum hop_reason */
	bool has_mac;                   /* 'mac' was valid when the neighbour was last heard of */
	bool is_failed;                 /* and the neighbour has not failed since */
	bool is_managed;                /* the kernel keeps the neighbour resolved by itself */
	bool is_asking_due;             /* the neighbour's entry has gone: ask for it anew */
	bool had_route;                 /* a port has led there by the kernel's routes, once */
	uint8_t mac[6];
	uint64_t asked_us; /* when we last had the kernel ask */
};

/*
 * Takes in a route ('route' NULL: there is none) and the index of the port on its interface (-1:
 * none).  True: the neighbour is another one than before, or there is none; then what was known of
 * it is forgotten.
 */
bool
hop_set_route(struct hop *hop, const struct route *route, int port);

/*
 * Whether a neighbour that stands for all others may stand for it, too, given whether a route leads
 * there by a port now.  Not if one ever did: it has gone for a while, as with a link, and its
 * packets must not leave by another port meanwhile.
 */
bool
hop_takes_default(const struct hop *hop, bool is_by_port);

/* Takes in what a person has named; then there is no route and nothing to ask. */
void
hop_set_static(struct hop *hop, const uint8_t mac[6], uint8_t port);

/* Takes in the neighbour's entry ('is_deleted': that it is gone, which unsets no MAC). */
void
hop_set_neighbour(struct hop *hop, const struct neighbour *neighbour, bool is_deleted);

/* Derives 'reason' anew, after either of the above or a change of the port's link. */
void
hop_update(struct hop *hop, bool is_port_up);

/* Whether a packet's way is another one, or why there is none. */
bool
hop_differs(const struct hop *a, const struct hop *b);

/* Whether its neighbour is this one. */
bool
hop_uses(const struct hop *hop, unsigned ifindex, const struct karmalb_address *neighbour);

/*
 * Why it is not resolved, as a sentence without full stop; empty if it is.  'interface' is the
 * port's, or of a static one the port's own name.
 */
void
hop_why(const struct hop *hop, const char *interface, struct err *sentence);

/* The enum karmalb_next_hop_state that a reason amounts to. */
uint8_t
hop_state(const struct hop *hop);
