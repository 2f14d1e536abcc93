/* SPDX-License-Identifier: BSD-3-Clause */
/* State of one next hop.  No I/O. */
#include "hop.h"

#include <string.h>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "endpoint_text.h"

#define NUD_VALID (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

static uint8_t
reason_without_neighbour(const struct route *route)
{
	if (route == NULL)
		return HOP_NO_ROUTE;
	switch (route->type) {
	case RTN_UNICAST:
		return HOP_ELSEWHERE;
	case RTN_LOCAL:
	case RTN_BROADCAST:
		return HOP_LOCAL;
	default:
		return HOP_NO_ROUTE; /* blackhole, prohibit, ... */
	}
}

bool
hop_set_route(struct hop *hop, const struct route *route, int port)
{
	bool has_neighbour = route != NULL && route->type == RTN_UNICAST && port >= 0;
	unsigned ifindex = has_neighbour ? route->ifindex : 0;
	struct karmalb_address via = hop->address;

	if (has_neighbour && route->has_gateway)
		via = route->gateway;
	bool is_other = ifindex != hop->ifindex || !karmalb_address_equal(&via, &hop->via);

	hop->is_static = false;
	hop->had_route |= has_neighbour;
	hop->ifindex = ifindex;
	hop->via = via;
	if (has_neighbour)
		hop->port = (uint8_t)port;
	if (is_other || !has_neighbour) {
		hop->has_mac = false;
		hop->is_failed = false;
		hop->is_managed = false;
	}
	if (!has_neighbour)
		hop->reason = reason_without_neighbour(route);
	return is_other || !has_neighbour;
}

bool
hop_takes_default(const struct hop *hop, bool is_by_port)
{
	return !is_by_port && !hop->had_route;
}

void
hop_set_static(struct hop *hop, const uint8_t mac[6], uint8_t port)
{
	*hop = (struct hop){
		.address = hop->address,
		.via = hop->address,
		.is_static = true,
		.port = port,
		.has_mac = true,
		.is_managed = true,
	};
	memcpy(hop->mac, mac, sizeof(hop->mac));
}

void
hop_set_neighbour(struct hop *hop, const struct neighbour *neighbour, bool is_deleted)
{
	if (is_deleted) {
		hop->is_asking_due = true;
		hop->is_managed = false;
		return;
	}
	hop->is_managed = neighbour->is_managed || neighbour->is_permanent;
	if ((neighbour->state & NUD_FAILED) != 0)
		hop->is_failed = true;
	if ((neighbour->state & NUD_VALID) == 0 || !neighbour->has_mac)
		return; /* being asked for: what was known holds on */
	memcpy(hop->mac, neighbour->mac, sizeof(hop->mac));
	hop->has_mac = true;
	hop->is_failed = false;
}

void
hop_update(struct hop *hop, bool is_port_up)
{
	if (hop->ifindex == 0 && !hop->is_static)
		return; /* hop_set_route() knows why */
	if (!is_port_up)
		hop->reason = HOP_NO_LINK;
	else if (hop->is_failed)
		hop->reason = HOP_SILENT;
	else
		hop->reason = hop->has_mac ? HOP_RESOLVED : HOP_ASKED;
}

bool
hop_differs(const struct hop *a, const struct hop *b)
{
	return a->reason != b->reason || a->port != b->port ||
	       (a->reason == HOP_RESOLVED && memcmp(a->mac, b->mac, sizeof(a->mac)) != 0);
}

bool
hop_uses(const struct hop *hop, unsigned ifindex, const struct karmalb_address *neighbour)
{
	return hop->ifindex == ifindex && karmalb_address_equal(&hop->via, neighbour);
}

void
hop_why(const struct hop *hop, const char *interface, struct err *sentence)
{
	char address[ADDRESS_TEXT_MAX], via[ADDRESS_TEXT_MAX];

	address_text(&hop->address, address);
	address_text(&hop->via, via);
	sentence->text[0] = '\0';
	switch (hop->reason) {
	case HOP_ASKED:
		err_set(sentence, 0, "asked for %s on %s, no answer yet", via, interface);
		break;
	case HOP_SILENT:
		err_set(sentence, 0, "nobody answers for %s on %s", via, interface);
		break;
	case HOP_NO_ROUTE:
		err_set(sentence, 0, "the kernel has no route to %s", address);
		break;
	case HOP_LOCAL:
		err_set(sentence, 0, "%s is an address of this host itself", address);
		break;
	case HOP_ELSEWHERE:
		err_set(sentence, 0, "the route to %s leaves by an interface that is no port",
			address);
		break;
	case HOP_NO_LINK:
		err_set(sentence, 0, "%s %s has no link", hop->is_static ? "port" : "interface",
			interface);
		break;
	}
}

uint8_t
hop_state(const struct hop *hop)
{
	switch (hop->reason) {
	case HOP_ASKED:
		return KARMALB_NEXT_HOP_UNKNOWN;
	case HOP_RESOLVED:
		return KARMALB_NEXT_HOP_RESOLVED;
	default:
		return KARMALB_NEXT_HOP_FAILED;
	}
}
