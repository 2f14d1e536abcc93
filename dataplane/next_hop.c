/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is wanted as a next hop, and what is known of it.  Addresses become hops by the kernel's
 * routes, hops are asked for as the kernel's neighbours; see next_hop_events.c for what follows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

#include <karmalb/clock.h>

#include "next_hop_state.h"

#define RULES_IPV4_GROUP (1u << (RTNLGRP_IPV4_RULE - 1))
#define RULES_IPV6_GROUP (1u << (RTNLGRP_IPV6_RULE - 1))

int
next_hops_open(struct next_hops **next_hops, struct ports *ports, struct err *err)
{
	uint32_t groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
			  RULES_IPV4_GROUP | RULES_IPV6_GROUP;
	struct next_hops *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	n->ports = ports;
	n->is_list_new = true;
	n->is_resync_due = true; /* whatever happened since the ports were looked at */
	int error = netlink_open_events(&n->events, groups);

	if (error == 0)
		error = netlink_open(&n->requests);
	if (error != 0) {
		netlink_close(&n->events);
		free(n);
		return err_set(
			err, error, "cannot follow routes and neighbours: %s", strerror(-error));
	}
	*next_hops = n;
	return 0;
}

int
next_hops_fd(const struct next_hops *n)
{
	return mnl_socket_get_fd(n->events.socket);
}

void
next_hops_settle(struct next_hops *n, const struct hop *before, struct hop *hop)
{
	hop_update(hop, n->ports->port[hop->port].is_up);
	if (hop_differs(before, hop))
		n->is_changed = true;
}

void
next_hops_ask(struct next_hops *n, struct hop *hop, uint64_t now_us)
{
	struct neighbour neighbour;

	hop->is_asking_due = false;
	hop->asked_us = now_us;
	if (neighbour_read(&n->requests, hop->ifindex, &hop->via, &neighbour) != 0)
		return;
	if (!neighbour.is_permanent) {
		/* A failure here shows as "not answered yet", and is asked again. */
		neighbour_ask(&n->requests, hop->ifindex, &hop->via);
		if (neighbour_read(&n->requests, hop->ifindex, &hop->via, &neighbour) != 0)
			return;
	}
	if (neighbour.state != 0)
		hop_set_neighbour(hop, &neighbour, false);
}

static void
set_route(struct next_hops *n, struct hop *hop, const struct route *route, uint64_t now_us)
{
	struct hop before = *hop;
	int port = route != NULL ? ports_find(n->ports, route->ifindex) : -1;

	if (hop_set_route(hop, route, port) && hop->ifindex != 0)
		next_hops_ask(n, hop, now_us);
	next_hops_settle(n, &before, hop);
}

static void
set_static(struct next_hops *n, struct hop *hop, const struct static_neighbour *neighbour)
{
	struct hop before = *hop;

	hop_set_static(hop, neighbour->mac, neighbour->port);
	next_hops_settle(n, &before, hop);
}

/* Who is named goes first, then the kernel's routes, then who stands for all that have none. */
static void
resolve(struct next_hops *n, struct hop *hop, uint64_t now_us)
{
	const struct ports *ports = n->ports;
	const struct static_neighbour *neighbour =
		static_neighbour_find(ports->neighbours, ports->n_neighbours, &hop->address);
	struct route route;

	if (neighbour == NULL) {
		int error = route_lookup(&n->requests, &hop->address, &route);
		bool is_by_port = error == 0 && ports_find(ports, route.ifindex) >= 0;

		if (hop_takes_default(hop, is_by_port))
			neighbour = static_neighbour_default(
				ports->neighbours, ports->n_neighbours, -1);
		if (neighbour == NULL)
			set_route(n, hop, error == 0 ? &route : NULL, now_us);
	}
	if (neighbour != NULL)
		set_static(n, hop, neighbour);
}

/* The gateway is its own "wanted address"; a default route without one leads to nobody we know. */
static void
resolve_gateway(struct next_hops *n, unsigned port, bool is_ipv6, uint64_t now_us)
{
	struct hop *hop = &n->gateways[2 * port + is_ipv6];
	int family = is_ipv6 ? AF_INET6 : AF_INET;
	struct route route;

	if (!n->ports->port[port].conf.is_reply_by_route)
		return;
	if (!port_has_interface(&n->ports->port[port])) {
		set_static(n, hop,
			static_neighbour_default(
				n->ports->neighbours, n->ports->n_neighbours, (int)port));
		return;
	}
	if (route_default(&n->requests, family, n->ports->port[port].ifindex, &route) != 0 ||
		!route.has_gateway) {
		set_route(n, hop, NULL, now_us);
		return;
	}
	hop->address = route.gateway;
	set_route(n, hop, &route, now_us);
}

void
next_hops_reroute(struct next_hops *n, uint64_t now_us)
{
	n->is_reroute_due = false;
	n->rerouted_us = now_us;
	for (unsigned i = 0; i < n->n_hops; i++)
		resolve(n, &n->hops[i], now_us);
	for (unsigned i = 0; i < 2 * n->ports->n; i++)
		resolve_gateway(n, i / 2, i % 2 != 0, now_us);
}

/* Neighbours that nobody wants any more, collected while the kernel lists them. */
struct unused {
	const struct next_hops *n;
	unsigned n_found;
	struct neighbour
		*found; /* KARMALB_SLOTS_MAX of room; what is more waits for the next list */
};

