/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source ports towards the mirrors.  Each worker has a slice of its own, so that a reply's port
 * names the worker that owns the flow.  The flow table itself is the allocation: a port is free
 * when no record, resting ones included, holds (source, port, mirror).  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow.h"

#define SOURCE_PORT_PROBES 16 /* ports tried of one source address */
#define SOURCE_PORT_TRIES  8  /* source addresses tried */

struct source_port {
	struct flow_key key; /* of the mirror's packets; holds address and port */
	uint64_t hash;       /* of 'key' */
	uint8_t source;      /* index into tables.sources */
};

/* Ports a worker has when there are 'n_workers'. */
static inline uint16_t
source_port_slice(unsigned n_workers)
{
	return (uint16_t)(FLOW_PORTS / n_workers);
}

/* The first one of 'worker'. */
static inline uint16_t
source_port_first(unsigned worker, unsigned n_workers)
{
	return (uint16_t)(FLOW_PORT_FIRST + worker * source_port_slice(n_workers));
}

/* The worker that owns what is sent to source port 'port' (host order), or -1. */
static inline int
source_port_owner(uint16_t port, unsigned n_workers)
{
	unsigned owner = (unsigned)(port - FLOW_PORT_FIRST) / source_port_slice(n_workers);

	return port >= FLOW_PORT_FIRST && owner < n_workers ? (int)owner : -1;
}

/*
 * Finds a free port towards the mirror of 'slot': the next ones after the last taken, so that a
 * port is used again as late as possible, of the source address that 'random' names, then of those
 * after it.  Bounded by SOURCE_PORT_TRIES * SOURCE_PORT_PROBES look-ups.  Returns false when all of
 * them were taken.  Owning worker.
 */
bool
source_port_find(struct flow_table *table, const struct tables *tables, uint16_t slot,
	uint32_t random, struct source_port *found);
