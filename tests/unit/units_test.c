/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>

#include <check.h>

#include <karmalb/clock.h>

#include "err.h"
#include "units.h"

static struct err err;
static char text[UNITS_CPUS_TEXT_MAX];

/* The microseconds that 'words' mean, or UINT64_MAX when they are refused. */
static uint64_t
duration(const char *words, uint64_t bare_us)
{
	uint64_t us = UINT64_MAX;
	int rc = units_parse_duration(words, bare_us, &us, &err);

	ck_assert_int_eq(rc == 0, us != UINT64_MAX);
	return us;
}

START_TEST(a_duration_has_any_of_seven_units)
{
	ck_assert_uint_eq(duration("7us", 1), 7);
	ck_assert_uint_eq(duration("250ms", 1), 250 * KARMALB_MILLISECOND);
	ck_assert_uint_eq(duration("3s", 1), 3 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("2m", 1), 120 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("1h", 1), 3600 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("1d", 1), 86400 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("1w", 1), 7 * 86400 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("3S", 1), 3 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("3 s", 1), 3 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("010s", 1), 10 * KARMALB_SECOND);
}
END_TEST

START_TEST(a_bare_number_counts_in_the_unit_of_its_setting)
{
	ck_assert_uint_eq(duration("90", KARMALB_SECOND), 90 * KARMALB_SECOND);
	ck_assert_uint_eq(duration("1000", KARMALB_MILLISECOND), KARMALB_SECOND);
	ck_assert_uint_eq(duration("0", KARMALB_SECOND), 0);
}
END_TEST

