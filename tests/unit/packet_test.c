/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "frames.h"
#include "packet.h"
#include "suite.h"

static const struct segment plain = {
	.mac_to = {2, 0, 0, 0, 0, 1},
	.mac_from = {2, 0, 0, 0, 0, 2},
	.source = 0xc0a80102,
	.destination = 0x0a000001,
	.source_port = 40000,
	.destination_port = 80,
	.seq = 0xfedcba98,
	.ack = 0x12345678,
	.flags = SEG_ACK | SEG_PSH,
	.ttl = 64,
	.payload_size = 100,
};

/* Parses 'segment' after byte 'at' was set; the IP checksum is mended. */
static enum karmalb_worker_counter
parse_with(const struct segment *segment, unsigned at, uint8_t value)
{
	uint8_t bytes[FRAME_MAX];
	struct packet_view view;
	unsigned size = frame_build(bytes, segment);
	uint16_t checksum;

	bytes[at] = value;
	checksum = frame_ip_checksum(bytes);
	bytes[24] = (uint8_t)(checksum >> 8);
	bytes[25] = (uint8_t)checksum;
	return packet_parse(bytes, size, &view);
}

START_TEST(view_holds_what_was_sent)
{
	for (unsigned options = 0; options <= 10; options++) {
		struct segment s = plain;
		uint8_t bytes[FRAME_MAX];
		struct packet_view view;

		s.ip_options = (uint8_t)options;
		s.tcp_options = (uint8_t)(10 - options);
		unsigned size = frame_build(bytes, &s);

		ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
		ck_assert_uint_eq(karmalb_address_v4_be(&view.key.source), 0x0201a8c0);
		ck_assert_uint_eq(karmalb_address_v4_be(&view.key.destination), 0x0100000a);
		ck_assert(karmalb_address_is_v4(&view.key.source));
		ck_assert_uint_eq(__builtin_bswap16(view.key.source_port_be), 40000);
		ck_assert_uint_eq(__builtin_bswap16(view.key.destination_port_be), 80);
		ck_assert_uint_eq(view.key.protocol, 6);
		ck_assert_uint_eq(view.seq, s.seq);
		ck_assert_uint_eq(view.ack, s.ack);
		ck_assert_uint_eq(view.tcp_flags, s.flags);
		ck_assert_uint_eq(view.ttl, 64);
		ck_assert_uint_eq(view.payload_size, 100);
		ck_assert_uint_eq(view.l4_offset, 34 + 4 * options);
		ck_assert_uint_eq(view.frame_size, size);
	}
}
END_TEST

START_TEST(ethernet_padding_is_not_payload)
{
	struct segment s = plain;
	uint8_t bytes[FRAME_MAX];
	struct packet_view view;

	s.payload_size = 0;
	frame_build(bytes, &s);
	memset(&bytes[54], 0xee, 6);
	ck_assert_int_eq(packet_parse(bytes, 60, &view), 0);
	ck_assert_uint_eq(view.payload_size, 0);
	ck_assert_uint_eq(view.frame_size, 54);
}
END_TEST

START_TEST(every_truncation_is_noticed)
{
	struct segment s = plain;
	uint8_t bytes[FRAME_MAX];
	struct packet_view view;

	s.ip_options = 3;
	s.tcp_options = 5;
	unsigned size = frame_build(bytes, &s);

	/* In memory of just that size, so that a sanitizer sees any byte too far. */
	for (unsigned n = 0; n < size; n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy + 1, bytes, n);
		ck_assert_int_eq(packet_parse(copy + 1, n, &view), KARMALB_COUNTER_DROP_TRUNCATED);
		free(copy);
	}
}
END_TEST

START_TEST(each_reason_has_its_name)
{
	ck_assert_int_eq(parse_with(&plain, 12, 0x86), KARMALB_COUNTER_DROP_PROTOCOL);
	ck_assert_int_eq(parse_with(&plain, 12, 0x81), KARMALB_COUNTER_DROP_PROTOCOL);
	ck_assert_int_eq(parse_with(&plain, 14, 0x65), KARMALB_COUNTER_DROP_MALFORMED);
	ck_assert_int_eq(parse_with(&plain, 14, 0x44), KARMALB_COUNTER_DROP_MALFORMED);
	ck_assert_int_eq(parse_with(&plain, 16, 0x40), KARMALB_COUNTER_DROP_TRUNCATED);
	ck_assert_int_eq(parse_with(&plain, 17, 19), KARMALB_COUNTER_DROP_MALFORMED);
	ck_assert_int_eq(parse_with(&plain, 17, 39), KARMALB_COUNTER_DROP_TRUNCATED);
	ck_assert_int_eq(parse_with(&plain, 20, 0x20), KARMALB_COUNTER_DROP_FRAGMENT);
	ck_assert_int_eq(parse_with(&plain, 21, 1), KARMALB_COUNTER_DROP_FRAGMENT);
	ck_assert_int_eq(parse_with(&plain, 22, 1), KARMALB_COUNTER_DROP_TTL);
	ck_assert_int_eq(parse_with(&plain, 22, 0), KARMALB_COUNTER_DROP_TTL);
	ck_assert_int_eq(parse_with(&plain, 23, 1), KARMALB_COUNTER_DROP_ICMP);
	ck_assert_int_eq(parse_with(&plain, 23, 47), KARMALB_COUNTER_DROP_PROTOCOL);
	ck_assert_int_eq(parse_with(&plain, 46, 0x40), KARMALB_COUNTER_DROP_MALFORMED);
	ck_assert_int_eq(parse_with(&plain, 46, 0xf0), 0);
}
END_TEST

