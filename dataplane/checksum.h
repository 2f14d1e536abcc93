/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internet checksums.  Sums are 64-bit accumulations of 16-bit words as they stand in memory (RFC
 * 1071 section 2: the byte order does not matter), folded at the end.  Pure.
 *
 * The one formula for changes is RFC 1624's equation 3: HC' = ~(~HC + ~m + m').
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <karmalb/endpoint.h>

static inline uint16_t
checksum_load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, 2);
	return value;
}

static inline uint32_t
checksum_load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return value;
}

/* A sum as 16 bits.  0 only when all that was summed was 0. */
static inline uint16_t
checksum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Adds 'size' bytes, beginning at an even offset of what is summed; an odd last one is padded. */
static inline uint64_t
checksum_add(uint64_t sum, const uint8_t *bytes, size_t size)
{
	for (; size >= 4; size -= 4, bytes += 4)
		sum += checksum_load32(bytes);
	if (size >= 2) {
		sum += checksum_load16(bytes);
		bytes += 2;
		size -= 2;
	}
	if (size != 0)
		sum += *bytes; /* low byte: the machine is little-endian */
	return sum;
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "checksum_add's last byte");

/* The sum of the pseudo-header; addresses as in the packet, IPv4-mapped ones count as IPv4. */
static inline uint64_t
checksum_pseudo_v4(uint32_t source_be, uint32_t destination_be, uint8_t protocol, uint16_t l4_size)
{
	return (uint64_t)source_be + destination_be + ((uint32_t)protocol << 8) +
	       __builtin_bswap16(l4_size);
}

/* What takes part in a change: ~m + m' of 32 bits each, to be added to a sum. */
static inline uint64_t
checksum_change32(uint32_t before, uint32_t after)
{
	return (uint64_t)(uint32_t)~before + after;
}

/* The checksum 'before' after changes that sum to 'changes'. */
static inline uint16_t
checksum_update(uint16_t before, uint64_t changes)
{
	return (uint16_t)~checksum_fold((uint16_t)~before + changes);
}
