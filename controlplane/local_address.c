/* SPDX-License-Identifier: BSD-3-Clause */
/* A walk through the list: people ask rarely. */
#include "local_address.h"

#include <assert.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <karmalb/endpoint.h>

static_assert(LOCAL_ADDRESS_NAME_MAX >= IF_NAMESIZE, "a name fits");

static bool
has(const struct ifaddrs *entry, const struct karmalb_address *address)
{
	struct karmalb_address own = {.bytes = {0}};

	if (entry->ifa_addr == NULL)
		return false;
	if (entry->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)entry->ifa_addr;

		own = karmalb_address_from_v4(in->sin_addr.s_addr);
	} else if (entry->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)entry->ifa_addr;

		memcpy(own.bytes, &in6->sin6_addr, sizeof(own.bytes));
	} else {
		return false;
	}
	return karmalb_address_equal(&own, address);
}

bool
local_address_find(const struct ifaddrs *all, const struct karmalb_address *address,
	char name[LOCAL_ADDRESS_NAME_MAX])
{
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		if (!has(i, address))
			continue;
		snprintf(name, LOCAL_ADDRESS_NAME_MAX, "%s", i->ifa_name);
		return true;
	}
	return false;
}
