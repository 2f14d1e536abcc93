/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and stop of a data plane, in one order and its reverse.  Control thread. */
#include "instance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <karmalb/clock.h>

#include "address.h"
#include "log.h"
#include "memory_left.h"
#include "next_hop.h"
#include "options.h"
#include "totals.h"
#include "worker.h"

static int
check_ports(struct instance *inst, struct err *err);
static int
check_sources(const struct instance *inst, struct err *err);
static int
start_eal(struct instance *inst, struct err *err);
static int
extend_ports(struct instance *inst, struct err *err);
static int
create_memory(struct instance *inst, struct err *err);
static int
publish_first(struct instance *inst, struct err *err);
static int
open_workers(struct instance *inst, struct err *err);
static int
launch_workers(struct instance *inst, struct err *err);
static void
close_workers(struct instance *inst);
static void
log_start(const struct instance *inst);

int
instance_start(struct instance *inst, const struct options *options, struct err *err)
{
	int rc;

	*inst = (struct instance){.options = options, .started_us = karmalb_now_us()};
	if (getrandom(&inst->id, sizeof(inst->id), 0) != sizeof(inst->id))
		return err_set(err, -EIO, "no random number to be had");
	if ((rc = check_ports(inst, err)) < 0 || (rc = check_sources(inst, err)) < 0 ||
		(rc = start_eal(inst, err)) < 0)
		return rc;
	if ((rc = create_memory(inst, err)) < 0)
		goto stop_eal;
	if ((rc = ports_open(&inst->ports, err)) < 0)
		goto destroy_memory;
	if ((rc = extend_ports(inst, err)) < 0)
		goto close_ports;
	if ((rc = next_hops_open(&inst->next_hops, &inst->ports, err)) < 0)
		goto close_ports;
	if ((rc = publish_first(inst, err)) < 0)
		goto close_next_hops;
	if ((rc = open_workers(inst, err)) < 0)
		goto close_snapshots;
	if ((rc = launch_workers(inst, err)) < 0)
		goto close_workers;
	log_start(inst);
	return 0;

close_workers:
	close_workers(inst);
close_snapshots:
	snapshots_close(&inst->snapshots);
close_next_hops:
	next_hops_close(inst->next_hops);
close_ports:
	ports_close(&inst->ports);
destroy_memory:
	totals_free(inst->totals);
	flow_memory_destroy(&inst->memory);
stop_eal:
	eal_stop();
	return rc;
}

void
instance_stop(struct instance *inst)
{
	close_workers(inst);
	snapshots_close(&inst->snapshots);
	next_hops_close(inst->next_hops);
	ports_close(&inst->ports);
	totals_free(inst->totals);
	flow_memory_destroy(&inst->memory);
	eal_stop();
	log_info("stopped");
}

unsigned
instance_table_ports(const struct instance *inst, struct table_port ports[KARMALB_PORTS_MAX])
{
	for (unsigned i = 0; i < inst->ports.n; i++) {
		const struct port *p = &inst->ports.port[i];

		ports[i] = (struct table_port){
			.is_up = p->is_up,
			.is_partial_checksum = p->is_partial_checksum,
			.is_reply_by_route = p->conf.is_reply_by_route,
			.mtu = p->mtu < UINT16_MAX ? (uint16_t)p->mtu : 0,
		};
		memcpy(ports[i].mac, p->mac, sizeof(ports[i].mac));
		for (unsigned k = 0; k < 2; k++) {
			struct table_gateway *g = &ports[i].gateways[k];

			g->is_known =
				next_hops_gateway(inst->next_hops, (uint8_t)i, k != 0, g->mac);
		}
	}
	return inst->ports.n;
}

void
instance_wake_workers(struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_workers; i++)
		doorbell_ring(&inst->workers[i].bell);
}

static int
check_ports(struct instance *inst, struct err *err)
{
	const struct options *o = inst->options;
	struct ports *ports = &inst->ports;

	inst->n_workers = o->n_workers;
	ports->n = o->n_ports;
	ports->is_assigning = o->assign;
	for (unsigned i = 0; i < o->n_ports; i++)
		ports->port[i].conf = o->ports[i];
	ports->n_neighbours = o->n_neighbours;
	memcpy(ports->neighbours, o->neighbours, sizeof(ports->neighbours));
	return ports_check(ports, (uint16_t)o->n_workers, err);
}

