/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker does because control asks for it; the other side of the mailbox is played here. */
#include <string.h>

#include <karmalb/clock.h>

#include "craft.h"
#include "datagrams.h"
#include "errands.h"
#include "rewrite.h"
#include "story.h"
#include "suite.h"

#define MS KARMALB_MILLISECOND

static struct fixture f;
static struct errands errands;
static uint8_t places[CRAFT_FRAMES_MAX][CRAFT_SIZE_MAX];
static struct craft_frames out;

static void
setup(void)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 0});
	memset(&errands, 0, sizeof(errands));
	f.pipeline.errands = &errands;
}

static void
make_room(unsigned n)
{
	out.n = 0;
	out.n_max = n;
	for (unsigned i = 0; i < n; i++)
		out.data[i] = places[i];
}

/* Runs what is due to its end; the frames of the last piece are in 'out'. */
static unsigned
run(unsigned room)
{
	unsigned n_calls = 0;
	bool is_more;

	do {
		make_room(room);
		is_more = pipeline_run_errands(&f.pipeline, &out, f.now_us);
		n_calls++;
	} while (is_more && n_calls < 1000);
	ck_assert(!is_more);
	return n_calls;
}

static struct segment
frame_at(unsigned i)
{
	struct segment s;

	ck_assert_uint_lt(i, out.n);
	ck_assert(frame_read(out.data[i], out.sizes[i], &s));
	return s;
}

/* Of mirror 0, within 100 ms. */
static void
order_probe(struct probe *p)
{
	p->slot = 0;
	p->timeout_ms = 100;
	p->ordered_us = f.now_us;
	p->state = PROBE_ORDERED;
	errands_order(&errands);
}

/* A probe of mirror 0 is out; gives its SYN. */
static struct segment
send_probe(void)
{
	struct probe *p = &errands.probes[5];

	order_probe(p);
	ck_assert(errands_are_due(&errands));
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(out.n, 1);
	ck_assert_uint_eq(out.ports[0], 1);
	ck_assert_uint_eq(p->state, PROBE_SENT);
	return frame_at(0);
}

/* What a mirror sends back to 'syn', and what of it goes out. */
static bool
reply(const struct segment *syn, uint8_t flags, struct segment *sent)
{
	uint8_t bytes[FIXTURE_HEADROOM + FRAME_MAX];
	struct segment s = {
		.source = syn->destination,
		.destination = syn->source,
		.source_port = syn->destination_port,
		.destination_port = syn->source_port,
		.seq = 4000,
		.ack = syn->seq + 1,
		.flags = flags,
	};
	struct pipeline_packet packet = {.data = bytes + FIXTURE_HEADROOM, .port_in = 1};

	packet.size = (uint16_t)frame_build(packet.data, &s);
	pipeline_burst(&f.pipeline, &packet, 1, f.now_us);
	if (packet.verdict != PIPELINE_SEND)
		return false;
	ck_assert_uint_eq(packet.port_out, 1);
	ck_assert(frame_read(packet.data, packet.size_out, sent));
	return true;
}

/* No trace of a probe in what karma, strategies and status are made of. */
static void
check_uncounted(void)
{
	ck_assert_uint_eq(fixture_drops(&f), 0);
	ck_assert_uint_eq(f.n_seen, 0);
	fixture_pass(&f, 3000 * MS);
	story_check_over(&f);
}

