/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of frames in all modes, by the book and in full, sharing no code with the data plane:
 * TCP, UDP and ICMP over IPv4 and IPv6 with any tags and extension headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Fills in the checksums that the frame has; where it is not understood, what can be. */
void
sums_finish(uint8_t *bytes, unsigned size);

/* Whether the frame is understood and all its checksums are right. */
bool
sums_are_right(const uint8_t *bytes, unsigned size);
