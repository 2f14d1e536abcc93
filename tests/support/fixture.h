/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker without a device: snapshot, flow memory, pipeline, and a clock that tests move by hand.
 * One service 10.0.0.1:80, mirrors 10.1.0.1, .2, ... :8080, sources 10.2.0.1, .2, ...; port 0
 * leads to the clients, port 1 to the mirrors.
 */
#pragma once

#include "flow.h"
#include "frames.h"
#include "pipeline.h"

#define FIXTURE_VIP         0x0a000001u
#define FIXTURE_VIP_PORT    80
#define FIXTURE_MIRROR      0x0a010001u
#define FIXTURE_MIRROR_PORT 8080
#define FIXTURE_SOURCE      0x0a020001u
#define FIXTURE_CLIENT      0xc0a80001u
#define FIXTURE_START_US    (UINT64_C(5000000) * 1000) /* beyond what 32 bits of us hold */
#define FIXTURE_HEADROOM    8                          /* before a frame, see pipeline.h */
#define FIXTURE_SEEN_MAX    4096

struct fixture_conf {
	unsigned n_mirrors;     /* 0: 4 */
	unsigned n_sources;     /* 0: 2 */
	uint64_t max_flows;     /* 0: 1000 */
	uint64_t max_half_open; /* 0: 100 */
	unsigned n_workers;     /* 0: 1 */
};

struct fixture {
	struct tables tables;
	struct flow_header *header;
	struct flow_table flows;
	struct pipeline pipeline;
	struct slot_counters *slots;
	struct sample samples[PIPELINE_SAMPLES_MAX];
	struct sample seen[FIXTURE_SEEN_MAX]; /* all samples since the last fixture_forget() */
	unsigned n_seen;
	uint64_t now_us;
	uint8_t sent[FIXTURE_HEADROOM + FRAME_MAX]; /* the last frame that was sent, as it left */
	unsigned sent_size;
};

/* What became of one packet. */
struct fixture_result {
	bool is_sent;
	uint8_t port_out;
	enum karmalb_worker_counter reason; /* the one drop counter that moved, else 0 */
	struct segment out;                 /* what was sent, its checksums verified */
};

void
fixture_init(struct fixture *f, const struct fixture_conf *conf);
void
fixture_fini(struct fixture *f);

/* Rebuilds the alias table; shares of the mirrors in order. */
void
fixture_shares(struct fixture *f, const double *shares, unsigned n);

/* Runs one frame through the pipeline; exactly one verdict and at most one drop is checked. */
struct fixture_result
fixture_send(struct fixture *f, uint8_t port_in, const struct segment *segment);
struct fixture_result
fixture_send_frame(struct fixture *f, uint8_t port_in, const uint8_t *bytes, unsigned size);

/* The same for bytes of any kind, whose checksums may be wrong: 'out' is not filled. */
struct fixture_result
fixture_send_bytes(struct fixture *f, uint8_t port_in, const uint8_t *bytes, unsigned size);

/* Lets time pass in steps of 1 ms, with a tick at each. */
void
fixture_pass(struct fixture *f, uint64_t us);

/* All drop counters together. */
uint64_t
fixture_drops(const struct fixture *f);

void
fixture_forget(struct fixture *f);

/* Samples seen of that kind, and of that outcome for failures. */
unsigned
fixture_count(const struct fixture *f, enum sample_kind kind, int outcome);
