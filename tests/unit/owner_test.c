/* SPDX-License-Identifier: BSD-3-Clause */
/* Several workers' pipelines on one flow memory, without devices and threads between them. */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "owner.h"
#include "suite.h"

#define WORKERS_MAX 8

static struct fixture f;
static struct flow_table flows[WORKERS_MAX];
static struct pipeline pipelines[WORKERS_MAX];
static unsigned n_workers;

static void
open_workers(unsigned n)
{
	fixture_init(&f, &(struct fixture_conf){.n_workers = n,
				 .max_flows = 50000,
				 .max_half_open = 40000,
				 .n_sources = 4});
	n_workers = n;
	for (unsigned w = 0; w < n; w++) {
		flow_table_open(&flows[w], f.header, w);
		pipelines[w] = f.pipeline;
		pipelines[w].flows = &flows[w];
		pipelines[w].random += w;
	}
}

static uint64_t
counted(unsigned worker, enum karmalb_worker_counter counter)
{
	return pipelines[worker].counters[counter];
}

struct frame {
	uint8_t room[FIXTURE_HEADROOM + FRAME_MAX];
	struct pipeline_packet packet;
};

/* The worker that a packet ends with when worker 'first' received it; its verdict is in 'frame'. */
static unsigned
run_through(struct frame *frame, unsigned first)
{
	struct pipeline_packet *p = &frame->packet;
	uint8_t before[FRAME_MAX];
	uint64_t n_received = 0, n_after = 0;

	for (unsigned w = 0; w < n_workers; w++)
		n_received += counted(w, KARMALB_COUNTER_RX_PACKETS);
	memcpy(before, p->data, p->size);
	pipeline_burst(&pipelines[first], p, 1, f.now_us);
	pipelines[first].n_samples = 0;
	if (p->verdict == PIPELINE_HAND_OVER) {
		ck_assert_uint_ne(p->owner, first);
		ck_assert_uint_lt(p->owner, n_workers);
		ck_assert_mem_eq(before, p->data, p->size);
		first = p->owner;
		p->is_handed_over = true;
		pipeline_burst(&pipelines[first], p, 1, f.now_us);
		pipelines[first].n_samples = 0;
		ck_assert_uint_ne(p->verdict, PIPELINE_HAND_OVER);
	}
	for (unsigned w = 0; w < n_workers; w++)
		n_after += counted(w, KARMALB_COUNTER_RX_PACKETS);
	ck_assert_uint_eq(n_after, n_received + 1);
	return first;
}

static void
build(struct frame *frame, uint8_t port_in, const struct segment *segment)
{
	frame->packet = (struct pipeline_packet){.data = frame->room + FIXTURE_HEADROOM,
		.headroom = FIXTURE_HEADROOM,
		.port_in = port_in};
	frame->packet.size = (uint16_t)frame_build(frame->packet.data, segment);
}

static struct segment
random_client(uint64_t *random)
{
	uint64_t r = suite_random(random);

	return (struct segment){
		.source = 0xc0a80000 + (uint32_t)(r & 0xffff) + 1,
		.destination = FIXTURE_VIP,
		.source_port = (uint16_t)(1024 + (r >> 16) % 64000),
		.destination_port = FIXTURE_VIP_PORT,
		.seq = (uint32_t)(r >> 32),
		.flags = SEG_SYN,
	};
}

START_TEST(random_clients_are_spread_within_a_tenth)
{
	uint64_t random = suite_seed();

	for (unsigned n = 2; n <= WORKERS_MAX; n++) {
		unsigned n_of[WORKERS_MAX] = {0}, n_clients = n * 4000;

		open_workers(n);
		for (unsigned i = 0; i < n_clients; i++) {
			struct segment syn = random_client(&random);
			struct frame frame;

			build(&frame, 0, &syn);
			n_of[run_through(&frame, i % n)]++;
		}
		/* One standard deviation is 1.6 %. */
		for (unsigned w = 0; w < n; w++)
			ck_assert_msg(n_of[w] > 3600 && n_of[w] < 4400,
				"worker %u of %u: %u of %u clients", w, n, n_of[w], n_clients);
		fixture_fini(&f);
	}
}
END_TEST

/* Whichever worker receives it. */
START_TEST(both_sides_of_a_flow_have_the_same_owner)
{
	uint64_t random = suite_seed();

	for (unsigned n = 1; n <= WORKERS_MAX; n++) {
		open_workers(n);
		for (unsigned i = 0; i < 2000; i++) {
			struct segment syn = random_client(&random), out, back;
			struct frame frame;

			build(&frame, 0, &syn);
			unsigned owner = run_through(&frame, (unsigned)(random % n));

			if (frame.packet.verdict == PIPELINE_DROP)
				continue; /* the same client as before, or a used one */
			ck_assert(frame_read(frame.packet.data, frame.packet.size_out, &out));
			ck_assert_int_eq(source_port_owner(out.source_port, n), (int)owner);
			for (unsigned first = 0; first < n; first++) {
				back = (struct segment){
					.source = out.destination,
					.destination = out.source,
					.source_port = out.destination_port,
					.destination_port = out.source_port,
					.ack = out.seq + 1,
					.flags = SEG_SYN | SEG_ACK,
				};
				build(&frame, 1, &back);
				ck_assert_uint_eq(run_through(&frame, first), owner);
				ck_assert_uint_eq(frame.packet.verdict, PIPELINE_SEND);
				build(&frame, 0, &syn);
				ck_assert_uint_eq(run_through(&frame, first), owner);
			}
		}
		fixture_fini(&f);
	}
}
END_TEST

