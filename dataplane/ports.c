/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening and closing of ports, and what the interfaces take from the kernel.  The order of steps
 * is the point of this file: at no moment may the kernel see a packet of ours on an address of its
 * own, for it would answer with a RST.
 */
#include "ports.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "address.h"
#include "bpf_object.h"
#include "guard.h"
#include "interface.h"
#include "log.h"
#include "netlink.h"
#include "port_memory.h"
#include "steer.h"
#include "xsk.h"

#define STEER_OBJECT "steer.bpf.o"
#define NO_DEVICE    UINT16_MAX

/* What we hold of a kernel interface. */
struct port_edge {
	struct steer steer;
	struct guard guard;
	bool is_half_open; /* the driver failed in the midst of a queue */
	bool is_deaf;      /* the XDP program is not ours any more, which was told */
	bool is_gone;      /* the interface was deleted, which was told */
	bool is_another;   /* and another of its name is there, which was told */
};

static int
edge_open(struct port *port, struct err *err)
{
	struct port_edge *edge = calloc(1, sizeof(*edge));

	if (edge == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	int error = steer_own(&edge->steer, port->ifindex, err);

	if (error == 0) {
		error = guard_open(&edge->guard, port->ifindex, err);
		if (error != 0)
			steer_close(&edge->steer);
	}
	if (error == 0)
		port->edge = edge;
	else
		free(edge);
	return error;
}

static void
edge_close(struct port *port, bool remove_guard)
{
	if (port->edge == NULL)
		return;
	guard_close(&port->edge->guard, remove_guard);
	steer_close(&port->edge->steer);
	free(port->edge);
	port->edge = NULL;
}

/* Has DPDK take the device, unless it took it at start (PCI). */
static int
device_probe(struct port *port, unsigned index, struct err *err)
{
	char name[KARMALB_DEVICE_MAX], path[PATH_MAX];
	char arguments[PATH_MAX + 128];
	const char *device = port->conf.device;
	const char *comma = strchr(device, ',');
	int size = comma == NULL ? (int)strlen(device) : (int)(comma - device);
	int error = 0;

	snprintf(name, sizeof(name), "%.*s", size, device);
	snprintf(arguments, sizeof(arguments), "%s", comma == NULL ? "" : comma + 1);
	if (port->kind == PORT_AF_XDP) {
		error = bpf_object_path(STEER_OBJECT, path, err);
		if (error != 0)
			return error;
		snprintf(name, sizeof(name), "net_af_xdp%u", index);
		/* Scattered pages cannot be given to a device: without huge ones it must copy. */
		snprintf(arguments, sizeof(arguments),
			"iface=%s,start_queue=0,queue_count=%u,xdp_prog=%s,force_copy=%d",
			port->interface, port->n_queues, path, rte_eal_has_hugepages() ? 0 : 1);
	}
	if (port->kind != PORT_PCI)
		error = rte_eal_hotplug_add("vdev", name, arguments);
	if (error == 0)
		error = rte_eth_dev_get_port_by_name(name, &port->id);
	if (error == 0)
		return 0;
	return err_set(err, error,
		"port %s: DPDK cannot open device %s (its own words are above): %s",
		port->conf.name, name, strerror(-error));
}

/* Sets up one receive queue and finds its AF_XDP socket. */
static int
queue_open(struct port *port, uint16_t queue, struct rte_mempool *pool, struct err *err)
{
	struct xsk_seen *before = malloc(sizeof(*before));
	uint16_t n_rx = 0, n_tx = 0;

	if (before == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	xsk_look(before);
	bpf_object_kernel_words(); /* older ones are not about this */
	int error = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &n_rx, &n_tx);

	if (error == 0)
		error = rte_eth_rx_queue_setup(
			port->id, queue, n_rx, (unsigned)SOCKET_ID_ANY, NULL, pool);
	if (error == 0)
		error = rte_eth_tx_queue_setup(
			port->id, queue, n_tx, (unsigned)SOCKET_ID_ANY, NULL);
	port->xsk_fds[queue] = xsk_find_new(before);
	free(before);
	if (error != 0)
		return err_set(err, error,
			"port %s: DPDK cannot set up queue %u (its own words are above): %s. %s",
			port->conf.name, queue, strerror(-error), bpf_object_kernel_words());
	if (port->kind == PORT_AF_XDP && port->xsk_fds[queue] < 0)
		return err_set(err, -ENOENT, "port %s: queue %u has no AF_XDP socket",
			port->conf.name, queue);
	return 0;
}

/* From the former program to ours, with its lists filled; the guard stands in meanwhile. */
static int
queues_open(struct port *port, struct rte_mempool *pool, struct err *err)
{
	struct port_edge *edge = port->edge;
	int error = 0;

	if (edge != NULL) {
		error = steer_detach_stale(&edge->steer, err);
		if (error != 0)
			return error;
		edge->is_half_open = true;
	}
	for (uint16_t queue = 0; queue < port->n_queues && error == 0; queue++) {
		error = queue_open(port, queue, pool, err);
		if (error != 0 || edge == NULL || queue > 0)
			continue;
		error = steer_attached(&edge->steer, err);
		if (error == 0)
			error = steer_maps_copy(&edge->steer.maps, &edge->guard.maps, err);
	}
	if (error == 0 && edge != NULL)
		edge->is_half_open = false;
	return error;
}

static int
device_configure(struct port *port, struct err *err)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int error = rte_eth_dev_info_get(port->id, &info);

	if (error == 0 &&
		(info.max_rx_queues < port->n_queues || info.max_tx_queues < port->n_queues))
		port->n_queues = RTE_MIN(info.max_rx_queues, info.max_tx_queues);
	conf.rxmode.mtu = port->mtu;
	if (error == 0 && port->n_queues > 1 && info.flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info.flow_type_rss_offloads &
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	}
	if (error == 0)
		error = rte_eth_dev_configure(port->id, port->n_queues, port->n_queues, &conf);
	if (error != 0)
		return err_set(err, error, "port %s: DPDK cannot configure %s: %s", port->conf.name,
			port->conf.device, strerror(-error));
	return 0;
}

