/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's neighbour table: which MAC has this address?  Entries that we make carry the
 * protocol NEIGHBOUR_PROTOCOL (NDA_PROTOCOL), so that an instance that was killed leaves nothing
 * that the next one does not know.  Control thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>

struct netlink;
struct nlmsghdr;

/* 'k', the same number as ADDRESS_PROTOCOL. */
#define NEIGHBOUR_PROTOCOL 107

struct neighbour {
	unsigned ifindex;
	struct karmalb_address address;
	uint8_t mac[6];
	uint16_t state; /* NUD_*; 0: not in the table */
	bool has_mac;
	bool is_managed;   /* the kernel keeps it resolved by itself */
	bool is_ours;      /* made by us, or by an instance before us */
	bool is_permanent; /* an operator's or a routing daemon's: not to be touched */
};

/* False: not an RTM_NEWNEIGH or RTM_DELNEIGH about an address. */
bool
neighbour_parse(const struct nlmsghdr *message, struct neighbour *neighbour);

/* 0; state 0 where the table has no such entry.  Else a negative errno. */
int
neighbour_read(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address,
	struct neighbour *neighbour);

/*
 * Has the kernel find out, or confirm, now, and keep the entry resolved from here on.  A kernel
 * before 5.16 does the former only.
 */
int
neighbour_ask(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address);

/* Gives an entry back: the kernel forgets it.  One that is gone already is fine. */
int
neighbour_forget(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address);

/* Calls 'take' for each entry of ours on an interface. */
typedef void
neighbour_take(const struct neighbour *neighbour, void *context);

int
neighbours_of_ours(struct netlink *nl, unsigned ifindex, neighbour_take *take, void *context);
