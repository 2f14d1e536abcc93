/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN tags: kept for the way back, numbered as long as a flow holds them. */
#include "datagrams.h"
#include "story.h"
#include "suite.h"
#include "vlan.h"

#define SECOND  UINT64_C(1000000)
#define TAG(id) (0x81000000u | (id))

static struct fixture f;

static struct fixture_result
client_sends(const struct datagram_talk *t, const uint32_t *tags, unsigned n)
{
	struct datagram d = {.source = t->client,
		.destination = FIXTURE_VIP,
		.source_port = t->client_port,
		.destination_port = FIXTURE_VIP_PORT,
		.payload_size = 5};
	uint8_t frame[FRAME_MAX];
	unsigned size = datagram_tag(frame, datagram_build(frame, &d), tags, n);

	return fixture_send_bytes(&f, 0, frame, size);
}

/* The flow's datagram left untagged; where it went is kept in 't'. */
static void
learn(struct datagram_talk *t)
{
	struct datagram out = datagram_read(f.sent, f.sent_size);

	t->mirror = out.destination;
	t->source = out.source;
	t->source_port = out.source_port;
}

static struct fixture_result
mirror_sends(const struct datagram_talk *t)
{
	struct datagram d = {.source = t->mirror,
		.destination = t->source,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = t->source_port,
		.payload_size = 9};
	uint8_t frame[FRAME_MAX];

	return fixture_send_bytes(&f, 1, frame, datagram_build(frame, &d));
}

/* The last frame left with these tags and is whole behind them. */
static void
check_tags(const uint32_t *tags, unsigned n)
{
	uint8_t frame[FRAME_MAX];

	for (unsigned i = 0; i < n; i++)
		ck_assert_uint_eq(datagram_get32(&f.sent[12 + 4 * i]), tags[i]);
	memcpy(frame, f.sent, 12);
	memcpy(&frame[12], &f.sent[12 + 4 * n], f.sent_size - 12 - 4 * n);
	datagram_read(frame, f.sent_size - 4 * n);
}

static unsigned
numbers_held(void)
{
	unsigned n = 0;

	for (unsigned i = 1; i < FLOW_VLANS; i++)
		n += f.flows.worker->vlans[i].n_uses > 0;
	return n;
}

START_TEST(answers_carry_the_tags_of_the_query_at_priority_0)
{
	static const uint32_t sent[][2] = {{TAG(0xa064), 0}, {0x88a80007, TAG(0x0ffe)}, {0, 0}};
	static const uint32_t kept[][2] = {{TAG(0x0064), 0}, {0x88a80007, TAG(0x0ffe)}, {0, 0}};
	static const unsigned n[] = {1, 2, 0};

	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	for (unsigned i = 0; i < 3; i++) {
		struct datagram_talk t = datagram_talk_new(&f, i);

		ck_assert(client_sends(&t, sent[i], n[i]).is_sent);
		learn(&t); /* untagged towards the mirror */
		ck_assert(mirror_sends(&t).is_sent);
		check_tags(kept[i], n[i]);
	}
	fixture_fini(&f);
}
END_TEST

START_TEST(tags_follow_the_client)
{
	static const uint32_t tags[] = {TAG(5), TAG(6), 0};

	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 1);

	for (unsigned i = 0; i < 3; i++) {
		unsigned n = i < 2 ? 1 : 0;

		ck_assert(client_sends(&t, &tags[i], n).is_sent);
		learn(&t);
		ck_assert(mirror_sends(&t).is_sent);
		check_tags(&tags[i], n);
		ck_assert_uint_eq(numbers_held(), n); /* what it had is given back */
	}
	fixture_fini(&f);
}
END_TEST