/* Starting makes the interface as promiscuous as DPDK remembers it: let it remember what is. */
static void
keep_promiscuous(const struct port *port)
{
	struct interface_link link;
	struct netlink nl = {0};

	if (netlink_open(&nl) == 0 && interface_read(&nl, port->ifindex, &link) == 0 &&
		link.is_promiscuous)
		rte_eth_promiscuous_enable(port->id);
	netlink_close(&nl);
}

/* As the device says; one that cannot tell is up. */
static bool
has_link(const struct port *port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port->id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

static int
device_start(struct port *port, struct err *err)
{
	struct rte_ether_addr mac;

	if (port->kind == PORT_AF_XDP)
		keep_promiscuous(port);
	int error = rte_eth_dev_start(port->id);

	if (error != 0)
		return err_set(err, error, "port %s: DPDK cannot start %s: %s", port->conf.name,
			port->conf.device, strerror(-error));
	if (port->kind != PORT_AF_XDP) {
		port->is_up = has_link(port);
		if (rte_eth_macaddr_get(port->id, &mac) == 0)
			memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
		return 0;
	}
	port->is_native = port->edge->steer.is_native;
	port->is_zero_copy = xsk_is_zero_copy(port->xsk_fds[0]);
	return 0;
}

static int
port_open(struct ports *ports, unsigned index, struct err *err)
{
	struct port *port = &ports->port[index];
	int error = port->kind == PORT_AF_XDP ? edge_open(port, err) : 0;

	if (error == 0)
		error = device_probe(port, index, err);
	if (error == 0)
		error = device_configure(port, err);
	if (error == 0)
		error = queues_open(port, ports->pool, err);
	if (error == 0)
		error = device_start(port, err);
	return error;
}

/*
 * Closing detaches whatever XDP program is there, so where it is not ours the device stays open
 * until the process ends.  So does one that failed half-way: the driver would free it twice.
 */
static void
device_close(struct port *port)
{
	struct port_edge *edge = port->edge;
	struct err err;

	if (port->id == NO_DEVICE)
		return;
	if (edge != NULL && edge->is_half_open) {
		if (steer_detach_stale(&edge->steer, &err) != 0)
			log_warning("port %s: %s", port->conf.name, err.text);
		return;
	}
	if (edge != NULL && edge->steer.program_id != 0 && !steer_is_ours(&edge->steer, &err)) {
		log_warning("port %s: %s; leaving it as it is", port->conf.name, err.text);
		return;
	}
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	port->id = NO_DEVICE;
}

/* After a failed open: what was there before us stays. */
static void
ports_undo(struct ports *ports)
{
	for (unsigned i = 0; i < ports->n; i++) {
		struct port *port = &ports->port[i];

		device_close(port);
		edge_close(port, port->edge != NULL && !port->edge->guard.is_taken_over);
	}
	rte_mempool_free(ports->pool);
	ports->pool = NULL;
}

int
ports_open(struct ports *ports, struct err *err)
{
	int error = 0;

	for (unsigned i = 0; i < ports->n; i++) {
		ports->port[i].id = NO_DEVICE;
		for (unsigned queue = 0; queue < PORT_QUEUES_MAX; queue++)
			ports->port[i].xsk_fds[queue] = -1;
	}
	ports->pool = port_memory_pool(ports, err);
	if (ports->pool == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < ports->n && error == 0; i++)
		error = port_open(ports, i, err);
	if (error != 0)
		ports_undo(ports);
	return error;
}

/* VIPs and sources, some VIPs more than once. */
struct addresses {
	unsigned n;
	struct karmalb_address list[KARMALB_SERVICES_MAX + KARMALB_SOURCES_MAX];
};

static void
addresses_of(const struct port_intent *intent, struct addresses *addresses)
{
	addresses->n = 0;
	for (unsigned i = 0; i < intent->n_services; i++)
		addresses->list[addresses->n++] = intent->services[i].address;
	for (unsigned i = 0; i < intent->n_sources; i++)
		addresses->list[addresses->n++] = intent->sources[i];
}

/* The guard knows before XDP does, and both before the kernel takes an address for its own. */
int
ports_extend(struct ports *ports, const struct port_intent *intent, struct err *err)
{
	struct addresses addresses;
	int error = 0;

	for (unsigned i = 0; i < ports->n && error == 0; i++) {
		struct port_edge *edge = ports->port[i].edge;

		if (edge == NULL)
			continue;
		error = steer_maps_add(&edge->guard.maps, intent, err);
		if (error == 0)
			error = steer_maps_add(&edge->steer.maps, intent, err);
	}
	addresses_of(intent, &addresses);
	for (unsigned i = 0; i < ports->n && error == 0 && ports->is_assigning; i++) {
		if (ports->port[i].edge != NULL)
			error = addresses_add(
				ports->port[i].ifindex, addresses.list, addresses.n, err);
	}
	return error;
}

/* And on the way out the other way round. */
static int
remove_others(struct ports *ports, const struct port_intent *intent, struct err *err)
{
	struct addresses addresses = {0};
	int error = 0;

	if (ports->is_assigning)
		addresses_of(intent, &addresses);
	for (unsigned i = 0; i < ports->n && error == 0; i++) {
		if (ports->port[i].edge != NULL)
			error = addresses_remove_except(
				ports->port[i].ifindex, addresses.list, addresses.n, err);
	}
	for (unsigned i = 0; i < ports->n && error == 0; i++) {
		struct port_edge *edge = ports->port[i].edge;

		if (edge == NULL)
			continue;
		error = steer_maps_remove_others(&edge->steer.maps, intent, err);
		if (error == 0)
			error = steer_maps_remove_others(&edge->guard.maps, intent, err);
	}
	return error;
}

int
ports_serve(struct ports *ports, const struct port_intent *intent, struct err *err)
{
	int error = ports_extend(ports, intent, err);
	/* What cannot be added is no reason to keep what is to go; the first reason is told. */
	int second = remove_others(ports, intent, error == 0 ? err : NULL);

	return error != 0 ? error : second;
}

bool
ports_look(struct ports *ports)
{
	bool is_changed = false;

	for (unsigned i = 0; i < ports->n; i++) {
		struct port *port = &ports->port[i];

		if (port_has_interface(port) || has_link(port) == port->is_up)
			continue;
		port_set_up(port, !port->is_up);
		is_changed = true;
	}
	return is_changed;
}

/* An interface that is made again is another one, and only a start opens it. */
static void
look_at_interface(const struct port *port, struct port_edge *edge)
{
	char name[IF_NAMESIZE];

	if (!edge->is_gone && if_indextoname(port->ifindex, name) == NULL) {
		edge->is_gone = true;
		log_error("port %s: interface %s is gone; once there is one again, "
			  "karmalb-dataplane is to be started again",
			port->conf.name, port->interface);
	}
	if (edge->is_gone && !edge->is_another && if_nametoindex(port->interface) != 0) {
		edge->is_another = true;
		log_error("port %s: interface %s is there again, but not the one that was opened; "
			  "nothing comes in there until karmalb-dataplane is started again",
			port->conf.name, port->interface);
	}
}

void
ports_look_at_programs(struct ports *ports)
{
	struct err err;

	for (unsigned i = 0; i < ports->n; i++) {
		struct port *port = &ports->port[i];
		struct port_edge *edge = port->edge;

		if (edge == NULL)
			continue;
		look_at_interface(port, edge);
		/* No way leads back: ours is attached at start. */
		if (edge->is_gone || edge->is_deaf || steer_is_ours(&edge->steer, &err))
			continue;
		edge->is_deaf = true;
		log_error("port %s: %s; nothing comes in there until karmalb-dataplane is started "
			  "again",
			port->conf.name, err.text);
	}
}

void
ports_read(const struct port *port, struct port_counters *counters)
{
	/* The AF_XDP driver of DPDK 22.11 writes its values per queue beyond the 16 queues that the
	 * struct has room for. */
	struct {
		struct rte_eth_stats stats;
		uint64_t room[2 * PORT_QUEUES_MAX];
	} device;

	*counters = (struct port_counters){0};
	if (rte_eth_stats_get(port->id, &device.stats) == 0)
		*counters = (struct port_counters){.rx_missed = device.stats.imissed,
			.rx_packets = device.stats.ipackets,
			.rx_bytes = device.stats.ibytes,
			.tx_packets = device.stats.opackets,
			.tx_bytes = device.stats.obytes};
	if (port->edge == NULL)
		return;
	counters->rx_missed = 0; /* from the sockets themselves */
	for (uint16_t queue = 0; queue < port->n_queues; queue++)
		counters->rx_missed += xsk_missed(port->xsk_fds[queue]);
	counters->steered = steer_maps_count(&port->edge->steer.maps, STEER_COUNTER_TAKEN);
	counters->passed = steer_maps_count(&port->edge->steer.maps, STEER_COUNTER_PASSED);
	counters->guard_drops = guard_drops(&port->edge->guard);
}

void
ports_close(struct ports *ports)
{
	struct err err;

	if (ports == NULL || ports->pool == NULL)
		return;
	for (unsigned i = 0; i < ports->n; i++) {
		struct port *port = &ports->port[i];

		if (port->edge != NULL &&
			addresses_remove_except(port->ifindex, NULL, 0, &err) != 0)
			log_warning("port %s: %s", port->conf.name, err.text);
	}
	for (unsigned i = 0; i < ports->n; i++) {
		device_close(&ports->port[i]);
		edge_close(&ports->port[i], true);
	}
	rte_mempool_free(ports->pool);
	ports->pool = NULL;
}
