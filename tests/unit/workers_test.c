/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two and three real workers under traffic, their control thread's part and both ends of every flow
 * played here.  Each message has its flow and its number written into it; a flow's messages are to
 * come out in their order.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include <karmalb/clock.h>

#include "datagrams.h"
#include "ring_world.h"
#include "suite.h"
#include "totals.h"

#define N_FLOWS         400 /* odd ones TCP, even ones UDP */
#define N_MESSAGES      50  /* of a flow, each way */
#define AHEAD           4   /* of a flow's messages on their way at a time */
#define ON_THE_WAY_MAX  400 /* of all; less than any ring holds */
#define MESSAGE_SIZE    8
#define CONTROL_TURNS   32 /* of the loop here, for one of control's */
#define PATIENCE_US     (100 * KARMALB_SECOND)
#define N_FLOOD         100000
#define N_TO_STOPPED    12000
#define N_TO_STOPPED_OF (N_FLOWS / 2)
#define RING_CAPACITY   (HANDOVER_SUM - 1)

/* As both ends see it.  Messages are numbered from 0; TCP's first is SYN, resp. SYN-ACK. */
struct flow_ends {
	uint32_t asked, arrived;     /* by the client, at the mirror: next number */
	uint32_t answered, returned; /* by the mirror, at the client */
	uint32_t mirror, source;     /* that it arrived with */
	uint16_t source_port;
	bool is_known; /* the three above */
};

struct message {
	uint32_t flow, number;
	bool is_to_client;
};

static struct ring_world world;
static struct flow_ends flows[N_FLOWS];
static unsigned n_on_the_way;
static uint64_t n_put, n_taken, n_resets;
static bool may_have_gaps; /* some messages are dropped */

static bool
is_tcp(uint32_t flow)
{
	return flow % 2 == 1;
}

static uint32_t
client_address(uint32_t flow)
{
	return FIXTURE_CLIENT + flow % 7;
}

static uint16_t
client_port(uint32_t flow)
{
	return (uint16_t)(10000 + flow);
}

/* Both ends' initial sequence number is the flow's. */
static uint32_t
seq_of(uint32_t flow, uint32_t number)
{
	return (flow << 16) + (number == 0 ? 0 : 1 + (number - 1) * MESSAGE_SIZE);
}

static unsigned
build_segment(uint8_t *frame, const struct message *m)
{
	const struct flow_ends *f = &flows[m->flow];
	bool has_ack = m->is_to_client || m->number > 0;
	struct segment s = {
		.mac_from = {2, 0, 0, 0, 9, 7},
		.source = m->is_to_client ? f->mirror : client_address(m->flow),
		.destination = m->is_to_client ? f->source : RING_WORLD_VIP,
		.source_port = m->is_to_client ? 8080 : client_port(m->flow),
		.destination_port = m->is_to_client ? f->source_port : 80,
		.seq = seq_of(m->flow, m->number),
		.ack = has_ack ? seq_of(m->flow, m->is_to_client ? f->arrived : f->returned) : 0,
		.flags = (m->number == 0 ? SEG_SYN : SEG_PSH) | (has_ack ? SEG_ACK : 0),
		.payload_size = m->number == 0 ? 0 : MESSAGE_SIZE,
	};

	return frame_build(frame, &s);
}

static unsigned
build_datagram(uint8_t *frame, const struct message *m)
{
	const struct flow_ends *f = &flows[m->flow];
	uint32_t payload[] = {m->flow, m->number};
	struct datagram d = {
		.source = m->is_to_client ? f->mirror : client_address(m->flow),
		.destination = m->is_to_client ? f->source : RING_WORLD_VIP,
		.source_port = m->is_to_client ? 5353 : client_port(m->flow),
		.destination_port = m->is_to_client ? f->source_port : 53,
		.payload_size = sizeof(payload),
		.payload = payload,
	};

	return datagram_build(frame, &d);
}