START_TEST(packet_that_opens_no_flow_takes_no_number)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 1);

	f.tables.ports[1].is_up = false; /* no mirror can be reached */
	for (uint32_t i = 1; i < 1000; i++) {
		uint32_t tag = TAG(i);

		ck_assert_int_eq(
			client_sends(&t, &tag, 1).reason, KARMALB_COUNTER_DROP_NO_NEXT_HOP);
	}
	ck_assert_uint_eq(numbers_held(), 0);
	ck_assert_uint_le(f.flows.worker->n_vlans, 1);
	f.tables.ports[1].is_up = true;
	uint32_t tag = TAG(4000);

	ck_assert(client_sends(&t, &tag, 1).is_sent);
	ck_assert_uint_eq(numbers_held(), 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(numbers_are_used_again_when_no_flow_holds_them)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0, .max_half_open = 1000});
	for (unsigned round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < 300; i++) {
			struct datagram_talk t = datagram_talk_new(&f, i);
			uint32_t tag = TAG(1 + round * 1000 + i);
			struct fixture_result r = client_sends(&t, &tag, 1);

			ck_assert_int_eq(
				r.reason, i < FLOW_VLANS - 1 ? 0 : KARMALB_COUNTER_DROP_VLAN);
		}
		ck_assert_uint_eq(numbers_held(), FLOW_VLANS - 1);
		/* Tags that are there already go on, also when there is no room for others. */
		struct datagram_talk more = datagram_talk_new(&f, 5000);
		uint32_t tag = TAG(1 + round * 1000);

		ck_assert(client_sends(&more, &tag, 1).is_sent);
		fixture_pass(&f, 62 * SECOND);
		ck_assert_uint_eq(numbers_held(), 0);
	}
	story_check_over(&f);
	fixture_fini(&f);
}
END_TEST

START_TEST(client_that_changes_to_one_tag_too_many_keeps_its_old_one)
{
	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0, .max_half_open = 1000});
	struct datagram_talk t = datagram_talk_new(&f, 0);
	uint32_t tag = TAG(0), first = TAG(1);

	for (uint32_t i = 1; i < FLOW_VLANS; i++) {
		struct datagram_talk other = datagram_talk_new(&f, i);

		tag = TAG(i);
		ck_assert(client_sends(i == 1 ? &t : &other, &tag, 1).is_sent);
		if (i == 1)
			learn(&t);
	}
	tag = TAG(3000);
	ck_assert(client_sends(&t, &tag, 1).is_sent);
	ck_assert(mirror_sends(&t).is_sent);
	check_tags(&first, 1);
	fixture_fini(&f);
}
END_TEST

START_TEST(three_tags_are_too_many)
{
	static const uint32_t tags[] = {0x88a80001, TAG(2), TAG(3)};

	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 1);

	ck_assert_int_eq(client_sends(&t, tags, 3).reason, KARMALB_COUNTER_DROP_VLAN);
	fixture_fini(&f);
}
END_TEST

/* The memory before the packet is nobody's but the device's. */
START_TEST(tags_without_room_before_the_packet_are_a_named_drop)
{
	static const uint32_t tag = TAG(9);
	uint8_t room[FRAME_MAX];

	datagram_fixture(&f, &(struct fixture_conf){.n_mirrors = 0});
	struct datagram_talk t = datagram_talk_new(&f, 1);

	ck_assert(client_sends(&t, &tag, 1).is_sent);
	learn(&t);
	struct datagram d = {.source = t.mirror,
		.destination = t.source,
		.source_port = FIXTURE_MIRROR_PORT,
		.destination_port = t.source_port};

	for (uint8_t headroom = 0; headroom < 6; headroom++) {
		struct pipeline_packet packet = {
			.data = &room[8], .headroom = headroom, .port_in = 1};
		uint64_t before = story_counter(&f, KARMALB_COUNTER_DROP_HEADROOM);
		bool fits = headroom >= PACKET_TAG_SIZE;

		memset(room, 0xaa, 8);
		packet.size = (uint16_t)datagram_build(packet.data, &d);
		pipeline_burst(&f.pipeline, &packet, 1, f.now_us);
		f.pipeline.n_samples = 0;
		ck_assert_int_eq(packet.verdict, fits ? PIPELINE_SEND : PIPELINE_DROP);
		ck_assert_uint_eq(story_counter(&f, KARMALB_COUNTER_DROP_HEADROOM), before + !fits);
		for (unsigned i = 0; i < (fits ? 4u : 8u); i++)
			ck_assert_uint_eq(room[i], 0xaa);
	}
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {answers_carry_the_tags_of_the_query_at_priority_0,
		tags_follow_the_client, packet_that_opens_no_flow_takes_no_number,
		numbers_are_used_again_when_no_flow_holds_them,
		client_that_changes_to_one_tag_too_many_keeps_its_old_one, three_tags_are_too_many,
		tags_without_room_before_the_packet_are_a_named_drop, NULL};

	return suite_run("vlan", tests);
}
