/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our addresses on a kernel interface, so that the kernel answers ARP and neighbour discovery for
 * them.  They are host addresses without a prefix route, of a kind that the kernel never picks as a
 * source.  What is ours carries the address protocol ADDRESS_PROTOCOL (IFA_PROTO, Linux 5.18), so
 * that left-overs of an instance that was killed are known, and an operator's address is never
 * touched.  Control thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>

#include "err.h"

/* 'k'.  A name for it: echo "107 karmalb" >> /etc/iproute2/rt_addrprotos */
#define ADDRESS_PROTOCOL 107

/* Puts missing ones of 'addresses' on the interface.  One that is there already is left as it is.
 */
int
addresses_add(unsigned ifindex, const struct karmalb_address *addresses, unsigned n_addresses,
	struct err *err);

/* Takes those of ours off the interface that are not among 'keep' (NULL, 0: all of ours). */
int
addresses_remove_except(
	unsigned ifindex, const struct karmalb_address *keep, unsigned n_keep, struct err *err);

/*
 * A source address serves nothing else, because all TCP and UDP to it is taken from the kernel.
 * Refuses (-EADDRINUSE and a sentence) one that is an interface's own or a loopback address, or to
 * which a TCP or UDP socket of this host is bound.  For the start: it reads all of the host's
 * sockets.  That it is not what the kernel itself uses towards a mirror is to be seen with
 * address_towards(), once there are mirrors.
 */
int
address_is_free_for_source(const struct karmalb_address *source, struct err *err);

/*
 * Whether it is the first or the last address of an interface's IPv4 network, which stand for all
 * hosts there: a mirror may not answer datagrams from it, and its answers would go to everybody.
 */
bool
address_is_broadcast(const struct karmalb_address *address);

/* The address that the kernel would use towards 'peer'; false: no route. */
bool
address_towards(const struct karmalb_address *peer, struct karmalb_address *address);
