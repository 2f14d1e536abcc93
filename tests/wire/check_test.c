/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CHECK SERVICE before a live control plane: mirrors on the loopback that are pinged for it, and
 * SYNs that the test answers in the data plane's place.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include "web.h"

#define N_CHECKS 5
#define N_CROWD  40 /* mirrors, more than are pinged at a time */

/* The kernel takes connections to it, and nobody ever answers. */
static int mute;
static uint16_t mute_port, closed_port;

static int
bind_somewhere(uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET}; /* all of the loopback's */
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

/* Port that stays bound and never listens: nobody else can come to listen there. */
static int closed;

static void
set_up(void)
{
	mute = bind_somewhere(&mute_port);
	ck_assert_int_eq(listen(mute, 100), 0);
	closed = bind_somewhere(&closed_port);
}

static void
tear_down(void)
{
	fake_stop(&web.fake);
	close(mute);
	close(closed);
}

static void
begin_with(const char *services)
{
	fake_start(&web.fake, services);
	web.fake.is_on_loopback = true;
	fake_accept(&web.fake, WEB_PROMPT_MS);
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
}

/* Two mirrors, one that takes connections and one that does not; 'settings' for the service. */
static void
begin(const char *settings)
{
	char services[600];

	snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; %s mirrors = (\n"
		"  { name = \"m1\"; address = \"127.0.0.1:%u\"; },\n"
		"  { name = \"m2\"; address = \"127.0.0.1:%u\"; } ); }",
		settings, mute_port, closed_port);
	begin_with(services);
}

/* Both SYNs of a check, open and silent. */
static void
answer_syns(void)
{
	fake_answer_check(&web.fake, KARMALB_CHECK_OPEN, WEB_PROMPT_MS);
	fake_answer_check(&web.fake, KARMALB_CHECK_SILENT, WEB_PROMPT_MS);
}

/* What CHECK SERVICE says; the SYNs of it are answered. */
static const char *
check_service(void)
{
	int fd = web_ask("CHECK SERVICE web");

	answer_syns();
	return web_read_answer(fd);
}

START_TEST(each_mirror_is_pinged_now_though_pings_are_off)
{
	const char *answer;

	begin("ha_ping_interval = \"0\";");
	answer = check_service();
	web_assert_says(answer, "open; ping: answered (");
	web_assert_says(answer, "silent; ping: connection refused (");
	web_assert_says(answer, " ms); before: off");
	web_assert_says(answer,
		"2 checked: 1 open, 0 refused, 1 silent, 0 else; pings: 1 answered, 1 failed");
}
END_TEST

START_TEST(a_mirror_in_maintenance_is_pinged_too)
{
	int fd;

	begin("ha_ping_interval = \"0\";");
	fd = web_ask("SET MIRROR web.m1 STATE = maintenance");
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	web_assert_says(web_read_answer(fd), "in force");
	web_assert_says(check_service(), "pings: 1 answered, 1 failed");
}
END_TEST

START_TEST(the_kind_of_ping_is_the_service_s)
{
	const char *answer;

	/* The regular pings, which fail as well, must not count meanwhile. */
	begin("ping = \"http\"; ha_ping_interval = \"300ms\"; dead_after = 1000;");
	answer = check_service();
	web_assert_says(answer, "open; ping: connected, but no answer in 300 ms (");
	web_assert_says(answer, "silent; ping: connection refused (");
	web_assert_says(answer, "pings: 0 answered, 2 failed");
}
END_TEST

START_TEST(no_ping_is_said_to_be_none)
{
	const char *answer;

	begin("ping = \"none\";");
	answer = check_service();
	web_assert_says(answer, "open; ping: none; before: off");
	web_assert_says(answer, "silent; ping: none; before: off");
	web_assert_says(answer, "pings: 0 answered, 0 failed");
}
END_TEST

START_TEST(where_all_is_udp_mirrors_are_pinged_at_their_ping_port)
{
	char services[600];
	const char *answer;

	snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:53/udp\" ]; ping_port = %u;\n"
		"  ha_ping_interval = \"1h\"; mirrors = ( { name = \"m1\"; address = \"127.0.0.1\"; } ); }",
		mute_port);
	begin_with(services);
	answer = web_read_answer(web_ask("CHECK SERVICE web"));
	web_assert_says(answer, "no TCP; ping: answered (");
	web_assert_says(answer, "before: none yet");
	web_assert_says(answer, "pings: 1 answered, 0 failed");
}
END_TEST

START_TEST(pings_of_checks_count_for_nothing)
{
	begin("ha_ping_interval = \"1h\"; dead_after = 2;");
	for (unsigned i = 0; i < N_CHECKS; i++)
		web_assert_says(check_service(), "pings: 1 answered, 1 failed");
	web_assert_says(check_service(), "before: none yet");
	ck_assert_ptr_null(fake_next_intent(&web.fake, 200));
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "-> dead"), 0);
}
END_TEST

