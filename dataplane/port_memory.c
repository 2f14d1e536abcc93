/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of the packet buffer pool, and the buffers that a device cannot reach. */
#include "port_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "handover.h"
#include "ports.h"

/* Fill ring, receive, transmit and completion ring of 2,048 each. */
#define BUFFERS_PER_QUEUE 8192
/* What a worker holds: bursts, its cache of the pool.  The rings between workers come on top. */
#define BUFFERS_PER_WORKER 2048
#define BUFFERS_CACHE      256
#define ETHERNET_SIZE      (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)
/* Of which port_memory_pool() may set aside one in so many. */
#define BUFFERS_PER_SPARE 32

/*
 * Without huge pages a buffer has a page to itself.  It fills that as far as it can, since what
 * pages waste is out of reach: see set_aside_unreachable().  Odd in cache lines, or the pool would
 * add one more.
 */
#define PLAIN_BUFFER_SIZE (4096u - RTE_CACHE_LINE_SIZE)

static size_t
buffer_size(uint16_t data_room)
{
	return rte_mempool_calc_obj_size((uint32_t)sizeof(struct rte_mbuf) + data_room, 0, NULL);
}

static uint16_t
plain_data_room(uint16_t data_room)
{
	size_t size = buffer_size(data_room);

	return size < PLAIN_BUFFER_SIZE ? (uint16_t)(data_room + PLAIN_BUFFER_SIZE - size)
					: data_room;
}

struct port_memory
port_memory_of(const struct ports *ports)
{
	struct port_memory m = {
		.n_buffers = BUFFERS_PER_WORKER * ports->n_workers +
			     handover_n_buffers(ports->n_workers),
		.data_room = RTE_MBUF_DEFAULT_BUF_SIZE,
	};

	for (unsigned i = 0; i < ports->n; i++) {
		const struct port *port = &ports->port[i];
		uint32_t room =
			RTE_PKTMBUF_HEADROOM + XDP_PACKET_HEADROOM + port->mtu + ETHERNET_SIZE;

		room = RTE_ALIGN_CEIL(room, RTE_CACHE_LINE_SIZE);
		if (room > m.data_room)
			m.data_room = (uint16_t)room;
		m.n_buffers += BUFFERS_PER_QUEUE * port->n_queues;
	}
	m.n_buffers += m.n_buffers / BUFFERS_PER_SPARE + 1;

	/* Besides: the ring of free buffers, at most four pointers' room each, and page rounding.
	 */
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t rest = m.n_buffers * 4 * sizeof(void *) + (4 << 20);

	m.pool_size = m.n_buffers * buffer_size(m.data_room) + rest;
	m.plain_data_room = plain_data_room(m.data_room);
	m.plain_size =
		m.n_buffers * RTE_ALIGN_CEIL(buffer_size(m.plain_data_room), page_size) + rest;
	return m;
}

size_t
ports_memory_size(const struct ports *ports, bool is_huge)
{
	struct port_memory m = port_memory_of(ports);

	return is_huge ? m.pool_size : m.plain_size;
}

/*
 * The AF_XDP driver of DPDK 22.11 tells the kernel that the pool is as long as its buffers one
 * after the other, but no buffer crosses a page's border, so the last ones lie beyond.  The kernel
 * takes such a buffer off the fill ring and says nothing; once all in the ring were of that kind
 * the port would receive nothing for ever.  (Mended in DPDK 24.07, "net/af_xdp: parse UMEM map info
 * from mempool".)  So they are taken and never given back; the pool's memory goes as a whole.
 */
static int
set_aside_unreachable(struct rte_mempool *pool)
{
	const struct rte_mempool_memhdr *memory = STAILQ_FIRST(&pool->mem_list);
	size_t size = rte_mempool_calc_obj_size(pool->elt_size, pool->flags, NULL);
	const char *end = (const char *)memory->addr + pool->populated_size * size;
	unsigned n = rte_mempool_avail_count(pool);
	void **buffers = calloc(n, sizeof(*buffers));

	if (buffers == NULL)
		return -ENOMEM;
	int error = rte_mempool_get_bulk(pool, buffers, n);

	for (unsigned i = 0; i < n && error == 0; i++)
		if ((const char *)buffers[i] - pool->header_size + size <= end)
			rte_mempool_generic_put(pool, &buffers[i], 1, NULL);
	free(buffers);
	return error;
}

struct rte_mempool *
port_memory_pool(const struct ports *ports, struct err *err)
{
	struct port_memory m = port_memory_of(ports);
	uint16_t data_room = rte_eal_has_hugepages() ? m.data_room : m.plain_data_room;
	/* A thread that the kernel stops in the midst of the pool's ring is not to hold up others.
	 */
	const char *ring = ports->n_workers > 1 ? "ring_mt_rts" : NULL;
	struct rte_mempool *pool = rte_pktmbuf_pool_create_by_ops(
		"packets", m.n_buffers, BUFFERS_CACHE, 0, data_room, SOCKET_ID_ANY, ring);

	if (pool == NULL) {
		err_set(err, -rte_errno, "cannot allocate %zu MiB for packets: %s",
			ports_memory_size(ports, rte_eal_has_hugepages()) >> 20,
			rte_strerror(rte_errno));
		return NULL;
	}
	if (pool->nb_mem_chunks != 1) {
		err_set(err, -ENOMEM,
			"memory for packets (%zu MiB) is not one piece but %u: huge pages are too "
			"few or too scattered; free some, or do without (huge_pages = \"0\")",
			m.pool_size >> 20, pool->nb_mem_chunks);
		rte_mempool_free(pool);
		return NULL;
	}
	if (ports_n_queues(ports, PORT_AF_XDP) > 0 && set_aside_unreachable(pool) != 0) {
		err_set(err, -ENOMEM, "no memory to look through the packet buffers");
		rte_mempool_free(pool);
		return NULL;
	}
	return pool;
}
