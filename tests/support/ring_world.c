/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's libraries are not built with a sanitizer, so that ThreadSanitizer does not see how devices
 * and the packet pool order what one thread does before what another does.  Where they do so, here
 * it is told.
 */
#include "ring_world.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <karmalb/clock.h>

#include "collect.h"
#include "counter.h"
#include "intent.h"
#include "owner.h"
#include "port_memory.h"
#include "suite.h"
#include "totals.h"
#include "worker.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define happens_before(at) __tsan_release(at)
#define happens_after(at)  __tsan_acquire(at)
#else
#define happens_before(at) ((void)(at))
#define happens_after(at)  ((void)(at))
#endif

#define N_SLOTS     (2 * RING_WORLD_N_MIRRORS)
#define WIRE_NAME   "wire%u"
#define DEVICE_NAME "net_ring_" WIRE_NAME /* that DPDK gives it */
#define MTU         1500
#define QUEUES_MAX  4       /* of all ports */
#define LONG_MS     1000000 /* no time-out comes into these stories */

static const uint16_t listen_ports[] = {80, 53}, mirror_ports[] = {8080, 5353};
static const uint8_t protocols[] = {6, 17};
static struct err err;
static bool is_open;

static void
check(int rc)
{
	if (rc < 0)
		ck_abort_msg("%s", err.text);
}

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port, uint8_t protocol)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(__builtin_bswap32(address)),
		.port_be = __builtin_bswap16(port),
		.protocol = protocol,
	};
}

/* Workers share what CPUs there are. */
static void
choose_cpus(struct eal_conf *conf)
{
	cpu_set_t cpus;
	unsigned w = 0;

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (unsigned cpu = 0; w < conf->n_workers; cpu = (cpu + 1) % CPU_SETSIZE)
		if (CPU_ISSET(cpu, &cpus))
			conf->worker_cpus[w++] = (uint16_t)cpu;
}

static rte_mempool_enqueue_t pool_put;
static rte_mempool_dequeue_t pool_get;

static int
told_pool_put(struct rte_mempool *pool, void *const *objects, unsigned n)
{
	happens_before(pool);
	return pool_put(pool, objects, n);
}

static int
told_pool_get(struct rte_mempool *pool, void **objects, unsigned n)
{
	int rc = pool_get(pool, objects, n);

	happens_after(pool);
	return rc;
}

/* As the data plane makes it. */
static struct rte_mempool *
new_pool(const struct ports *ports)
{
	struct rte_mempool *pool = port_memory_pool(ports, &err);

	check(pool == NULL ? -1 : 0);
	struct rte_mempool_ops *ops = rte_mempool_get_ops(pool->ops_index);

	pool_put = ops->enqueue;
	pool_get = ops->dequeue;
	ops->enqueue = told_pool_put;
	ops->dequeue = told_pool_get;
	return pool;
}

/* EAL with the packet pool, for whose one piece there is room at first only: for any world, and as
 * for AF_XDP, which asks most of it. */
static struct rte_mempool *
start_eal(struct eal *eal)
{
	static struct ports largest = {.n = QUEUES_MAX, .n_workers = RING_WORLD_WORKERS_MAX};
	static struct rte_mempool *pool;
	struct eal_conf conf = {.n_workers = RING_WORLD_WORKERS_MAX, .ports = &largest};

	if (pool != NULL)
		return pool;
	for (unsigned i = 0; i < largest.n; i++)
		largest.port[i] = (struct port){.kind = PORT_AF_XDP, .n_queues = 1, .mtu = MTU};
	conf.plain_size =
		ports_memory_size(&largest, false) + RING_WORLD_WORKERS_MAX * WORKER_MEMORY_SIZE;
	choose_cpus(&conf);
	check(eal_start(eal, &conf, &err));
	pool = new_pool(&largest);
	return pool;
}

static uint16_t
told_received(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, uint16_t n_max,
	void *ring)
{
	(void)port;
	(void)queue;
	(void)mbufs;
	(void)n_max;
	happens_after(ring);
	return n;
}

static uint16_t
told_sending(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n, void *ring)
{
	(void)port;
	(void)queue;
	(void)mbufs;
	happens_before(ring);
	return n;
}

static struct rte_ring *
new_ring(const char *what, unsigned port, unsigned queue)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "%s_%u_%u", what, port, queue);
	struct rte_ring *ring = rte_ring_create(
		name, RING_WORLD_DEVICE_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);

	ck_assert_ptr_nonnull(ring);
	return ring;
}

