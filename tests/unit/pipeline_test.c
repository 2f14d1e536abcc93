/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for bursts of any packets, and what of a packet's way no other test covers. */
#include <string.h>

#include "pick.h"
#include "suite.h"
#include "talk.h"

static struct fixture f;

static uint64_t
counter(enum karmalb_worker_counter c)
{
	return f.pipeline.counters[c];
}

/* A packet of some connection, mostly plausible, sometimes bent. */
static unsigned
random_frame(uint8_t *bytes, uint64_t *random, uint8_t *port_in)
{
	static const uint8_t flags[] = {SEG_SYN, SEG_SYN | SEG_ACK, SEG_ACK, SEG_ACK | SEG_FIN,
		SEG_RST, SEG_RST | SEG_ACK, SEG_ACK | SEG_PSH};
	uint64_t r = suite_random(random);
	bool is_client = r & 1;
	struct segment s = {
		.mac_from = {2, 0, 0, 0, 9, (uint8_t)(r >> 1 & 1)},
		.source = is_client ? FIXTURE_CLIENT + (r >> 4 & 3) : FIXTURE_MIRROR + (r >> 4 & 3),
		.destination = is_client ? FIXTURE_VIP : FIXTURE_SOURCE + (r >> 6 & 1),
		.source_port = (uint16_t)(is_client ? 1024 + (r >> 8 & 7) : FIXTURE_MIRROR_PORT),
		.destination_port = (uint16_t)(is_client ? FIXTURE_VIP_PORT : 1024 + (r >> 8 & 7)),
		.seq = (uint32_t)(r >> 16 & 3) * 100,
		.ack = (uint32_t)(r >> 18 & 3) * 100 + (r >> 20 & 1),
		.flags = flags[(r >> 24) % 7],
		.payload_size = r >> 32 & 1 ? (uint16_t)(r >> 33 & 127) : 0,
		.ip_options = (r >> 41 & 15) == 0 ? 2 : 0,
		.has_partial_checksum = (r >> 45 & 15) == 0,
	};
	unsigned size = frame_build(bytes, &s);

	*port_in = is_client ? 0 : 1;
	if ((r >> 49 & 7) == 0) {
		unsigned at = (unsigned)(suite_random(random) % size);

		bytes[at] ^= (uint8_t)(1 << (r >> 52 & 7));
		/* Sums made right again, unless it was a size that was bent. */
		if ((r >> 55 & 1) && at != 14 && at != 16 && at != 17)
			frame_finish(bytes);
	}
	if ((r >> 56 & 15) == 0)
		size = (unsigned)(suite_random(random) % (size + 1));
	return size;
}

/*
 * Runs a burst and checks what must hold for any: one verdict each, one drop counter for each
 * dropped one, sent ones well-formed where they were.
 */
static void
run_burst(struct pipeline_packet *packets, unsigned n)
{
	uint64_t drops = fixture_drops(&f), rx = counter(KARMALB_COUNTER_RX_PACKETS);
	unsigned n_sent = 0, n_dropped = 0;

	for (unsigned i = 0; i < n; i++) {
		packets[i].verdict = 99;
		packets[i].size_out = 9999;
	}
	pipeline_burst(&f.pipeline, packets, n, f.now_us);
	for (unsigned i = 0; i < n; i++) {
		n_sent += packets[i].verdict == PIPELINE_SEND;
		n_dropped += packets[i].verdict == PIPELINE_DROP;
		if (packets[i].verdict == PIPELINE_SEND) {
			ck_assert_uint_le(packets[i].size_out, packets[i].size);
			ck_assert_uint_ge(packets[i].size_out, 54);
			ck_assert_uint_lt(packets[i].port_out, 2);
		}
	}
	ck_assert_uint_eq(n_sent + n_dropped, n);
	ck_assert_uint_eq(fixture_drops(&f) - drops, n_dropped);
	ck_assert_uint_eq(counter(KARMALB_COUNTER_RX_PACKETS) - rx, n);
	ck_assert_uint_le(f.pipeline.n_samples, PIPELINE_SAMPLES_MAX);
	ck_assert_uint_eq(counter(KARMALB_COUNTER_SAMPLES_LOST), 0);
	f.pipeline.n_samples = 0;
}