START_TEST(what_is_no_duration_is_refused)
{
	static const char *const words[] = {"", "s", "-1s", "+1s", "1.5s", "1x", "1ss", "1s ",
		" 1s", "1  s", "1 ", "2m30s", "0x10", "18446744073709551616",
		"99999999999999999999s", "18446744073709551615w"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ck_assert_msg(duration(words[i], KARMALB_SECOND) == UINT64_MAX, "%s", words[i]);
}
END_TEST

START_TEST(every_duration_reads_back_as_it_was_written)
{
	static const uint64_t factors[] = {1, KARMALB_MILLISECOND, KARMALB_SECOND, KARMALB_MINUTE,
		60 * KARMALB_MINUTE, 24 * 60 * KARMALB_MINUTE};

	for (unsigned i = 0; i < 6; i++) {
		for (uint64_t n = 0; n < 1000; n += 7) {
			units_format_duration(n * factors[i], text, sizeof(text));
			ck_assert_uint_eq(duration(text, 0), n * factors[i]);
		}
	}
	ck_assert_str_eq(units_format_duration(90 * KARMALB_SECOND, text, sizeof(text)), "90s");
	ck_assert_str_eq(units_format_duration(120 * KARMALB_SECOND, text, sizeof(text)), "2m");
	ck_assert_str_eq(units_format_duration(0, text, sizeof(text)), "0s");
}
END_TEST

START_TEST(sizes_are_powers_of_1024)
{
	uint64_t bytes;

	ck_assert_int_eq(units_parse_size("512M", &bytes, &err), 0);
	ck_assert_uint_eq(bytes, UINT64_C(512) << 20);
	ck_assert_str_eq(units_format_size(bytes, text, sizeof(text)), "512M");
	ck_assert_int_eq(units_parse_size("5g", &bytes, &err), 0);
	ck_assert_uint_eq(bytes, UINT64_C(5) << 30);
	ck_assert_int_eq(units_parse_size("1048577", &bytes, &err), 0);
	ck_assert_str_eq(units_format_size(bytes, text, sizeof(text)), "1048577");
	ck_assert_str_eq(units_format_size(0, text, sizeof(text)), "0");
	ck_assert_int_ne(units_parse_size("17000000T", &bytes, &err), 0);
	ck_assert_int_ne(units_parse_size("1P", &bytes, &err), 0);
	ck_assert_int_ne(units_parse_size("-1", &bytes, &err), 0);
	ck_assert_uint_eq(bytes, 1048577);
}
END_TEST

START_TEST(shares_are_percent_or_parts_of_one)
{
	double share, number;

	ck_assert_int_eq(units_parse_share("1%", &share, &err), 0);
	ck_assert_double_eq(share, 0.01);
	ck_assert_int_eq(units_parse_share("1 %", &share, &err), 0);
	ck_assert_double_eq(share, 0.01);
	ck_assert_int_eq(units_parse_share("0.01", &share, &err), 0);
	ck_assert_double_eq(share, 0.01);
	ck_assert_int_ne(units_parse_share("1%%", &share, &err), 0);
	ck_assert_int_ne(units_parse_share("%", &share, &err), 0);
	ck_assert_int_ne(units_parse_share("", &share, &err), 0);
	ck_assert_int_eq(units_parse_number("1e-3", &number, &err), 0);
	ck_assert_double_eq(number, 0.001);
	ck_assert_int_ne(units_parse_number("nan", &number, &err), 0);
	ck_assert_int_ne(units_parse_number("inf", &number, &err), 0);
	ck_assert_int_ne(units_parse_number("0x10", &number, &err), 0);
	ck_assert_int_ne(units_parse_number("1e999", &number, &err), 0);
	ck_assert_int_ne(units_parse_number(" 1", &number, &err), 0);
	ck_assert_int_ne(units_parse_number("1 ", &number, &err), 0);
	ck_assert_double_eq(number, 0.001);
}
END_TEST

START_TEST(every_number_and_share_reads_back_as_it_was_written)
{
	srand(1);
	for (unsigned i = 0; i < 20000; i++) {
		double x = i <= 1000 ? i / 1000.0 : rand() / (double)RAND_MAX;
		double back;

		ck_assert_int_eq(
			units_parse_share(units_format_share(x, text, sizeof(text)), &back, &err),
			0);
		ck_assert_double_eq(back, x);
		ck_assert_int_eq(
			units_parse_number(units_format_number(x, text, sizeof(text)), &back, &err),
			0);
		ck_assert_double_eq(back, x);
	}
	ck_assert_str_eq(units_format_share(0.07, text, sizeof(text)), "7%");
	ck_assert_str_eq(units_format_share(0.5, text, sizeof(text)), "50%");
	ck_assert_str_eq(units_format_share(0, text, sizeof(text)), "0%");
	ck_assert_str_eq(units_format_number(1000000, text, sizeof(text)), "1000000");
	ck_assert_str_eq(units_format_number(0.1, text, sizeof(text)), "0.1");
}
END_TEST

START_TEST(a_cpu_list_comes_back_sorted_and_joined)
{
	struct units_cpus cpus;

	ck_assert_int_eq(units_parse_cpus("6,2-3,4,1023,0", &cpus, &err), 0);
	ck_assert_uint_eq(cpus.n_cpus, 6);
	ck_assert_str_eq(units_format_cpus(&cpus, text, sizeof(text)), "0,2-4,6,1023");
	ck_assert_int_eq(units_parse_cpus("0-63", &cpus, &err), 0);
	ck_assert_uint_eq(cpus.n_cpus, KARMALB_WORKERS_MAX);
	ck_assert_int_eq(units_parse_cpus("last", &cpus, &err), 0);
	ck_assert_uint_eq(cpus.n_cpus, 0);
	ck_assert_str_eq(units_format_cpus(&cpus, text, sizeof(text)), "last");
	cpus.n_cpus = KARMALB_WORKERS_MAX;
	for (unsigned i = 0; i < KARMALB_WORKERS_MAX; i++)
		cpus.cpus[i] = (uint16_t)(897 + 2 * i);
	units_format_cpus(&cpus, text, sizeof(text));
	ck_assert_int_eq(units_parse_cpus(text, &cpus, &err), 0);
	ck_assert_uint_eq(cpus.cpus[KARMALB_WORKERS_MAX - 1], 1023);
}
END_TEST

START_TEST(a_wrong_cpu_list_is_refused_with_what_is_wrong)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{"", "expected CPU numbers and ranges such as \"2-3,6\", or \"last\""},
		{"2-", "expected a CPU number after '-'"},
		{"2,", "expected CPU numbers and ranges such as \"2-3,6\", or \"last\""},
		{"2;3", "expected CPU numbers and ranges such as \"2-3,6\", or \"last\""},
		{"3-2", "expected a range to rise, as in \"2-3\""},
		{"2-4,3", "CPU 3 stands there twice"},
		{"0-64", "expected at most 64 CPUs"},
		{"1024", "expected CPU numbers from 0 to 1023"},
		{"0-18446744073709551615", "expected CPU numbers from 0 to 1023"},
	};
	struct units_cpus cpus;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_ne(units_parse_cpus(rows[i].text, &cpus, &err), 0);
		ck_assert_str_eq(err.sentence, rows[i].sentence);
	}
}
END_TEST