START_TEST(probe_is_a_syn_from_a_source_of_ours)
{
	setup();
	struct segment syn = send_probe();

	ck_assert_uint_eq(syn.flags, SEG_SYN);
	ck_assert_uint_eq(syn.destination, FIXTURE_MIRROR);
	ck_assert_uint_eq(syn.destination_port, FIXTURE_MIRROR_PORT);
	ck_assert(syn.source == FIXTURE_SOURCE || syn.source == FIXTURE_SOURCE + 1);
	ck_assert_uint_ge(syn.source_port, FLOW_PORT_FIRST);
	/* The port is taken as long as the probe is out. */
	ck_assert_uint_eq(flow_slot_uses(f.header, 0), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(open_mirror_is_reset_and_told)
{
	setup();
	struct segment syn = send_probe(), rst;
	struct probe *p = &errands.probes[5];

	f.now_us += 730;
	ck_assert(reply(&syn, SEG_SYN | SEG_ACK, &rst));
	ck_assert_uint_eq(rst.flags, SEG_RST);
	ck_assert_uint_eq(rst.seq, syn.seq + 1);
	ck_assert_uint_eq(rst.source, syn.source);
	ck_assert_uint_eq(rst.source_port, syn.source_port);
	ck_assert_uint_eq(rst.destination, FIXTURE_MIRROR);
	ck_assert_uint_eq(p->state, PROBE_DONE);
	ck_assert_int_eq(p->result, KARMALB_CHECK_OPEN);
	ck_assert_uint_eq(p->took_us, 730);
	check_uncounted();
	fixture_fini(&f);
}
END_TEST

START_TEST(refusing_mirror_is_told_and_answered_nothing)
{
	setup();
	struct segment syn = send_probe(), sent;

	ck_assert(!reply(&syn, SEG_RST | SEG_ACK, &sent));
	ck_assert_uint_eq(errands.probes[5].state, PROBE_DONE);
	ck_assert_int_eq(errands.probes[5].result, KARMALB_CHECK_REFUSED);
	check_uncounted();
	fixture_fini(&f);
}
END_TEST

START_TEST(silent_mirror_is_told_after_the_time_limit)
{
	setup();
	send_probe();
	f.now_us += 99 * MS;
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.probes[5].state, PROBE_SENT);
	ck_assert(errands_are_due(&errands)); /* asked again at the next tick */
	f.now_us += 1 * MS;
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.probes[5].state, PROBE_DONE);
	ck_assert_int_eq(errands.probes[5].result, KARMALB_CHECK_SILENT);
	ck_assert(!errands_are_due(&errands));
	check_uncounted();
	fixture_fini(&f);
}
END_TEST

/* A worker that was held up sweeps before it comes to its errands. */
START_TEST(record_of_a_probe_outlives_a_stall)
{
	setup();
	send_probe();
	uint32_t record = errands.probes[5].record;

	f.now_us += 1300 * MS;
	/* Several rounds of the sweep at one time: it comes by every record. */
	for (unsigned i = 0; i < 10; i++)
		pipeline_tick(&f.pipeline, f.now_us);
	ck_assert_int_eq(f.flows.records[record].state, FLOW_PROBE);
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.probes[5].state, PROBE_DONE);
	ck_assert_int_eq(errands.probes[5].result, KARMALB_CHECK_SILENT);
	ck_assert_int_eq(f.flows.records[record].state, FLOW_RESTING);
	check_uncounted();
	ck_assert_int_eq(f.flows.records[record].state, FLOW_FREE);
	ck_assert_uint_eq(f.flows.worker->n_flows, 0);
	ck_assert_uint_eq(flow_slot_uses(f.header, 0), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(answer_to_another_number_is_no_answer)
{
	setup();
	struct segment syn = send_probe(), sent;

	syn.seq += 7;
	ck_assert(!reply(&syn, SEG_SYN | SEG_ACK, &sent));
	ck_assert_uint_eq(errands.probes[5].state, PROBE_SENT);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_DROP_TCP_STATE), 1);
	fixture_fini(&f);
}
END_TEST

/* About the probe that is out, from a router on the way; 'wrong' is added to its number. */
static void
tell_error(uint8_t type, uint8_t code, uint32_t wrong)
{
	uint8_t about[CRAFT_SIZE_MAX], frame[FRAME_MAX];
	const uint32_t from_to[] = {0x0a630063, frame_at(0).source};

	memcpy(about, out.data[0], out.sizes[0]);
	datagram_put32(&about[38], frame_at(0).seq + wrong);
	unsigned size = datagram_build_icmp(frame, (const uint8_t[]){type, code}, from_to, about);
	struct pipeline_packet packet = {.data = frame, .size = (uint16_t)size, .port_in = 1};

	pipeline_burst(&f.pipeline, &packet, 1, f.now_us);
	ck_assert_uint_eq(packet.verdict, PIPELINE_DROP);
}

