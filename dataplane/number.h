/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as people type them: decimal, nothing before or behind, bounded.  Pure. */
#pragma once

#include <stdint.h>

/* 'text' up to 'stop' as a decimal number, or -1: it is none, or above max (at most 2^59). */
int64_t
number_read(const char *text, const char *stop, uint64_t max);

/* Bytes with an optional suffix K, M, G or T (powers of 1024), or -1. */
int64_t
number_read_size(const char *text, uint64_t max);

/* A count with an optional suffix K or M (powers of 1000), or -1. */
int64_t
number_read_count(const char *text, uint64_t max);