static void
open_port(struct ring_world *world, unsigned i)
{
	struct port *port = &world->instance.ports.port[i];
	uint16_t n = (uint16_t)world->conf.n_queues;
	struct rte_eth_conf conf = {0};
	char name[16];

	for (unsigned queue = 0; queue < n; queue++) {
		world->in[i][queue] = new_ring("in", i, queue);
		world->out[i][queue] = new_ring("out", i, queue);
		port->xsk_fds[queue] = -1;
	}
	snprintf(name, sizeof(name), WIRE_NAME, i);
	int id = rte_eth_from_rings(name, world->in[i], n, world->out[i], n, 0);

	ck_assert_int_ge(id, 0);
	port->id = (uint16_t)id;
	ck_assert_int_eq(rte_eth_dev_configure(port->id, n, n, &conf), 0);
	for (uint16_t queue = 0; queue < n; queue++) {
		ck_assert_int_eq(rte_eth_rx_queue_setup(port->id, queue, 1024,
					 (unsigned)SOCKET_ID_ANY, NULL, world->instance.ports.pool),
			0);
		ck_assert_int_eq(rte_eth_tx_queue_setup(
					 port->id, queue, 1024, (unsigned)SOCKET_ID_ANY, NULL),
			0);
		ck_assert_ptr_nonnull(rte_eth_add_rx_callback(
			port->id, queue, told_received, world->in[i][queue]));
		ck_assert_ptr_nonnull(rte_eth_add_tx_callback(
			port->id, queue, told_sending, world->out[i][queue]));
	}
	ck_assert_int_eq(rte_eth_dev_start(port->id), 0);
}

static const struct intent *
next_intent(struct ring_world *world)
{
	static struct intent next;
	struct intent *intent = &next;

	intent->epoch = ++world->epoch;
	intent->n_services = 2;
	intent->n_mirrors = N_SLOTS;
	for (unsigned s = 0; s < 2; s++)
		intent->services[s] = (struct intent_service){
			.listen = endpoint(RING_WORLD_VIP, listen_ports[s], protocols[s]),
			.first_mirror = (uint16_t)(s * RING_WORLD_N_MIRRORS),
			.n_mirrors = RING_WORLD_N_MIRRORS,
			.selector = s == RING_WORLD_UDP ? KARMALB_SELECTOR_ROTATE
							: KARMALB_SELECTOR_WEIGHTED,
		};
	for (unsigned m = 0; m < N_SLOTS; m++)
		intent->mirrors[m].share = 1 + (m + world->epoch) % RING_WORLD_N_MIRRORS;
	return intent;
}

static struct tables *
new_tables(struct ring_world *world)
{
	const struct intent *intent = next_intent(world);
	struct table_slot slots[N_SLOTS] = {0};
	struct table_port ports[RING_WORLD_PORTS_MAX] = {0};
	uint16_t mirror_slots[N_SLOTS];
	struct karmalb_address sources[] = {endpoint(RING_WORLD_SOURCE, 0, 0).address,
		endpoint(RING_WORLD_SOURCE + 1, 0, 0).address};

	for (unsigned i = 0; i < world->conf.n_ports; i++)
		ports[i] = (struct table_port){.mac = {2, 0, 0, 0, 0, (uint8_t)i}, .is_up = true};
	for (unsigned m = 0; m < N_SLOTS; m++) {
		unsigned s = m / RING_WORLD_N_MIRRORS;

		mirror_slots[m] = (uint16_t)m;
		slots[m] = (struct table_slot){
			.listen = intent->services[s].listen,
			.address = endpoint(RING_WORLD_MIRROR + m % RING_WORLD_N_MIRRORS,
				mirror_ports[s], protocols[s]),
			.next_hop_mac = {6, 0, 0, 0, 1, (uint8_t)m},
			.next_hop_port = (uint8_t)(world->conf.n_ports - 1),
			.has_next_hop = true,
			.is_selected = true,
			.connect_timeout_ms = LONG_MS,
			.query_timeout_ms = world->conf.query_timeout_ms != 0
						    ? world->conf.query_timeout_ms
						    : LONG_MS,
			.idle_timeout_ms = LONG_MS,
		};
	}
	struct tables_parts parts = {
		.intent = intent,
		.mirror_slots = mirror_slots,
		.slots = slots,
		.n_slots = N_SLOTS,
		.ports = ports,
		.n_ports = world->conf.n_ports,
		.sources = sources,
		.n_sources = 2,
	};
	struct tables *tables = tables_build(&parts, &err);

	check(tables == NULL ? -1 : 0);
	return tables;
}

