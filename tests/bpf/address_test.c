/* SPDX-License-Identifier: BSD-3-Clause */
/* Our addresses on an interface, among those of others.  Needs root. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include "address.h"
#include "kernel.h"
#include "netns.h"

#define SHOW "ip addr show dev eth1"

static struct karmalb_address
address(const char *text)
{
	return service(text, 0, 0).address;
}

static void
add(const char *text)
{
	struct karmalb_address a = address(text);
	struct err err = {""};

	ck_assert_msg(addresses_add(netns_ifindex(), &a, 1, &err) == 0, "%s", err.text);
}

static void
remove_all_of_ours(void)
{
	struct err err = {""};

	ck_assert_msg(addresses_remove_except(netns_ifindex(), NULL, 0, &err) == 0, "%s", err.text);
}

START_TEST(an_added_address_is_answered_by_the_kernel)
{
	add("10.77.0.100");
	ck_assert(here_says(SHOW, "10.77.0.100/32"));
	there("ping -c 1 -W 2 10.77.0.100 >/dev/null");
}
END_TEST

START_TEST(adding_twice_is_fine)
{
	add("10.77.0.100");
	add("10.77.0.100");
	add(VIP6);
	add(VIP6);
	remove_all_of_ours();
	ck_assert(!here_says(SHOW, "10.77.0.100"));
	ck_assert(!here_says(SHOW, VIP6));
}
END_TEST

START_TEST(an_operators_address_is_never_removed)
{
	here("ip addr add 10.77.0.100/32 dev eth1");
	here("ip addr add 10.77.0.101/24 dev eth1");
	add("10.77.0.100"); /* is there already: stays the operator's */
	add(NETNS_HERE);    /* and so does one of a wider prefix */
	add("10.77.0.102");
	ck_assert(!here_says(SHOW, NETNS_HERE "/32"));
	remove_all_of_ours();
	ck_assert(here_says(SHOW, NETNS_HERE "/24"));
	ck_assert(here_says(SHOW, "10.77.0.100/32"));
	ck_assert(here_says(SHOW, "10.77.0.101/24"));
	ck_assert(!here_says(SHOW, "10.77.0.102"));
}
END_TEST

START_TEST(what_a_dead_instance_left_is_known_as_ours)
{
	if (fork() == 0) {
		add("10.77.0.100");
		add(VIP6);
		_exit(0);
	}
	while (!here_says(SHOW, VIP6))
		continue; /* bounded by Check's time limit */
	remove_all_of_ours();
	ck_assert(!here_says(SHOW, "10.77.0.100"));
	ck_assert(!here_says(SHOW, VIP6));
}
END_TEST

START_TEST(only_what_is_not_kept_is_removed)
{
	struct karmalb_address keep[] = {address("10.77.0.101"), address("10.77.0.199")};
	struct err err = {""};

	add("10.77.0.100");
	add("10.77.0.101");
	ck_assert_int_eq(addresses_remove_except(netns_ifindex(), keep, 2, &err), 0);
	ck_assert(!here_says(SHOW, "10.77.0.100"));
	ck_assert(here_says(SHOW, "10.77.0.101"));
	ck_assert(!here_says(SHOW, "10.77.0.199"));
}
END_TEST

START_TEST(the_kernel_never_chooses_one_of_ours_as_a_source)
{
	struct karmalb_address peer = address(NETNS_THERE), far = address("192.0.2.1");
	struct karmalb_address host = address(NETNS_HERE), chosen;

	/* Even where ours come first, and are of the same network. */
	here("ip addr del " NETNS_HERE "/24 dev eth1");
	add("10.77.0.100");
	here("ip addr add " NETNS_HERE "/24 dev eth1");
	here("ip route add default via " NETNS_THERE);
	ck_assert(address_towards(&peer, &chosen));
	ck_assert_mem_eq(&chosen, &host, sizeof(chosen));
	ck_assert(address_towards(&far, &chosen));
	ck_assert_mem_eq(&chosen, &host, sizeof(chosen));
}
END_TEST

