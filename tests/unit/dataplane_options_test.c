/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "options.h"

#define PORT   "--port=front=af_xdp:eth1"
#define SOURCE "--source=10.0.0.240/28"

static struct options o;
static struct err err;

/* Parses the NULL-ended list that begins with 'first'. */
static int
parse(const char *first, ...)
{
	char *argv[32];
	int argc = 0, rc;
	va_list args;

	argv[argc++] = strdup("karmalb-dataplane");
	va_start(args, first);
	for (const char *next = first; next != NULL; next = va_arg(args, const char *))
		argv[argc++] = strdup(next);
	va_end(args);
	memset(&err, 0, sizeof(err));
	rc = options_parse(&o, argc, argv, &err);
	while (argc > 0)
		free(argv[--argc]);
	return rc;
}

START_TEST(defaults_are_those_that_help_names)
{
	ck_assert_msg(parse(PORT, SOURCE, NULL) == 0, "%s", err.text);
	ck_assert_int_eq(o.action, OPTIONS_RUN);
	ck_assert_str_eq(o.run_dir, "/run/karmalb");
	ck_assert_uint_eq(o.n_workers, 1);
	ck_assert(o.is_sleeping);
	ck_assert_uint_eq(o.idle_spin_us, 20);
	ck_assert_uint_eq(o.huge_pages_size, 0);
	ck_assert_uint_eq(o.max_flows, 1000000);
	ck_assert_uint_eq(o.max_half_open, 65536);
	ck_assert(o.assign);
}
END_TEST

START_TEST(every_option_reaches_its_field)
{
	ck_assert_msg(
		parse("--run-dir", "/tmp/x", "--port",
			"front=af_xdp:eth1,rx_checksum=partial,reply_via=route,"
			"default_route=take",
			"--port=back=net_null0,size=64,copy=1,rx_checksum=wire", SOURCE,
			"--source=10.0.1.1", "--workers=1-3,0,1", "--idle=spin", "--idle-spin-us=0",
			"--huge-pages=512M", "--max-flows=2M", "--max-half-open=10K", "--assign=no",
			"--neighbour=10.0.1.1=02:00:00:00:00:01,port=back", "--neighbour",
			"default=02:00:00:00:00:02", NULL) == 0,
		"%s", err.text);
	ck_assert_str_eq(o.run_dir, "/tmp/x");
	ck_assert_uint_eq(o.n_ports, 2);
	ck_assert_str_eq(o.ports[0].name, "front");
	ck_assert_str_eq(o.ports[0].device, "af_xdp:eth1");
	ck_assert_int_eq(o.ports[0].rx_checksum, PORT_CHECKSUM_PARTIAL);
	ck_assert(o.ports[0].is_reply_by_route);
	ck_assert_str_eq(o.ports[1].device, "net_null0,size=64,copy=1");
	ck_assert_int_eq(o.ports[1].rx_checksum, PORT_CHECKSUM_WIRE);
	ck_assert(!o.ports[1].is_reply_by_route);
	ck_assert(o.ports[0].may_take_default_route);
	ck_assert(!o.ports[1].may_take_default_route);
	ck_assert_uint_eq(o.n_sources, 17);
	ck_assert_uint_eq(o.n_workers, 5);
	ck_assert_uint_eq(o.worker_cpus[0], 1);
	ck_assert_uint_eq(o.worker_cpus[2], 3);
	ck_assert_uint_eq(o.worker_cpus[3], 0);
	ck_assert_uint_eq(o.worker_cpus[4], 1);
	ck_assert(!o.is_sleeping);
	ck_assert_uint_eq(o.idle_spin_us, 0);
	ck_assert_uint_eq(o.huge_pages_size, UINT64_C(512) << 20);
	ck_assert_uint_eq(o.max_flows, 2000000);
	ck_assert_uint_eq(o.max_half_open, 10000);
	ck_assert(!o.assign);
	ck_assert_uint_eq(o.n_neighbours, 2);
	ck_assert_str_eq(o.neighbours[0].port_name, "back");
	ck_assert(o.neighbours[1].is_default);
}
END_TEST

/* The control plane prints sizes in the largest unit that fits: this is how it writes the most. */
START_TEST(largest_size_is_taken_as_the_control_plane_prints_it)
{
	ck_assert_msg(parse(PORT, SOURCE, "--huge-pages=1T", NULL) == 0, "%s", err.text);
	ck_assert_uint_eq(o.huge_pages_size, UINT64_C(1) << 40);
}
END_TEST

START_TEST(prefix_gives_each_of_its_addresses)
{
	ck_assert_int_eq(parse(PORT, SOURCE, NULL), 0);
	ck_assert_uint_eq(o.n_sources, 16);
	for (unsigned i = 0; i < 16; i++)
		ck_assert_uint_eq(ntohl(karmalb_address_v4_be(&o.sources[i])), 0x0a0000f0 + i);
	ck_assert_int_eq(parse(PORT, "--source=2001:db8::f8/126", "--source=fd00::1", NULL), 0);
	ck_assert_uint_eq(o.n_sources, 5);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(o.sources[i].bytes[15], 0xf8 + i);
	ck_assert_uint_eq(o.sources[4].bytes[0], 0xfd);
}
END_TEST

START_TEST(half_open_budget_is_at_most_the_flows)
{
	ck_assert_int_eq(parse(PORT, SOURCE, "--max-flows=5K", NULL), 0);
	ck_assert_uint_eq(o.max_half_open, 5000);
}
END_TEST

