/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel knows of a network interface.  Reads only.  Control thread only. */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct netlink;
struct nlmsghdr;

/* What changes while we run, and arrives with RTM_NEWLINK. */
struct interface_link {
	unsigned ifindex;
	uint8_t mac[6];
	bool is_ethernet;
	bool is_enabled;     /* "ip link set ... up" */
	bool has_carrier;    /* and something at the other end */
	bool is_promiscuous; /* by "ip link set ... promisc on"; a capture does not count */
	uint32_t mtu;
};

/* What stays. */
struct interface_device {
	char driver[32];     /* empty: the driver does not say */
	unsigned n_queues;   /* receive queues in use, combined ones included; at least 1 */
	unsigned n_combined; /* of these; 0: the driver has none that receive and transmit */
};

/* False: not an RTM_NEWLINK message, or one without what is asked for. */
bool
interface_parse(const struct nlmsghdr *message, struct interface_link *link);

/* 0, or a negative errno: -ENODEV where there is no such interface. */
int
interface_read(struct netlink *nl, unsigned ifindex, struct interface_link *link);

/* Asks the driver (ethtool); what it does not answer has its default. */
void
interface_read_device(const char *name, struct interface_device *device);