static void
assert_refused(const char *source, const char *word)
{
	struct karmalb_address s = address(source);
	struct err err = {""};

	ck_assert_int_eq(address_is_free_for_source(&s, &err), -EADDRINUSE);
	ck_assert_msg(strstr(err.text, word) != NULL, "\"%s\"", err.text);
	ck_assert_msg(strstr(err.text, source) != NULL, "\"%s\"", err.text);
}

static void
assert_free(const char *source)
{
	struct karmalb_address s = address(source);
	struct err err = {""};

	ck_assert_msg(address_is_free_for_source(&s, &err) == 0, "%s", err.text);
}

START_TEST(a_source_must_not_be_the_hosts_own_address)
{
	assert_refused(NETNS_HERE, "own address");
	assert_refused("127.0.0.5", "loopback");
	assert_free("10.77.0.240");
	add("10.77.0.240"); /* ours, from before */
	assert_free("10.77.0.240");
	here("ip addr add 10.77.0.241/24 dev eth1"); /* a second one of the network, as keepalived's
						      */
	assert_free("10.77.0.241");
}
END_TEST

START_TEST(a_routes_own_source_is_what_the_kernel_uses)
{
	struct karmalb_address near = address(NETNS_THERE), far = address("10.99.0.1");
	struct karmalb_address expected = address("10.77.0.241"), used;

	here("ip addr add 10.77.0.241/32 dev eth1");
	here("ip route add 10.99.0.0/16 via " NETNS_THERE " src 10.77.0.241");
	ck_assert(address_towards(&far, &used));
	ck_assert_mem_eq(&used, &expected, sizeof(used));
	ck_assert(address_towards(&near, &used));
	ck_assert_mem_ne(&used, &expected, sizeof(used));
	far = address("192.0.2.1");
	ck_assert(!address_towards(&far, &used));
}
END_TEST

START_TEST(first_and_last_address_of_a_network_mean_everybody)
{
	const char *const broadcasts[] = {"10.88.1.0", "10.88.1.255"};
	const char *const others[] = {"10.88.1.1", "10.88.1.254", "10.88.2.255", "10.89.0.7",
		"10.89.0.6", "0.0.0.0", "255.255.255.255", "::"};

	here("ip addr add 10.88.1.5/24 dev eth1; ip addr add 10.89.0.7/31 dev eth1;"
	     "ip addr add 10.88.2.255/32 dev eth1");
	for (unsigned i = 0; i < sizeof(broadcasts) / sizeof(broadcasts[0]); i++) {
		struct karmalb_address a = address(broadcasts[i]);

		ck_assert_msg(address_is_broadcast(&a), "%s", broadcasts[i]);
	}
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct karmalb_address a = address(others[i]);

		ck_assert_msg(!address_is_broadcast(&a), "%s", others[i]);
	}
}
END_TEST

START_TEST(a_source_must_have_no_listener)
{
	struct sockaddr_in bound = {.sin_family = AF_INET,
		.sin_port = htons(4711),
		.sin_addr.s_addr = inet_addr("10.77.0.240")};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	add("10.77.0.240");
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&bound, sizeof(bound)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	assert_refused("10.77.0.240", "4711");
	close(fd);
	assert_free("10.77.0.240");
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("address");
	TCase *tc = tcase_create("addresses");

	tcase_add_checked_fixture(tc, netns_enter, NULL);
	tcase_add_test(tc, an_added_address_is_answered_by_the_kernel);
	tcase_add_test(tc, adding_twice_is_fine);
	tcase_add_test(tc, an_operators_address_is_never_removed);
	tcase_add_test(tc, what_a_dead_instance_left_is_known_as_ours);
	tcase_add_test(tc, only_what_is_not_kept_is_removed);
	tcase_add_test(tc, the_kernel_never_chooses_one_of_ours_as_a_source);
	suite_add_tcase(suite, tc);
	tc = tcase_create("sources");
	tcase_add_checked_fixture(tc, netns_enter, NULL);
	tcase_add_test(tc, a_source_must_not_be_the_hosts_own_address);
	tcase_add_test(tc, a_routes_own_source_is_what_the_kernel_uses);
	tcase_add_test(tc, first_and_last_address_of_a_network_mean_everybody);
	tcase_add_test(tc, a_source_must_have_no_listener);
	suite_add_tcase(suite, tc);
	return kernel_main(argc, argv, suite);
}
