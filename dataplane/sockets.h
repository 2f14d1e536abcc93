/* SPDX-License-Identifier: BSD-3-Clause */
/* Who else of this host uses an address?  Reads /proc/net.  Control thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <karmalb/endpoint.h>

/* A socket whose local address is exactly this one. */
struct socket_use {
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint16_t port;    /* host order */
	bool is_listening;
};

/* True, and the first such socket of this network namespace; sockets in TIME_WAIT do not count. */
bool
socket_find(const struct karmalb_address *address, struct socket_use *use);

/* The part of the above that reads one open file in the format of /proc/net/tcp or tcp6. */
bool
socket_find_in(FILE *file, const struct karmalb_address *address, struct socket_use *use);
