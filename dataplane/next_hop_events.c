/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the kernel: its events, and what time demands.  A route's event only says that something
 * has changed; all routes are then looked up anew, at most every REROUTE_MIN, because a routing
 * daemon may report thousands of changes a second.
 */
#include <string.h>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <karmalb/clock.h>

#include "interface.h"
#include "next_hop_state.h"

#define REROUTE_MIN   (100 * KARMALB_MILLISECOND)
#define ASK_AGAIN     KARMALB_SECOND        /* while nobody answers */
#define CONFIRM_AGAIN (20 * KARMALB_SECOND) /* where the kernel does not manage the neighbour */
#define EVENT_BATCHES 64                    /* per call of process */

/* Some port's link, MTU or MAC is another one. */
static void
note_links(struct next_hops *n)
{
	n->is_changed = true;
	for (unsigned i = 0; i < n->n_hops; i++)
		hop_update(&n->hops[i], n->ports->port[n->hops[i].port].is_up);
	for (unsigned i = 0; i < 2 * n->ports->n; i++)
		hop_update(&n->gateways[i], n->ports->port[i / 2].is_up);
}

static void
on_link(struct next_hops *n, const struct interface_link *link)
{
	int index = ports_find(n->ports, link->ifindex);

	if (index < 0)
		return;
	struct port *port = &n->ports->port[index];
	bool is_up = link->is_enabled && link->has_carrier;

	if (is_up == port->is_up && link->mtu == port->mtu &&
		memcmp(link->mac, port->mac, sizeof(port->mac)) == 0)
		return;
	/* With the link routes and neighbours come and go, and are reported one by one. */
	n->is_reroute_due |= is_up != port->is_up;
	port_set_up(port, is_up);
	port->mtu = link->mtu;
	memcpy(port->mac, link->mac, sizeof(port->mac));
	note_links(n);
}

static void
tell_neighbour(
	struct next_hops *n, struct hop *hop, const struct neighbour *neighbour, bool is_deleted)
{
	struct hop before = *hop;

	if (!hop_uses(hop, neighbour->ifindex, &neighbour->address))
		return;
	hop_set_neighbour(hop, neighbour, is_deleted);
	next_hops_settle(n, &before, hop);
}

static void
on_neighbour(struct next_hops *n, const struct neighbour *neighbour, bool is_deleted)
{
	struct neighbour now = *neighbour;

	if (ports_find(n->ports, neighbour->ifindex) < 0)
		return;
	/* An entry that somebody deletes is reported as failed first: see whether it still is. */
	if ((neighbour->state & NUD_FAILED) != 0 &&
		neighbour_read(&n->requests, neighbour->ifindex, &neighbour->address, &now) == 0)
		is_deleted |= now.state == 0;
	for (unsigned i = 0; i < n->n_hops; i++)
		tell_neighbour(n, &n->hops[i], &now, is_deleted);
	for (unsigned i = 0; i < 2 * n->ports->n; i++)
		tell_neighbour(n, &n->gateways[i], &now, is_deleted);
}

static bool
take_event(const struct nlmsghdr *message, void *context)
{
	struct next_hops *n = context;
	struct neighbour neighbour;
	struct interface_link link;

	switch (message->nlmsg_type) {
	case RTM_NEWLINK:
		if (interface_parse(message, &link))
			on_link(n, &link);
		break;
	case RTM_DELLINK:
		n->is_resync_due = true;
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		if (neighbour_parse(message, &neighbour))
			on_neighbour(n, &neighbour, message->nlmsg_type == RTM_DELNEIGH);
		break;
	default: /* a route or a rule */
		n->is_reroute_due = true;
		break;
	}
	return true;
}

/* Reads everything anew, as after a start. */
static void
resync(struct next_hops *n, uint64_t now_us)
{
	n->is_resync_due = false;
	for (unsigned i = 0; i < n->ports->n; i++) {
		struct interface_link link = {.ifindex = n->ports->port[i].ifindex};

		if (link.ifindex == 0)
			continue;
		if (interface_read(&n->requests, link.ifindex, &link) != 0) {
			link.mtu = n->ports->port[i].mtu; /* gone: down for good */
			memcpy(link.mac, n->ports->port[i].mac, sizeof(link.mac));
		}
		on_link(n, &link);
	}
	for (unsigned i = 0; i < n->n_hops; i++)
		n->hops[i].is_asking_due = true;
	for (unsigned i = 0; i < 2 * n->ports->n; i++)
		n->gateways[i].is_asking_due = true;
	next_hops_reroute(n, now_us);
}

static bool
report_change(struct next_hops *n)
{
	bool is_changed = n->is_changed;

	n->is_changed = false;
	return is_changed;
}

bool
next_hops_process(struct next_hops *n, uint64_t now_us)
{
	int result = 1;

	for (unsigned i = 0; i < EVENT_BATCHES && result > 0; i++)
		result = netlink_read_events(&n->events, take_event, n);
	if (result < 0)
		n->is_resync_due = true;
	if (n->is_resync_due)
		resync(n, now_us);
	if (n->is_reroute_due && now_us - n->rerouted_us >= REROUTE_MIN)
		next_hops_reroute(n, now_us);
	return report_change(n);
}

static void
tick_hop(struct next_hops *n, struct hop *hop, uint64_t now_us)
{
	struct hop before = *hop;

	if (hop->ifindex == 0 || hop->reason == HOP_NO_LINK || now_us - hop->asked_us < ASK_AGAIN)
		return;
	if (hop->is_asking_due) {
		next_hops_ask(n, hop, now_us);
		next_hops_settle(n, &before, hop);
	} else if (hop->reason != HOP_RESOLVED ||
		   (!hop->is_managed && now_us - hop->asked_us >= CONFIRM_AGAIN)) {
		hop->asked_us = now_us;
		neighbour_ask(&n->requests, hop->ifindex, &hop->via);
	}
}

bool
next_hops_tick(struct next_hops *n, uint64_t now_us)
{
	if (ports_look(n->ports))
		note_links(n);
	if (n->is_resync_due)
		resync(n, now_us);
	if (n->is_reroute_due && now_us - n->rerouted_us >= REROUTE_MIN)
		next_hops_reroute(n, now_us);
	for (unsigned i = 0; i < n->n_hops; i++)
		tick_hop(n, &n->hops[i], now_us);
	for (unsigned i = 0; i < 2 * n->ports->n; i++)
		tick_hop(n, &n->gateways[i], now_us);
	return report_change(n);
}
