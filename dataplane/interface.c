/* SPDX-License-Identifier: BSD-3-Clause */
/* RTM_GETLINK for what changes, ethtool's ioctl for what the driver knows. */
#include "interface.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include "netlink.h"

bool
interface_parse(const struct nlmsghdr *message, struct interface_link *link)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWLINK ||
		mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return false;
	*link = (struct interface_link){
		.ifindex = (unsigned)info->ifi_index,
		.is_ethernet = info->ifi_type == ARPHRD_ETHER,
		.is_enabled = (info->ifi_flags & IFF_UP) != 0,
		.has_carrier = (info->ifi_flags & IFF_LOWER_UP) != 0,
		.is_promiscuous = (info->ifi_flags & IFF_PROMISC) != 0,
	};
	mnl_attr_for_each(a, message, sizeof(*info))
	{
		uint16_t size = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == IFLA_ADDRESS && size == sizeof(link->mac))
			memcpy(link->mac, mnl_attr_get_payload(a), size);
		if (mnl_attr_get_type(a) == IFLA_MTU && size == sizeof(uint32_t))
			link->mtu = mnl_attr_get_u32(a);
	}
	return link->mtu != 0;
}

static bool
take_link(const struct nlmsghdr *message, void *context)
{
	interface_parse(message, context);
	return true;
}

int
interface_read(struct netlink *nl, unsigned ifindex, struct interface_link *link)
{
	struct netlink_request request;
	struct ifinfomsg *info = netlink_begin(&request, RTM_GETLINK, 0, sizeof(*info));

	link->mtu = 0;
	info->ifi_index = (int)ifindex;
	int error = netlink_ask(nl, &request, take_link, link);

	return error == 0 && link->mtu == 0 ? -ENODEV : error;
}

/* 'data' begins with the command's number, as all of ethtool's structures do. */
static bool
ethtool(int fd, const char *name, void *data)
{
	struct ifreq request = {.ifr_data = data};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &request) == 0;
}

void
interface_read_device(const char *name, struct interface_device *device)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*device = (struct interface_device){.n_queues = 1};
	if (fd < 0)
		return;
	if (ethtool(fd, name, &driver))
		snprintf(device->driver, sizeof(device->driver), "%.31s", driver.driver);
	if (ethtool(fd, name, &channels)) {
		device->n_combined = channels.combined_count;
		device->n_queues = channels.combined_count + channels.rx_count;
	}
	if (device->n_queues == 0)
		device->n_queues = 1;
	close(fd);
}