/* An ICMP error "host unreachable" about the packet 'about', from a router on the way. */
static void
build_icmp(struct frame *frame, uint8_t port_in, const struct segment *about)
{
	uint8_t embedded[FRAME_MAX];
	uint8_t *data = frame->room + FIXTURE_HEADROOM;

	frame_build(embedded, about);
	memcpy(data, embedded, 14);
	struct segment shell = *about;

	shell.source = 0x0a090909;
	shell.destination = about->source;
	build(frame, port_in, &shell);
	/* IPv4 header of 20 bytes, then type 3 code 1, then the embedded header and 8 bytes. */
	uint8_t *ip = data + 14, *icmp = ip + 20;

	ip[2] = 0, ip[3] = 20 + 8 + 28;
	ip[9] = 1;
	memset(icmp, 0, 8);
	icmp[0] = 3, icmp[1] = 1;
	memcpy(icmp + 8, embedded + 14, 28);
	frame->packet.size = 14 + 20 + 8 + 28;
	for (unsigned k = 0; k < 2; k++) {
		uint8_t *at = k == 0 ? ip : icmp;
		unsigned size = k == 0 ? 20 : 36, where = k == 0 ? 10 : 2;
		uint32_t sum = 0;

		at[where] = at[where + 1] = 0;
		for (unsigned i = 0; i < size; i += 2)
			sum += (uint32_t)at[i] << 8 | at[i + 1];
		sum = (sum & 0xffff) + (sum >> 16);
		sum = ~((sum & 0xffff) + (sum >> 16));
		at[where] = (uint8_t)(sum >> 8), at[where + 1] = (uint8_t)sum;
	}
}

START_TEST(error_about_a_packet_has_the_owner_of_its_flow)
{
	uint64_t random = suite_seed(), n_failures;

	open_workers(5);
	for (unsigned i = 0; i < 500; i++) {
		struct segment syn = random_client(&random), out;
		struct frame frame;

		build(&frame, 0, &syn);
		unsigned owner = run_through(&frame, 0);

		ck_assert(frame_read(frame.packet.data, frame.packet.size_out, &out));
		build_icmp(&frame, 1, &out);
		ck_assert_uint_eq(run_through(&frame, i % 5), owner);
		/* It was taken: the SYN failed. */
		n_failures = 0;
		for (unsigned slot = 0; slot < 4; slot++)
			n_failures += f.slots[slot].outcomes[KARMALB_OUTCOME_CONNECT_FAILURES];
		ck_assert_uint_eq(n_failures, i + 1);
	}
	fixture_fini(&f);
}
END_TEST

/* To a source address, but to a port that no worker uses. */
START_TEST(packet_of_no_flow_stays_with_who_received_it)
{
	struct segment stray = {
		.source = FIXTURE_MIRROR,
		.destination = FIXTURE_SOURCE,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = FLOW_PORT_FIRST - 1,
		.flags = SEG_ACK,
	};

	open_workers(7);
	for (unsigned w = 0; w < 7; w++) {
		struct frame frame;

		build(&frame, 1, &stray);
		ck_assert_uint_eq(run_through(&frame, w), w);
		ck_assert_uint_eq(counted(w, KARMALB_COUNTER_DROP_NO_FLOW), 1);
	}
	fixture_fini(&f);
}
END_TEST

START_TEST(every_queue_has_one_owner_and_every_worker_a_way_out)
{
	for (unsigned n = 1; n <= KARMALB_WORKERS_MAX; n++)
		for (unsigned n_queues = 1; n_queues <= KARMALB_WORKERS_MAX; n_queues++)
			for (unsigned before = 0; before < 5; before++) {
				unsigned n_of[KARMALB_WORKERS_MAX] = {0};

				for (unsigned q = 0; q < n_queues; q++)
					n_of[owner_of_queue(before, q, n)]++;
				for (unsigned w = 0; w < n; w++) {
					unsigned q = owner_queue_to_send(before, n_queues, w, n);

					ck_assert_uint_lt(q, n_queues);
					ck_assert(n_of[w] == n_queues / n ||
						  n_of[w] == n_queues / n + 1);
					/* Who has a queue sends on his own. */
					if (n_of[w] > 0)
						ck_assert_uint_eq(owner_of_queue(before, q, n), w);
				}
			}
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {random_clients_are_spread_within_a_tenth,
		both_sides_of_a_flow_have_the_same_owner,
		error_about_a_packet_has_the_owner_of_its_flow,
		packet_of_no_flow_stays_with_who_received_it,
		every_queue_has_one_owner_and_every_worker_a_way_out, NULL};

	return suite_run("owner", tests);
}
