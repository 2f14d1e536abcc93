/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers without a device that serve in all modes, for oracle and fuzzer: TCP and UDP, each over
 * IPv4 and IPv6.  What one of them finds to be another's is given to that one, as a hand-over ring
 * would.
 *
 * Services 10.0.0.1 and 2001:db8::1, port 80 TCP and 53 UDP; each has the mirrors 10.1.0.1 and .2,
 * resp. 2001:db8:1::1 and ::2, port 8080 and 5353; sources 10.2.0.1 and 2001:db8:2::1; port 0 leads
 * to the clients, port 1 to the mirrors.
 */
#pragma once

#include "flow.h"
#include "pipeline.h"

#define MODES_N_SERVICES 4
#define MODES_N_MIRRORS  2
#define MODES_N_SLOTS    (MODES_N_SERVICES * MODES_N_MIRRORS)
#define MODES_FRAME_MAX  4096
#define MODES_START_US   UINT64_C(5000000000)

#define MODES_WORKERS_MAX 2

struct modes_conf {
	uint64_t max_flows;
	uint64_t max_half_open;
	unsigned n_workers; /* 0: 1 */
};

struct modes_worker {
	struct slot_counters slot_counters[KARMALB_SLOTS_MAX];
	struct sample samples[PIPELINE_SAMPLES_MAX];
	struct flow_table flows;
	struct pipeline pipeline;
};

struct modes {
	struct tables tables;
	struct table_alias columns[MODES_N_SLOTS];
	struct table_slot slots[MODES_N_SLOTS] __attribute__((aligned(64)));
	struct modes_conf conf;
	struct flow_header *header;
	struct modes_worker workers[MODES_WORKERS_MAX];
	unsigned n_workers;
	uint64_t now_us;
	uint64_t n_of_kind[SAMPLE_FAILURE + 1]; /* samples by enum sample_kind */
};

/* What became of a packet. */
struct modes_result {
	bool is_sent;
	uint8_t port_out;
	uint16_t size; /* of what was sent */
	uint8_t bytes[MODES_FRAME_MAX + 8];
	const char *reason; /* the name of its drop counter; NULL if it was sent */
};

void
modes_open(struct modes *m, const struct modes_conf *conf);
void
modes_close(struct modes *m);

/* Makes an open one as it was when it was opened; much cheaper than opening it again. */
void
modes_restart(struct modes *m);

/*
 * Runs one frame, at most MODES_FRAME_MAX bytes, that worker 0 receives through the pipeline, in
 * memory of just the size that the pipeline is promised.  Aborts unless it is either sent or
 * counted under one reason, or answers a probe.
 */
void
modes_send(struct modes *m, uint8_t port_in, const uint8_t *bytes, unsigned size,
	struct modes_result *result);

/* One of a burst; 'bytes' stay the caller's. */
struct modes_packet {
	uint8_t port_in;
	uint8_t worker; /* who receives it */
	const uint8_t *bytes;
	unsigned size;
};

/*
 * The same for up to PIPELINE_BURST_MAX frames at once, with a result each; each worker has those
 * that it receives in one burst, then those handed to it in another.  Aborts unless as many were
 * counted under reasons as were not sent; which one was whose it cannot say: 'reason' is NULL.
 */
void
modes_send_burst(struct modes *m, const struct modes_packet *packets, unsigned n,
	struct modes_result *results);

/* Lets time pass, with ticks as workers have them. */
void
modes_pass(struct modes *m, uint64_t us);

/* After what is none of the above: as control does, so that there is room again. */
void
modes_take_samples(struct modes *m);

/* Of all workers. */
uint64_t
modes_count(const struct modes *m, enum karmalb_worker_counter counter);
