/* SPDX-License-Identifier: BSD-3-Clause */
/* May an address be a source of ours?  See address.h; apart from address.c, for it changes nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "address.h"
#include "endpoint_text.h"
#include "netlink.h"
#include "sockets.h"

static bool
is_loopback(const struct karmalb_address *address)
{
	static const struct karmalb_address v6_loopback = {.bytes = {[15] = 1}};

	return karmalb_address_is_v4(address) ? address->bytes[12] == 127
					      : karmalb_address_equal(address, &v6_loopback);
}

struct host_search {
	const struct karmalb_address *address;
	bool is_found;
};

/*
 * An interface's own address has a network behind it and is not one of several of that network.
 * What keepalived and the like assign, and what is ours, does not look so.
 */
static bool
take_host_address(const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(message);
	struct host_search *search = context;
	struct karmalb_address address;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWADDR || ifa->ifa_prefixlen == 32 ||
		ifa->ifa_prefixlen == 128 || (ifa->ifa_flags & IFA_F_SECONDARY) != 0)
		return true;
	mnl_attr_for_each(a, message, sizeof(*ifa))
	{
		if ((mnl_attr_get_type(a) == IFA_LOCAL || mnl_attr_get_type(a) == IFA_ADDRESS) &&
			netlink_get_address(a, &address) &&
			karmalb_address_equal(&address, search->address))
			search->is_found = true;
	}
	return true;
}

static bool
is_host_address(struct netlink *nl, const struct karmalb_address *address)
{
	struct host_search search = {.address = address};
	struct netlink_request request;

	netlink_begin(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	return netlink_ask(nl, &request, take_host_address, &search) == 0 && search.is_found;
}

static bool
take_network(const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(message);
	struct host_search *search = context;
	struct karmalb_address address;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWADDR || ifa->ifa_family != AF_INET ||
		ifa->ifa_prefixlen == 0 || ifa->ifa_prefixlen > 30)
		return true;
	uint32_t hosts = UINT32_MAX >> ifa->ifa_prefixlen;
	uint32_t wanted = ntohl(karmalb_address_v4_be(search->address));

	mnl_attr_for_each(a, message, sizeof(*ifa))
	{
		if (mnl_attr_get_type(a) != IFA_LOCAL || !netlink_get_address(a, &address))
			continue;
		uint32_t host = ntohl(karmalb_address_v4_be(&address));

		if (wanted == (host & ~hosts) || wanted == (host | hosts))
			search->is_found = true;
	}
	return true;
}

bool
address_is_broadcast(const struct karmalb_address *address)
{
	struct host_search search = {.address = address};
	struct netlink_request request;
	struct netlink nl = {0};

	if (!karmalb_address_is_v4(address) || netlink_open(&nl) != 0)
		return false;
	netlink_begin(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
	int error = netlink_ask(&nl, &request, take_network, &search);

	netlink_close(&nl);
	return error == 0 && search.is_found;
}

int
address_is_free_for_source(const struct karmalb_address *source, struct err *err)
{
	char text[ADDRESS_TEXT_MAX];
	struct netlink nl = {0};
	struct socket_use use;

	if (is_loopback(source))
		return err_set(err, -EADDRINUSE, "source %s is a loopback address",
			address_text(source, text));
	if (socket_find(source, &use))
		return err_set(err, -EADDRINUSE,
			"source %s is in use on this host (%s, port %u, %s); a source must serve "
			"nothing else",
			address_text(source, text), use.protocol == IPPROTO_TCP ? "TCP" : "UDP",
			use.port, use.is_listening ? "a listener" : "a socket");
	int error = netlink_open(&nl);

	if (error != 0)
		return err_set(err, error, "cannot open rtnetlink: %s", strerror(-error));
	if (is_host_address(&nl, source))
		error = err_set(err, -EADDRINUSE,
			"source %s is this host's own address; a source must serve nothing else: "
			"choose addresses that nobody uses",
			address_text(source, text));
	netlink_close(&nl);
	return error;
}
