/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "static_neighbour.h"
#include "suite.h"

static struct static_neighbour
parsed(const char *text)
{
	struct static_neighbour n;
	struct err err;

	ck_assert_msg(static_neighbour_parse(text, &n, &err) == 0, "%s", err.text);
	return n;
}

START_TEST(address_mac_and_port_are_read)
{
	static const uint8_t mac[6] = {2, 0, 0, 0xab, 0, 1};
	struct static_neighbour n = parsed("10.0.0.11=02:00:00:aB:00:01");
	struct karmalb_address v4 = karmalb_address_from_v4(inet_addr("10.0.0.11")), v6;

	ck_assert(karmalb_address_equal(&n.address, &v4) && !n.is_default);
	ck_assert_mem_eq(n.mac, mac, 6);
	ck_assert_str_eq(n.port_name, "");
	n = parsed("2001:db8::11=02:00:00:ab:00:01,port=back");
	inet_pton(AF_INET6, "2001:db8::11", v6.bytes);
	ck_assert(karmalb_address_equal(&n.address, &v6));
	ck_assert_mem_eq(n.mac, mac, 6);
	ck_assert_str_eq(n.port_name, "back");
	ck_assert(parsed("default=02:00:00:00:00:01").is_default);
}
END_TEST

START_TEST(what_is_no_neighbour_is_refused_with_a_sentence)
{
	static const struct {
		const char *text, *words;
	} refused[] = {
		{"", "expected ADDRESS|default=MAC"},
		{"10.0.0.11", "expected ADDRESS|default=MAC"},
		{"10.0.0=02:00:00:00:00:01", "'10.0.0'"},
		{"10.0.0.0/24=02:00:00:00:00:01", "'10.0.0.0/24'"},
		{"10.0.0.11=02:00:00:00:00", "'02:00:00:00:00'"},
		{"10.0.0.11=02:00:00:00:00:01:02", "expected a host's MAC"},
		{"10.0.0.11=2:0:0:0:0:1", "expected a host's MAC"},
		{"10.0.0.11=01:00:5e:00:00:01", "expected a host's MAC"},
		{"10.0.0.11=ff:ff:ff:ff:ff:ff", "expected a host's MAC"},
		{"10.0.0.11=00:00:00:00:00:00", "expected a host's MAC"},
		{"10.0.0.11=02:00:00:00:00:01,vlan=1", "expected a host's MAC"},
		{"10.0.0.11=02:00:00:00:00:01,port=", "expected a name"},
	};
	struct static_neighbour n;
	struct err err;

	for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		ck_assert_int_lt(static_neighbour_parse(refused[i].text, &n, &err), 0);
		ck_assert_msg(strstr(err.text, refused[i].words) != NULL, "'%s' lacks '%s'",
			err.text, refused[i].words);
	}
}
END_TEST

START_TEST(named_one_is_found_by_address_and_default_by_port)
{
	struct static_neighbour list[] = {
		parsed("default=02:00:00:00:00:01,port=b"),
		parsed("10.0.0.11=02:00:00:00:00:02"),
		parsed("default=02:00:00:00:00:03,port=c"),
	};
	struct karmalb_address other = karmalb_address_from_v4(inet_addr("10.0.0.12"));

	list[0].port = 1;
	list[2].port = 2;
	ck_assert_ptr_eq(static_neighbour_find(list, 3, &list[1].address), &list[1]);
	ck_assert_ptr_null(static_neighbour_find(list, 3, &other));
	ck_assert_ptr_null(static_neighbour_find(list, 3, &list[0].address));
	ck_assert_ptr_eq(static_neighbour_default(list, 3, -1), &list[0]);
	ck_assert_ptr_eq(static_neighbour_default(list, 3, 2), &list[2]);
	ck_assert_ptr_null(static_neighbour_default(list, 3, 0));
	ck_assert(!static_neighbour_equal(&list[0], &list[2]));
	ck_assert(!static_neighbour_equal(&list[0], &list[1]));
	ck_assert(static_neighbour_equal(&list[1], &list[1]));
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {address_mac_and_port_are_read,
		what_is_no_neighbour_is_refused_with_a_sentence,
		named_one_is_found_by_address_and_default_by_port, NULL};

	return suite_run("static_neighbour", tests);
}
