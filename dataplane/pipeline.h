/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to a burst of packets between receive and transmit: parse, flow lookup, (new flow:
 * pick, port, insert), TCP state and latency, rewrite.  Works on plain bytes in place; knows no
 * mbuf, no device, no clock and no ring, so that tests, benchmark and fuzzer run the same code.
 * One pipeline per worker, used by that worker's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"
#include "tables.h"

struct craft_frames;
struct errands;
struct flow_table;

#define PIPELINE_BURST_MAX 64
/*
 * The most samples that one burst (a packet ends at most one exchange and one connect), one tick or
 * one call for errands can yield.
 */
#define PIPELINE_SAMPLES_MAX (2 * PIPELINE_BURST_MAX)

enum pipeline_verdict {
	PIPELINE_SEND,      /* rewritten: transmit on 'port_out' */
	PIPELINE_DROP,      /* counted already: free it */
	PIPELINE_HAND_OVER, /* untouched and not counted: give it to worker 'owner' */
};

/* One packet.  The caller owns the bytes and fills the upper half. */
struct pipeline_packet {
	/*
	 * Ethernet header first; need not be aligned.  Moves by up to 8 bytes either way when VLAN
	 * tags come or go.
	 */
	uint8_t *data;
	uint16_t size;       /* bytes at 'data' */
	uint8_t headroom;    /* writable bytes before it; more than 8 are not needed */
	uint8_t port_in;     /* index into tables.ports */
	bool is_l4_bad;      /* the device says that the L4 checksum is wrong */
	bool is_handed_over; /* another worker received it and found it to be this one's */
	/* filled by pipeline_burst() */
	uint8_t verdict; /* enum pipeline_verdict */
	uint8_t port_out;
	uint8_t owner;     /* where the verdict is to hand it over */
	uint16_t size_out; /* bytes to send from 'data' on, Ethernet padding cut off */
};

/*
 * The worker writes; control reads counters and slots (relaxed).  The pipeline counts what it
 * receives, but for what it wants handed over, and everything that happens inside; tx_packets,
 * tx_bytes, handed_over, tx_handed_over, samples_lost, drop_tx_full and both drop_..._handover_full
 * are the caller's to count.
 */
struct pipeline {
	const struct tables *tables; /* set by the worker before each burst */
	struct flow_table *flows;    /* not owned */
	uint64_t counters[KARMALB_N_COUNTERS];
	struct slot_counters *slots; /* KARMALB_SLOTS_MAX of them, not owned */
	uint64_t random;        /* state of the pick's generator; seeded by the caller, not 0 */
	struct sample *samples; /* PIPELINE_SAMPLES_MAX; the caller empties it after each call */
	unsigned n_samples;
	struct errands *errands; /* NULL: none; not owned */
};

/*
 * Runs 'n_packets' (0 .. PIPELINE_BURST_MAX) through all stages.  Every packet has a verdict
 * afterwards and every dropped one was counted under its reason.  'now_us' is CLOCK_MONOTONIC and
 * never runs backwards.
 */
void
pipeline_burst(
	struct pipeline *p, struct pipeline_packet *packets, unsigned n_packets, uint64_t now_us);

/*
 * Time's share of the work: connect and query time-outs, expiry of flows.  Bounded per call, at
 * most PIPELINE_SAMPLES_MAX samples; call it between bursts, at the latest at the time that the
 * last call returned (at most 10 ms ahead; at once when there is more to do).
 */
uint64_t
pipeline_tick(struct pipeline *p, uint64_t now_us);

/*
 * What control has ordered, see errands.h; needs p->errands.  Writes frames that are to be sent
 * into 'out'.  Bounded per call, at most ERRANDS_ENDS samples; true: there is more to do at once.
 */
bool
pipeline_run_errands(struct pipeline *p, struct craft_frames *out, uint64_t now_us);
