/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "hop.h"

#define IFINDEX 7
#define PORT    2

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa}, mac_b[6] = {2, 0, 0, 0, 0, 0xb};

static struct karmalb_address
address(const char *text)
{
	return karmalb_address_from_v4(inet_addr(text));
}

static struct hop
wanted(void)
{
	return (struct hop){.address = address("10.0.0.11")};
}

static struct route
on_link(void)
{
	return (struct route){.ifindex = IFINDEX, .type = RTN_UNICAST};
}

static struct neighbour
heard(uint16_t state, const uint8_t *mac)
{
	struct neighbour n = {.ifindex = IFINDEX, .state = state, .has_mac = mac != NULL};

	if (mac != NULL)
		memcpy(n.mac, mac, sizeof(n.mac));
	return n;
}

/* A hop whose neighbour has just answered. */
static struct hop
resolved(void)
{
	struct hop hop = wanted();
	struct route route = on_link();
	struct neighbour n = heard(NUD_REACHABLE, mac_a);

	hop_set_route(&hop, &route, PORT);
	hop_set_neighbour(&hop, &n, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	return hop;
}

START_TEST(a_new_hop_is_unknown_until_its_neighbour_answers)
{
	struct hop hop = wanted();
	struct route route = on_link();

	ck_assert(hop_set_route(&hop, &route, PORT));
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_UNKNOWN);
	ck_assert(hop_uses(&hop, IFINDEX, &hop.address));

	struct neighbour asked = heard(NUD_INCOMPLETE, NULL);

	hop_set_neighbour(&hop, &asked, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_UNKNOWN);

	struct neighbour answered = heard(NUD_REACHABLE, mac_a);

	hop_set_neighbour(&hop, &answered, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	ck_assert_mem_eq(hop.mac, mac_a, 6);
	ck_assert_uint_eq(hop.port, PORT);
}
END_TEST

START_TEST(the_neighbour_behind_a_gateway_is_the_gateway)
{
	struct hop hop = wanted();
	struct route route = on_link();
	struct karmalb_address gateway = address("10.0.0.1");

	route.has_gateway = true;
	route.gateway = gateway;
	ck_assert(hop_set_route(&hop, &route, PORT));
	ck_assert(hop_uses(&hop, IFINDEX, &gateway));
	ck_assert(!hop_uses(&hop, IFINDEX, &hop.address));
	ck_assert(!hop_uses(&hop, IFINDEX + 1, &gateway));
}
END_TEST

START_TEST(a_deleted_entry_unsets_no_mac)
{
	struct hop hop = resolved();
	struct neighbour gone = heard(NUD_FAILED, NULL);

	hop_set_neighbour(&hop, &gone, true);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	ck_assert_mem_eq(hop.mac, mac_a, 6);
	ck_assert(hop.is_asking_due);
}
END_TEST

START_TEST(a_failed_entry_unsets_the_mac_until_an_answer)
{
	struct hop hop = resolved();
	struct neighbour failed = heard(NUD_FAILED, NULL), asked = heard(NUD_INCOMPLETE, NULL);
	struct neighbour answered = heard(NUD_REACHABLE, mac_b);

	hop_set_neighbour(&hop, &failed, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	hop_set_neighbour(&hop, &asked, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	hop_set_neighbour(&hop, &answered, false);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	ck_assert_mem_eq(hop.mac, mac_b, 6);
}
END_TEST

START_TEST(every_valid_state_of_the_kernel_counts_as_resolved)
{
	static const uint16_t states[] = {
		NUD_PERMANENT, NUD_NOARP, NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct hop hop = wanted();
		struct route route = on_link();
		struct neighbour n = heard(states[i], mac_a);

		hop_set_route(&hop, &route, PORT);
		hop_set_neighbour(&hop, &n, false);
		hop_update(&hop, true);
		ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	}
}
END_TEST

START_TEST(a_port_without_link_fails_its_hops_and_forgets_nothing)
{
	struct hop hop = resolved();

	hop_update(&hop, false);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	ck_assert_mem_eq(hop.mac, mac_a, 6);
}
END_TEST

START_TEST(the_same_route_again_forgets_nothing)
{
	struct hop hop = resolved();
	struct route route = on_link();

	ck_assert(!hop_set_route(&hop, &route, PORT));
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
}
END_TEST

START_TEST(another_gateway_is_asked_for_anew)
{
	struct hop hop = resolved();
	struct route route = on_link();

	route.has_gateway = true;
	route.gateway = address("10.0.0.2");
	ck_assert(hop_set_route(&hop, &route, PORT));
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_UNKNOWN);
}
END_TEST

static void
assert_fails_because(struct hop hop, uint8_t reason, const char *word)
{
	struct err sentence;

	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	ck_assert_uint_eq(hop.reason, reason);
	hop_why(&hop, "eth1", &sentence);
	ck_assert_msg(strstr(sentence.text, word) != NULL, "\"%s\"", sentence.text);
}

START_TEST(a_way_that_leads_nowhere_says_why)
{
	struct route route = on_link();
	struct hop hop = resolved();

	ck_assert(hop_set_route(&hop, NULL, -1));
	assert_fails_because(hop, HOP_NO_ROUTE, "no route");
	hop = resolved();
	hop_set_route(&hop, &route, -1);
	assert_fails_because(hop, HOP_ELSEWHERE, "no port");
	hop = resolved();
	route.type = RTN_LOCAL;
	hop_set_route(&hop, &route, PORT);
	assert_fails_because(hop, HOP_LOCAL, "this host");
	hop = resolved();
	route.type = RTN_BLACKHOLE;
	hop_set_route(&hop, &route, PORT);
	assert_fails_because(hop, HOP_NO_ROUTE, "no route");
}
END_TEST

START_TEST(a_way_that_comes_back_is_asked_for_anew)
{
	struct hop hop = resolved();
	struct route route = on_link();

	hop_set_route(&hop, NULL, -1);
	ck_assert(hop_set_route(&hop, &route, PORT));
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_UNKNOWN);
}
END_TEST

/* A link may take its routes along: whose link it is still counts. */
START_TEST(a_hop_without_route_keeps_the_port_it_had)
{
	struct hop hop = resolved(), never = wanted();
	struct route route = on_link();

	ck_assert(hop_set_route(&hop, NULL, -1));
	hop_update(&hop, false);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	ck_assert_uint_eq(hop.port, PORT);
	ck_assert(hop.had_route);
	hop_set_route(&hop, &route, PORT + 1);
	ck_assert_uint_eq(hop.port, PORT + 1);
	hop_set_route(&never, NULL, -1);
	ck_assert(!never.had_route);
}
END_TEST

START_TEST(a_named_neighbour_is_known_at_once_and_fails_with_its_port_only)
{
	struct hop hop = wanted();
	struct err why = {0};

	hop_set_static(&hop, mac_a, PORT);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);
	ck_assert_mem_eq(hop.mac, mac_a, 6);
	ck_assert_uint_eq(hop.port, PORT);
	hop_update(&hop, false);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
	hop_why(&hop, "back", &why);
	ck_assert_str_eq(why.text, "port back has no link");
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_RESOLVED);

	struct route route = on_link();

	hop_set_route(&hop, &route, PORT);
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_UNKNOWN);
}
END_TEST