/* No flow is counted twice or forgotten, whatever came. */
static void
check_books(void)
{
	uint64_t opened = 0, closed = 0, uses = 0, n_live = 0, n_waiting = 0, n_half_open = 0;

	for (unsigned i = 0; i < 4; i++) {
		opened += f.slots[i].opened;
		closed += f.slots[i].closed;
		n_waiting += f.slots[i].n_waiting;
		uses += flow_slot_uses(f.header, i);
	}
	for (uint32_t i = 0; i < f.flows.worker->n_touched; i++) {
		const struct flow *flow = &f.flows.records[i];

		n_live += flow->state != FLOW_FREE && flow->state != FLOW_RESTING;
		n_half_open += flow_is_half_open(flow);
		if (flow->state != FLOW_FREE)
			n_waiting -= flow->exchange == FLOW_EXCHANGE_WAIT;
		ck_assert_uint_eq(flow->sequence & 1, 0);
	}
	ck_assert_uint_eq(opened, counter(KARMALB_COUNTER_FLOWS_OPENED));
	ck_assert_uint_eq(closed, counter(KARMALB_COUNTER_FLOWS_CLOSED));
	ck_assert_uint_eq(opened - closed, n_live);
	ck_assert_uint_eq(n_half_open, f.flows.worker->n_half_open);
	ck_assert_uint_eq(uses, f.flows.worker->n_flows);
	ck_assert_uint_eq(n_waiting, 0);
}

START_TEST(every_packet_has_one_verdict_and_every_drop_one_reason)
{
	uint64_t random = suite_seed();
	static uint8_t bytes[PIPELINE_BURST_MAX][FIXTURE_HEADROOM + FRAME_MAX];
	struct pipeline_packet packets[PIPELINE_BURST_MAX];

	fixture_init(&f, &(struct fixture_conf){.max_flows = 40, .max_half_open = 10});
	f.tables.ports[1].is_partial_checksum = true;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned n = (unsigned)(suite_random(&random) % (PIPELINE_BURST_MAX + 1));

		for (unsigned i = 0; i < n; i++) {
			packets[i].data = bytes[i] + FIXTURE_HEADROOM;
			packets[i].size = (uint16_t)random_frame(
				packets[i].data, &random, &packets[i].port_in);
			packets[i].is_l4_bad = suite_random(&random) % 64 == 0;
		}
		run_burst(packets, n);
		f.now_us += suite_random(&random) % 200000;
		if (round % 3 == 0) {
			pipeline_tick(&f.pipeline, f.now_us);
			f.pipeline.n_samples = 0;
		}
		check_books();
	}
	/* The traffic was of the kind that reaches everything. */
	ck_assert_uint_gt(counter(KARMALB_COUNTER_FLOWS_OPENED), 1000);
	ck_assert_uint_gt(counter(KARMALB_COUNTER_FLOWS_REPLACED), 100);
	ck_assert_uint_gt(counter(KARMALB_COUNTER_CHECKSUM_COMPLETED), 100);
	ck_assert_uint_gt(counter(KARMALB_COUNTER_DROP_HALF_OPEN_FULL), 100);
	ck_assert_uint_gt(counter(KARMALB_COUNTER_DROP_TCP_STATE), 100);
	ck_assert_uint_gt(counter(KARMALB_COUNTER_DROP_L4_CHECKSUM), 100);
	fixture_fini(&f);
}
END_TEST

START_TEST(random_bytes_are_dropped_by_name)
{
	uint64_t random = suite_seed();
	static uint8_t bytes[PIPELINE_BURST_MAX][FIXTURE_HEADROOM + 256];
	struct pipeline_packet packets[PIPELINE_BURST_MAX];

	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	for (unsigned round = 0; round < 5000; round++) {
		for (unsigned i = 0; i < PIPELINE_BURST_MAX; i++) {
			uint8_t *data = bytes[i] + FIXTURE_HEADROOM;

			packets[i] = (struct pipeline_packet){
				.data = data, .size = (uint16_t)(suite_random(&random) % 256)};
			for (unsigned k = 0; k < packets[i].size; k++)
				data[k] = (uint8_t)suite_random(&random);
			if (packets[i].size > 14 && round % 2 == 0)
				memcpy(&data[12], "\x08\x00\x45", 3);
		}
		run_burst(packets, PIPELINE_BURST_MAX);
	}
	ck_assert_uint_eq(counter(KARMALB_COUNTER_FLOWS_OPENED), 0);
	fixture_fini(&f);
}
END_TEST