START_TEST(help_and_version_need_no_port)
{
	ck_assert_int_eq(parse("--help", NULL), 0);
	ck_assert_int_eq(o.action, OPTIONS_SHOW_HELP);
	ck_assert_int_eq(parse("--version", NULL), 0);
	ck_assert_int_eq(o.action, OPTIONS_SHOW_VERSION);
}
END_TEST

/* An argument that is refused, and what the sentence must name. */
static const struct {
	const char *argument;
	const char *words;
} refused[] = {
	{"--port=front", "--port front: expected NAME=DEVICE"},
	{"--port==af_xdp:eth1", "expected NAME=DEVICE"},
	{"--port=other=", "device ''"},
	{"--port=other=af_xdp:eth1,rx_checksum=maybe", "'rx_checksum=maybe'"},
	{"--port=other=af_xdp:eth1,reply_via=learned,speed=1", "'speed=1'"},
	{PORT, "name given twice"},
	{"--source=10.0.0.1/33", "10.0.0.1/33"},
	{"--source=10.0.0.1/0", "10.0.0.1/0"},
	{"--source=10.0.0.1/", "10.0.0.1/"},
	{"--source=10.0.0.1/ 4", "10.0.0.1/ 4"},
	{"--source=10.0.0.250/28", "bits beyond /28"},
	{"--source=10.0.0.241", "given twice"},
	{"--source=10.1.0.0/16", "more than 256"},
	{"--source=2001:db8::f8/124", "bits beyond /124"},
	{"--source=2001:db8::/64", "more than 256"},
	{"--source=2001:db8::g", "expected ADDRESS or ADDRESS/BITS"},
	{"--source=2001:db8::1/129", "expected ADDRESS or ADDRESS/BITS"},
	{"--neighbour=10.0.0.1", "expected ADDRESS|default=MAC"},
	{"--workers=0-64", "expected CPUs"},
	{"--workers=x", "expected CPUs"},
	{"--workers=3-2", "expected CPUs"},
	{"--workers=1,", "expected CPUs"},
	{"--workers=", "expected CPUs"},
	{"--idle=later", "expected sleep or spin"},
	{"--idle-spin-us=-1", "0 .. 1000000"},
	{"--idle-spin-us=1000001", "0 .. 1000000"},
	{"--huge-pages=12Q", "expected bytes"},
	{"--huge-pages=99999999999999999999", "expected bytes"},
	{"--max-flows=10", "--max-flows 10"},
	{"--max-flows=5000000000", "--max-flows 5000000000"},
	{"--max-flows=M", "--max-flows M"},
	{"--max-half-open=0", "--max-half-open 0"},
	{"--assign=maybe", "expected yes or no"},
	{"--run-dir=here", "absolute path"},
	{"--nonsense", "--nonsense is not an option"},
	{"--nonsense=1", "--nonsense=1 is not an option"},
	{"-x", "is not an option"},
	{"--max-flows", "--max-flows needs a value"},
	{"stray", "'stray' is not an option"},
	{"--arguments", "needs a file"},
	{"--arguments=/nonexistent/file", "cannot read /nonexistent/file"},
};

START_TEST(wrong_argument_is_refused_with_a_sentence)
{
	ck_assert_int_lt(parse(PORT, SOURCE, refused[_i].argument, NULL), 0);
	ck_assert_msg(strstr(err.text, refused[_i].words) != NULL, "'%s' lacks '%s'", err.text,
		refused[_i].words);
}
END_TEST

START_TEST(port_and_source_are_required)
{
	ck_assert_int_eq(parse(SOURCE, NULL), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "--port"));
	ck_assert_int_eq(parse(PORT, NULL), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "--source"));
}
END_TEST

static char path[] = "/tmp/karmalb-arguments-XXXXXX";

static void
write_arguments(const char *text)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

START_TEST(file_stands_for_the_arguments_in_it)
{
	write_arguments("# a comment\n\n--port=front=af_xdp:eth1\n  --source 10.0.0.240/28  \n"
			"--idle\tspin\n--max-flows=5K");
	int rc = parse("--max-flows=2K", "--arguments", path, "--idle-spin-us=7", NULL);

	unlink(path);
	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_str_eq(o.ports[0].device, "af_xdp:eth1");
	ck_assert_uint_eq(o.n_sources, 16);
	ck_assert(!o.is_sleeping);
	ck_assert_uint_eq(o.max_flows, 5000); /* the later one wins */
	ck_assert_uint_eq(o.idle_spin_us, 7);
}
END_TEST

START_TEST(file_within_a_file_is_refused)
{
	write_arguments("--arguments=/etc/passwd\n");
	int rc = parse(PORT, SOURCE, "--arguments", path, NULL);

	unlink(path);
	ck_assert_int_eq(rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "not inside an arguments file"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("options");
	TCase *tc = tcase_create("options");

	tcase_add_test(tc, defaults_are_those_that_help_names);
	tcase_add_test(tc, every_option_reaches_its_field);
	tcase_add_test(tc, largest_size_is_taken_as_the_control_plane_prints_it);
	tcase_add_test(tc, prefix_gives_each_of_its_addresses);
	tcase_add_test(tc, half_open_budget_is_at_most_the_flows);
	tcase_add_test(tc, help_and_version_need_no_port);
	tcase_add_loop_test(tc, wrong_argument_is_refused_with_a_sentence, 0,
		(int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(tc, port_and_source_are_required);
	tcase_add_test(tc, file_stands_for_the_arguments_in_it);
	tcase_add_test(tc, file_within_a_file_is_refused);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
