/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports: where packets come from and go to, and what the kernel keeps beside us on the same
 * interface (steering, guard, addresses).  The only caller of DPDK's ethdev set-up.  Control thread
 * only; workers may read a port's 'id', 'n_queues' and 'xsk_fds' once they run, for these stay.
 *
 *   fill n and port[].conf ─ ports_check() ─ eal_start() ─ ports_open() ─ ports_serve() ...
 *   ... stop the workers ─ ports_close() ─ eal_stop()
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

#include "err.h"
#include "static_neighbour.h"

#define PORT_QUEUES_MAX KARMALB_WORKERS_MAX

struct port_edge;
struct rte_mempool;

enum port_checksum {
	PORT_CHECKSUM_AUTO,    /* partial where the interface's driver is veth, else wire */
	PORT_CHECKSUM_WIRE,    /* L4 checksums are as on a wire */
	PORT_CHECKSUM_PARTIAL, /* may hold the pseudo-header's sum only */
};

enum port_kind {
	PORT_AF_XDP, /* "af_xdp:IFACE": a kernel interface, shared with the kernel */
	PORT_VDEV,   /* "net_null0", "net_ring0", ...: one of DPDK's virtual devices */
	PORT_PCI,    /* "0000:03:00.0": a NIC that is DPDK's */
};

struct port_conf {
	char name[KARMALB_NAME_MAX];
	char device[KARMALB_DEVICE_MAX]; /* DPDK device string, or "af_xdp:IFACE" */
	enum port_checksum rx_checksum;
	bool is_reply_by_route;      /* for tables.ports; false: replies go to the learned MAC */
	bool may_take_default_route; /* the interface may be the one of the host's default route */
};

struct port {
	struct port_conf conf; /* intent: the caller fills it */

	/* ports_check() writes */
	enum port_kind kind;
	char interface[IF_NAMESIZE]; /* empty: no kernel interface */
	unsigned ifindex;            /* 0: no kernel interface */
	bool is_partial_checksum;

	/* ports_open() writes; constant while the port is open */
	uint16_t id;                  /* DPDK's number of it */
	uint16_t n_queues;            /* pairs of one rx and one tx queue */
	int xsk_fds[PORT_QUEUES_MAX]; /* AF_XDP descriptor to ppoll() on; -1: none */
	bool is_zero_copy;
	bool is_native; /* XDP runs in the driver; false: generic, slower */

	/* ports_check(), then next_hops_process() write */
	uint8_t mac[6];
	uint32_t mtu;
	bool is_up;           /* administratively, and has link */
	uint64_t link_losses; /* times that 'is_up' became false; whoever writes that counts */

	struct port_edge *edge; /* of ports.c: what we hold of the interface; NULL: nothing */
};

struct ports {
	unsigned n;
	struct port port[KARMALB_PORTS_MAX];
	struct rte_mempool *pool; /* the one pool of all ports and queues */
	bool is_assigning;        /* caller: put VIPs and sources on the interfaces */
	/* Caller: who is behind ports without a kernel interface. */
	struct static_neighbour neighbours[KARMALB_NEIGHBOURS_MAX];
	unsigned n_neighbours;
	uint16_t n_workers; /* ports_check() writes */
};

/* What we serve: at most KARMALB_SERVICES_MAX and KARMALB_SOURCES_MAX. */
struct port_intent {
	const struct karmalb_endpoint *services;
	const struct karmalb_address *sources;
	unsigned n_services;
	unsigned n_sources;
};

/* Cumulative; from 0 at ports_open(). */
struct port_counters {
	uint64_t rx_missed;       /* the device had no room for them */
	uint64_t steered, passed; /* XDP: to us, to the kernel */
	uint64_t guard_drops;     /* ours, slipped past XDP, kept from the kernel */
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
};

/*
 * Looks at each port's device without changing anything: it exists, is up, has a fitting MTU,
 * queues that the driver can take, no foreign XDP program and no living owner.  A device without
 * queues of its own gets one for each of the 'n_workers'.  Needs no EAL.  0, or a negative errno
 * and a sentence.
 */
int
ports_check(struct ports *ports, uint16_t n_workers, struct err *err);

/* Bytes of DPDK memory, in huge pages or in others, that ports_open() needs.  After ports_check().
 */
size_t
ports_memory_size(const struct ports *ports, bool is_huge);

/*
 * Opens and starts all ports.  From here on packets for what is served arrive in the queues, and
 * the kernel sees none of them: what an instance that was killed had served stays served (its
 * guard's lists are taken over) until the first ports_serve().  On failure everything is undone,
 * except that such a guard stays.
 */
int
ports_open(struct ports *ports, struct err *err);

/*
 * Adds what 'intent' has to steering, guard and addresses, and removes nothing: for the sources at
 * start, while what a killed instance had served is not known anew yet.  Idempotent.
 */
int
ports_extend(struct ports *ports, const struct port_intent *intent, struct err *err);

/*
 * Makes steering, guard and addresses of all interfaces equal to 'intent', in the order that lets
 * the kernel answer none of it at any moment.  Idempotent.  On failure what could be done is done;
 * call it again.
 */
int
ports_serve(struct ports *ports, const struct port_intent *intent, struct err *err);

/* Reads what devices and BPF programs counted; a few syscalls. */
void
ports_read(const struct port *port, struct port_counters *counters);

/*
 * Clean stop: addresses that we added, program, queues and guard go, in this order.  Where another
 * XDP program has replaced ours the interface is left alone, with a warning in the log.  NULL or
 * never opened is fine.
 */
void
ports_close(struct ports *ports);

/*
 * Whether the kernel knows the port: it then has XDP program, guard and addresses, and its link,
 * MAC, routes and neighbours are the kernel's.  Where not there is nothing of these, ARP and ND are
 * not answered, and who is behind it are ports.neighbours.
 */
static inline bool
port_has_interface(const struct port *port)
{
	return port->ifindex != 0;
}

/* Some port has one. */
bool
ports_have_interface(const struct ports *ports);

/* Reads the link of ports without a kernel interface, for nobody tells of it.  True: one changed.
 */
bool
ports_look(struct ports *ports);

/*
 * Says in the log, once, where a port's interface was deleted, or another of its name was made; and
 * where ours is not its XDP program any more: its packets then go to the kernel, where the guard
 * drops them.
 */
void
ports_look_at_programs(struct ports *ports);

/* Sets 'is_up' and counts. */
void
port_set_up(struct port *port, bool is_up);

/* How many queues the ports of a kind have together. */
unsigned
ports_n_queues(const struct ports *ports, enum port_kind kind);

/* The index of the port on kernel interface 'ifindex', or -1. */
int
ports_find(const struct ports *ports, unsigned ifindex);
