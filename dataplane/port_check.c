/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be said of ports before anything is opened: their kind, whether the kernel's interface
 * fits, and how much memory they need.  Changes nothing.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "bpf_object.h"
#include "interface.h"
#include "netlink.h"
#include "port_memory.h"
#include "ports.h"
#include "route.h"
#include "steer.h"

#define AF_XDP_PREFIX "af_xdp:"

static enum port_kind
kind_of(const char *device)
{
	unsigned a, b, c, d;
	int size = 0;

	if (strncmp(device, AF_XDP_PREFIX, strlen(AF_XDP_PREFIX)) == 0)
		return PORT_AF_XDP;
	/* "0000:03:00.0" or "03:00.0", with ",key=value" behind it or without */
	if (sscanf(device, "%x:%x:%x.%x%n", &a, &b, &c, &d, &size) == 4 ||
		sscanf(device, "%x:%x.%x%n", &a, &b, &c, &size) == 3) {
		if (device[size] == '\0' || device[size] == ',')
			return PORT_PCI;
	}
	return PORT_VDEV;
}

static int
check_link(const struct port *port, const struct interface_link *link, struct err *err)
{
	if (!link->is_ethernet)
		return err_set(err, -EINVAL, "port %s: %s is not an Ethernet interface",
			port->conf.name, port->interface);
	if (!link->is_enabled)
		return err_set(err, -ENETDOWN,
			"port %s: interface %s is down; bring it up first: ip link set %s up",
			port->conf.name, port->interface, port->interface);
	if (link->mtu > PORT_MTU_MAX)
		return err_set(err, -EMSGSIZE,
			"port %s: interface %s has MTU %u, but a packet must fit one buffer: at "
			"most %u; run: ip link set %s mtu %u",
			port->conf.name, port->interface, link->mtu, PORT_MTU_MAX, port->interface,
			PORT_MTU_MAX);
	return 0;
}

/*
 * Packets that arrive on a queue of nobody's are lost, so all of the interface's must be ours.  The
 * driver takes the combined ones, or the first one where there are none.
 */
static int
check_queues(struct port *port, const struct interface_device *device, struct err *err)
{
	unsigned n_taken = device->n_combined > 0 ? device->n_combined : 1;

	if (device->n_queues > n_taken)
		return err_set(err, -EINVAL,
			"port %s: interface %s has %u receive queues, of which DPDK's AF_XDP "
			"driver takes %u; packets on the others would be lost; run: ethtool -L %s %s",
			port->conf.name, port->interface, device->n_queues, n_taken,
			port->interface, device->n_combined > 0 ? "rx 0" : "rx 1 tx 1");
	if (n_taken > PORT_QUEUES_MAX)
		return err_set(err, -EINVAL,
			"port %s: interface %s has %u queues, at most %u are taken; packets on "
			"the others would be lost; run: ethtool -L %s combined %u",
			port->conf.name, port->interface, n_taken, PORT_QUEUES_MAX, port->interface,
			PORT_QUEUES_MAX);
	port->n_queues = (uint16_t)n_taken;
	return 0;
}

/*
 * Whoever loses the interface of the default route may lose the host: many drivers reset their
 * queues when a program is put on them, and a wrong service takes what was meant for the host.
 */
static int
check_default_route(const struct port *port, struct netlink *nl, struct err *err)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct route best, ours;

	if (port->conf.may_take_default_route)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		/* One of several next hops is enough. */
		if (route_default(nl, families[i], 0, &best) == 0 &&
			route_default(nl, families[i], port->ifindex, &ours) == 0 &&
			ours.metric == best.metric)
			return err_set(err, -EPERM,
				"port %s: the host's default route leaves by %s, and with it you "
				"may lose the host; use another interface, or say default_route = "
				"\"take\" for this port",
				port->conf.name, port->interface);
	}
	return 0;
}

static int
check_af_xdp(struct port *port, struct netlink *nl, struct err *err)
{
	const char *interface = port->conf.device + strlen(AF_XDP_PREFIX);
	struct interface_device device;
	struct interface_link link;

	if (strlen(interface) == 0 || strlen(interface) >= sizeof(port->interface))
		return err_set(err, -EINVAL,
			"port %s: \"%s\" names no interface; expected \"af_xdp:eth1\" or the like",
			port->conf.name, port->conf.device);
	strcpy(port->interface, interface);
	port->ifindex = if_nametoindex(interface);
	if (port->ifindex == 0 || interface_read(nl, port->ifindex, &link) != 0)
		return err_set(err, -ENODEV,
			"port %s: there is no interface %s in this network "
			"namespace",
			port->conf.name, interface);
	int error = check_link(port, &link, err);

	if (error == 0)
		error = check_default_route(port, nl, err);
	if (error != 0)
		return error;
	interface_read_device(interface, &device);
	error = check_queues(port, &device, err);
	if (error != 0)
		return error;
	port->is_partial_checksum = port->conf.rx_checksum == PORT_CHECKSUM_PARTIAL ||
				    (port->conf.rx_checksum == PORT_CHECKSUM_AUTO &&
					    strcmp(device.driver, "veth") == 0);
	memcpy(port->mac, link.mac, sizeof(port->mac));
	port->mtu = link.mtu;
	port->is_up = link.is_enabled && link.has_carrier;
	return steer_check(port->ifindex, err);
}