/* As a device would: all of a flow that come from one side come by one queue. */
static bool
put(const struct message *m)
{
	uint8_t frame[FRAME_MAX];
	unsigned size = is_tcp(m->flow) ? build_segment(frame, m) : build_datagram(frame, m);
	unsigned port = m->is_to_client ? world.conf.n_ports - 1 : 0;
	unsigned queue = (m->is_to_client ? m->flow / 5 : m->flow / 3) % world.conf.n_queues;

	if (!ring_world_put(&world, port, queue, frame, size))
		return false;
	n_put++;
	return true;
}

/* What comes out from whom and for whom, whichever the protocol. */
struct letter {
	struct message message;
	uint32_t source, destination;
	uint16_t source_port, destination_port;
};

static struct letter
read_segment(const uint8_t *frame, unsigned size)
{
	struct segment s;

	ck_assert(frame_read(frame, size, &s));
	struct letter l = {
		.message = {.flow = s.seq >> 16, .number = 0},
		.source = s.source,
		.destination = s.destination,
		.source_port = s.source_port,
		.destination_port = s.destination_port,
	};

	if (s.payload_size > 0)
		l.message.number = 1 + (s.seq - seq_of(l.message.flow, 1)) / MESSAGE_SIZE;
	ck_assert_uint_eq(s.seq, seq_of(l.message.flow, l.message.number));
	return l;
}

static struct letter
read_datagram(const uint8_t *frame, unsigned size)
{
	struct datagram d = datagram_read(frame, size);
	uint32_t payload[2];

	ck_assert_uint_eq(d.payload_size, sizeof(payload));
	memcpy(payload, d.payload, sizeof(payload));
	return (struct letter){
		.message = {.flow = payload[0], .number = payload[1]},
		.source = d.source,
		.destination = d.destination,
		.source_port = d.source_port,
		.destination_port = d.destination_port,
	};
}

static void
check_order(uint32_t number, uint32_t *next)
{
	if (may_have_gaps)
		ck_assert_uint_ge(number, *next);
	else
		ck_assert_uint_eq(number, *next);
	*next = number + 1;
}

static void
arrive(const struct letter *l)
{
	struct flow_ends *f = &flows[l->message.flow];

	ck_assert_uint_eq(l->destination_port, is_tcp(l->message.flow) ? 8080 : 5353);
	if (!f->is_known) {
		f->is_known = true;
		f->mirror = l->destination;
		f->source = l->source;
		f->source_port = l->source_port;
	}
	ck_assert_uint_eq(l->destination, f->mirror);
	ck_assert_uint_eq(l->source, f->source);
	ck_assert_uint_eq(l->source_port, f->source_port);
	check_order(l->message.number, &f->arrived);
}

static void
come_back(const struct letter *l)
{
	uint32_t flow = l->message.flow;
	struct flow_ends *f = &flows[flow];

	ck_assert_uint_eq(l->source, RING_WORLD_VIP);
	ck_assert_uint_eq(l->source_port, is_tcp(flow) ? 80 : 53);
	ck_assert_uint_eq(l->destination, client_address(flow));
	ck_assert_uint_eq(l->destination_port, client_port(flow));
	check_order(l->message.number, &f->returned);
	n_on_the_way--;
}

/* Whether there was one. */
static bool
take(unsigned port, unsigned queue)
{
	uint8_t frame[RING_WORLD_FRAME_MAX];
	unsigned size = ring_world_take(&world, port, queue, frame);
	struct segment s;

	if (size == 0)
		return false;
	n_taken++;
	if (frame[23] == 6 && frame_read(frame, size, &s) && (s.flags & SEG_RST)) {
		n_resets++;
		return true;
	}
	struct letter l = frame[23] == 6 ? read_segment(frame, size) : read_datagram(frame, size);
	bool is_for_mirror = l.destination - RING_WORLD_MIRROR < RING_WORLD_N_MIRRORS;

	ck_assert_uint_lt(l.message.flow, N_FLOWS);
	ck_assert_uint_eq(port, is_for_mirror ? world.conf.n_ports - 1 : 0);
	if (is_for_mirror)
		arrive(&l);
	else
		come_back(&l);
	return true;
}

