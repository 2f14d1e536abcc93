/* SPDX-License-Identifier: BSD-3-Clause */
/* What the load counted, and how it is told: one JSON object.  Single thread. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include <karmalb/histogram.h>

#include "http_response.h"

#define REPORT_MIRRORS_MAX 16
#define REPORT_LINES_MAX   50 /* failures told one by one on stderr; the rest is only counted */

/* Why a request failed. */
#define REPORT_FAILURES(X)                                                 \
	X(CONNECT, connect, "no connection")                               \
	X(TIMEOUT, timeout, "no complete answer in time")                  \
	X(RESET, reset, "connection reset before the answer was complete") \
	X(CUT, cut, "connection closed before the answer was complete")    \
	X(BROKEN, broken, "not HTTP as we know it")                        \
	X(STATUS, status, "status other than 200")

enum report_failure {
#define X(member, name, help) REPORT_##member,
	REPORT_FAILURES(X)
#undef X
	REPORT_N_FAILURES,
};

struct report_mirror {
	char name[HTTP_RESPONSE_MIRROR_MAX];
	uint64_t n_answers;
};

struct report {
	uint64_t n_requests; /* ended ones, failed or not */
	uint64_t n_failed;
	uint64_t failures[REPORT_N_FAILURES];
	uint64_t body_size;
	uint64_t duration_us;
	uint64_t latency_sum_us, latency_max_us; /* first SYN or byte sent to last byte read */
	uint64_t histogram[KARMALB_HISTOGRAM_BUCKETS];
	unsigned n_mirrors;
	struct report_mirror mirrors[REPORT_MIRRORS_MAX];
};

/* One good answer by 'mirror' (its X-Mirror header, "" if it named itself not). */
void
report_succeeded(struct report *r, const char *mirror, uint64_t body_size, uint64_t latency_us);

/* One failed request; tells the first REPORT_LINES_MAX of them on stderr. */
void
report_failed(struct report *r, enum report_failure why, uint16_t port, uint64_t after_us);

void
report_print(const struct report *r, FILE *out);

/* Replaces the file at once, so that a reader never sees half of it.  Failing is only said. */
void
report_write(const struct report *r, const char *path);
