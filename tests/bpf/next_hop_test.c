/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes, neighbours and links of a real kernel, followed.  Needs root. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <karmalb/clock.h>

#include "endpoint_text.h"
#include "kernel.h"
#include "netlink.h"
#include "netns.h"
#include "next_hop.h"
#include "route.h"

#define NEIGHBOURS "ip neigh show dev eth1"

static struct ports ports;
static struct next_hops *hops;

static struct karmalb_address
address(const char *text)
{
	return service(text, 0, 0).address;
}

static void
begin(void)
{
	struct err err = {""};

	netns_enter();
	ports.n = 1;
	ports.port[0].ifindex = netns_ifindex();
	strcpy(ports.port[0].interface, "eth1");
	ports.port[0].conf.is_reply_by_route = true;
	ck_assert_msg(next_hops_open(&hops, &ports, &err) == 0, "%s", err.text);
}

static void
end(void)
{
	next_hops_close(hops);
}

static void
want(const char *first, const char *second)
{
	struct karmalb_address list[2] = {address(first), address(second != NULL ? second : first)};
	struct err err = {""};

	ck_assert_msg(next_hops_want(hops, list, 2, &err) == 0, "%s", err.text);
}

/* What a loop would do between two looks at the clock. */
static void
follow(void)
{
	struct pollfd event = {.fd = next_hops_fd(hops), .events = POLLIN};

	if (poll(&event, 1, 0) > 0)
		next_hops_process(hops, karmalb_now_us());
	next_hops_tick(hops, karmalb_now_us());
}

struct expected {
	const char *address;
	uint8_t state;
	const char *why; /* NULL: no matter */
};

static bool
is_as_expected(void *context)
{
	const struct expected *e = context;
	struct karmalb_address a = address(e->address);
	struct err why;

	follow();
	next_hops_why(hops, &a, &why);
	return next_hops_get(hops, &a).state == e->state &&
	       (e->why == NULL || strstr(why.text, e->why) != NULL);
}

static void
expect(const char *text, uint8_t state, const char *why)
{
	struct expected e = {.address = text, .state = state, .why = why};
	struct karmalb_address a = address(text);
	struct err now;
	bool is_so = wait_until(is_as_expected, &e);

	next_hops_why(hops, &a, &now);
	ck_assert_msg(is_so, "%s: state %u, \"%s\"", text, next_hops_get(hops, &a).state, now.text);
}

START_TEST(a_neighbour_is_resolved_and_kept_so)
{
	struct karmalb_address a = address(NETNS_THERE);
	uint8_t mac[6];

	want(NETNS_THERE, NULL);
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	netns_peer_mac(mac);
	ck_assert_mem_eq(next_hops_get(hops, &a).mac, mac, 6);
	ck_assert(here_says(NEIGHBOURS, "managed"));
}
END_TEST

START_TEST(a_neighbour_that_is_not_there_fails_and_comes_back)
{
	want("10.77.0.3", NULL);
	expect("10.77.0.3", KARMALB_NEXT_HOP_FAILED, "nobody answers for 10.77.0.3 on eth1");
	there("ip addr add 10.77.0.3/24 dev eth1");
	expect("10.77.0.3", KARMALB_NEXT_HOP_RESOLVED, NULL);
}
END_TEST

static bool
has_new_mac(void *context)
{
	struct karmalb_address a = address(NETNS_THERE);

	follow();
	return memcmp(next_hops_get(hops, &a).mac, context, 6) == 0;
}

START_TEST(another_mac_is_followed)
{
	uint8_t mac[6] = {2, 0, 0, 0, 0x12, 0x34};

	want(NETNS_THERE, NULL);
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	there("ip link set eth1 address 02:00:00:00:12:34");
	there("ping -c 1 -W 1 " NETNS_HERE " >/dev/null");
	ck_assert(wait_until(has_new_mac, mac));
}
END_TEST

START_TEST(a_flushed_entry_is_asked_for_anew_and_unsets_nothing)
{
	struct karmalb_address a = address(NETNS_THERE);

	want(NETNS_THERE, NULL);
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	here("ip neigh del " NETNS_THERE " dev eth1");
	follow();
	ck_assert_uint_eq(next_hops_get(hops, &a).state, KARMALB_NEXT_HOP_RESOLVED);
	for (unsigned i = 0; i < 150 && !here_says(NEIGHBOURS, "managed"); i++) {
		follow();
		usleep(10000);
	}
	ck_assert(here_says(NEIGHBOURS, "managed"));
}
END_TEST

START_TEST(the_link_is_followed_and_its_hops_with_it)
{
	want(NETNS_THERE, NULL);
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	ck_assert(ports.port[0].is_up);
	there("ip link set eth1 down");
	expect(NETNS_THERE, KARMALB_NEXT_HOP_FAILED, "eth1 has no link");
	ck_assert(!ports.port[0].is_up);
	there("ip link set eth1 up");
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	here("ip link set eth1 mtu 1400");
	follow();
	ck_assert_uint_eq(ports.port[0].mtu, 1400);
}
END_TEST