static void
open_memory(struct ring_world *world)
{
	struct instance *inst = &world->instance;
	struct tables *first = new_tables(world);
	const struct flow_conf flows = {
		.n_workers = inst->n_workers,
		.max_flows = 32768,
		.max_half_open = 8192,
		.sources = first->sources,
		.n_sources = first->n_sources,
	};

	ck_assert_int_eq(flow_memory_create(&inst->memory, &flows, false, inst->packet_size), 0);
	inst->totals = totals_create();
	ck_assert_ptr_nonnull(inst->totals);
	for (uint16_t slot = 0; slot < N_SLOTS; slot++)
		totals_reset(inst->totals, slot);
	check(snapshots_open(&inst->snapshots, inst->n_workers, first, &err));
	check(handover_open(&inst->handover, inst->n_workers, &err));
	ck_assert_int_eq(doorbell_open(&inst->sample_bell), 0);
}

static void
open_workers(struct instance *inst, uint64_t seed)
{
	size_t size = inst->n_workers * sizeof(struct worker);

	inst->workers = aligned_alloc(alignof(struct worker), size);
	ck_assert_ptr_nonnull(inst->workers);
	memset(inst->workers, 0, size);
	for (unsigned i = 0; i < inst->n_workers; i++) {
		const struct worker_conf conf = {
			.number = (uint16_t)i,
			.ports = &inst->ports,
			.flows = inst->memory.header,
			.snapshots = &inst->snapshots,
			.handover = &inst->handover,
			.sample_bell = &inst->sample_bell,
			.idle_spin_us = 20,
		};

		check(worker_open(&inst->workers[i], &conf, suite_random(&seed), &err));
	}
}

void
ring_world_open(struct ring_world *world, const struct ring_world_conf *conf)
{
	struct instance *inst = &world->instance;

	/* What comes next is no promise of this one, where tests share a process. */
	if (is_open) {
		fprintf(stderr, "a test has failed and left its world open: no more of them\n");
		exit(EXIT_FAILURE);
	}
	is_open = true;
	ck_assert_uint_le(conf->n_ports * conf->n_queues, QUEUES_MAX);
	memset(world, 0, sizeof(*world));
	world->conf = *conf;
	inst->n_workers = conf->n_workers;
	inst->ports.n = conf->n_ports;
	inst->ports.n_workers = (uint16_t)conf->n_workers;
	for (unsigned i = 0; i < conf->n_ports; i++) {
		inst->ports.port[i].kind = PORT_VDEV;
		inst->ports.port[i].n_queues = (uint16_t)conf->n_queues;
		inst->ports.port[i].mtu = MTU;
	}
	inst->ports.pool = start_eal(&inst->eal);
	world->n_free = rte_mempool_avail_count(inst->ports.pool);
	for (unsigned i = 0; i < conf->n_ports; i++)
		open_port(world, i);
	open_memory(world);
	open_workers(inst, suite_seed());
}

static int
run_worker(void *arg)
{
	struct worker *worker = arg;
	struct ring_world *world =
		(struct ring_world *)((uint8_t *)worker->conf.snapshots -
				      offsetof(struct ring_world, instance.snapshots));

	worker_run(worker);
	atomic_store(&world->has_returned[worker->conf.number], true);
	return 0;
}

void
ring_world_launch(struct ring_world *world, unsigned worker)
{
	ck_assert_int_eq(rte_eal_remote_launch(run_worker, &world->instance.workers[worker],
				 eal_worker_lcore((uint16_t)worker)),
		0);
	world->is_launched[worker] = true;
}

bool
ring_world_put(struct ring_world *world, unsigned port, unsigned queue, const uint8_t *frame,
	unsigned size)
{
	struct rte_ring *ring = world->in[port][queue];
	struct rte_mbuf *mbuf;

	if (rte_ring_full(ring))
		return false;
	mbuf = rte_pktmbuf_alloc(world->instance.ports.pool);
	ck_assert_ptr_nonnull(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size), frame, size);
	happens_before(ring);
	ck_assert_int_eq(rte_ring_sp_enqueue(ring, mbuf), 0);
	return true;
}

unsigned
ring_world_take(struct ring_world *world, unsigned port, unsigned queue, uint8_t *frame)
{
	struct rte_ring *ring = world->out[port][queue];
	struct rte_mbuf *mbuf;

	if (rte_ring_sc_dequeue(ring, (void **)&mbuf) != 0)
		return 0;
	happens_after(ring);
	unsigned size = mbuf->data_len;

	ck_assert_uint_eq(mbuf->nb_segs, 1);
	ck_assert_uint_eq(mbuf->pkt_len, size);
	ck_assert_uint_le(size, RING_WORLD_FRAME_MAX);
	memcpy(frame, rte_pktmbuf_mtod(mbuf, uint8_t *), size);
	rte_pktmbuf_free(mbuf);
	return size;
}