/* Too large, lifetime exceeded, a parameter's problem: none of them speaks of the mirror. */
START_TEST(error_that_ends_no_connect_is_no_answer)
{
	static const uint8_t errors[][2] = {{3, 4}, {11, 0}, {11, 1}, {12, 0}};

	setup();
	send_probe();
	for (unsigned i = 0; i < 4; i++) {
		tell_error(errors[i][0], errors[i][1], 0);
		ck_assert_uint_eq(errands.probes[5].state, PROBE_SENT);
		ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_DROP_ICMP), i + 1);
	}
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_PROBES_ANSWERED), 0);
	f.now_us += 100 * MS;
	run(CRAFT_FRAMES_MAX);
	ck_assert_int_eq(errands.probes[5].result, KARMALB_CHECK_SILENT);
	fixture_fini(&f);
}
END_TEST

START_TEST(unreachable_answers_a_probe_if_it_is_about_its_very_syn)
{
	static const uint8_t codes[] = {0, 1, 2, 3, 9, 10, 13};

	for (unsigned i = 0; i < sizeof(codes); i++) {
		setup();
		send_probe();
		tell_error(3, codes[i], 1);
		tell_error(3, codes[i], 0xffffffff);
		ck_assert_uint_eq(errands.probes[5].state, PROBE_SENT);
		ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_DROP_ICMP), 2);
		f.now_us += 730;
		tell_error(3, codes[i], 0);
		ck_assert_uint_eq(errands.probes[5].state, PROBE_DONE);
		ck_assert_int_eq(errands.probes[5].result, KARMALB_CHECK_UNREACHABLE);
		ck_assert_uint_eq(errands.probes[5].took_us, 730);
		ck_assert_uint_eq(fixture_drops(&f), 2);
		fixture_fini(&f);
	}
}
END_TEST

START_TEST(probe_that_is_not_out_says_why)
{
	setup();
	f.tables.slots[0].has_next_hop = false;
	order_probe(&errands.probes[0]);
	run(0);
	ck_assert_uint_eq(errands.probes[0].state, PROBE_ORDERED); /* no room for a frame */
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(out.n, 0);
	ck_assert_uint_eq(errands.probes[0].state, PROBE_DONE);
	ck_assert_int_eq(errands.probes[0].result, KARMALB_CHECK_NO_NEXT_HOP);
	fixture_fini(&f);
}
END_TEST

/* As when all packet buffers are in use; an entry that served before shows what is left in it. */
START_TEST(probe_that_finds_no_room_is_given_up_in_time)
{
	struct probe *p = &errands.probes[5];

	setup();
	send_probe();
	f.now_us += 100 * MS;
	run(CRAFT_FRAMES_MAX);
	fixture_pass(&f, 3000 * MS);
	ck_assert_uint_eq(p->state, PROBE_DONE);
	order_probe(p);
	f.now_us += 99 * MS;
	run(0);
	ck_assert_uint_eq(p->state, PROBE_ORDERED);
	ck_assert(errands_are_due(&errands));
	f.now_us += 1 * MS;
	run(0);
	ck_assert_uint_eq(p->state, PROBE_DONE);
	ck_assert_int_eq(p->result, KARMALB_CHECK_NOT_SENT);
	ck_assert_uint_eq(p->record, FLOW_NONE);
	ck_assert(!errands_are_due(&errands));
	check_uncounted();
	fixture_fini(&f);
}
END_TEST

/* ---- ending flows ---- */

static void
order_reset(uint64_t slots)
{
	errands.reset.slots[0] = slots;
	errands.reset.at_ms = (uint32_t)(f.now_us / MS);
	errands.reset.record = 0;
	errands.reset.n_ended = 0;
	errands.reset.state = ERRANDS_RESET_ORDERED;
	errands_order(&errands);
}

