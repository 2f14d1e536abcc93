/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who owns what among several workers: flows, so that each is touched by one thread only, and
 * device queues, which drivers allow one thread at a time.  Every worker comes to the same answer
 * from the packet alone, whichever queue it came in on.  Pure.
 */
#pragma once

#include "flow.h"
#include "lookup.h"
#include "source_port.h"

/*
 * The worker that owns the flow of a packet with this key and hash: from the mirror's side the one
 * in whose slice of source ports the flow's port is, else the client's by hash.  A packet to a
 * source port of no slice can be of no flow: then it is the asker's.
 */
static inline unsigned
owner_of(const struct tables *tables, const struct flow_table *table, const struct flow_key *key,
	uint64_t hash)
{
	if (lookup_source(tables, &key->destination) == LOOKUP_NONE)
		return flow_client_owner(hash, table->n_workers);
	int owner =
		source_port_owner(__builtin_bswap16(key->destination_port_be), table->n_workers);

	return owner < 0 ? table->number : (unsigned)owner;
}

/*
 * Queues of all ports are dealt out to the workers in turn.  'before' is how many queues the ports
 * before this one have together.
 */
static inline unsigned
owner_of_queue(unsigned before, unsigned queue, unsigned n_workers)
{
	return (before + queue) % n_workers;
}

/*
 * The queue of a port with 'n_queues' on which a worker's packets leave: always the same one, so
 * that they keep their order, and one of its own where it has any.
 */
static inline unsigned
owner_queue_to_send(unsigned before, unsigned n_queues, unsigned worker, unsigned n_workers)
{
	return (worker + n_workers - before % n_workers) % n_workers % n_queues;
}