static void
take_unused(const struct neighbour *neighbour, void *context)
{
	struct unused *unused = context;
	const struct next_hops *n = unused->n;

	for (unsigned i = 0; i < n->n_hops; i++) {
		if (hop_uses(&n->hops[i], neighbour->ifindex, &neighbour->address))
			return;
	}
	for (unsigned i = 0; i < 2 * n->ports->n; i++) {
		if (hop_uses(&n->gateways[i], neighbour->ifindex, &neighbour->address))
			return;
	}
	if (unused->n_found < KARMALB_SLOTS_MAX)
		unused->found[unused->n_found++] = *neighbour;
}

static void
forget_unused(struct next_hops *n)
{
	struct unused unused = {.n = n};

	unused.found = calloc(KARMALB_SLOTS_MAX, sizeof(*unused.found));
	if (unused.found == NULL)
		return; /* they cost the kernel a packet now and then */
	for (unsigned i = 0; i < n->ports->n; i++) {
		if (n->ports->port[i].ifindex != 0)
			neighbours_of_ours(
				&n->requests, n->ports->port[i].ifindex, take_unused, &unused);
	}
	for (unsigned i = 0; i < unused.n_found; i++)
		neighbour_forget(&n->requests, unused.found[i].ifindex, &unused.found[i].address);
	free(unused.found);
}

static int
compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct karmalb_address));
}

/* 'struct hop' begins with its address, so one comparison serves both. */
static struct hop *
find(const struct next_hops *n, const struct karmalb_address *address)
{
	if (n->n_hops == 0)
		return NULL;
	return bsearch(address, n->hops, n->n_hops, sizeof(*n->hops), compare_addresses);
}

/* Sorts a copy of the list into new hops, each address once, and keeps what is known already. */
static struct hop *
hops_of(const struct next_hops *n, const struct karmalb_address *addresses, unsigned n_addresses,
	unsigned *n_hops)
{
	struct hop *hops = calloc(n_addresses + 1, sizeof(*hops));

	*n_hops = 0;
	if (hops == NULL)
		return NULL;
	for (unsigned i = 0; i < n_addresses; i++)
		hops[i].address = addresses[i];
	qsort(hops, n_addresses, sizeof(*hops), compare_addresses);
	for (unsigned i = 0; i < n_addresses; i++) {
		struct karmalb_address address = hops[i].address;
		const struct hop *known = find(n, &address);

		if (*n_hops > 0 && karmalb_address_equal(&address, &hops[*n_hops - 1].address))
			continue;
		hops[(*n_hops)++] = known != NULL ? *known : (struct hop){.address = address};
	}
	return hops;
}

int
next_hops_want(struct next_hops *n, const struct karmalb_address *addresses, unsigned n_addresses,
	struct err *err)
{
	uint64_t now_us = karmalb_now_us();
	unsigned n_hops, n_new = 0;

	if (n_addresses > KARMALB_SLOTS_MAX)
		return err_set(err, -ENOSPC, "%u next hops wanted, at most %u", n_addresses,
			KARMALB_SLOTS_MAX);
	struct hop *hops = hops_of(n, addresses, n_addresses, &n_hops);

	if (hops == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < n_hops; i++) {
		if (find(n, &hops[i].address) == NULL) {
			resolve(n, &hops[i], now_us);
			n_new++;
		}
	}
	n->is_list_new |= n_hops - n_new != n->n_hops; /* some of the former ones are gone */
	free(n->hops);
	n->hops = hops;
	n->n_hops = n_hops;
	if (n->is_list_new)
		forget_unused(n);
	n->is_list_new = false;
	return 0;
}

struct next_hop
next_hops_get(const struct next_hops *n, const struct karmalb_address *address)
{
	const struct hop *hop = find(n, address);
	struct next_hop result = {.state = KARMALB_NEXT_HOP_UNKNOWN};

	if (hop == NULL)
		return result;
	result.state = hop_state(hop);
	result.port = hop->port;
	result.has_port = hop->had_route || hop->is_static;
	memcpy(result.mac, hop->mac, sizeof(result.mac));
	return result;
}

void
next_hops_why(
	const struct next_hops *n, const struct karmalb_address *address, struct err *sentence)
{
	const struct hop *hop = find(n, address);

	sentence->text[0] = '\0';
	if (hop == NULL)
		return;
	const struct port *port = &n->ports->port[hop->port];

	hop_why(hop, port_has_interface(port) ? port->interface : port->conf.name, sentence);
	if ((hop->reason == HOP_NO_ROUTE || hop->reason == HOP_ELSEWHERE) &&
		n->ports->n_neighbours > 0)
		strncat(sentence->text, ", nor do neighbours name it",
			sizeof(sentence->text) - strlen(sentence->text) - 1);
}

bool
next_hops_gateway(const struct next_hops *n, uint8_t port, bool is_ipv6, uint8_t mac[6])
{
	const struct hop *hop = &n->gateways[2 * port + is_ipv6];

	if ((hop->ifindex == 0 && !hop->is_static) || hop->reason != HOP_RESOLVED)
		return false;
	memcpy(mac, hop->mac, sizeof(hop->mac));
	return true;
}

void
next_hops_close(struct next_hops *n)
{
	if (n == NULL)
		return;
	n->n_hops = 0;
	memset(n->gateways, 0, sizeof(n->gateways));
	forget_unused(n);
	netlink_close(&n->events);
	netlink_close(&n->requests);
	free(n->hops);
	free(n);
}
