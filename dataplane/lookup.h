/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds services and source addresses in a snapshot: open addressing with linear probing, tables
 * at most half full.  What is looked up comes from the network, what is in there from our own
 * configuration, so the hash needs no key.  Build on the control thread, find anywhere.  Pure.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tables.h"

#define LOOKUP_NONE UINT16_MAX

static_assert((TABLES_SERVICE_BUCKETS & (TABLES_SERVICE_BUCKETS - 1)) == 0, "mask");
static_assert((TABLES_SOURCE_BUCKETS & (TABLES_SOURCE_BUCKETS - 1)) == 0, "mask");

static inline uint32_t
lookup_hash(const struct karmalb_address *address, uint32_t port_and_protocol)
{
	uint64_t high, low;

	memcpy(&high, &address->bytes[0], 8);
	memcpy(&low, &address->bytes[8], 8);
	low ^= high * UINT64_C(0x9e3779b97f4a7c15) ^ port_and_protocol;
	low *= UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(low >> 32);
}

static inline uint32_t
lookup_endpoint_hash(const struct karmalb_endpoint *endpoint)
{
	return lookup_hash(
		&endpoint->address, endpoint->port_be | (uint32_t)endpoint->protocol << 16);
}

/* The service that listens on 'endpoint', or NULL. */
static inline const struct table_service *
lookup_service(const struct tables *tables, const struct karmalb_endpoint *endpoint)
{
	uint32_t bucket = lookup_endpoint_hash(endpoint);

	/* Bounded: at least half of the buckets are empty. */
	for (;; bucket++) {
		uint16_t i = tables->service_index[bucket & (TABLES_SERVICE_BUCKETS - 1)];

		if (i == LOOKUP_NONE)
			return NULL;
		if (karmalb_endpoint_equal(&tables->services[i].listen, endpoint))
			return &tables->services[i];
	}
}

/* The index in tables.sources of 'address', or LOOKUP_NONE. */
static inline uint16_t
lookup_source(const struct tables *tables, const struct karmalb_address *address)
{
	uint32_t bucket = lookup_hash(address, 0);

	/* Bounded: at least half of the buckets are empty. */
	for (;; bucket++) {
		uint16_t i = tables->source_index[bucket & (TABLES_SOURCE_BUCKETS - 1)];

		if (i == LOOKUP_NONE || karmalb_address_equal(&tables->sources[i], address))
			return i;
	}
}

/* The index in tables.services of one that listens on 'address', or LOOKUP_NONE. */
static inline uint16_t
lookup_listen(const struct tables *tables, const struct karmalb_address *address)
{
	uint32_t bucket = lookup_hash(address, 0);

	/* Bounded: at least half of the buckets are empty. */
	for (;; bucket++) {
		uint16_t i = tables->listen_index[bucket & (TABLES_SERVICE_BUCKETS - 1)];

		if (i == LOOKUP_NONE ||
			karmalb_address_equal(&tables->services[i].listen.address, address))
			return i;
	}
}

/* Whether 'address' is a source or some service's. */
static inline bool
lookup_is_own(const struct tables *tables, const struct karmalb_address *address)
{
	return lookup_listen(tables, address) != LOOKUP_NONE ||
	       lookup_source(tables, address) != LOOKUP_NONE;
}

static inline void
lookup_put(uint16_t *index, uint32_t n_buckets, uint32_t hash, uint16_t value)
{
	while (index[hash & (n_buckets - 1)] != LOOKUP_NONE)
		hash++;
	index[hash & (n_buckets - 1)] = value;
}

/*
 * Fills service_index, listen_index and source_index from services[0 .. n_services) and sources[0
 * .. n_sources). Returns 0, or -EEXIST when a listen or a source occurs twice.
 */
static inline int
lookup_build(struct tables *tables)
{
	memset(tables->service_index, 0xff, sizeof(tables->service_index));
	memset(tables->listen_index, 0xff, sizeof(tables->listen_index));
	memset(tables->source_index, 0xff, sizeof(tables->source_index));
	for (unsigned i = 0; i < tables->n_services; i++) {
		const struct karmalb_endpoint *listen = &tables->services[i].listen;

		if (lookup_service(tables, listen))
			return -EEXIST;
		lookup_put(tables->service_index, TABLES_SERVICE_BUCKETS,
			lookup_endpoint_hash(listen), (uint16_t)i);
		if (lookup_listen(tables, &listen->address) == LOOKUP_NONE)
			lookup_put(tables->listen_index, TABLES_SERVICE_BUCKETS,
				lookup_hash(&listen->address, 0), (uint16_t)i);
	}
	for (unsigned i = 0; i < tables->n_sources; i++) {
		if (lookup_source(tables, &tables->sources[i]) != LOOKUP_NONE)
			return -EEXIST;
		lookup_put(tables->source_index, TABLES_SOURCE_BUCKETS,
			lookup_hash(&tables->sources[i], 0), (uint16_t)i);
	}
	return 0;
}
