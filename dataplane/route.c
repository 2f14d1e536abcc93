/* SPDX-License-Identifier: BSD-3-Clause */
/* RTM_GETROUTE: of one address, and of the default route by a dump that stops at its head. */
#include "route.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

#include "netlink.h"

/* A gateway of the other family (RFC 5549): a struct rtvia. */
static bool
read_via(const struct nlattr *a, struct karmalb_address *gateway)
{
	const struct rtvia *via = mnl_attr_get_payload(a);

	if (mnl_attr_get_payload_len(a) != sizeof(*via) + 16 || via->rtvia_family != AF_INET6)
		return false;
	memcpy(gateway->bytes, via->rtvia_addr, 16);
	return true;
}

static void
read_attribute(const struct nlattr *a, struct route *route);

/* ECMP: the first next hop that leaves by 'ifindex', 0: by any. */
static void
read_next_hops(const struct nlattr *a, unsigned ifindex, struct route *route)
{
	const struct rtnexthop *nh = mnl_attr_get_payload(a);
	int left = mnl_attr_get_payload_len(a);
	struct nlattr *attr;

	/* Bounded by the attribute's size. */
	while (RTNH_OK(nh, left) && ifindex != 0 && (unsigned)nh->rtnh_ifindex != ifindex) {
		left -= RTNH_ALIGN(nh->rtnh_len);
		nh = RTNH_NEXT(nh);
	}
	if (!RTNH_OK(nh, left))
		return;
	route->ifindex = (unsigned)nh->rtnh_ifindex;
	mnl_attr_for_each_payload((struct nlattr *)RTNH_DATA(nh), nh->rtnh_len - RTNH_LENGTH(0))
		read_attribute(attr, route);
}

static void
read_attribute(const struct nlattr *a, struct route *route)
{
	switch (mnl_attr_get_type(a)) {
	case RTA_OIF:
		route->ifindex = mnl_attr_get_u32(a);
		break;
	case RTA_GATEWAY:
		route->has_gateway = netlink_get_address(a, &route->gateway);
		break;
	case RTA_VIA:
		route->has_gateway = read_via(a, &route->gateway);
		break;
	case RTA_PRIORITY:
		route->metric = mnl_attr_get_u32(a);
		break;
	case RTA_PREFSRC:
		route->has_source = netlink_get_address(a, &route->source);
		break;
	}
}

static bool
take_route(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(message);
	struct route *route = context;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWROUTE)
		return true;
	*route = (struct route){.type = rtm->rtm_type};
	mnl_attr_for_each(a, message, sizeof(*rtm)) read_attribute(a, route);
	return true;
}

int
route_lookup(struct netlink *nl, const struct karmalb_address *to, struct route *route)
{
	struct netlink_request request;
	struct rtmsg *rtm = netlink_begin(&request, RTM_GETROUTE, 0, sizeof(*rtm));

	*route = (struct route){0};
	rtm->rtm_family = netlink_family(to);
	rtm->rtm_dst_len = karmalb_address_is_v4(to) ? 32 : 128;
	netlink_put_address(&request, RTA_DST, to);
	int error = netlink_ask(nl, &request, take_route, route);

	return error == 0 && route->type == RTN_UNSPEC ? -ENETUNREACH : error;
}

struct default_search {
	unsigned ifindex;
	bool is_found;
	struct route *route;
};

/* IPv4 is dumped by rising destination: what follows the first other one is of no interest. */
static bool
take_default(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(message);
	struct default_search *search = context;
	struct route route = {.type = rtm->rtm_type};
	const struct nlattr *a;

	mnl_attr_for_each(a, message, sizeof(*rtm))
	{
		if (mnl_attr_get_type(a) == RTA_DST)
			return rtm->rtm_family != AF_INET;
		if (mnl_attr_get_type(a) == RTA_MULTIPATH)
			read_next_hops(a, search->ifindex, &route);
		read_attribute(a, &route);
	}
	if (rtm->rtm_table != RT_TABLE_MAIN ||
		(search->ifindex != 0 && route.ifindex != search->ifindex) ||
		route.type != RTN_UNICAST ||
		(search->is_found && route.metric >= search->route->metric))
		return true;
	*search->route = route;
	search->is_found = true;
	return true;
}

int
route_default(struct netlink *nl, int family, unsigned ifindex, struct route *route)
{
	struct default_search search = {.ifindex = ifindex, .route = route};
	struct netlink_request request;
	struct rtmsg *rtm = netlink_begin(&request, RTM_GETROUTE, NLM_F_DUMP, sizeof(*rtm));

	rtm->rtm_family = (uint8_t)family;
	rtm->rtm_table = RT_TABLE_MAIN;
	int error = netlink_ask(nl, &request, take_default, &search);

	if (error != 0)
		return error;
	return search.is_found ? 0 : -ENETUNREACH;
}