/*
 * What is known before there are mirrors; the rest is checked with each new list of them.  Where
 * nothing is taken from the kernel, nothing can be taken that it needs.
 */
static int
check_sources(const struct instance *inst, struct err *err)
{
	const struct options *o = inst->options;

	if (!ports_have_interface(&inst->ports))
		return 0;
	for (unsigned i = 0; i < o->n_sources; i++) {
		int rc = address_is_free_for_source(&o->sources[i], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
start_eal(struct instance *inst, struct err *err)
{
	const struct options *o = inst->options;
	struct eal_conf conf = {
		.n_workers = (uint16_t)o->n_workers,
		.huge_pages_size = o->huge_pages_size,
		.ports = &inst->ports,
	};

	memcpy(conf.worker_cpus, o->worker_cpus, sizeof(conf.worker_cpus));
	uint64_t workers_size = (uint64_t)conf.n_workers * WORKER_MEMORY_SIZE;

	conf.memory_size = ports_memory_size(&inst->ports, true) + workers_size;
	conf.plain_size = ports_memory_size(&inst->ports, false) + workers_size;
	int rc = eal_start(&inst->eal, &conf, err);

	inst->packet_size = inst->eal.has_huge_pages ? conf.memory_size : conf.plain_size;
	return rc;
}

/* The sources are ours from the start; services come with the first transaction. */
static int
extend_ports(struct instance *inst, struct err *err)
{
	const struct port_intent intent = {
		.sources = inst->options->sources,
		.n_sources = inst->options->n_sources,
	};

	return ports_extend(&inst->ports, &intent, err);
}

/* 'promised_size' as of flow_memory_create(). */
static int
explain_no_memory(const struct options *o, size_t size, uint64_t promised_size, struct err *err)
{
	uint64_t left = memory_left("");

	return err_set(err, -ENOMEM,
		"max_flows = %lu needs %zu MiB of memory, and %" PRIu64 " MiB can be had: "
		"lower it, or free some",
		o->max_flows, size >> 20, (left > promised_size ? left - promised_size : 0) >> 20);
}

static int
create_memory(struct instance *inst, struct err *err)
{
	const struct options *o = inst->options;
	const struct flow_conf conf = {
		.n_workers = o->n_workers,
		.max_flows = o->max_flows,
		.max_half_open = o->max_half_open,
		.sources = o->sources,
		.n_sources = o->n_sources,
	};
	/* What DPDK took is gone from what may be taken. */
	bool wants_huge = inst->eal.has_huge_pages &&
			  inst->packet_size + flow_region_size(&conf) <= o->huge_pages_size;
	/* Without huge pages DPDK takes a page with the first touch only, when ports are opened. */
	uint64_t promised_size = inst->eal.has_huge_pages ? 0 : inst->packet_size;
	int rc = flow_memory_create(&inst->memory, &conf, wants_huge, promised_size);

	if (rc == -ENOMEM)
		return explain_no_memory(o, flow_region_size(&conf), promised_size, err);
	if (rc < 0)
		return err_set(err, rc, "no memory for %lu flows: %s", o->max_flows, strerror(-rc));
	inst->totals = totals_create();
	if (inst->totals == NULL) {
		flow_memory_destroy(&inst->memory);
		return err_set(err, -ENOMEM, "no memory for totals");
	}
	return 0;
}

/* A snapshot without services, so that workers always have one. */
static int
publish_first(struct instance *inst, struct err *err)
{
	struct table_port ports[KARMALB_PORTS_MAX];
	const struct tables_parts parts = {
		.ports = ports,
		.n_ports = instance_table_ports(inst, ports),
		.sources = inst->options->sources,
		.n_sources = inst->options->n_sources,
	};
	struct tables *first = tables_build(&parts, err);

	if (first == NULL)
		return -ENOMEM;
	int rc = snapshots_open(&inst->snapshots, inst->n_workers, first, err);

	if (rc < 0)
		tables_free(first);
	return rc;
}

static int
open_worker(struct instance *inst, unsigned number, struct err *err)
{
	const struct worker_conf conf = {
		.number = (uint16_t)number,
		.ports = &inst->ports,
		.flows = inst->memory.header,
		.snapshots = &inst->snapshots,
		.handover = &inst->handover,
		.sample_bell = &inst->sample_bell,
		.is_spinning = !inst->options->is_sleeping,
		.idle_spin_us = inst->options->idle_spin_us,
	};
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, -EIO, "no random number to be had");
	return worker_open(&inst->workers[number], &conf, random | 1, err);
}

static int
open_workers(struct instance *inst, struct err *err)
{
	size_t size = inst->n_workers * sizeof(struct worker);
	int rc = doorbell_open(&inst->sample_bell);

	if (rc < 0)
		return err_set(err, rc, "no eventfd: %s", strerror(-rc));
	if ((rc = handover_open(&inst->handover, inst->n_workers, err)) < 0) {
		close_workers(inst);
		return rc;
	}
	inst->workers = aligned_alloc(alignof(struct worker), size);
	if (inst->workers == NULL) {
		close_workers(inst);
		return err_set(err, -ENOMEM, "no memory for workers");
	}
	memset(inst->workers, 0, size);
	for (unsigned i = 0; i < inst->n_workers; i++)
		if ((rc = open_worker(inst, i, err)) < 0) {
			close_workers(inst);
			return rc;
		}
	return 0;
}

static int
launch_workers(struct instance *inst, struct err *err)
{
	for (; inst->n_launched < inst->n_workers; inst->n_launched++) {
		unsigned lcore = eal_worker_lcore((uint16_t)inst->n_launched);
		int rc = rte_eal_remote_launch(worker_run, &inst->workers[inst->n_launched], lcore);

		if (rc < 0)
			return err_set(err, rc, "worker %u does not start: %s", inst->n_launched,
				strerror(-rc));
	}
	return 0;
}

static void
close_workers(struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_launched; i++)
		worker_stop(&inst->workers[i]);
	for (unsigned i = 0; i < inst->n_launched; i++)
		rte_eal_wait_lcore(eal_worker_lcore((uint16_t)i));
	for (unsigned i = 0; inst->workers != NULL && i < inst->n_workers; i++)
		worker_close(&inst->workers[i]);
	free(inst->workers);
	inst->workers = NULL;
	inst->n_launched = 0;
	handover_close(&inst->handover);
	doorbell_close(&inst->sample_bell);
}

static void
log_port(const struct port *p)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	log_info("port %s: %s, %u queue%s, XDP %s, %s, MTU %u, checksums %s, %s", p->conf.name,
		p->conf.device, p->n_queues, p->n_queues == 1 ? "" : "s",
		p->kind != PORT_AF_XDP ? "unused"
		: p->is_native         ? "native"
				       : "generic",
		p->is_zero_copy ? "zero copy" : "copy", p->mtu,
		p->is_partial_checksum ? "partial" : "as on the wire", p->is_up ? "up" : "down");
	if (port_has_interface(p))
		return;
	rte_ether_format_addr(mac, sizeof(mac), (const struct rte_ether_addr *)p->mac);
	log_info("port %s: no kernel interface: no addresses are assigned and no ARP or ND is "
		 "answered, its peers need to know %s; received from when services are in force",
		p->conf.name, mac);
}

static void
log_start(const struct instance *inst)
{
	const struct options *o = inst->options;

	for (unsigned i = 0; i < inst->ports.n; i++)
		log_port(&inst->ports.port[i]);
	if (inst->eal.notice[0] != '\0')
		log_warning("%s", inst->eal.notice);
	log_info("memory: %s huge pages for packets, %s for flows; %zu MiB for %lu flows, of "
		 "these %lu half-open",
		inst->eal.has_huge_pages ? "with" : "without",
		inst->memory.is_huge ? "with" : "without", inst->memory.size >> 20, o->max_flows,
		o->max_half_open);
	log_info("workers: %u, idle %s after %u us; %u source addresses; instance %016lx",
		inst->n_workers, o->is_sleeping ? "sleeping" : "spinning", o->idle_spin_us,
		o->n_sources, inst->id);
}
