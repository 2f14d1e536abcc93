/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists and counters of the BPF programs, as user space keeps them, and what the programs make
 * of them.
 * usage: steer_maps_test STEER.bpf.o GUARD.bpf.o, as root
 */
#include <netinet/in.h>

#include <linux/bpf.h>

#include "kernel.h"

START_TEST(each_packet_is_counted_once)
{
	struct packet p;
	uint64_t taken = steer_maps_count(&steer.maps, STEER_COUNTER_TAKEN);
	uint64_t passed = steer_maps_count(&steer.maps, STEER_COUNTER_PASSED);
	uint64_t dropped = steer_maps_count(&guard.maps, STEER_COUNTER_TAKEN);

	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	for (unsigned i = 0; i < 5; i++)
		assert_taken_by(STEER_AND_GUARD, &p);
	ipv4(&p, OTHER, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	for (unsigned i = 0; i < 3; i++)
		assert_taken_by(NOBODY, &p);
	ck_assert_uint_eq(steer_maps_count(&steer.maps, STEER_COUNTER_TAKEN), taken + 5);
	ck_assert_uint_eq(steer_maps_count(&steer.maps, STEER_COUNTER_PASSED), passed + 3);
	ck_assert_uint_eq(steer_maps_count(&guard.maps, STEER_COUNTER_TAKEN), dropped + 5);
}
END_TEST

START_TEST(a_full_list_can_be_replaced_by_another_full_list)
{
	static struct karmalb_endpoint services[2][KARMALB_SERVICES_MAX];
	struct err err = {""};
	struct packet p;

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < KARMALB_SERVICES_MAX; i++)
			services[k][i] = service(VIP, (uint16_t)(1000 * (k + 1) + i), IPPROTO_TCP);
		struct port_intent intent = {
			.services = services[k], .n_services = KARMALB_SERVICES_MAX};

		if (k == 0)
			serve_nothing();
		ck_assert_msg(steer_maps_add(&steer.maps, &intent, &err) == 0, "%s", err.text);
		ck_assert_msg(
			steer_maps_remove_others(&steer.maps, &intent, &err) == 0, "%s", err.text);
	}
	for (unsigned i = 0; i < KARMALB_SERVICES_MAX; i++) {
		ipv4(&p, VIP, IPPROTO_TCP);
		packet_ports(&p, 40000, (uint16_t)(1000 + i));
		ck_assert_int_eq(run(&steer, &p, p.size), XDP_PASS);
		ipv4(&p, VIP, IPPROTO_TCP);
		packet_ports(&p, 40000, (uint16_t)(2000 + i));
		ck_assert_int_eq(run(&steer, &p, p.size), XDP_DROP);
	}
}
END_TEST

START_TEST(a_vip_keeps_its_fragments_while_one_service_of_the_protocol_is_left)
{
	struct karmalb_endpoint services[] = {
		service(VIP, 80, IPPROTO_TCP), service(VIP, 443, IPPROTO_TCP)};
	struct port_intent two = {.services = services, .n_services = 2};
	struct port_intent one = {.services = services, .n_services = 1};
	struct err err = {""};
	struct packet p;

	ck_assert_int_eq(steer_maps_add(&steer.maps, &two, &err), 0);
	ck_assert_int_eq(steer_maps_remove_others(&steer.maps, &one, &err), 0);
	fragment(&p, VIP, IPPROTO_TCP, 1480);
	ck_assert_int_eq(run(&steer, &p, p.size), XDP_DROP);
	serve_nothing();
	ck_assert_int_eq(run(&steer, &p, p.size), XDP_PASS);
}
END_TEST

START_TEST(lists_are_taken_over_whole)
{
	struct err err = {""};
	struct packet p;

	struct port_intent nothing = {0};

	ck_assert_int_eq(steer_maps_remove_others(&steer.maps, &nothing, &err), 0);
	ck_assert_msg(steer_maps_copy(&steer.maps, &guard.maps, &err) == 0, "%s", err.text);
	ipv4(&p, VIP, IPPROTO_TCP);
	packet_ports(&p, 40000, 80);
	assert_taken_by(STEER_AND_GUARD, &p);
	fragment(&p, VIP, IPPROTO_TCP, 1480);
	assert_taken_by(STEER_AND_GUARD, &p);
	ipv4(&p, SOURCE, IPPROTO_UDP);
	packet_ports(&p, 53, 999);
	assert_taken_by(STEER_AND_GUARD, &p);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("steer maps");
	TCase *tc = tcase_create("lists");

	tcase_add_checked_fixture(tc, serve_usual, NULL);
	tcase_add_test(tc, each_packet_is_counted_once);
	tcase_add_test(tc, a_full_list_can_be_replaced_by_another_full_list);
	tcase_add_test(tc, a_vip_keeps_its_fragments_while_one_service_of_the_protocol_is_left);
	tcase_add_test(tc, lists_are_taken_over_whole);
	suite_add_tcase(suite, tc);
	return kernel_main(argc, argv, suite);
}