START_TEST(both_sides_get_a_reset_that_they_take)
{
	setup();
	struct talk t = talk_new(&f, 3);

	talk_connect(&t, 10);
	talk_client(&t, SEG_ACK | SEG_PSH, 100);
	talk_mirror(&t, SEG_ACK | SEG_PSH, 300);
	order_reset(~UINT64_C(0));
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.state, ERRANDS_RESET_DONE);
	ck_assert_uint_eq(errands.reset.n_ended, 1);
	ck_assert_uint_eq(out.n, 2);
	struct segment to_client = frame_at(0), to_mirror = frame_at(1);

	ck_assert_uint_eq(out.ports[0], 0);
	ck_assert_uint_eq(to_client.flags, SEG_RST);
	ck_assert_uint_eq(to_client.source, FIXTURE_VIP);
	ck_assert_uint_eq(to_client.source_port, FIXTURE_VIP_PORT);
	ck_assert_uint_eq(to_client.destination_port, t.client_port);
	ck_assert_uint_eq(to_client.seq, t.mirror_seq);
	ck_assert_uint_eq(out.ports[1], 1);
	ck_assert_uint_eq(to_mirror.flags, SEG_RST);
	ck_assert_uint_eq(to_mirror.source_port, t.source_port);
	ck_assert_uint_eq(to_mirror.seq, t.client_seq);
	ck_assert_int_eq(story_state(&t), FLOW_RESTING);
	fixture_pass(&f, 11000 * MS);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

