/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of this host's interfaces has an address.  Pure. */
#pragma once

#include <stdbool.h>

struct ifaddrs;
struct karmalb_address;

#define LOCAL_ADDRESS_NAME_MAX 16 /* bytes of an interface's name, its NUL included */

/* The first such interface of 'all', as getifaddrs() has them, into 'name'; false: none has it.
 * 'all' may be NULL. */
bool
local_address_find(const struct ifaddrs *all, const struct karmalb_address *address,
	char name[LOCAL_ADDRESS_NAME_MAX]);