void
ring_world_change(struct ring_world *world)
{
	struct tables *tables = new_tables(world);

	if (snapshots_publish(&world->instance.snapshots, tables) != 0)
		tables_free(tables);
}

uint64_t
ring_world_reset(struct ring_world *world, enum ring_world_service service)
{
	uint64_t n_ended = 0;

	for (unsigned w = 0; w < world->conf.n_workers; w++) {
		struct errands *errands = &world->instance.workers[w].errands;
		struct errands_reset *r = &errands->reset;

		memset(r->slots, 0, sizeof(r->slots));
		for (unsigned m = 0; m < RING_WORLD_N_MIRRORS; m++)
			r->slots[0] |= UINT64_C(1) << (service * RING_WORLD_N_MIRRORS + m);
		r->at_ms = (uint32_t)(karmalb_now_us() / KARMALB_MILLISECOND);
		r->record = 0;
		r->n_ended = 0;
		atomic_store_explicit(&r->state, ERRANDS_RESET_ORDERED, memory_order_release);
		errands_order(errands);
	}
	for (unsigned w = 0; w < world->conf.n_workers; w++) {
		struct errands_reset *r = &world->instance.workers[w].errands.reset;

		while (atomic_load_explicit(&r->state, memory_order_acquire) != ERRANDS_RESET_DONE)
			sched_yield();
		n_ended += r->n_ended;
	}
	return n_ended;
}

void
ring_world_collect(struct ring_world *world)
{
	collect_counters(&world->instance, N_SLOTS);
	snapshots_settle(&world->instance.snapshots);
}

uint64_t
ring_world_outcomes(const struct ring_world *world, enum karmalb_outcome outcome)
{
	uint64_t sum = 0;

	for (unsigned w = 0; w < world->conf.n_workers; w++)
		for (unsigned slot = 0; slot < N_SLOTS; slot++)
			sum += counter_read(
				&world->instance.workers[w].slots[slot].outcomes[outcome]);
	return sum;
}

uint64_t
ring_world_count(
	const struct ring_world *world, unsigned worker, enum karmalb_worker_counter counter)
{
	return counter_read(&world->instance.workers[worker].pipeline.counters[counter]);
}

uint64_t
ring_world_sum(const struct ring_world *world, enum karmalb_worker_counter counter)
{
	uint64_t sum = 0;

	for (unsigned w = 0; w < world->conf.n_workers; w++)
		sum += ring_world_count(world, w, counter);
	return sum;
}

uint64_t
ring_world_drops(const struct ring_world *world)
{
	uint64_t sum = 0;

	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++)
		sum += ring_world_sum(world, (enum karmalb_worker_counter)i);
	return sum;
}

void
ring_world_stop(struct ring_world *world)
{
	struct instance *inst = &world->instance;

	for (unsigned w = 0; w < inst->n_workers; w++)
		if (world->is_launched[w])
			worker_stop(&inst->workers[w]);
	for (unsigned w = 0; w < inst->n_workers; w++) {
		if (!world->is_launched[w])
			continue;
		rte_eal_wait_lcore(eal_worker_lcore((uint16_t)w));
		ck_assert(atomic_load(&world->has_returned[w]));
	}
}

static void
close_ring(struct rte_ring *ring)
{
	struct rte_mbuf *mbuf;

	while (rte_ring_sc_dequeue(ring, (void **)&mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	rte_ring_free(ring);
}

void
ring_world_close(struct ring_world *world)
{
	struct instance *inst = &world->instance;
	char name[32];

	for (unsigned w = 0; w < inst->n_workers; w++)
		worker_close(&inst->workers[w]);
	free(inst->workers);
	handover_close(&inst->handover);
	doorbell_close(&inst->sample_bell);
	snapshots_close(&inst->snapshots);
	totals_free(inst->totals);
	flow_memory_destroy(&inst->memory);
	for (unsigned i = 0; i < inst->ports.n; i++) {
		ck_assert_int_eq(rte_eth_dev_stop(inst->ports.port[i].id), 0);
		snprintf(name, sizeof(name), DEVICE_NAME, i);
		ck_assert_int_eq(rte_eal_hotplug_remove("vdev", name), 0);
		for (unsigned queue = 0; queue < world->conf.n_queues; queue++) {
			close_ring(world->in[i][queue]);
			close_ring(world->out[i][queue]);
		}
	}
	ck_assert_uint_eq(rte_mempool_avail_count(inst->ports.pool), world->n_free);
	is_open = false;
}