START_TEST(routes_are_followed)
{
	uint8_t mac[6], gateway[6];

	want("192.0.2.1", NULL);
	expect("192.0.2.1", KARMALB_NEXT_HOP_FAILED, "no route to 192.0.2.1");
	ck_assert(!next_hops_gateway(hops, 0, false, gateway));
	here("ip route add default via " NETNS_THERE);
	expect("192.0.2.1", KARMALB_NEXT_HOP_RESOLVED, NULL);
	netns_peer_mac(mac);
	ck_assert(next_hops_gateway(hops, 0, false, gateway));
	ck_assert_mem_eq(gateway, mac, 6);
	here("ip route add 192.0.2.0/24 dev lo");
	expect("192.0.2.1", KARMALB_NEXT_HOP_FAILED, "no port");
	here("ip route del 192.0.2.0/24 dev lo");
	here("ip addr add 192.0.2.1/32 dev lo");
	expect("192.0.2.1", KARMALB_NEXT_HOP_FAILED, "this host");
}
END_TEST

START_TEST(of_two_default_routes_the_better_one_of_the_port_counts)
{
	uint8_t mac[6] = {2, 0, 0, 0, 0x12, 0x34}, gateway[6];

	here("ip route add default via 10.77.0.9 metric 200");
	here("ip neigh add 10.77.0.9 lladdr 02:00:00:00:99:99 dev eth1 nud permanent");
	here("ip neigh add 10.77.0.8 lladdr 02:00:00:00:12:34 dev eth1 nud permanent");
	here("ip route add default via 10.77.0.8 metric 100");
	here("ip link add dummy0 type veth peer name dummy1 && ip link set dummy0 up && "
	     "ip route add default dev dummy0 metric 50");
	want("192.0.2.1", NULL);
	for (unsigned i = 0; i < 500 && !next_hops_gateway(hops, 0, false, gateway); i++) {
		follow();
		usleep(10000);
	}
	ck_assert(next_hops_gateway(hops, 0, false, gateway));
	ck_assert_mem_eq(gateway, mac, 6);
}
END_TEST

START_TEST(default_routes_of_both_families_are_found)
{
	struct netlink nl = {.sequence = 0};
	struct route route;

	ck_assert_int_eq(netlink_open(&nl), 0);
	here("ip -6 addr add 2001:db8:7::1/64 dev eth1 nodad");
	here("ip -6 route add 2001:db8:8::/48 via 2001:db8:7::2");
	here("ip route add default via " NETNS_THERE);
	ck_assert_int_eq(route_default(&nl, AF_INET6, 0, &route), -ENETUNREACH);
	ck_assert_int_eq(route_default(&nl, AF_INET, 0, &route), 0);
	here("ip -6 route add default via 2001:db8:7::9");
	ck_assert_int_eq(route_default(&nl, AF_INET6, 0, &route), 0);
	ck_assert_uint_eq(route.ifindex, if_nametoindex("eth1"));
	ck_assert_uint_eq(route.gateway.bytes[15], 9);
	netlink_close(&nl);
}
END_TEST

START_TEST(each_family_has_its_gateway)
{
	uint8_t mac[6] = {2, 0, 0, 0, 0x12, 0x34}, gateway[6];

	here("ip -6 addr add 2001:db8:7::1/64 dev eth1 nodad");
	here("ip -6 neigh add fe80::9 lladdr 02:00:00:00:12:34 dev eth1 nud permanent");
	here("ip -6 route add default via fe80::9 dev eth1");
	for (unsigned i = 0; i < 500 && !next_hops_gateway(hops, 0, true, gateway); i++) {
		follow();
		usleep(10000);
	}
	ck_assert(next_hops_gateway(hops, 0, true, gateway));
	ck_assert_mem_eq(gateway, mac, 6);
	ck_assert(!next_hops_gateway(hops, 0, false, gateway));
}
END_TEST

START_TEST(of_several_next_hops_the_first_of_the_port_counts)
{
	struct netlink nl = {.sequence = 0};
	unsigned eth1 = if_nametoindex("eth1");
	struct route route;

	ck_assert_int_eq(netlink_open(&nl), 0);
	here("ip link add dummy0 type veth peer name dummy1 && ip link set dummy0 up && "
	     "ip addr add 10.78.0.1/24 dev dummy0");
	here("ip route add default metric 70 nexthop via 10.78.0.9 dev dummy0 "
	     "nexthop via 10.77.0.9 dev eth1 nexthop via 10.77.0.8 dev eth1");
	ck_assert_int_eq(route_default(&nl, AF_INET, 0, &route), 0);
	ck_assert_uint_eq(route.ifindex, if_nametoindex("dummy0"));
	ck_assert_uint_eq(route.metric, 70);
	ck_assert_int_eq(route_default(&nl, AF_INET, eth1, &route), 0);
	ck_assert_uint_eq(route.ifindex, eth1);
	ck_assert_uint_eq(route.metric, 70);
	ck_assert(route.has_gateway);
	ck_assert_uint_eq(route.gateway.bytes[15], 9);
	here("ip -6 addr add 2001:db8:7::1/64 dev eth1 nodad");
	here("ip -6 addr add 2001:db8:6::1/64 dev dummy0 nodad");
	here("ip -6 route add default nexthop via 2001:db8:6::9 dev dummy0 "
	     "nexthop via 2001:db8:7::8 dev eth1");
	ck_assert_int_eq(route_default(&nl, AF_INET6, eth1, &route), 0);
	ck_assert_uint_eq(route.gateway.bytes[15], 8);
	netlink_close(&nl);
}
END_TEST

