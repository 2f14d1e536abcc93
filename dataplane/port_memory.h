/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one packet buffer pool of all ports and queues: a packet from another pool would be copied on
 * transmit.  Of ports_*; control thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct ports;
struct rte_mempool;

/*
 * The largest MTU of a port.  AF_XDP wants a buffer within one page of 4,096 bytes, the pool makes
 * of it an odd number of cache lines, 4,032 bytes; of these 192 are the pool's and the mbuf's
 * headers, 128 DPDK's headroom, 256 XDP's headroom, 22 Ethernet's header with two VLAN tags.
 */
#define PORT_MTU_MAX     3434u
#define PORT_MTU_DEFAULT 1500u /* of devices without a kernel interface */

struct port_memory {
	unsigned n_buffers;       /* some more than are needed: see port_memory_pool() */
	uint16_t data_room;       /* bytes per buffer behind its struct rte_mbuf */
	uint16_t plain_data_room; /* the same without huge pages */
	size_t pool_size;         /* bytes, all told */
	size_t plain_size;        /* the same without huge pages */
};

/* What the checked ports need. */
struct port_memory
port_memory_of(const struct ports *ports);

/*
 * Has at least what the ports' rings, the workers and the rings between these can hold at a time,
 * and only buffers that every device reaches.  NULL, with a sentence, where memory does not suffice
 * or is not one piece.
 */
struct rte_mempool *
port_memory_pool(const struct ports *ports, struct err *err);
