/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of this host's interfaces has an address.  Asks the kernel; any thread. */
#pragma once

#include <stdbool.h>

struct karmalb_address;

#define LOCAL_ADDRESS_NAME_MAX 16 /* bytes of an interface's name, its NUL included */

/* The first such interface into 'name'; false: none has it, or the kernel does not say. */
bool
local_address_find(const struct karmalb_address *address, char name[LOCAL_ADDRESS_NAME_MAX]);