START_TEST(an_operators_entry_is_used_and_left_alone)
{
	struct karmalb_address a = address("10.77.0.8");
	uint8_t mac[6] = {2, 0, 0, 0, 0x12, 0x34};

	here("ip neigh add 10.77.0.8 lladdr 02:00:00:00:12:34 dev eth1 nud permanent");
	want("10.77.0.8", NULL);
	expect("10.77.0.8", KARMALB_NEXT_HOP_RESOLVED, NULL);
	ck_assert_mem_eq(next_hops_get(hops, &a).mac, mac, 6);
	want(NETNS_THERE, NULL);
	ck_assert(here_says(NEIGHBOURS, "02:00:00:00:12:34 PERMANENT"));
}
END_TEST

START_TEST(what_is_wanted_no_more_is_given_back)
{
	struct karmalb_address a = address("10.77.0.3");

	want(NETNS_THERE, "10.77.0.3");
	ck_assert(here_says(NEIGHBOURS, "10.77.0.3"));
	want(NETNS_THERE, NULL);
	ck_assert(!here_says(NEIGHBOURS, "10.77.0.3"));
	ck_assert(here_says(NEIGHBOURS, NETNS_THERE));
	ck_assert_uint_eq(next_hops_get(hops, &a).state, KARMALB_NEXT_HOP_UNKNOWN);
}
END_TEST

START_TEST(a_dead_instances_neighbours_are_given_back)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		want("10.77.0.3", "10.77.0.4");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(here_says(NEIGHBOURS, "10.77.0.4"));
	want(NETNS_THERE, NULL);
	ck_assert(!here_says(NEIGHBOURS, "10.77.0.3"));
	ck_assert(!here_says(NEIGHBOURS, "10.77.0.4"));
}
END_TEST

START_TEST(a_clean_stop_leaves_no_entry)
{
	want(NETNS_THERE, "10.77.0.3");
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	next_hops_close(hops);
	hops = NULL;
	ck_assert(!here_says(NEIGHBOURS, "10.77"));
}
END_TEST

START_TEST(lost_events_are_made_up_for)
{
	want(NETNS_THERE, "192.0.2.1");
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	int tiny = 1; /* a socket that holds hardly a report: the kernel drops the rest */

	ck_assert_int_eq(
		setsockopt(next_hops_fd(hops), SOL_SOCKET, SO_RCVBUF, &tiny, sizeof(tiny)), 0);
	here("for i in $(seq 1 200); do echo route add 10.9.$i.0/24 dev eth1; done | ip -batch -");
	here("ip link set eth1 mtu 1300");
	here("ip route add 192.0.2.0/24 via " NETNS_THERE);
	expect(NETNS_THERE, KARMALB_NEXT_HOP_RESOLVED, NULL);
	expect("192.0.2.1", KARMALB_NEXT_HOP_RESOLVED, NULL);
	ck_assert_uint_eq(ports.port[0].mtu, 1300);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("next hop");
	TCase *tc = tcase_create("neighbours");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, a_neighbour_is_resolved_and_kept_so);
	tcase_add_test(tc, a_neighbour_that_is_not_there_fails_and_comes_back);
	tcase_add_test(tc, another_mac_is_followed);
	tcase_add_test(tc, a_flushed_entry_is_asked_for_anew_and_unsets_nothing);
	tcase_add_test(tc, an_operators_entry_is_used_and_left_alone);
	tcase_add_test(tc, what_is_wanted_no_more_is_given_back);
	tcase_add_test(tc, a_dead_instances_neighbours_are_given_back);
	tcase_add_test(tc, a_clean_stop_leaves_no_entry);
	suite_add_tcase(suite, tc);
	tc = tcase_create("routes and links");
	tcase_add_checked_fixture(tc, begin, end);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, the_link_is_followed_and_its_hops_with_it);
	tcase_add_test(tc, routes_are_followed);
	tcase_add_test(tc, of_two_default_routes_the_better_one_of_the_port_counts);
	tcase_add_test(tc, default_routes_of_both_families_are_found);
	tcase_add_test(tc, each_family_has_its_gateway);
	tcase_add_test(tc, of_several_next_hops_the_first_of_the_port_counts);
	tcase_add_test(tc, lost_events_are_made_up_for);
	suite_add_tcase(suite, tc);
	return kernel_main(argc, argv, suite);
}
