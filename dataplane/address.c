/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RTM_*ADDR messages.  IPv4 addresses get scope host: the kernel answers ARP for them, and chooses
 * none of them as a source.  IPv6 has preferred lifetime 0 for that.
 */
#include "address.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "endpoint_text.h"
#include "netlink.h"
#include "route.h"

#define ADDRESS_LABEL    ":kb"
#define LIFETIME_FOREVER UINT32_MAX

static struct ifaddrmsg *
begin(struct netlink_request *request, uint16_t type, uint16_t flags, unsigned ifindex)
{
	struct ifaddrmsg *ifa = netlink_begin(request, type, flags, sizeof(*ifa));

	ifa->ifa_index = ifindex;
	return ifa;
}

/*
 * "eth1:kb", for people, and for programs that ask by the old ioctl for the address that bears the
 * interface's own name: host addresses come first in the kernel's list.
 */
static void
put_label(struct nlmsghdr *message, unsigned ifindex)
{
	char label[IF_NAMESIZE + sizeof(ADDRESS_LABEL)];

	if (if_indextoname(ifindex, label) == NULL)
		return;
	strcat(label, ADDRESS_LABEL);
	if (strlen(label) < IF_NAMESIZE)
		mnl_attr_put_strz(message, IFA_LABEL, label);
}

static int
address_add(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address)
{
	struct ifa_cacheinfo lifetime = {
		.ifa_prefered = karmalb_address_is_v4(address) ? LIFETIME_FOREVER : 0,
		.ifa_valid = LIFETIME_FOREVER,
	};
	struct netlink_request request;
	struct nlmsghdr *message = (struct nlmsghdr *)request.bytes;
	struct ifaddrmsg *ifa = begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex);

	ifa->ifa_family = netlink_family(address);
	ifa->ifa_prefixlen = karmalb_address_is_v4(address) ? 32 : 128;
	ifa->ifa_scope = karmalb_address_is_v4(address) ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	netlink_put_address(&request, IFA_LOCAL, address);
	netlink_put_address(&request, IFA_ADDRESS, address);
	mnl_attr_put_u32(message, IFA_FLAGS, IFA_F_NOPREFIXROUTE | IFA_F_NODAD);
	mnl_attr_put(message, IFA_CACHEINFO, sizeof(lifetime), &lifetime);
	mnl_attr_put_u8(message, IFA_PROTO, ADDRESS_PROTOCOL);
	if (karmalb_address_is_v4(address))
		put_label(message, ifindex);
	int error = netlink_ask(nl, &request, NULL, NULL);

	return error == -EEXIST ? 0 : error;
}

static int
address_remove(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address)
{
	struct netlink_request request;
	struct ifaddrmsg *ifa = begin(&request, RTM_DELADDR, 0, ifindex);

	ifa->ifa_family = netlink_family(address);
	ifa->ifa_prefixlen = karmalb_address_is_v4(address) ? 32 : 128;
	netlink_put_address(&request, IFA_LOCAL, address);
	/* Without it the kernel would look at no prefix length, and might find an operator's. */
	netlink_put_address(&request, IFA_ADDRESS, address);
	int error = netlink_ask(nl, &request, NULL, NULL);

	return error == -EADDRNOTAVAIL ? 0 : error;
}

/* The addresses of one interface, collected before any of them is changed. */
struct listing {
	unsigned ifindex;
	bool is_ours_only;
	unsigned n, n_room;
	struct karmalb_address *addresses;
};

static int
listing_push(struct listing *listing, const struct karmalb_address *address)
{
	if (listing->n == listing->n_room) {
		unsigned n_room = listing->n_room == 0 ? 64 : 2 * listing->n_room;
		void *grown = realloc(listing->addresses, n_room * sizeof(*address));

		if (grown == NULL)
			return -ENOMEM;
		listing->addresses = grown;
		listing->n_room = n_room;
	}
	listing->addresses[listing->n++] = *address;
	return 0;
}