START_TEST(tcp_header_longer_than_the_segment_is_truncated)
{
	struct segment s = plain;

	s.payload_size = 8;
	ck_assert_int_eq(parse_with(&s, 46, 0x80), KARMALB_COUNTER_DROP_TRUNCATED);
	ck_assert_int_eq(parse_with(&s, 46, 0x70), 0);
}
END_TEST

START_TEST(wrong_ip_checksum_is_dropped)
{
	struct segment s = plain;
	struct packet_view view;

	for (unsigned options = 0; options < 3; options++) {
		uint8_t bytes[FRAME_MAX];

		s.ip_options = (uint8_t)options;
		unsigned size = frame_build(bytes, &s);

		/* Any single bit, of addresses, checksum or options. */
		for (unsigned bit = 8 * 24; bit < 8 * (34 + 4 * options); bit++) {
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ck_assert_int_eq(
				packet_parse(bytes, size, &view), KARMALB_COUNTER_DROP_IP_CHECKSUM);
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
	}
}
END_TEST

START_TEST(flags_that_contradict_each_other_are_malformed)
{
	for (unsigned flags = 0; flags < 64; flags++) {
		unsigned n = !!(flags & SEG_SYN) + !!(flags & SEG_FIN) + !!(flags & SEG_RST);
		bool is_sane = n <= 1 && (flags & (SEG_ACK | SEG_SYN | SEG_RST)) != 0;

		ck_assert_int_eq(parse_with(&plain, 47, (uint8_t)flags),
			is_sane ? 0 : KARMALB_COUNTER_DROP_MALFORMED);
	}
}
END_TEST

START_TEST(port_0_is_malformed)
{
	struct segment s = plain;

	s.source_port = 0;
	ck_assert_int_eq(parse_with(&s, 0, 2), KARMALB_COUNTER_DROP_MALFORMED);
	s = plain;
	s.destination_port = 0;
	ck_assert_int_eq(parse_with(&s, 0, 2), KARMALB_COUNTER_DROP_MALFORMED);
}
END_TEST

START_TEST(partial_checksum_is_completed_to_the_right_one)
{
	for (unsigned payload = 0; payload < 1461; payload += 73) {
		struct segment s = plain;
		uint8_t bytes[FRAME_MAX];
		struct packet_view view;

		s.payload_size = (uint16_t)payload;
		s.has_partial_checksum = true;
		s.tcp_options = 3;
		unsigned size = frame_build(bytes, &s);

		ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
		ck_assert(packet_is_checksum_partial(bytes, &view));
		packet_complete_checksum(bytes, &view);
		ck_assert(frame_read(bytes, size, &s));
	}
}
END_TEST

START_TEST(finished_checksum_is_left_alone)
{
	uint8_t bytes[FRAME_MAX];
	struct packet_view view;
	unsigned size = frame_build(bytes, &plain);

	ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
	ck_assert(!packet_is_checksum_partial(bytes, &view));
}
END_TEST

START_TEST(only_unicast_addresses_are_clients)
{
	struct {
		uint32_t address;
		bool is_unicast;
	} rows[] = {{0x00000000, false}, {0x00ffffff, false}, {0x01000000, true},
		{0x7effffff, true}, {0x7f000001, false}, {0x80000000, true}, {0xdfffffff, true},
		{0xe0000001, false}, {0xffffffff, false}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct karmalb_address a =
			karmalb_address_from_v4(__builtin_bswap32(rows[i].address));

		ck_assert_int_eq(packet_is_unicast(&a), rows[i].is_unicast);
	}
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {view_holds_what_was_sent, ethernet_padding_is_not_payload,
		every_truncation_is_noticed, each_reason_has_its_name,
		tcp_header_longer_than_the_segment_is_truncated, wrong_ip_checksum_is_dropped,
		flags_that_contradict_each_other_are_malformed, port_0_is_malformed,
		partial_checksum_is_completed_to_the_right_one, finished_checksum_is_left_alone,
		only_unicast_addresses_are_clients, NULL};

	return suite_run("packet", tests);
}
