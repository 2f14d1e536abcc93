/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One observation of a worker on its way to the control thread, and the exact counters per mirror
 * slot that go beside it.  Samples may be lost to a full ring and cost precision only; counters
 * never lie.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#include <karmalb/counters.h>

enum sample_kind {
	SAMPLE_CONNECT,  /* SYN to first SYN-ACK */
	SAMPLE_QUERY,    /* a query's first byte to its answer's first byte; 'outcome' says
			     whether it carried a warning */
	SAMPLE_GREETING, /* the mirror spoke first: a sign of life, latency 0 */
	SAMPLE_FAILURE,  /* a failure; 'outcome' says which, latency is the time it took */
};

struct sample {
	uint32_t latency_us;
	uint32_t epoch; /* of the snapshot under which the flow was picked */
	uint32_t at_us; /* low 32 bits of the time of observation */
	uint16_t slot;
	uint8_t kind;    /* enum sample_kind */
	uint8_t outcome; /* enum karmalb_outcome, for SAMPLE_FAILURE and SAMPLE_QUERY */
};
static_assert(sizeof(struct sample) == 16, "ring element");

/* One worker's counters of one slot.  The worker writes, control reads (relaxed, may lag). */
struct slot_counters {
	uint64_t outcomes[KARMALB_N_OUTCOMES];
	uint64_t opened, closed;
	uint64_t to_mirror_packets, to_mirror_bytes;
	uint64_t to_client_packets, to_client_bytes;
	uint64_t n_waiting;        /* flows with a query unanswered */
	uint64_t waiting_since_us; /* sum of their queries' start times: age = n * now - sum */
};
static_assert(sizeof(struct slot_counters) == 128, "two cache lines");