static bool
take_all(void)
{
	bool is_any = false;

	for (unsigned port = 0; port < world.conf.n_ports; port++)
		for (unsigned queue = 0; queue < world.conf.n_queues; queue++)
			while (take(port, queue))
				is_any = true;
	return is_any;
}

/* What a flow's ends have to say now; the client not before TCP's handshake is through. */
static bool
talk(uint32_t flow)
{
	struct flow_ends *f = &flows[flow];
	bool is_any = false;
	uint32_t ahead = is_tcp(flow) && f->returned == 0 ? 1 : AHEAD;

	while (f->answered < f->arrived &&
		put(&(struct message){flow, f->answered, .is_to_client = true})) {
		f->answered++;
		is_any = true;
	}
	while (f->asked < N_MESSAGES && f->asked < f->returned + ahead &&
		n_on_the_way < ON_THE_WAY_MAX && put(&(struct message){flow, f->asked, false})) {
		f->asked++;
		n_on_the_way++;
		is_any = true;
	}
	return is_any;
}

static bool
are_over(void)
{
	for (uint32_t i = 0; i < N_FLOWS; i++)
		if (flows[i].returned < N_MESSAGES)
			return false;
	return true;
}

static void
wait_or_fail(uint64_t since_us, const char *what)
{
	if (karmalb_now_us() - since_us > PATIENCE_US)
		ck_abort_msg("%s: not within %u s; %lu put, %lu taken, %lu dropped", what,
			(unsigned)(PATIENCE_US / KARMALB_SECOND), n_put, n_taken,
			ring_world_drops(&world));
	sched_yield();
}

/* All that was put is out, or counted. */
static void
wait_until_through(void)
{
	uint64_t began_us = karmalb_now_us();

	while (take_all() || n_taken + ring_world_drops(&world) < n_put)
		wait_or_fail(began_us, "all packets");
}

static void
start(unsigned n_workers, unsigned n_ports, unsigned n_queues)
{
	memset(flows, 0, sizeof(flows));
	n_on_the_way = 0;
	n_put = n_taken = n_resets = 0;
	may_have_gaps = false;
	ring_world_open(&world, &(struct ring_world_conf){n_workers, n_ports, n_queues, 0});
}

/* Nothing may be lost here: what is on its way has room in every ring, whoever is not let run. */
static void
talk_to_the_end(void)
{
	uint64_t began_us = karmalb_now_us();

	for (unsigned turn = 0; !are_over(); turn++) {
		bool is_any = take_all();

		for (uint32_t i = 0; i < N_FLOWS; i++)
			is_any |= talk(i);
		if (turn % CONTROL_TURNS == 0) {
			ring_world_change(&world);
			ring_world_collect(&world);
		}
		if (!is_any)
			wait_or_fail(began_us, "all messages");
	}
}

/* The books of a world at rest, in which nothing was lost. */
static void
check_books(void)
{
	uint64_t to_mirror = 0, to_client = 0, opened = 0, answered = 0;

	ck_assert_uint_eq(ring_world_drops(&world), 0);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_SAMPLES_LOST), 0);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_RX_PACKETS), n_put);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_TX_PACKETS), n_taken);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_FLOWS_OPENED), N_FLOWS);
	ring_world_collect(&world);
	for (uint16_t i = 0; i < 2 * RING_WORLD_N_MIRRORS; i++) {
		const struct karmalb_slot_totals *t = totals_slot(world.instance.totals, i);

		to_mirror += t->to_mirror_packets;
		to_client += t->to_client_packets;
		opened += t->opened;
		answered += t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES];
		ck_assert_uint_eq(t->query.count, t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES]);
		if (i >= RING_WORLD_N_MIRRORS) /* in turn, over all workers */
			ck_assert_uint_eq(t->opened, N_FLOWS / 2 / RING_WORLD_N_MIRRORS);
	}
	ck_assert_uint_eq(to_mirror, N_FLOWS * N_MESSAGES);
	ck_assert_uint_eq(to_client, N_FLOWS * N_MESSAGES);
	ck_assert_uint_eq(opened, N_FLOWS);
	ck_assert_uint_ge(answered, N_FLOWS);
}