START_TEST(a_service_that_nobody_could_ask_about_is_not_called_silent)
{
	struct pollfd asked = {.events = POLLIN};
	const char *answer;
	int fd;

	begin("ping = \"none\";");
	fd = web_ask("CHECK SERVICE web");
	asked.fd = web.fake.fd;
	ck_assert_int_eq(poll(&asked, 1, WEB_PROMPT_MS), 1);
	fake_close(&web.fake); /* with the SYNs on their way */
	answer = web_read_answer(fd);
	web_assert_says(answer, "2 checked: 0 open, 0 refused, 0 silent, 2 else");
	ck_assert_msg(strstr(answer, "No mirror") == NULL, "%s", answer);
}
END_TEST

/*
 * A service of UDP alone that is not pinged has no rows; its ping, turned on while those of many
 * other mirrors are waited for, is out longer than theirs.
 */
START_TEST(a_ping_that_belongs_to_no_row_is_waited_for)
{
	char services[N_CROWD * 60 + 600];
	size_t used;
	int fd;

	used = (size_t)snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ping = \"http\";\n"
		"  ha_ping_interval = \"500ms\"; dead_after = 1000; mirrors = (\n");
	for (unsigned i = 1; i <= N_CROWD; i++)
		used += (size_t)snprintf(services + used, sizeof(services) - used,
			"  { name = \"m%u\"; address = \"127.0.0.%u:%u\"; }%s\n", i, i, mute_port,
			i < N_CROWD ? "," : ");");
	snprintf(services + used, sizeof(services) - used,
		"}, { name = \"dns\"; listen = [ \"192.0.2.10:53/udp\" ]; ping = \"none\";\n"
		"  ping_port = %u; ha_ping_interval = \"1500ms\"; dead_after = 1000;\n"
		"  mirrors = ( { name = \"m1\"; address = \"127.0.0.1\"; } ); }",
		mute_port);
	begin_with(services);
	fd = web_ask("CHECK SERVICE");
	for (unsigned i = 0; i < N_CROWD; i++)
		fake_answer_check(&web.fake, KARMALB_CHECK_OPEN, WEB_PROMPT_MS);
	web_assert_shows("SET SERVICE dns ping = http", "in force");
	/* The whole of it is too long for a message. */
	ck_assert_ptr_nonnull(strstr(web_read_answer(fd), "40 checked: 40 open"));
	web_assert_shows("SHOW STATUS", "connected");
}
END_TEST

/* Of the control plane. */
static unsigned
count_descriptors(void)
{
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)web.fake.pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* A ping that hangs takes the check its 4 s. */
START_TEST(whoever_hangs_up_leaves_nothing)
{
	unsigned n_before, n_tries = 0;

	begin("ping = \"http\"; ha_ping_interval = \"1h\";");
	web_assert_says(web_read_answer(web_ask("SHOW STATUS")), "connected");
	n_before = count_descriptors(); /* that of the answer may be among them yet */
	for (unsigned i = 0; i < N_CHECKS; i++) {
		int fd = web_ask("CHECK SERVICE web");

		answer_syns(); /* so it is under way */
		close(fd);
	}
	while (count_descriptors() > n_before && n_tries++ < 2000)
		usleep(10000);
	ck_assert_uint_le(count_descriptors(), n_before);
	web_assert_says(web_read_answer(web_ask("SHOW STATUS")), "connected");
}
END_TEST

START_TEST(checks_under_way_do_not_hold_up_the_end)
{
	int gone, waiting;

	begin("ping = \"http\"; ha_ping_interval = \"1h\";");
	gone = web_ask("CHECK SERVICE web");
	answer_syns();
	close(gone);
	waiting = web_ask("CHECK SERVICE web");
	answer_syns();
	(void)waiting; /* tear_down() sees to it that the control plane ends well now */
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("check");
	TCase *tc = tcase_create("check");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 40);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_mirror_is_pinged_now_though_pings_are_off);
	tcase_add_test(tc, a_mirror_in_maintenance_is_pinged_too);
	tcase_add_test(tc, the_kind_of_ping_is_the_service_s);
	tcase_add_test(tc, no_ping_is_said_to_be_none);
	tcase_add_test(tc, where_all_is_udp_mirrors_are_pinged_at_their_ping_port);
	tcase_add_test(tc, pings_of_checks_count_for_nothing);
	tcase_add_test(tc, a_service_that_nobody_could_ask_about_is_not_called_silent);
	tcase_add_test(tc, a_ping_that_belongs_to_no_row_is_waited_for);
	tcase_add_test(tc, whoever_hangs_up_leaves_nothing);
	tcase_add_test(tc, checks_under_way_do_not_hold_up_the_end);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