/* The sweep has not come by yet; the end of the flow is when it shows. */
START_TEST(query_that_was_overdue_when_its_flow_is_ended_counts_with_its_sample)
{
	setup();
	struct talk t = talk_new(&f, 9);

	talk_connect(&t, 10);
	f.n_seen = 0;
	talk_client(&t, SEG_ACK | SEG_PSH, 100);
	f.now_us += 3500 * MS;
	order_reset(~UINT64_C(0));
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.n_ended, 1);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_QUERY_TIMEOUTS), 1);
	ck_assert_uint_eq(f.pipeline.n_samples, 1);
	ck_assert_uint_eq(f.samples[0].kind, SAMPLE_FAILURE);
	ck_assert_uint_eq(f.samples[0].outcome, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	ck_assert_uint_eq(f.samples[0].latency_us, 3500 * MS);
	fixture_pass(&f, 11000 * MS);
	ck_assert_uint_eq(f.n_seen, 1);
	ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_SAMPLES_LOST), 0);
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(client_whose_syn_waits_is_refused)
{
	setup();
	struct talk t = talk_new(&f, 4);

	talk_client(&t, SEG_SYN, 0);
	order_reset(~UINT64_C(0));
	run(CRAFT_FRAMES_MAX);
	struct segment to_client = frame_at(0);

	ck_assert_uint_eq(to_client.flags, SEG_RST | SEG_ACK);
	ck_assert_uint_eq(to_client.ack, t.client_seq);
	ck_assert_uint_eq(story_outcomes(&f, KARMALB_OUTCOME_CONNECT_FAILURES), 0);
	ck_assert_uint_eq(f.flows.worker->n_half_open, 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(only_flows_of_the_chosen_slots_end)
{
	setup();
	struct talk talks[40];
	unsigned n_of_first = 0, n_left = 0;

	for (unsigned i = 0; i < 40; i++) {
		talks[i] = talk_new(&f, (uint16_t)(100 + i));
		talk_connect(&talks[i], 10);
		n_of_first += talk_flow(&talks[i])->slot == 0;
	}
	ck_assert_uint_gt(n_of_first, 0);
	order_reset(1);
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.n_ended, n_of_first);
	for (unsigned i = 0; i < 40; i++)
		n_left += story_state(&talks[i]) == FLOW_ESTABLISHED;
	ck_assert_uint_eq(n_left, 40 - n_of_first);
	fixture_fini(&f);
}
END_TEST

START_TEST(many_flows_end_in_pieces_that_fit)
{
	setup();
	for (unsigned i = 0; i < 200; i++) {
		struct talk t = talk_new(&f, (uint16_t)(100 + i));

		talk_connect(&t, 10);
	}
	order_reset(~UINT64_C(0));
	ck_assert_uint_ge(run(8), 200 / 4);
	ck_assert_uint_eq(errands.reset.n_ended, 200);
	fixture_fini(&f);
}
END_TEST

/* Whoever has no room is not to be asked again and again until there is some. */
START_TEST(flows_without_room_for_resets_end_at_a_later_tick)
{
	setup();
	struct talk t = talk_new(&f, 7);

	talk_connect(&t, 10);
	order_reset(~UINT64_C(0));
	for (unsigned room = 0; room < 2; room++) {
		ck_assert_uint_eq(run(room), 1);
		ck_assert_uint_eq(errands.reset.state, ERRANDS_RESET_ORDERED);
		ck_assert(errands_are_due(&errands));
	}
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.state, ERRANDS_RESET_DONE);
	ck_assert_uint_eq(errands.reset.n_ended, 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(flows_that_open_later_stay)
{
	setup();
	struct talk before = talk_new(&f, 7), after = talk_new(&f, 8);

	talk_connect(&before, 10);
	order_reset(~UINT64_C(0));
	f.now_us += 5 * MS;
	talk_connect(&after, 10);
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.n_ended, 1);
	ck_assert_int_eq(story_state(&after), FLOW_ESTABLISHED);
	fixture_fini(&f);
}
END_TEST

/* Its stamp of 32 bits is less far from the order's when counted as later. */
START_TEST(flow_of_25_days_ago_is_not_taken_for_a_later_one)
{
	setup();
	struct talk old = talk_new(&f, 7), young = talk_new(&f, 8);

	talk_connect(&old, 10);
	const struct flow *flow = talk_flow(&old);
	uint32_t opened_ms = flow->opened_ms;

	f.now_us += 25 * 24 * 60 * KARMALB_MINUTE;
	ck_assert_uint_eq(flow_age_ms(flow, opened_ms + 2160000000), 2160000000);
	order_reset(~UINT64_C(0));
	f.now_us += 5 * MS;
	talk_connect(&young, 10);
	run(CRAFT_FRAMES_MAX);
	ck_assert_uint_eq(errands.reset.state, ERRANDS_RESET_DONE);
	ck_assert_uint_eq(errands.reset.n_ended, 1);
	ck_assert_int_eq(flow->state, FLOW_RESTING);
	ck_assert_int_eq(story_state(&young), FLOW_ESTABLISHED);
	fixture_fini(&f);
}
END_TEST

/* ---- frames ---- */

/* The sum over pseudo-header and segment of a right IPv6 packet is all ones. */
START_TEST(ipv6_frame_behind_two_tags_is_right)
{
	static const uint8_t to[6] = {2, 0, 0, 0, 0, 1}, from[6] = {2, 0, 0, 0, 0, 2};
	struct karmalb_address source = {{0x20, 1, [15] = 1}}, destination = {{0x20, 1, [15] = 2}};
	struct flow_vlan vlan = {.tags = {0x81, 0, 0, 5, 0x81, 0, 0, 6}, .size = 8};
	struct rewrite way = {to, from, &source, &destination, 0x1234, 0x5678};
	uint8_t frame[CRAFT_SIZE_MAX];
	unsigned size = craft_tcp(
		frame, &(struct craft_tcp){.way = &way, .vlan = &vlan, .seq = 9, .flags = SEG_SYN});
	uint32_t sum = IPPROTO_TCP + 24;

	ck_assert_uint_eq(size, 14 + 8 + 40 + 24);
	ck_assert_mem_eq(&frame[12], vlan.tags, 8);
	ck_assert_uint_eq(frame[20] << 8 | frame[21], 0x86dd);
	for (unsigned i = 22 + 8; i < size; i += 2)
		sum += (uint32_t)(frame[i] << 8 | frame[i + 1]);
	ck_assert_uint_eq((sum & 0xffff) + (sum >> 16), 0xffff);
	ck_assert_uint_eq(frame[22 + 40 + 12] >> 4, 6);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {probe_is_a_syn_from_a_source_of_ours, open_mirror_is_reset_and_told,
		refusing_mirror_is_told_and_answered_nothing,
		silent_mirror_is_told_after_the_time_limit, record_of_a_probe_outlives_a_stall,
		answer_to_another_number_is_no_answer, probe_that_is_not_out_says_why,
		error_that_ends_no_connect_is_no_answer,
		unreachable_answers_a_probe_if_it_is_about_its_very_syn,
		probe_that_finds_no_room_is_given_up_in_time, both_sides_get_a_reset_that_they_take,
		query_that_was_overdue_when_its_flow_is_ended_counts_with_its_sample,
		flows_without_room_for_resets_end_at_a_later_tick,
		client_whose_syn_waits_is_refused, only_flows_of_the_chosen_slots_end,
		many_flows_end_in_pieces_that_fit, flows_that_open_later_stay,
		flow_of_25_days_ago_is_not_taken_for_a_later_one,
		ipv6_frame_behind_two_tags_is_right, NULL};

	return suite_run("errands", tests);
}