START_TEST(an_endpoint_is_address_port_and_protocol)
{
	struct karmalb_endpoint e = {0};

	ck_assert_int_eq(units_parse_endpoint("192.0.2.10:9306/tcp", &e, &err), 0);
	ck_assert_uint_eq(karmalb_address_v4_be(&e.address), htonl(0xc000020a));
	ck_assert_uint_eq(e.port_be, htons(9306));
	ck_assert_uint_eq(e.protocol, IPPROTO_TCP);
	ck_assert_str_eq(units_format_endpoint(&e, text, sizeof(text)), "192.0.2.10:9306/tcp");
}
END_TEST

START_TEST(a_wrong_endpoint_is_refused_with_what_is_wrong)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{"", "expected address:port/protocol, such as \"192.0.2.10:80/tcp\""},
		{"192.0.2.10", "expected address:port/protocol, such as \"192.0.2.10:80/tcp\""},
		{"192.0.2.10:80", "expected \"/tcp\" or \"/udp\" after the port"},
		{"192.0.2.10:80/tcp ", "expected \"/tcp\" or \"/udp\" after the port"},
		{"192.0.2.10:0/tcp", "expected a port from 1 to 65535 after the ':'"},
		{"192.0.2.10:65536/tcp", "expected a port from 1 to 65535 after the ':'"},
		{"192.0.2.10:/tcp", "expected a port from 1 to 65535 after the ':'"},
		{"[2001:db8::1:80/tcp", "expected a ']' after the address"},
		{"[2001:db8::1]80/tcp", "expected a ':' and a port after the address"},
		{"2001:db8::1",
			"expected an IPv6 address in [ ], such as \"[2001:db8::10]:80/tcp\""},
		{"192.0.2.256:80/tcp",
			"expected an address such as 192.0.2.10 or 2001:db8::10 (names are not looked up)"},
		{"web.example:80/tcp",
			"expected an address such as 192.0.2.10 or 2001:db8::10 (names are not looked up)"},
		{"192.000000000000000000000000000000000000000000000000000002.10:80/tcp",
			"expected an address such as 192.0.2.10 or 2001:db8::10 (names are not looked up)"},
	};
	struct karmalb_endpoint e;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_ne(units_parse_endpoint(rows[i].text, &e, &err), 0);
		ck_assert_str_eq(err.sentence, rows[i].sentence);
	}
}
END_TEST