START_TEST(a_default_stands_only_for_who_never_had_a_route_by_a_port)
{
	struct hop hop = wanted();
	struct route route = on_link();

	ck_assert(hop_takes_default(&hop, false));
	ck_assert(!hop_takes_default(&hop, true));
	hop_set_static(&hop, mac_a, PORT + 1);
	ck_assert(hop_takes_default(&hop, false));
	hop_set_route(&hop, &route, -1); /* by an interface that is no port */
	ck_assert(hop_takes_default(&hop, false));
	hop_set_route(&hop, &route, PORT);
	hop_set_route(&hop, NULL, -1);
	ck_assert(!hop_takes_default(&hop, false));
	hop_update(&hop, true);
	ck_assert_uint_eq(hop_state(&hop), KARMALB_NEXT_HOP_FAILED);
}
END_TEST

START_TEST(only_what_changes_a_packets_way_is_a_difference)
{
	struct hop before = resolved(), after = before;
	struct neighbour stale = heard(NUD_STALE, mac_a), other = heard(NUD_REACHABLE, mac_b);

	hop_set_neighbour(&after, &stale, false);
	hop_update(&after, true);
	ck_assert(!hop_differs(&before, &after));
	hop_set_neighbour(&after, &other, false);
	hop_update(&after, true);
	ck_assert(hop_differs(&before, &after));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("hop");
	TCase *tc = tcase_create("state");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_new_hop_is_unknown_until_its_neighbour_answers);
	tcase_add_test(tc, the_neighbour_behind_a_gateway_is_the_gateway);
	tcase_add_test(tc, a_deleted_entry_unsets_no_mac);
	tcase_add_test(tc, a_failed_entry_unsets_the_mac_until_an_answer);
	tcase_add_test(tc, every_valid_state_of_the_kernel_counts_as_resolved);
	tcase_add_test(tc, a_port_without_link_fails_its_hops_and_forgets_nothing);
	tcase_add_test(tc, the_same_route_again_forgets_nothing);
	tcase_add_test(tc, another_gateway_is_asked_for_anew);
	tcase_add_test(tc, a_way_that_leads_nowhere_says_why);
	tcase_add_test(tc, a_way_that_comes_back_is_asked_for_anew);
	tcase_add_test(tc, a_hop_without_route_keeps_the_port_it_had);
	tcase_add_test(tc, a_named_neighbour_is_known_at_once_and_fails_with_its_port_only);
	tcase_add_test(tc, a_default_stands_only_for_who_never_had_a_route_by_a_port);
	tcase_add_test(tc, only_what_changes_a_packets_way_is_a_difference);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
