/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which packets the steering program and the guard take, run by the kernel.  With no AF_XDP socket
 * in its map, the steering program drops what it takes.
 * usage: steer_test STEER.bpf.o GUARD.bpf.o, as root
 */
#include <netinet/in.h>
#include <stdlib.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>

#include "kernel.h"

START_TEST(tcp_to_a_service_is_taken)
{
	struct packet p;

	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(STEER_AND_GUARD, &p);
}
END_TEST

START_TEST(another_port_of_the_vip_passes)
{
	struct packet p;

	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 80, 22);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(another_protocol_of_the_vip_passes)
{
	struct packet p;

	ipv4(&p, VIP, IPPROTO_UDP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
	ipv4(&p, VIP, IPPROTO_ICMP);
	packet_icmp(&p, 8);
	assert_taken_by(NOBODY, &p);
	ipv4(&p, VIP, IPPROTO_ESP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(another_address_passes)
{
	struct packet p;

	ipv4(&p, OTHER, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(all_tcp_and_udp_to_a_source_is_taken)
{
	struct packet p;

	for (unsigned port = 1; port < 65536; port += 13107) {
		ipv4(&p, SOURCE, IPPROTO_TCP);
		packet_ports(&p, 80, (uint16_t)port);
		assert_taken_by(STEER_AND_GUARD, &p);
		ipv4(&p, SOURCE, IPPROTO_UDP);
		packet_ports(&p, 53, (uint16_t)port);
		assert_taken_by(STEER_AND_GUARD, &p);
	}
	ipv4(&p, SOURCE, IPPROTO_ICMP);
	packet_icmp(&p, 8);
	assert_taken_by(NOBODY, &p);
	ipv4(&p, SOURCE, IPPROTO_ESP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(arp_and_unknown_types_pass)
{
	struct packet p;

	packet_ethernet(&p, ETH_P_ARP);
	packet_icmp(&p, 0);
	packet_icmp(&p, 0);
	packet_icmp(&p, 0);
	packet_icmp(&p, 0);
	assert_taken_by(NOBODY, &p);
	p.bytes[12] = 0x88;
	p.bytes[13] = 0xcc; /* LLDP */
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(options_of_any_length_are_walked)
{
	struct packet p;

	for (uint8_t words = 0; words <= 10; words++) {
		packet_ethernet(&p, ETH_P_IP);
		packet_ipv4(&p, &(struct packet_ip){.source = CLIENT,
					.destination = VIP,
					.protocol = IPPROTO_TCP,
					.option_words = words});
		packet_ports(&p, 40000, 80);
		assert_taken_by(STEER_AND_GUARD, &p);
	}
}
END_TEST

START_TEST(up_to_two_vlan_tags_are_walked)
{
	static const uint16_t tags[] = {ETH_P_8021AD, ETH_P_8021Q, ETH_P_8021Q};
	struct packet_ip ip = {.source = CLIENT, .destination = VIP, .protocol = IPPROTO_TCP};
	struct packet p;

	for (unsigned n = 1; n <= 3; n++) {
		packet_ethernet(&p, tags[0]);
		for (unsigned i = 1; i < n; i++)
			packet_vlan(&p, tags[i]);
		packet_vlan(&p, ETH_P_IP);
		packet_ipv4(&p, &ip);
		packet_ports(&p, 40000, 80);
		ck_assert_int_eq(run(&steer, &p, p.size), n <= 2 ? XDP_DROP : XDP_PASS);
	}
}
END_TEST

START_TEST(every_fragment_to_a_vip_of_that_protocol_is_taken)
{
	struct packet p;

	for (unsigned offset = 0; offset <= 1480; offset += 1480) {
		fragment(&p, VIP, IPPROTO_TCP, (uint16_t)offset);
		assert_taken_by(STEER_AND_GUARD, &p);
		fragment(&p, VIP, IPPROTO_UDP, (uint16_t)offset);
		assert_taken_by(NOBODY, &p);
		fragment(&p, SOURCE, IPPROTO_UDP, (uint16_t)offset);
		assert_taken_by(STEER_AND_GUARD, &p);
		fragment(&p, OTHER, IPPROTO_TCP, (uint16_t)offset);
		assert_taken_by(NOBODY, &p);
	}
}
END_TEST

START_TEST(a_fragment_whose_payload_looks_like_our_port_is_not_mistaken)
{
	struct packet p;

	/* UDP has no service on the VIP, and payload must not be read as ports. */
	packet_ethernet(&p, ETH_P_IP);
	packet_ipv4(&p, &(struct packet_ip){.source = CLIENT,
				.destination = OTHER,
				.protocol = IPPROTO_TCP,
				.fragment_bytes = 1480});
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(icmp_errors_about_our_packets_are_steered)
{
	static const uint8_t errors[] = {3, 11, 12}, others[] = {0, 4, 5, 8, 9, 10, 13, 17};
	struct packet p;

	for (unsigned i = 0; i < sizeof(errors); i++) {
		icmp_error(&p, errors[i], VIP, 80);
		assert_taken_by(STEER_ALONE, &p);
		icmp_error(&p, errors[i], SOURCE, 4711);
		assert_taken_by(STEER_ALONE, &p);
		icmp_error(&p, errors[i], VIP, 22);
		assert_taken_by(NOBODY, &p);
		icmp_error(&p, errors[i], OTHER, 80);
		assert_taken_by(NOBODY, &p);
	}
	for (unsigned i = 0; i < sizeof(others); i++) {
		icmp_error(&p, others[i], VIP, 80);
		assert_taken_by(NOBODY, &p);
	}
}
END_TEST

START_TEST(an_icmp_error_is_judged_by_its_subject_not_its_destination)
{
	struct packet p;

	/* As a router would send about a packet that the host itself sent from another address. */
	ipv4(&p, VIP, IPPROTO_ICMP);
	packet_icmp(&p, 3);
	packet_ipv4(&p,
		&(struct packet_ip){.source = OTHER, .destination = VIP, .protocol = IPPROTO_TCP});
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(the_same_holds_for_ipv6)
{
	struct packet p;

	ipv6(&p, VIP6, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(STEER_AND_GUARD, &p);
	ipv6(&p, VIP6, IPPROTO_TCP);
	packet_ports(&p, 40000, 81);
	assert_taken_by(NOBODY, &p);
	ipv6(&p, VIP6, IPPROTO_UDP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
	ipv6(&p, PEER6, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
	ipv6(&p, VIP6, ICMPV6);
	packet_icmp(&p, 135); /* neighbour solicitation */
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(up_to_four_extension_headers_are_walked)
{
	static const uint8_t chain[] = {
		HOP_BY_HOP, DESTINATION, ROUTING, AUTHENTICATION, DESTINATION};
	struct packet p;

	for (unsigned n = 1; n <= 5; n++) {
		ipv6(&p, VIP6, chain[0]);
		for (unsigned i = 0; i < n; i++) {
			uint8_t next = i + 1 < n ? chain[i + 1] : IPPROTO_TCP;

			if (chain[i] == AUTHENTICATION)
				packet_authentication(&p, next, 4);
			else
				packet_option(&p, next, (uint8_t)(i * 3));
		}
		packet_ports(&p, 40000, 80);
		assert_taken_by(n <= 4 ? STEER_AND_GUARD : NOBODY, &p);
	}
}
END_TEST

START_TEST(ipv6_fragments_are_taken_by_protocol)
{
	struct packet p;

	for (unsigned offset = 0; offset <= 1480; offset += 1480) {
		ipv6(&p, VIP6, FRAGMENT);
		packet_fragment_header(&p, IPPROTO_TCP, (uint16_t)offset);
		packet_ports(&p, 1, 2);
		assert_taken_by(STEER_AND_GUARD, &p);
		ipv6(&p, VIP6, DESTINATION);
		packet_option(&p, FRAGMENT, 1);
		packet_fragment_header(&p, IPPROTO_UDP, (uint16_t)offset);
		packet_ports(&p, 40000, 80);
		assert_taken_by(NOBODY, &p);
	}
}
END_TEST

/* The kernel would put the pieces together and answer itself. */
START_TEST(ipv6_fragments_with_options_behind_are_taken_for_any_protocol)
{
	static const uint8_t options[] = {HOP_BY_HOP, DESTINATION, ROUTING, AUTHENTICATION};
	struct packet p;

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned offset = 0; offset <= 1480; offset += 1480) {
			ipv6(&p, VIP6, FRAGMENT);
			packet_fragment_header(&p, options[i], (uint16_t)offset);
			packet_option(&p, IPPROTO_TCP, 0);
			packet_ports(&p, 40000, 80);
			assert_taken_by(STEER_AND_GUARD, &p);
			ipv6(&p, PEER6, FRAGMENT);
			packet_fragment_header(&p, options[i], (uint16_t)offset);
			packet_option(&p, IPPROTO_TCP, 0);
			packet_ports(&p, 40000, 80);
			assert_taken_by(NOBODY, &p);
		}
	}
}
END_TEST

START_TEST(icmpv6_errors_about_our_packets_are_steered)
{
	struct packet p;

	for (unsigned type = 0; type < 256; type++) {
		ipv6(&p, VIP6, ICMPV6);
		packet_icmp(&p, (uint8_t)type);
		packet_ipv6(
			&p, &(struct packet_ip){
				    .source = VIP6, .destination = PEER6, .protocol = HOP_BY_HOP});
		packet_option(&p, IPPROTO_TCP, 0);
		packet_ports(&p, 80, 40000);
		assert_taken_by(type >= 1 && type <= 4 ? STEER_ALONE : NOBODY, &p);
	}
}
END_TEST

START_TEST(an_ipv4_mapped_destination_is_not_taken_for_ipv4)
{
	struct packet p;

	ipv6(&p, "::ffff:" VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(NOBODY, &p);
}
END_TEST

/* Cuts a packet everywhere before its ports are whole. */
static void
assert_passes_when_cut(const struct packet *p)
{
	for (unsigned size = ETH_HLEN; size < p->size - 4; size++)
		ck_assert_int_eq(run(&steer, p, size), XDP_PASS);
	ck_assert_int_eq(run(&steer, p, p->size - 4), XDP_DROP);
}

START_TEST(what_cannot_be_parsed_passes)
{
	struct packet p;

	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_passes_when_cut(&p);
	icmp_error(&p, 3, VIP, 80);
	assert_passes_when_cut(&p);
	ipv6(&p, VIP6, HOP_BY_HOP);
	packet_option(&p, DESTINATION, 2);
	packet_option(&p, IPPROTO_TCP, 0);
	packet_ports(&p, 40000, 80);
	assert_passes_when_cut(&p);
}
END_TEST

START_TEST(a_header_that_contradicts_itself_passes)
{
	/* The port that a header of four words would make of the VIP's own last bytes. */
	struct karmalb_endpoint trap = service(VIP, 2 << 8 | 10, IPPROTO_TCP);
	struct port_intent intent = {.services = &trap, .n_services = 1};
	struct err err = {""};
	struct packet p;

	ck_assert_int_eq(steer_maps_add(&steer.maps, &intent, &err), 0);
	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	p.bytes[ETH_HLEN] = 0x44;
	assert_taken_by(NOBODY, &p);
	p.bytes[ETH_HLEN] = 0x65; /* version 6 under IPv4's type */
	assert_taken_by(NOBODY, &p);
	ipv6(&p, VIP6, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	p.bytes[ETH_HLEN] = 0x40;
	assert_taken_by(NOBODY, &p);
}
END_TEST

START_TEST(garbage_is_survived)
{
	struct packet p = {.size = 200};
	unsigned seed = 20240607;

	for (unsigned round = 0; round < 20000; round++) {
		for (unsigned i = 0; i < p.size; i++)
			p.bytes[i] = (uint8_t)rand_r(&seed);
		/* Half of them get past the first look. */
		if (round % 2 == 0) {
			p.bytes[12] = round % 4 == 0 ? 0x08 : 0x86;
			p.bytes[13] = round % 4 == 0 ? 0x00 : 0xdd;
			p.bytes[14] = round % 4 == 0 ? (uint8_t)(0x40 | round % 16) : 0x60;
		}
		int verdict = run(&steer, &p, ETH_HLEN + (unsigned)rand_r(&seed) % 180);

		ck_assert(verdict == XDP_PASS || verdict == XDP_DROP);
	}
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("steer");
	TCase *tc = tcase_create("IPv4");

	tcase_add_checked_fixture(tc, serve_usual, NULL);
	tcase_add_test(tc, tcp_to_a_service_is_taken);
	tcase_add_test(tc, another_port_of_the_vip_passes);
	tcase_add_test(tc, another_protocol_of_the_vip_passes);
	tcase_add_test(tc, another_address_passes);
	tcase_add_test(tc, all_tcp_and_udp_to_a_source_is_taken);
	tcase_add_test(tc, arp_and_unknown_types_pass);
	tcase_add_test(tc, options_of_any_length_are_walked);
	tcase_add_test(tc, up_to_two_vlan_tags_are_walked);
	tcase_add_test(tc, every_fragment_to_a_vip_of_that_protocol_is_taken);
	tcase_add_test(tc, a_fragment_whose_payload_looks_like_our_port_is_not_mistaken);
	tcase_add_test(tc, icmp_errors_about_our_packets_are_steered);
	tcase_add_test(tc, an_icmp_error_is_judged_by_its_subject_not_its_destination);
	suite_add_tcase(suite, tc);

	tc = tcase_create("IPv6");
	tcase_add_checked_fixture(tc, serve_usual, NULL);
	tcase_add_test(tc, the_same_holds_for_ipv6);
	tcase_add_test(tc, up_to_four_extension_headers_are_walked);
	tcase_add_test(tc, ipv6_fragments_are_taken_by_protocol);
	tcase_add_test(tc, ipv6_fragments_with_options_behind_are_taken_for_any_protocol);
	tcase_add_test(tc, icmpv6_errors_about_our_packets_are_steered);
	tcase_add_test(tc, an_ipv4_mapped_destination_is_not_taken_for_ipv4);
	suite_add_tcase(suite, tc);

	tc = tcase_create("broken");
	tcase_add_checked_fixture(tc, serve_usual, NULL);
	tcase_add_test(tc, what_cannot_be_parsed_passes);
	tcase_add_test(tc, a_header_that_contradicts_itself_passes);
	tcase_add_test(tc, garbage_is_survived);
	suite_add_tcase(suite, tc);
	return kernel_main(argc, argv, suite);
}
