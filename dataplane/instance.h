/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that one running data plane holds: ports, memory, next hops, workers, totals.  Opened
 * and closed in one order.  Control thread only; the parts say themselves what workers may touch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "doorbell.h"
#include "eal.h"
#include "err.h"
#include "flow_memory.h"
#include "handover.h"
#include "ports.h"
#include "snapshot.h"

struct next_hops;
struct options;
struct totals;
struct worker;

struct instance {
	const struct options *options;
	uint64_t id;         /* random; totals of two instances do not mix */
	uint64_t started_us; /* CLOCK_MONOTONIC */
	struct eal eal;
	struct ports ports;
	uint64_t packet_size; /* bytes of DPDK memory: packets and rings, in its kind of pages */
	struct flow_memory memory;
	struct next_hops *next_hops;
	struct snapshots snapshots;
	struct doorbell sample_bell; /* workers ring, control sleeps */
	struct handover handover;    /* between workers */
	struct worker *workers;
	unsigned n_workers;
	unsigned n_launched;
	struct totals *totals;
};

/*
 * Brings all of it up, ending with the workers, which forward nothing until a snapshot with a
 * service comes.  Logs what it has found.  'options' outlive the instance.  0, or a negative errno
 * and a sentence, with everything undone.
 */
int
instance_start(struct instance *inst, const struct options *options, struct err *err);

/* Clean stop: workers return, addresses, XDP program and guard go. */
void
instance_stop(struct instance *inst);

/* The ports as a snapshot needs them; returns their number. */
unsigned
instance_table_ports(const struct instance *inst, struct table_port ports[KARMALB_PORTS_MAX]);

/* Wakes workers that sleep, so that they see a new snapshot. */
void
instance_wake_workers(struct instance *inst);
