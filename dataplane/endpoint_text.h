/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and endpoints as people write them, for sentences and log lines.  Pure; any thread. */
#pragma once

#include <karmalb/endpoint.h>

#define ENDPOINT_TEXT_MAX 64 /* "[ffff:...:ffff]:65535/tcp" and its NUL fit */

#define ADDRESS_TEXT_MAX 46 /* INET6_ADDRSTRLEN */

/* "192.0.2.10" or "2001:db8::1" into 'text' (ADDRESS_TEXT_MAX); returns 'text'. */
const char *
address_text(const struct karmalb_address *a, char *text);

/* "192.0.2.10:80/tcp" or "[2001:db8::1]:53/udp" into 'text' (ENDPOINT_TEXT_MAX); returns 'text'. */
const char *
endpoint_text(const struct karmalb_endpoint *e, char *text);
