/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "frames.h"
#include "rewrite.h"
#include "suite.h"

static void
random_segment(struct segment *s, uint64_t *random)
{
	*s = (struct segment){
		.mac_to = {2, 0, 0, 0, 0, 1},
		.mac_from = {2, 0, 0, 0, 0, 2},
		.source = (uint32_t)suite_random(random),
		.destination = (uint32_t)suite_random(random),
		.source_port = (uint16_t)(suite_random(random) | 1),
		.destination_port = (uint16_t)(suite_random(random) | 1),
		.seq = (uint32_t)suite_random(random),
		.ack = (uint32_t)suite_random(random),
		.flags = SEG_ACK,
		.ttl = (uint8_t)(2 + suite_random(random) % 254),
		.payload_size = (uint16_t)(suite_random(random) % 1461),
		.payload_seed = (uint8_t)suite_random(random),
		.ip_options = (uint8_t)(suite_random(random) % 4),
		.tcp_options = (uint8_t)(suite_random(random) % 11),
	};
}

START_TEST(rewritten_packet_is_that_built_anew)
{
	uint64_t random = suite_seed();
	static const uint8_t mac_to[6] = {6, 1, 2, 3, 4, 5}, mac_from[6] = {6, 9, 8, 7, 6, 5};

	for (unsigned n = 0; n < 20000; n++) {
		uint8_t bytes[FRAME_MAX], expected[FRAME_MAX];
		struct segment s;
		struct packet_view view;

		random_segment(&s, &random);
		unsigned size = frame_build(bytes, &s);
		uint16_t id = (uint16_t)(bytes[18] << 8 | bytes[19]);
		/* Extremes are where one's complement trips. */
		struct karmalb_address source =
			karmalb_address_from_v4(n % 7 == 0 ? 0 : (uint32_t)suite_random(&random));
		struct karmalb_address destination = karmalb_address_from_v4(
			n % 5 == 0 ? UINT32_MAX : (uint32_t)suite_random(&random));
		struct rewrite to = {
			.mac_to = mac_to,
			.mac_from = mac_from,
			.source = &source,
			.destination = &destination,
			.source_port_be = n % 3 == 0 ? 0xffff : (uint16_t)suite_random(&random),
			.destination_port_be = (uint16_t)suite_random(&random),
		};

		ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
		rewrite_tcp_v4(bytes, &view, &to);
		memcpy(s.mac_to, mac_to, 6);
		memcpy(s.mac_from, mac_from, 6);
		s.source = __builtin_bswap32(karmalb_address_v4_be(&source));
		s.destination = __builtin_bswap32(karmalb_address_v4_be(&destination));
		s.source_port = __builtin_bswap16(to.source_port_be);
		s.destination_port = __builtin_bswap16(to.destination_port_be);
		s.ttl--;
		ck_assert_uint_eq(frame_build(expected, &s), size);
		ck_assert_uint_eq((uint16_t)(expected[18] << 8 | expected[19]), id);
		ck_assert_mem_eq(bytes, expected, size);
	}
}
END_TEST

START_TEST(wrong_tcp_checksum_stays_wrong)
{
	uint64_t random = suite_seed();

	for (unsigned n = 0; n < 2000; n++) {
		uint8_t bytes[FRAME_MAX];
		struct segment s;
		struct packet_view view;
		static const uint8_t mac[6] = {2};
		struct karmalb_address source = karmalb_address_from_v4(0x0101a8c0);
		struct karmalb_address destination = karmalb_address_from_v4(0x0201a8c0);
		struct rewrite to = {.mac_to = mac,
			.mac_from = mac,
			.source = &source,
			.destination = &destination,
			.source_port_be = 1,
			.destination_port_be = 2};

		random_segment(&s, &random);
		unsigned size = frame_build(bytes, &s);

		bytes[size - 1] ^= 1;
		ck_assert_int_eq(packet_parse(bytes, size, &view), 0);
		rewrite_tcp_v4(bytes, &view, &to);
		ck_assert(!frame_read(bytes, size, &s));
		bytes[size - 1] ^= 1;
		ck_assert(frame_read(bytes, size, &s));
	}
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {
		rewritten_packet_is_that_built_anew, wrong_tcp_checksum_stays_wrong, NULL};

	return suite_run("rewrite", tests);
}
