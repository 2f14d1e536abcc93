/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic for the benchmark: flows with their sequence numbers, and frames written from them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#define BENCH_QUERY_SIZE   200
#define BENCH_ANSWER_SIZE  1000
#define BENCH_LIFE_PACKETS 7       /* of a connection, SYN to last ACK */
#define BENCH_LIFE_FLOWS   4000000 /* records for new connections, most of them resting */

struct bench_traffic;

/* Flow memory and, if wanted, that many established flows.  Lives until the program ends, which it
 * does here on failure. */
struct bench_traffic *
bench_traffic_new(uint32_t n_flows, bool is_established);

double
bench_traffic_megabytes(const struct bench_traffic *traffic);
const char *
bench_traffic_pages(const struct bench_traffic *traffic);

/* Part of the batches that do not count, as the thread lost its processor meanwhile. */
double
bench_traffic_disturbed(const struct bench_traffic *traffic);

/* Cycles per packet over about 'n_packets' of established flows, resp. of whole connections. */
double
bench_established(struct bench_traffic *traffic, uint64_t n_packets);
double
bench_lives(struct bench_traffic *traffic, uint64_t n_packets);

/* TSC, with what comes before done and what comes after not begun. */
static inline uint64_t
bench_cycles(void)
{
	unsigned cpu;
	uint64_t cycles = __rdtscp(&cpu);

	_mm_lfence();
	return cycles;
}