/* Both have come to be used; who has no queue of a port needs others to send there. */
static void
check_handed_over(void)
{
	unsigned n = world.conf.n_workers;

	for (unsigned w = 0; w < n; w++) {
		ck_assert_uint_gt(ring_world_count(&world, w, KARMALB_COUNTER_FLOWS_OPENED), 0);
		if (world.conf.n_queues < n)
			continue;
		ck_assert_uint_gt(ring_world_count(&world, w, KARMALB_COUNTER_HANDED_OVER), 0);
		ck_assert_uint_eq(ring_world_count(&world, w, KARMALB_COUNTER_TX_HANDED_OVER), 0);
	}
	ck_assert_uint_gt(ring_world_sum(&world, KARMALB_COUNTER_HANDED_OVER), 0);
	if (world.conf.n_queues < n)
		ck_assert_uint_gt(ring_world_sum(&world, KARMALB_COUNTER_TX_HANDED_OVER), 0);
}

/* A whole day of many flows, ended by control. */
static void
run_story(unsigned n_workers, unsigned n_ports, unsigned n_queues)
{
	start(n_workers, n_ports, n_queues);
	for (unsigned w = 0; w < n_workers; w++)
		ring_world_launch(&world, w);
	talk_to_the_end();
	ck_assert_uint_eq(ring_world_reset(&world, RING_WORLD_TCP), N_FLOWS / 2);
	uint64_t began_us = karmalb_now_us();

	while (take_all() || n_resets < N_FLOWS) /* two for each connection */
		wait_or_fail(began_us, "resets");
	ck_assert_uint_eq(n_resets, N_FLOWS);
	ring_world_stop(&world); /* a packet may be out before it is counted */
	check_books();
	check_handed_over();
	ring_world_close(&world);
}

START_TEST(two_workers_on_one_queue_lose_and_reorder_nothing)
{
	run_story(2, 1, 1);
}
END_TEST

START_TEST(two_workers_with_a_queue_each_lose_and_reorder_nothing)
{
	run_story(2, 1, 2);
}
END_TEST

START_TEST(three_workers_on_one_queue_lose_and_reorder_nothing)
{
	run_story(3, 1, 1);
}
END_TEST

START_TEST(three_workers_with_a_queue_each_lose_and_reorder_nothing)
{
	run_story(3, 1, 3);
}
END_TEST

START_TEST(three_workers_on_two_ports_lose_and_reorder_nothing)
{
	run_story(3, 2, 1);
}
END_TEST

/* More than the workers can do; a mirror that hears answers nothing. */
START_TEST(of_a_flood_every_packet_comes_out_in_order_or_is_counted)
{
	uint32_t numbers[N_FLOWS] = {0};
	uint64_t began_us = karmalb_now_us();

	start(3, 2, 2);
	may_have_gaps = true;
	for (unsigned w = 0; w < 3; w++)
		ring_world_launch(&world, w);
	for (uint32_t i = 0; n_put < N_FLOOD; i = (i + 2) % N_FLOWS) {
		if (put(&(struct message){i, numbers[i], false})) {
			numbers[i]++;
		} else {
			take_all();
			ring_world_collect(&world);
			wait_or_fail(began_us, "the flood");
		}
	}
	wait_until_through();
	ring_world_stop(&world);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_RX_PACKETS), n_put);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_TX_PACKETS), n_taken);
	ck_assert_uint_eq(n_taken + ring_world_drops(&world), n_put);
	printf("%lu of %u packets came out\n", n_taken, N_FLOOD);
	ring_world_close(&world);
}
END_TEST

