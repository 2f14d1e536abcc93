/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet is looked up by, its hash, and which worker owns it.  Pure.
 *
 * The hash is keyed with secrets, so that nobody outside can aim at one bucket.  It is built of the
 * folded 64 x 64 -> 128 bit multiplications of wyhash (Wang Yi, https://github.com/wangyi-fudan/
 * wyhash, public domain), as used by Rust's aHash fallback and others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <karmalb/endpoint.h>

/* Addresses and ports as they stand in the packet. */
struct flow_key {
	struct karmalb_address source;
	struct karmalb_address destination;
	uint16_t source_port_be;
	uint16_t destination_port_be;
	uint8_t protocol;
	uint8_t pad[3];
};
static_assert(sizeof(struct flow_key) == 40, "no hidden padding");

static inline uint64_t
flow_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* 64 bits of which any may be used; 'secret' is flow_header.hash_key. */
static inline uint64_t
flow_hash(const uint64_t secret[4], const struct flow_key *key)
{
	uint64_t source[2], destination[2];
	uint32_t ports;

	memcpy(source, &key->source, 16);
	memcpy(destination, &key->destination, 16);
	memcpy(&ports, &key->source_port_be, 4);
	uint64_t low = flow_hash_fold(source[1] ^ secret[0], destination[1] ^ secret[1]);
	uint64_t high = flow_hash_fold(source[0] ^ secret[1], destination[0] ^ secret[2]);

	return flow_hash_fold(
		low ^ high ^ secret[2], (ports | (uint64_t)key->protocol << 32) ^ secret[3]);
}

/*
 * The worker, of 'n_workers', that owns a flow by its client's packets.  Mixes anew, since the same
 * hash chooses the bucket.
 */
static inline unsigned
flow_client_owner(uint64_t hash, unsigned n_workers)
{
	uint64_t mixed = (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(((mixed >> 32) * n_workers) >> 32);
}
