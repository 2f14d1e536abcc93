/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours that a person names, for ports without a kernel interface: nobody answers or asks ARP
 * and ND there.  "default" stands for all addresses that neither another one nor the kernel's
 * routes lead to, such as those behind a router.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

#include "err.h"

struct static_neighbour {
	struct karmalb_address address; /* zeroed where it is the default */
	bool is_default;
	uint8_t mac[6];
	char port_name[KARMALB_NAME_MAX]; /* empty: the only port without a kernel interface */
	uint8_t port;                     /* index of it; ports_check() writes */
};

/* Reads "ADDRESS|default=MAC[,port=NAME]".  0, or -EINVAL with a sentence. */
int
static_neighbour_parse(const char *text, struct static_neighbour *neighbour, struct err *err);

/* Whether both stand for the same: an address, or the default of one port. */
bool
static_neighbour_equal(const struct static_neighbour *a, const struct static_neighbour *b);

/* The one of 'n' that bears the address, or NULL. */
const struct static_neighbour *
static_neighbour_find(
	const struct static_neighbour *list, unsigned n, const struct karmalb_address *address);

/* The first default, of that port only if 'port' is not negative; or NULL. */
const struct static_neighbour *
static_neighbour_default(const struct static_neighbour *list, unsigned n, int port);
