/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of the packet buffer pool. */
#include "port_memory.h"

#include <errno.h>
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
	size_t buffer_size = rte_mempool_calc_obj_size(
		(uint32_t)(sizeof(struct rte_mbuf) + m.data_room), 0, NULL);

	/* Besides: the ring of free buffers, at most four pointers' room each, and page rounding.
	 */
	m.pool_size = m.n_buffers * (buffer_size + 4 * sizeof(void *)) + (4 << 20);
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t n_per_page = page_size / buffer_size > 0 ? page_size / buffer_size : 1;

	m.plain_size = m.pool_size + m.n_buffers * (page_size / n_per_page - buffer_size);
	return m;
}

size_t
ports_memory_size(const struct ports *ports, bool is_huge)
{
	struct port_memory m = port_memory_of(ports);

	return is_huge ? m.pool_size : m.plain_size;
}

struct rte_mempool *
port_memory_pool(const struct ports *ports, struct err *err)
{
	struct port_memory m = port_memory_of(ports);
	/* A thread that the kernel stops in the midst of the pool's ring is not to hold up others.
	 */
	const char *ring = ports->n_workers > 1 ? "ring_mt_rts" : NULL;
	struct rte_mempool *pool = rte_pktmbuf_pool_create_by_ops(
		"packets", m.n_buffers, BUFFERS_CACHE, 0, m.data_room, SOCKET_ID_ANY, ring);

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
	return pool;
}
