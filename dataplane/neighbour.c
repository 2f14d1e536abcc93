/* SPDX-License-Identifier: BSD-3-Clause */
/* RTM_*NEIGH messages. */
#include "neighbour.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "netlink.h"

bool
neighbour_parse(const struct nlmsghdr *message, struct neighbour *neighbour)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(message);
	bool has_address = false;
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWNEIGH && message->nlmsg_type != RTM_DELNEIGH)
		return false;
	if (ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6)
		return false; /* a bridge's forwarding table comes by the same messages */
	*neighbour = (struct neighbour){
		.ifindex = (unsigned)ndm->ndm_ifindex,
		.state = ndm->ndm_state,
		.is_permanent = (ndm->ndm_state & (NUD_PERMANENT | NUD_NOARP)) != 0 ||
				(ndm->ndm_flags & NTF_EXT_LEARNED) != 0,
	};
	mnl_attr_for_each(a, message, sizeof(*ndm))
	{
		switch (mnl_attr_get_type(a)) {
		case NDA_DST:
			has_address = netlink_get_address(a, &neighbour->address);
			break;
		case NDA_LLADDR:
			neighbour->has_mac = mnl_attr_get_payload_len(a) == 6;
			if (neighbour->has_mac)
				memcpy(neighbour->mac, mnl_attr_get_payload(a), 6);
			break;
		case NDA_FLAGS_EXT:
			neighbour->is_managed = (mnl_attr_get_u32(a) & NTF_EXT_MANAGED) != 0;
			break;
		case NDA_PROTOCOL:
			neighbour->is_ours = mnl_attr_get_u8(a) == NEIGHBOUR_PROTOCOL;
			break;
		}
	}
	return has_address;
}

static struct ndmsg *
begin(struct netlink_request *request, uint16_t type, uint16_t flags, unsigned ifindex)
{
	struct ndmsg *ndm = netlink_begin(request, type, flags, sizeof(*ndm));

	ndm->ndm_ifindex = (int)ifindex;
	return ndm;
}

static bool
take_one(const struct nlmsghdr *message, void *context)
{
	neighbour_parse(message, context);
	return true;
}

int
neighbour_read(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address,
	struct neighbour *neighbour)
{
	struct netlink_request request;
	struct ndmsg *ndm = begin(&request, RTM_GETNEIGH, 0, ifindex);

	*neighbour = (struct neighbour){.ifindex = ifindex, .address = *address};
	ndm->ndm_family = netlink_family(address);
	netlink_put_address(&request, NDA_DST, address);
	int error = netlink_ask(nl, &request, take_one, neighbour);

	return error == -ENOENT ? 0 : error;
}

int
neighbour_ask(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address)
{
	struct netlink_request request;
	struct ndmsg *ndm = begin(&request, RTM_NEWNEIGH, NLM_F_CREATE, ifindex);
	struct nlmsghdr *message = (struct nlmsghdr *)request.bytes;

	ndm->ndm_family = netlink_family(address);
	ndm->ndm_flags = NTF_USE;
	netlink_put_address(&request, NDA_DST, address);
	/* Always, for a message without it takes the flag away. */
	mnl_attr_put_u32(message, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	mnl_attr_put_u8(message, NDA_PROTOCOL, NEIGHBOUR_PROTOCOL);
	return netlink_ask(nl, &request, NULL, NULL);
}

int
neighbour_forget(struct netlink *nl, unsigned ifindex, const struct karmalb_address *address)
{
	struct netlink_request request;
	struct ndmsg *ndm = begin(&request, RTM_DELNEIGH, 0, ifindex);

	ndm->ndm_family = netlink_family(address);
	netlink_put_address(&request, NDA_DST, address);
	int error = netlink_ask(nl, &request, NULL, NULL);

	return error == -ENOENT ? 0 : error;
}

struct dump {
	unsigned ifindex;
	neighbour_take *take;
	void *context;
};

static bool
take_ours(const struct nlmsghdr *message, void *context)
{
	const struct dump *dump = context;
	struct neighbour neighbour;

	if (neighbour_parse(message, &neighbour) && neighbour.is_ours &&
		neighbour.ifindex == dump->ifindex)
		dump->take(&neighbour, dump->context);
	return true;
}

int
neighbours_of_ours(struct netlink *nl, unsigned ifindex, neighbour_take *take, void *context)
{
	struct dump dump = {.ifindex = ifindex, .take = take, .context = context};
	struct netlink_request request;
	struct nlmsghdr *message = (struct nlmsghdr *)request.bytes;

	netlink_begin(&request, RTM_GETNEIGH, NLM_F_DUMP, sizeof(struct ndmsg));
	mnl_attr_put_u32(message, NDA_IFINDEX, ifindex);
	return netlink_ask(nl, &request, take_ours, &dump);
}