/* A whole connection inside one burst, each packet finding what those before it did. */
START_TEST(packets_of_one_burst_see_each_other)
{
	static uint8_t bytes[4][FRAME_MAX];
	struct pipeline_packet packets[4];
	struct talk t;

	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 1, .n_sources = 1});
	t = talk_new(&f, 1);
	struct segment client = {.source = t.client,
		.destination = FIXTURE_VIP,
		.source_port = t.client_port,
		.destination_port = FIXTURE_VIP_PORT,
		.seq = 1000};
	struct segment mirror = {.source = FIXTURE_MIRROR,
		.destination = FIXTURE_SOURCE,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = 1024,
		.seq = 2000};

	for (unsigned i = 0; i < 4; i++) {
		struct segment *s = i == 1 ? &mirror : &client;

		s->flags = i == 0 ? SEG_SYN : i == 1 ? SEG_SYN | SEG_ACK : SEG_ACK;
		s->ack = i == 0 ? 0 : i == 1 ? 1001 : 2001;
		s->payload_size = i == 3 ? 77 : 0;
		packets[i] = (struct pipeline_packet){.data = bytes[i],
			.port_in = i == 1,
			.size = (uint16_t)frame_build(bytes[i], s)};
		client.seq += i == 0;
	}
	pipeline_burst(&f.pipeline, packets, 4, f.now_us);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(packets[i].verdict, PIPELINE_SEND);
	ck_assert_uint_eq(f.slots[0].n_waiting, 1);
	fixture_fini(&f);
}
END_TEST

/* A switch gives them to every host, of which each would serve. */
START_TEST(frames_to_broadcast_and_multicast_addresses_are_dropped)
{
	static const uint8_t groups[][6] = {
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x01, 0, 0x5e, 0, 0, 1}, {0x33, 0x33}};
	struct segment syn = {.source = FIXTURE_CLIENT,
		.destination = FIXTURE_VIP,
		.source_port = 4000,
		.destination_port = FIXTURE_VIP_PORT,
		.flags = SEG_SYN};

	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	for (unsigned i = 0; i < 3; i++) {
		memcpy(syn.mac_to, groups[i], 6);
		ck_assert_int_eq(fixture_send(&f, 0, &syn).reason, KARMALB_COUNTER_DROP_GROUP_MAC);
	}
	ck_assert_uint_eq(counter(KARMALB_COUNTER_FLOWS_OPENED), 0);
	/* Such as a virtual router's, which the port's own need not be. */
	memcpy(syn.mac_to, (const uint8_t[]){0, 0, 0x5e, 0, 1, 7}, 6);
	ck_assert(fixture_send(&f, 0, &syn).is_sent);
	fixture_fini(&f);
}
END_TEST

START_TEST(padding_is_cut)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct segment syn = {.source = FIXTURE_CLIENT,
		.destination = FIXTURE_VIP,
		.source_port = 4000,
		.destination_port = FIXTURE_VIP_PORT,
		.flags = SEG_SYN};
	uint8_t bytes[FRAME_MAX];

	frame_build(bytes, &syn);
	memset(&bytes[54], 0xaa, 6);
	/* fixture_send_frame() reads back exactly size_out bytes. */
	ck_assert(fixture_send_frame(&f, 0, bytes, 60).is_sent);
	fixture_fini(&f);
}
END_TEST