/* Worker 1, whose queue is the only one of the way out, does not run. */
static void
fill_rings(void)
{
	uint64_t began_us = karmalb_now_us();
	uint32_t n = 0;

	start(2, 2, 1);
	ring_world_launch(&world, 0);
	while (n < N_TO_STOPPED) {
		uint32_t flow = 2 * (n % N_TO_STOPPED_OF);

		if (put(&(struct message){flow, n / N_TO_STOPPED_OF, false}))
			n++;
		else
			wait_or_fail(began_us, "worker 0");
	}
	while (ring_world_drops(&world) < N_TO_STOPPED - 2 * RING_CAPACITY)
		wait_or_fail(began_us, "both rings to be full");
	ck_assert_uint_eq(ring_world_count(&world, 0, KARMALB_COUNTER_HANDED_OVER), RING_CAPACITY);
	ck_assert_uint_eq(
		ring_world_count(&world, 0, KARMALB_COUNTER_TX_HANDED_OVER), RING_CAPACITY);
	uint64_t lost = ring_world_count(&world, 0, KARMALB_COUNTER_DROP_HANDOVER_FULL);
	uint64_t lost_tx = ring_world_count(&world, 0, KARMALB_COUNTER_DROP_TX_HANDOVER_FULL);

	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_gt(lost_tx, 0);
	ck_assert_uint_eq(lost + lost_tx, N_TO_STOPPED - 2 * RING_CAPACITY);
	ck_assert_uint_eq(ring_world_drops(&world), lost + lost_tx);
	/* Handed over ones are for the other to count, lost ones were for this one. */
	ck_assert_uint_eq(ring_world_count(&world, 0, KARMALB_COUNTER_RX_PACKETS),
		N_TO_STOPPED - RING_CAPACITY);
	ck_assert(!take_all());
}

START_TEST(full_rings_are_counted_and_give_all_they_hold_when_their_worker_runs)
{
	fill_rings();
	ring_world_launch(&world, 1);
	wait_until_through(); /* without a gap: rings took what came first */
	ring_world_stop(&world);
	ck_assert_uint_eq(n_taken, 2 * RING_CAPACITY);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_TX_PACKETS), 2 * RING_CAPACITY);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_RX_PACKETS), N_TO_STOPPED);
	ring_world_close(&world);
}
END_TEST

START_TEST(full_rings_of_a_worker_that_never_runs_leak_nothing)
{
	fill_rings();
	ring_world_stop(&world);
	ring_world_close(&world);
	ck_assert_uint_eq(n_taken, 0);
}
END_TEST

/* The driver of DPDK 22.11 gives the kernel as many bytes as the buffers have, from their first on.
 */
START_TEST(no_packet_buffer_lies_beyond_what_the_af_xdp_driver_shows_the_kernel)
{
	start(2, 1, 1);
	struct rte_mempool *pool = world.instance.ports.pool;
	size_t size = pool->header_size + pool->elt_size + pool->trailer_size;
	const char *first = STAILQ_FIRST(&pool->mem_list)->addr;
	unsigned n_free = rte_mempool_avail_count(pool), n = 0;
	void **buffers = calloc(n_free, sizeof(*buffers));

	ck_assert_ptr_nonnull(buffers);
	/* But for those that workers of a world before hold in their caches. */
	while (n < n_free && rte_mempool_get(pool, &buffers[n]) == 0)
		n++;
	ck_assert_uint_gt(n, n_free / 2);
	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_le(
			(size_t)((const char *)buffers[i] - pool->header_size - first) + size,
			pool->populated_size * size);
	rte_mempool_put_bulk(pool, buffers, n);
	free(buffers);
	ck_assert_uint_lt(n_free, pool->populated_size); /* there were such */
	ring_world_close(&world);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {two_workers_on_one_queue_lose_and_reorder_nothing,
		two_workers_with_a_queue_each_lose_and_reorder_nothing,
		three_workers_on_one_queue_lose_and_reorder_nothing,
		three_workers_with_a_queue_each_lose_and_reorder_nothing,
		three_workers_on_two_ports_lose_and_reorder_nothing,
		of_a_flood_every_packet_comes_out_in_order_or_is_counted,
		full_rings_are_counted_and_give_all_they_hold_when_their_worker_runs,
		full_rings_of_a_worker_that_never_runs_leak_nothing,
		no_packet_buffer_lies_beyond_what_the_af_xdp_driver_shows_the_kernel, NULL};

	return suite_run("workers", tests);
}
