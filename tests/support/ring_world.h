/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real workers on EAL's threads, with everything that a running data plane gives them but control
 * thread and kernel: packet pool, flow memory, snapshots, hand-over rings.  Their ports are DPDK's
 * ring devices, the other end of which is the test's thread: it is the wire.  One at a time; EAL
 * starts with the first and lasts.  Whatever goes wrong here fails the Check test in hand.
 *
 * Services 10.0.0.1, port 80 TCP (drawn) and port 53 UDP (in turn), mirrors 10.1.0.1 to .4, port
 * 8080 and 5353: slots 0 to 3 and 4 to 7; sources 10.2.0.1 and .2.  With one port all are behind
 * it; with two port 0 leads to the clients, port 1 to the mirrors.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <karmalb/counters.h>

#include "instance.h"

#define RING_WORLD_VIP         0x0a000001u
#define RING_WORLD_MIRROR      0x0a010001u
#define RING_WORLD_SOURCE      0x0a020001u
#define RING_WORLD_N_MIRRORS   4 /* of each service */
#define RING_WORLD_WORKERS_MAX 3
#define RING_WORLD_PORTS_MAX   2
#define RING_WORLD_QUEUES_MAX  3
#define RING_WORLD_FRAME_MAX   256
#define RING_WORLD_DEVICE_SIZE 4096 /* packets that a queue's ring holds, and one more */

enum ring_world_service {
	RING_WORLD_TCP,
	RING_WORLD_UDP,
};

struct ring_world_conf {
	unsigned n_workers, n_ports;
	unsigned n_queues;         /* of each port */
	uint32_t query_timeout_ms; /* 0: none that comes into the story */
};

struct ring_world {
	struct ring_world_conf conf;
	struct instance instance;
	struct rte_ring *in[RING_WORLD_PORTS_MAX][RING_WORLD_QUEUES_MAX];
	struct rte_ring *out[RING_WORLD_PORTS_MAX][RING_WORLD_QUEUES_MAX];
	bool is_launched[RING_WORLD_WORKERS_MAX];
	atomic_bool has_returned[RING_WORLD_WORKERS_MAX];
	unsigned n_free; /* packet buffers, before there was any packet */
	uint32_t epoch;
};

/* Services are in force from the start; no worker runs yet. */
void
ring_world_open(struct ring_world *world, const struct ring_world_conf *conf);

void
ring_world_launch(struct ring_world *world, unsigned worker);

/* One frame from the wire.  False: the device has no room for it, nothing was done. */
bool
ring_world_put(struct ring_world *world, unsigned port, unsigned queue, const uint8_t *frame,
	unsigned size);

/* One frame to the wire, into RING_WORLD_FRAME_MAX bytes.  Returns its size; 0: there is none. */
unsigned
ring_world_take(struct ring_world *world, unsigned port, unsigned queue, uint8_t *frame);

/* Puts a new snapshot with other shares in force, unless too many old ones are still in use. */
void
ring_world_change(struct ring_world *world);

/* Has all workers that run end the flows to the mirrors of a service, and waits for it; returns how
 * many flows that were. */
uint64_t
ring_world_reset(struct ring_world *world, enum ring_world_service service);

/* What control does all the time: samples and counters into the totals. */
void
ring_world_collect(struct ring_world *world);

/* Of all slots of all workers, whose samples stay where they are. */
uint64_t
ring_world_outcomes(const struct ring_world *world, enum karmalb_outcome outcome);

/* Any time. */
uint64_t
ring_world_count(
	const struct ring_world *world, unsigned worker, enum karmalb_worker_counter counter);

/* Of all workers; all drop counters together. */
uint64_t
ring_world_sum(const struct ring_world *world, enum karmalb_worker_counter counter);
uint64_t
ring_world_drops(const struct ring_world *world);

/* Workers return; counters may be read still. */
void
ring_world_stop(struct ring_world *world);

/* Checks that of the packet buffers every one is back. */
void
ring_world_close(struct ring_world *world);