START_TEST(unfinished_checksum_is_completed_only_where_the_port_says_so)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct segment syn = {.source = FIXTURE_CLIENT,
		.destination = FIXTURE_VIP,
		.source_port = 4000,
		.destination_port = FIXTURE_VIP_PORT,
		.flags = SEG_SYN,
		.payload_size = 33,
		.has_partial_checksum = true};
	uint8_t bytes[FRAME_MAX];

	f.tables.ports[0].is_partial_checksum = true;
	ck_assert(fixture_send(&f, 0, &syn).is_sent); /* checksums verified in there */
	ck_assert_uint_eq(counter(KARMALB_COUNTER_CHECKSUM_COMPLETED), 1);
	syn.has_partial_checksum = false;
	ck_assert(fixture_send(&f, 0, &syn).is_sent);
	ck_assert_uint_eq(counter(KARMALB_COUNTER_CHECKSUM_COMPLETED), 1);
	f.tables.ports[0].is_partial_checksum = false;
	syn.has_partial_checksum = true;
	struct pipeline_packet packet = {
		.data = bytes, .size = (uint16_t)frame_build(bytes, &syn), .port_in = 0};

	pipeline_burst(&f.pipeline, &packet, 1, f.now_us);
	ck_assert_int_eq(packet.verdict, PIPELINE_SEND);
	ck_assert(!frame_read(bytes, packet.size_out, &syn));
	ck_assert_uint_eq(counter(KARMALB_COUNTER_CHECKSUM_COMPLETED), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(replies_follow_the_clients_last_way)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, 1);

	talk_connect(&t, 10);
	const struct flow *flow = talk_flow(&t);
	uint16_t sequence = flow->sequence;

	talk_client(&t, SEG_ACK, 0);
	ck_assert_uint_eq(flow->sequence, sequence); /* the same: not written */
	t.client_mac_tail = 8;
	ck_assert(talk_client(&t, SEG_ACK, 0).is_sent);
	ck_assert_uint_ne(flow->sequence, sequence);
	ck_assert(talk_mirror(&t, SEG_ACK, 0).is_sent); /* talk_mirror() checks the MAC */
	fixture_fini(&f);
}
END_TEST

START_TEST(replies_leave_by_the_gateway_where_the_port_says_so)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, 1);

	talk_connect(&t, 10);
	f.tables.ports[0].is_reply_by_route = true;
	ck_assert_int_eq(talk_mirror(&t, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_NO_NEXT_HOP);
	f.tables.ports[0].gateways[1].is_known = true; /* IPv6's is no way for IPv4 */
	ck_assert_int_eq(talk_mirror(&t, SEG_ACK, 0).reason, KARMALB_COUNTER_DROP_NO_NEXT_HOP);
	f.tables.ports[0].gateways[0] =
		(struct table_gateway){{0x02, 0, 0, 0, 0x77, 0x07}, .is_known = true};
	struct fixture_result r = talk_mirror(&t, SEG_ACK, 0);

	ck_assert(r.is_sent);
	ck_assert_mem_eq(r.out.mac_to, "\x02\x00\x00\x00\x77\x07", 6);
	ck_assert_mem_eq(r.out.mac_from, f.tables.ports[0].mac, 6);
	fixture_fini(&f);
}
END_TEST

START_TEST(packets_to_the_mirror_bear_its_next_hop)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct talk t = talk_new(&f, 1);
	struct fixture_result r = talk_client(&t, SEG_SYN, 0);

	ck_assert_mem_eq(r.out.mac_to, f.tables.slots[talk_slot(&t)].next_hop_mac, 6);
	ck_assert_mem_eq(r.out.mac_from, f.tables.ports[1].mac, 6);
	fixture_fini(&f);
}
END_TEST

START_TEST(mirror_without_next_hop_is_not_picked)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 4});
	f.tables.slots[0].has_next_hop = false;
	f.tables.slots[1].has_next_hop = false;
	f.tables.slots[3].has_next_hop = false;
	for (unsigned i = 0; i < 50; i++) {
		struct talk t = talk_new(&f, i);

		ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
		ck_assert_uint_eq(talk_slot(&t), 2);
	}
	struct talk late = talk_new(&f, 99);

	f.tables.ports[1].is_up = false;
	ck_assert_int_eq(talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_NO_NEXT_HOP);
	fixture_fini(&f);
}
END_TEST