static int
check_distinct(const struct ports *ports, unsigned i, struct err *err)
{
	for (unsigned k = 0; k < i; k++) {
		if (strcmp(ports->port[k].conf.device, ports->port[i].conf.device) == 0)
			return err_set(err, -EINVAL, "ports %s and %s are the same device %s",
				ports->port[k].conf.name, ports->port[i].conf.name,
				ports->port[i].conf.device);
	}
	return 0;
}

/* The port of that name, or the only one without a kernel interface; -1 with a sentence. */
static int
port_of(const struct ports *ports, const struct static_neighbour *neighbour, struct err *err)
{
	const char *name = neighbour->port_name;
	int found = -1;

	for (unsigned i = 0; i < ports->n; i++) {
		const struct port *port = &ports->port[i];

		if (name[0] != '\0' ? strcmp(port->conf.name, name) != 0 : port_has_interface(port))
			continue;
		if (found >= 0) {
			err_set(err, 0,
				"a neighbour without port could be behind %s or %s; say which",
				ports->port[found].conf.name, port->conf.name);
			return -1;
		}
		found = (int)i;
	}
	if (found < 0 && name[0] != '\0')
		err_set(err, 0, "a neighbour is behind port %s, but no port has this name", name);
	else if (found < 0)
		err_set(err, 0, "there are neighbours, but no port without a kernel interface");
	if (found < 0 || !port_has_interface(&ports->port[found]))
		return found;
	err_set(err, 0,
		"port %s: its neighbours are the kernel's; instead of naming one here, run: ip "
		"neigh replace ADDRESS lladdr MAC nud permanent dev %s",
		name, ports->port[found].interface);
	return -1;
}

static int
check_neighbours(struct ports *ports, struct err *err)
{
	for (unsigned i = 0; i < ports->n_neighbours; i++) {
		int port = port_of(ports, &ports->neighbours[i], err);

		if (port < 0)
			return -EINVAL;
		ports->neighbours[i].port = (uint8_t)port;
		for (unsigned k = 0; k < i; k++) {
			if (static_neighbour_equal(&ports->neighbours[k], &ports->neighbours[i]))
				return err_set(err, -EINVAL, "a neighbour is named twice");
		}
	}
	for (unsigned i = 0; i < ports->n; i++) {
		const struct port *port = &ports->port[i];

		if (port->conf.is_reply_by_route && !port_has_interface(port) &&
			static_neighbour_default(ports->neighbours, ports->n_neighbours, (int)i) ==
				NULL)
			return err_set(err, -EINVAL,
				"port %s: reply_via = \"route\" needs to know the router: name the "
				"neighbour \"default\" of this port",
				port->conf.name);
	}
	return 0;
}

static bool
may_lock_memory(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

/* AF_XDP locks the pool once per queue. */
static int
check_memory_lock(const struct ports *ports, struct err *err)
{
	size_t needed = port_memory_of(ports).pool_size * ports_n_queues(ports, PORT_AF_XDP);
	struct rlimit limit;

	if (needed == 0 || may_lock_memory() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
		limit.rlim_cur >= needed)
		return 0;
	return err_set(err, -EPERM,
		"AF_XDP locks %zu MiB of memory, the limit is %llu MiB: raise it (ulimit -l, "
		"LimitMEMLOCK=) or give CAP_IPC_LOCK",
		needed >> 20, (unsigned long long)limit.rlim_cur >> 20);
}

int
ports_check(struct ports *ports, uint16_t n_workers, struct err *err)
{
	struct netlink nl = {0};
	char path[PATH_MAX];
	int error = netlink_open(&nl);

	bpf_object_quiet();
	if (error != 0)
		return err_set(err, error, "cannot open rtnetlink: %s", strerror(-error));
	ports->n_workers = n_workers;
	for (unsigned i = 0; i < ports->n && error == 0; i++) {
		struct port *port = &ports->port[i];

		port->kind = kind_of(port->conf.device);
		port->n_queues = n_workers;
		port->is_partial_checksum = port->conf.rx_checksum == PORT_CHECKSUM_PARTIAL;
		port->mtu = PORT_MTU_DEFAULT;
		error = check_distinct(ports, i, err);
		if (error == 0 && port->kind == PORT_AF_XDP)
			error = check_af_xdp(port, &nl, err);
		if (error == 0 && port->kind == PORT_AF_XDP)
			error = bpf_object_path("steer.bpf.o", path, err);
	}
	netlink_close(&nl);
	if (error == 0)
		error = check_neighbours(ports, err);
	return error != 0 ? error : check_memory_lock(ports, err);
}

unsigned
ports_n_queues(const struct ports *ports, enum port_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ports->n; i++)
		n += ports->port[i].kind == kind ? ports->port[i].n_queues : 0;
	return n;
}

int
ports_find(const struct ports *ports, unsigned ifindex)
{
	for (unsigned i = 0; i < ports->n; i++) {
		if (ifindex != 0 && ports->port[i].ifindex == ifindex)
			return (int)i;
	}
	return -1;
}

bool
ports_have_interface(const struct ports *ports)
{
	for (unsigned i = 0; i < ports->n; i++) {
		if (port_has_interface(&ports->port[i]))
			return true;
	}
	return false;
}

void
port_set_up(struct port *port, bool is_up)
{
	port->link_losses += port->is_up && !is_up;
	port->is_up = is_up;
}