START_TEST(ipv6_and_udp_are_read_back_as_they_were_printed)
{
	static const char *const endpoints[] = {
		"[2001:db8::1]:80/tcp", "[::2]:53/udp", "192.0.2.10:53/udp"};
	static const char *const hosts[] = {"2001:db8::11", "[2001:db8::11]:9306"};
	static const char *const cidrs[] = {"2001:db8::f0/124", "2001:db8::1"};
	struct karmalb_endpoint e;
	struct karmalb_address a;
	struct units_cidr cidr;
	uint16_t port;

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(units_parse_endpoint(endpoints[i], &e, &err), 0);
		ck_assert_str_eq(units_format_endpoint(&e, text, sizeof(text)), endpoints[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(units_parse_host(hosts[i], &a, &port, &err), 0);
		ck_assert_str_eq(units_format_host(&a, port, text, sizeof(text)), hosts[i]);
		ck_assert_int_eq(units_parse_cidr(cidrs[i], &cidr, &err), 0);
		ck_assert_str_eq(units_format_cidr(&cidr, text, sizeof(text)), cidrs[i]);
	}
	ck_assert_int_eq(units_parse_cidr("2001:db8::f0/124", &cidr, &err), 0);
	ck_assert_uint_eq(units_cidr_count(&cidr), 16);
	a = units_cidr_at(&cidr, 15);
	ck_assert_str_eq(units_format_address(&a, text, sizeof(text)), "2001:db8::ff");
	ck_assert(units_cidr_holds(&cidr, &a));
	a.bytes[11] = 1;
	ck_assert(!units_cidr_holds(&cidr, &a));
	ck_assert_int_ne(units_parse_cidr("2001:db8::/64", &cidr, &err), 0);
	ck_assert_str_eq(err.sentence, "expected a prefix length from 112 to 128 after the '/'");
	ck_assert_int_ne(units_parse_cidr("2001:db8::f1/124", &cidr, &err), 0);
	ck_assert_str_eq(err.sentence,
		"the network is \"2001:db8::f0/124\", the one address \"2001:db8::f1\"");
}
END_TEST

START_TEST(a_host_may_go_without_its_port)
{
	struct karmalb_address a;
	uint16_t port = 1;

	ck_assert_int_eq(units_parse_host("10.0.0.11", &a, &port, &err), 0);
	ck_assert_uint_eq(port, 0);
	ck_assert_str_eq(units_format_host(&a, port, text, sizeof(text)), "10.0.0.11");
	ck_assert_int_eq(units_parse_host("10.0.0.11:9306", &a, &port, &err), 0);
	ck_assert_uint_eq(port, 9306);
	ck_assert_str_eq(units_format_host(&a, port, text, sizeof(text)), "10.0.0.11:9306");
	/* Vector C5: a port that does not exist. */
	ck_assert_int_ne(units_parse_host("10.0.0.11:70000", &a, &port, &err), 0);
	ck_assert_int_ne(units_parse_host("10.0.0.11:", &a, &port, &err), 0);
	ck_assert_int_ne(units_parse_host("10.0.0.11:80/tcp", &a, &port, &err), 0);
	ck_assert_int_ne(units_parse_host(":80", &a, &port, &err), 0);
	ck_assert_uint_eq(port, 9306);
}
END_TEST

START_TEST(ipv6_is_written_right_even_if_not_read_yet)
{
	struct karmalb_address a = {.bytes = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};

	ck_assert_str_eq(units_format_address(&a, text, sizeof(text)), "2001:db8::1");
	ck_assert_str_eq(units_format_host(&a, 80, text, sizeof(text)), "[2001:db8::1]:80");
}
END_TEST

START_TEST(a_network_holds_all_its_addresses)
{
	struct units_cidr cidr;
	struct karmalb_address a;
	uint16_t port;

	ck_assert_int_eq(units_parse_cidr("10.0.0.240/28", &cidr, &err), 0);
	ck_assert_uint_eq(units_cidr_count(&cidr), 16);
	for (unsigned i = 0; i < 16; i++) {
		a = units_cidr_at(&cidr, i);
		ck_assert(units_cidr_holds(&cidr, &a));
		ck_assert_uint_eq(ntohl(karmalb_address_v4_be(&a)), 0x0a0000f0 + i);
	}
	ck_assert_int_eq(units_parse_host("10.0.0.239", &a, &port, &err), 0);
	ck_assert(!units_cidr_holds(&cidr, &a));
	ck_assert_str_eq(units_format_cidr(&cidr, text, sizeof(text)), "10.0.0.240/28");
	ck_assert_int_eq(units_parse_cidr("10.0.0.239/32", &cidr, &err), 0);
	ck_assert(units_cidr_holds(&cidr, &a));
	ck_assert_str_eq(units_format_cidr(&cidr, text, sizeof(text)), "10.0.0.239");
	ck_assert_int_eq(units_parse_cidr("0.0.0.0/0", &cidr, &err), 0);
	ck_assert(units_cidr_holds(&cidr, &a));
	ck_assert_uint_eq(units_cidr_count(&cidr), UINT64_C(1) << 32);
}
END_TEST

START_TEST(a_network_with_host_bits_is_refused_with_both_readings)
{
	struct units_cidr cidr;

	ck_assert_int_ne(units_parse_cidr("10.0.0.241/28", &cidr, &err), 0);
	ck_assert_str_eq(
		err.sentence, "the network is \"10.0.0.240/28\", the one address \"10.0.0.241\"");
	ck_assert_int_ne(units_parse_cidr("10.0.0.0/33", &cidr, &err), 0);
	ck_assert_int_ne(units_parse_cidr("10.0.0.0/", &cidr, &err), 0);
	ck_assert_int_ne(units_parse_cidr("10.0.0/24", &cidr, &err), 0);
}
END_TEST

static void
assert_no_time(const char *words)
{
	uint64_t us = 7;

	ck_assert_int_eq(units_parse_time(words, &us, &err), -EINVAL);
	ck_assert_str_eq(err.sentence, "expected a time in UTC such as 2026-11-30T04:30:00Z");
	ck_assert_uint_eq(us, 7);
}

START_TEST(a_time_is_utc_to_the_millisecond)
{
	static const uint64_t times_ms[] = {
		0, 1, 999, 951782400000, 1798594200250, 253402300799999};

	ck_assert_str_eq(units_format_time(0, text, sizeof(text)), "1970-01-01T00:00:00Z");
	ck_assert_str_eq(
		units_format_time(UINT64_C(951782400) * KARMALB_SECOND, text, sizeof(text)),
		"2000-02-29T00:00:00Z");
	for (unsigned i = 0; i < sizeof(times_ms) / sizeof(times_ms[0]); i++) {
		uint64_t us = times_ms[i] * KARMALB_MILLISECOND, back = ~us;

		units_format_time(us, text, sizeof(text));
		ck_assert_msg(units_parse_time(text, &back, &err) == 0, "%s", text);
		ck_assert_uint_eq(back, us);
	}
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
	assert_no_time("");
	assert_no_time("12:00");
	assert_no_time("2026-11-30");
	assert_no_time("2026-11-30T04:30:00");
	assert_no_time("2026-11-30T04:30:00+01:00");
	assert_no_time("2026-11-30 04:30:00Z");
	assert_no_time("2026-02-30T00:00:00Z");
	assert_no_time("2026-11-30T24:00:00Z");
	assert_no_time("2026-11-30T04:30:00Zx");
	assert_no_time("2026-11-30T04:30:00.5Z");
	assert_no_time("1969-12-31T23:59:59Z");
	assert_no_time("-999-12-31T23:59:59Z");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("units");
	TCase *tc = tcase_create("units");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_duration_has_any_of_seven_units);
	tcase_add_test(tc, a_bare_number_counts_in_the_unit_of_its_setting);
	tcase_add_test(tc, what_is_no_duration_is_refused);
	tcase_add_test(tc, every_duration_reads_back_as_it_was_written);
	tcase_add_test(tc, sizes_are_powers_of_1024);
	tcase_add_test(tc, shares_are_percent_or_parts_of_one);
	tcase_add_test(tc, every_number_and_share_reads_back_as_it_was_written);
	tcase_add_test(tc, a_cpu_list_comes_back_sorted_and_joined);
	tcase_add_test(tc, a_wrong_cpu_list_is_refused_with_what_is_wrong);
	tcase_add_test(tc, an_endpoint_is_address_port_and_protocol);
	tcase_add_test(tc, a_wrong_endpoint_is_refused_with_what_is_wrong);
	tcase_add_test(tc, ipv6_and_udp_are_read_back_as_they_were_printed);
	tcase_add_test(tc, a_host_may_go_without_its_port);
	tcase_add_test(tc, ipv6_is_written_right_even_if_not_read_yet);
	tcase_add_test(tc, a_network_holds_all_its_addresses);
	tcase_add_test(tc, a_network_with_host_bits_is_refused_with_both_readings);
	tcase_add_test(tc, a_time_is_utc_to_the_millisecond);
	tcase_add_test(tc, what_is_no_time_is_refused);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