static bool
take_address(const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(message);
	struct karmalb_address address = {0};
	struct listing *listing = context;
	uint8_t protocol = 0;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWADDR || ifa->ifa_index != listing->ifindex)
		return true;
	mnl_attr_for_each(a, message, sizeof(*ifa))
	{
		uint16_t type = mnl_attr_get_type(a);

		/* IPv6 has IFA_LOCAL only beside a peer; then it is the one that counts. */
		if (type == IFA_LOCAL || (type == IFA_ADDRESS && ifa->ifa_family == AF_INET6))
			netlink_get_address(a, &address);
		if (type == IFA_PROTO)
			protocol = mnl_attr_get_u8(a);
	}
	if (!listing->is_ours_only || protocol == ADDRESS_PROTOCOL)
		return listing_push(listing, &address) == 0;
	return true;
}

static int
list_addresses(struct netlink *nl, struct listing *listing, struct err *err)
{
	struct netlink_request request;

	begin(&request, RTM_GETADDR, NLM_F_DUMP, listing->ifindex);
	int error = netlink_ask(nl, &request, take_address, listing);

	if (error == 0)
		return 0;
	return err_set(err, error, "cannot list the addresses of interface %u: %s",
		listing->ifindex, strerror(-error));
}

static bool
is_among(const struct karmalb_address *address, const struct karmalb_address *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (karmalb_address_equal(address, &list[i]))
			return true;
	}
	return false;
}

static int
add_missing(struct netlink *nl, const struct listing *present,
	const struct karmalb_address *address, struct err *err)
{
	char text[ADDRESS_TEXT_MAX];

	if (is_among(address, present->addresses, present->n))
		return 0;
	int error = address_add(nl, present->ifindex, address);

	if (error == 0)
		return 0;
	return err_set(err, error, "cannot put address %s on interface %u: %s",
		address_text(address, text), present->ifindex, strerror(-error));
}

int
addresses_add(unsigned ifindex, const struct karmalb_address *addresses, unsigned n_addresses,
	struct err *err)
{
	struct listing present = {.ifindex = ifindex};
	struct netlink nl = {0};
	int error = netlink_open(&nl);

	if (error != 0)
		return err_set(err, error, "cannot open rtnetlink: %s", strerror(-error));
	error = list_addresses(&nl, &present, err);
	for (unsigned i = 0; i < n_addresses && error == 0; i++)
		error = add_missing(&nl, &present, &addresses[i], err);
	free(present.addresses);
	netlink_close(&nl);
	return error;
}

int
addresses_remove_except(
	unsigned ifindex, const struct karmalb_address *keep, unsigned n_keep, struct err *err)
{
	struct listing ours = {.ifindex = ifindex, .is_ours_only = true};
	char text[ADDRESS_TEXT_MAX];
	struct netlink nl = {0};
	int error = netlink_open(&nl);

	if (error != 0)
		return err_set(err, error, "cannot open rtnetlink: %s", strerror(-error));
	error = list_addresses(&nl, &ours, err);
	for (unsigned i = 0; i < ours.n && error == 0; i++) {
		if (is_among(&ours.addresses[i], keep, n_keep))
			continue;
		error = address_remove(&nl, ifindex, &ours.addresses[i]);
		if (error != 0)
			err_set(err, error, "cannot take address %s off interface %u: %s",
				address_text(&ours.addresses[i], text), ifindex, strerror(-error));
	}
	free(ours.addresses);
	netlink_close(&nl);
	return error;
}

bool
address_towards(const struct karmalb_address *peer, struct karmalb_address *address)
{
	struct netlink nl = {0};
	struct route route;
	bool is_known =
		netlink_open(&nl) == 0 && route_lookup(&nl, peer, &route) == 0 && route.has_source;

	if (is_known)
		*address = route.source;
	netlink_close(&nl);
	return is_known;
}