/* In either direction, to the byte, headers of the link not counted. */
START_TEST(packet_that_does_not_fit_the_way_out_is_dropped_by_name)
{
	fixture_init(&f, &(struct fixture_conf){0});
	struct talk t = talk_new(&f, 1);

	f.tables.ports[0].mtu = 1300;
	f.tables.ports[1].mtu = 1200;
	ck_assert(talk_connect(&t, 10));
	ck_assert(talk_client(&t, SEG_ACK, 1200 - 40).is_sent);
	ck_assert_int_eq(talk_client(&t, SEG_ACK, 1200 - 39).reason, KARMALB_COUNTER_DROP_TOO_BIG);
	ck_assert(talk_mirror(&t, SEG_ACK, 1300 - 40).is_sent);
	ck_assert_int_eq(talk_mirror(&t, SEG_ACK, 1300 - 39).reason, KARMALB_COUNTER_DROP_TOO_BIG);
	ck_assert_uint_eq(f.slots[talk_slot(&t)].to_client_packets, 2);
	fixture_fini(&f);
}
END_TEST

START_TEST(nothing_leaves_by_a_port_without_link)
{
	fixture_init(&f, &(struct fixture_conf){0});
	struct talk t = talk_new(&f, 1);

	ck_assert(talk_connect(&t, 10));
	f.tables.ports[1].is_up = false;
	ck_assert_int_eq(talk_client(&t, SEG_ACK, 10).reason, KARMALB_COUNTER_DROP_PORT_DOWN);
	/* With the link the kernel's neighbour goes; the reason stays. */
	f.tables.slots[talk_slot(&t)].has_next_hop = false;
	ck_assert_int_eq(talk_client(&t, SEG_ACK, 10).reason, KARMALB_COUNTER_DROP_PORT_DOWN);
	f.tables.slots[talk_slot(&t)].has_next_hop = true;
	f.tables.ports[0].is_up = false;
	ck_assert_int_eq(talk_mirror(&t, SEG_ACK, 10).reason, KARMALB_COUNTER_DROP_PORT_DOWN);
	f.tables.ports[0].is_up = f.tables.ports[1].is_up = true;
	ck_assert(talk_client(&t, SEG_ACK, 10).is_sent);
	ck_assert(talk_mirror(&t, SEG_ACK, 10).is_sent);
	fixture_fini(&f);
}
END_TEST

START_TEST(picks_follow_the_shares_and_share_0_gets_none)
{
	static const double shares[] = {0.15, 0.30, 0.05, 0.50};
	unsigned n_flows = 20000, n_of[5] = {0};

	fixture_init(&f, &(struct fixture_conf){
				 .n_mirrors = 5, .max_flows = n_flows, .max_half_open = n_flows});
	fixture_shares(&f, (double[]){0.15, 0.30, 0.05, 0.50, 0}, 5);
	for (unsigned i = 0; i < n_flows; i++) {
		struct talk t = talk_new(&f, i);

		ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
		n_of[talk_slot(&t)]++;
	}
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_le(abs((int)n_of[i] - (int)(shares[i] * n_flows)), 300);
		ck_assert_uint_eq(f.slots[i].opened, n_of[i]);
	}
	ck_assert_uint_eq(n_of[4], 0);
	fixture_fini(&f);
}
END_TEST

/* Vector R1, and what becomes of it where a mirror cannot be reached. */
START_TEST(rotation_is_exact_over_all_workers)
{
	static const unsigned expected[] = {0, 1, 2, 0, 1, 2, 0};
	struct pick_share shares[] = {{1, 0}, {1, 1}, {1, 2}};
	struct flow_table tables[2];
	unsigned n = 0;

	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 3, .n_workers = 2});
	f.tables.services[0].selector = KARMALB_SELECTOR_ROTATE;
	f.tables.services[0].n_columns = pick_order(f.tables.columns, shares, 3);
	flow_table_open(&tables[0], f.header, 0);
	flow_table_open(&tables[1], f.header, 1);
	for (unsigned i = 0; i < 7; i++) {
		struct talk t = talk_new(&f, n++);

		f.pipeline.flows = &tables[i & 1];
		ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
		ck_assert_uint_eq(talk_slot(&t), expected[i]);
		t.client_seq--;
		ck_assert(talk_client(&t, SEG_SYN, 0).is_sent); /* repeated: no new flow */
	}
	f.tables.slots[1].has_next_hop = false;
	for (unsigned i = 0; i < 4; i++) {
		struct talk t = talk_new(&f, n++);

		ck_assert(talk_client(&t, SEG_SYN, 0).is_sent);
		ck_assert_uint_eq(talk_slot(&t), i & 1 ? 0 : 2);
	}
	f.tables.ports[1].is_up = false;
	struct talk late = talk_new(&f, n);

	ck_assert_int_eq(talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_NO_NEXT_HOP);
	fixture_fini(&f);
}
END_TEST

