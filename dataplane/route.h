/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's routes: where would it send this?  Reads only.  Control thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>

struct netlink;

struct route {
	unsigned ifindex;
	uint8_t type; /* RTN_UNICAST, RTN_LOCAL, ... */
	uint32_t metric;
	bool has_gateway;
	bool has_source;
	struct karmalb_address gateway;
	struct karmalb_address source; /* what the kernel would use itself */
};

/* The route that the kernel takes towards 'to'.  0, or a negative errno where there is none. */
int
route_lookup(struct netlink *nl, const struct karmalb_address *to, struct route *route);

/*
 * The default route of 'family' (AF_INET, AF_INET6) in the main table that leaves by 'ifindex' (0:
 * by any interface), the one of the lowest metric; of several next hops (ECMP) the first that does.
 * 0, or -ENETUNREACH where there is none.
 */
int
route_default(struct netlink *nl, int family, unsigned ifindex, struct route *route);
