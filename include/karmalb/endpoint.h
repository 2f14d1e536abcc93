/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address, a port and a protocol as plain bytes, comparable with memcmp.  IPv4 is held in its
 * IPv4-mapped form (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2), so one layout serves both families.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* 16 bytes in network order; IPv4-mapped for IPv4. */
struct karmalb_address {
	uint8_t bytes[16];
};

/* A zeroed endpoint means "none".  'pad' is always zero, so that memcmp is equality. */
struct karmalb_endpoint {
	struct karmalb_address address;
	uint16_t port_be;
	uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	uint8_t pad;
};
static_assert(sizeof(struct karmalb_endpoint) == 20, "crosses the socket and keys a BPF map");

static inline bool
karmalb_address_is_v4(const struct karmalb_address *a)
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a->bytes, prefix, sizeof(prefix)) == 0;
}

/* 'v4_be' in network order. */
static inline struct karmalb_address
karmalb_address_from_v4(uint32_t v4_be)
{
	struct karmalb_address a = {.bytes = {[10] = 0xff, [11] = 0xff}};

	memcpy(&a.bytes[12], &v4_be, 4);
	return a;
}

/* The IPv4 address in network order; only for an address that is IPv4. */
static inline uint32_t
karmalb_address_v4_be(const struct karmalb_address *a)
{
	uint32_t v4_be;

	memcpy(&v4_be, &a->bytes[12], 4);
	return v4_be;
}

static inline bool
karmalb_address_equal(const struct karmalb_address *a, const struct karmalb_address *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static inline bool
karmalb_endpoint_equal(const struct karmalb_endpoint *a, const struct karmalb_endpoint *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