START_TEST(flows_keep_their_mirror_when_shares_change)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 2});
	struct talk t = talk_new(&f, 1), next = talk_new(&f, 2);

	fixture_shares(&f, (double[]){1, 0}, 2);
	talk_connect(&t, 10);
	fixture_shares(&f, (double[]){0, 1}, 2);
	ck_assert(talk_client(&t, SEG_ACK, 5).is_sent); /* talk_client() checks where to */
	ck_assert_uint_eq(talk_slot(&t), 0);
	talk_connect(&next, 10);
	ck_assert_uint_eq(talk_slot(&next), 1);
	fixture_shares(&f, (double[]){0, 0}, 2);
	struct talk late = talk_new(&f, 3);

	ck_assert_int_eq(talk_client(&late, SEG_SYN, 0).reason, KARMALB_COUNTER_DROP_NO_MIRROR);
	ck_assert(talk_client(&t, SEG_ACK, 5).is_sent);
	fixture_fini(&f);
}
END_TEST

START_TEST(strangers_are_dropped_by_name)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct segment s = {.source = FIXTURE_CLIENT,
		.destination = FIXTURE_VIP,
		.source_port = 4000,
		.destination_port = FIXTURE_VIP_PORT,
		.flags = SEG_ACK};

	ck_assert_int_eq(fixture_send(&f, 0, &s).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	s.flags = SEG_SYN | SEG_ACK;
	ck_assert_int_eq(fixture_send(&f, 0, &s).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	s.flags = SEG_SYN;
	s.destination_port++;
	ck_assert_int_eq(fixture_send(&f, 0, &s).reason, KARMALB_COUNTER_DROP_NO_SERVICE);
	s.destination = FIXTURE_SOURCE;
	ck_assert_int_eq(fixture_send(&f, 0, &s).reason, KARMALB_COUNTER_DROP_NO_FLOW);
	s.destination = FIXTURE_VIP;
	s.destination_port--;
	s.source = 0x7f000001;
	ck_assert_int_eq(fixture_send(&f, 0, &s).reason, KARMALB_COUNTER_DROP_MALFORMED);
	fixture_fini(&f);
}
END_TEST

START_TEST(tick_asks_for_the_next_in_time)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	ck_assert_uint_eq(pipeline_tick(&f.pipeline, f.now_us), f.now_us + 10000);
	struct talk t = talk_new(&f, 1);

	talk_client(&t, SEG_SYN, 0);
	ck_assert_uint_eq(pipeline_tick(&f.pipeline, f.now_us), f.now_us + 1000);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {every_packet_has_one_verdict_and_every_drop_one_reason,
		random_bytes_are_dropped_by_name, packets_of_one_burst_see_each_other,
		padding_is_cut, frames_to_broadcast_and_multicast_addresses_are_dropped,
		unfinished_checksum_is_completed_only_where_the_port_says_so,
		replies_follow_the_clients_last_way,
		replies_leave_by_the_gateway_where_the_port_says_so,
		packets_to_the_mirror_bear_its_next_hop, mirror_without_next_hop_is_not_picked,
		packet_that_does_not_fit_the_way_out_is_dropped_by_name,
		nothing_leaves_by_a_port_without_link,
		picks_follow_the_shares_and_share_0_gets_none, rotation_is_exact_over_all_workers,
		flows_keep_their_mirror_when_shares_change, strangers_are_dropped_by_name,
		tick_asks_for_the_next_in_time, NULL};

	return suite_run("pipeline", tests);
}
