/* SPDX-License-Identifier: BSD-3-Clause */
/* karmalb-controlplane as a process whose peer does wrong, does not read, or is not there. */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "web.h"

/* ---- peers gone wrong ---- */

static const struct {
	const char *log;
	uint16_t message;
	uint32_t size; /* of the datagram */
} wrong[] = {
	{"a message shorter than its header", KARMALB_MESSAGE_SLOT, 4},
	{"a message of the wrong size", KARMALB_MESSAGE_SLOT, 8},
	{"a message of the wrong size", KARMALB_MESSAGE_APPLIED,
		sizeof(struct karmalb_applied) + 8},
	{"unknown or not for us", 999, 16},
	{"unknown or not for us", KARMALB_MESSAGE_COMMIT, sizeof(struct karmalb_commit)},
	{"a second WELCOME", KARMALB_MESSAGE_WELCOME, sizeof(struct karmalb_welcome)},
};

START_TEST(a_wrong_message_closes_the_link_with_one_line)
{
	union {
		struct karmalb_header header;
		struct karmalb_welcome welcome;
		uint8_t bytes[2 * KARMALB_MESSAGE_SIZE_MAX];
	} m = {.header = {wrong[_i].message, KARMALB_PROTOCOL_VERSION, wrong[_i].size}};

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	if (wrong[_i].message == KARMALB_MESSAGE_WELCOME)
		m.welcome.n_workers = 1;
	fake_send_raw(&web.fake, &m, wrong[_i].size);
	fake_expect_closed(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, wrong[_i].log), 1);

	fake_accept(&web.fake, WEB_PROMPT_MS); /* and it comes again */
	fake_welcome(&web.fake, WEB_INSTANCE, web.fake.epoch, 4, -1);
	web_send_pairs(web_equal);
	intent_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
}
END_TEST

START_TEST(nothing_is_taken_before_welcome)
{
	struct karmalb_applied applied = {.epoch = 1};

	fake_send(&web.fake, KARMALB_MESSAGE_APPLIED, &applied);
	fake_expect_closed(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "a message before WELCOME"), 1);
}
END_TEST

START_TEST(a_refusal_is_logged_once_however_often_it_comes)
{
	struct karmalb_refused refused = {.sentence = "another control plane is connected"};

	for (unsigned i = 0; i < 4; i++) {
		if (i > 0)
			fake_accept(&web.fake, WEB_PROMPT_MS);
		fake_send(&web.fake, KARMALB_MESSAGE_REFUSED, &refused);
		refused.header.size = 0;
		fake_close(&web.fake);
	}
	fake_accept(&web.fake, WEB_PROMPT_MS);
	ck_assert_uint_eq(
		fake_count_in_log(&web.fake, "refused us: another control plane is connected"), 1);
}
END_TEST

/* It would take the data plane's one place, or be sent away from it with a line in its log. */
START_TEST(a_second_control_plane_does_not_touch_the_data_plane)
{
	struct pollfd asked = {.fd = web.fake.listener, .events = POLLIN};
	pid_t first = web.fake.pid;
	int status;

	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	web_apply_and_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	fake_run(&web.fake);
	ck_assert_int_eq(waitpid(web.fake.pid, &status, 0), web.fake.pid);
	web.fake.pid = first;
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != 0);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "another control plane answers at"), 1);
	ck_assert_int_eq(poll(&asked, 1, 0), 0);
}
END_TEST

START_TEST(an_absent_data_plane_is_logged_once)
{
	fake_close(&web.fake);
	close(web.fake.listener);
	web.fake.listener = -1;
	usleep(1500000);
	ck_assert_uint_eq(fake_count_in_log(&web.fake, "not reachable"), 1);
}
END_TEST

/* ---- what rides along, and back-pressure ---- */

static bool
has_open(pid_t pid, const char *name)
{
	char path[64], link[600], target[256];
	struct dirent *entry;
	bool is_open = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);

		ssize_t size = readlink(link, target, sizeof(target) - 1);

		if (size > 0) {
			target[size] = '\0';
			is_open |= strstr(target, name) != NULL;
		}
	}
	closedir(dir);
	return is_open;
}

START_TEST(the_flow_memory_outlives_the_data_plane)
{
	int memory = memfd_create("karmalb-test-flows", MFD_CLOEXEC);

	ck_assert_int_ge(memory, 0);
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, memory);
	close(memory);
	intent_free(fake_expect_intent(&web.fake, WEB_PROMPT_MS));
	ck_assert(has_open(web.fake.pid, "karmalb-test-flows"));
	fake_close(&web.fake);
	fake_accept(&web.fake, WEB_PROMPT_MS);
	ck_assert(has_open(web.fake.pid, "karmalb-test-flows"));
}
END_TEST

/* More mirrors than a socket holds messages, so that a transaction is stuck half sent. */
static void
start_large(void)
{
	char *services;
	size_t size;
	FILE *out = open_memstream(&services, &size);

	for (unsigned s = 0; s < 20; s++) {
		fprintf(out,
			"%s{ name = \"s%u\"; listen = [ \"192.0.2.%u:80/tcp\" ];\n"
			"ha_strategy = \"nodeads\"; ping = \"none\"; mirrors = (",
			s > 0 ? "," : "", s, s + 1);
		for (unsigned i = 0; i < 120; i++)
			fprintf(out, "%s{ name = \"m%u\"; address = \"10.0.%u.%u\"; }",
				i > 0 ? "," : "", i, s, i + 1);
		fprintf(out, "); }");
	}
	fclose(out);
	fake_start(&web.fake, services);
	free(services);
	fake_accept(&web.fake, WEB_PROMPT_MS);
}

START_TEST(newer_intent_supersedes_what_is_stuck)
{
	struct karmalb_slot slot = {
		.listen = {karmalb_address_from_v4(inet_addr("192.0.2.1")), htons(80), IPPROTO_TCP},
		.address = {karmalb_address_from_v4(inet_addr("10.0.0.1")), htons(80), IPPROTO_TCP},
	};
	struct karmalb_slot_totals dead = {.errors_in_row = 4, .last_error_us = karmalb_now_us()};
	struct intent *intent;

	fake_stop(&web.fake);
	start_large();
	fake_welcome(&web.fake, WEB_INSTANCE, 0, 0, -1);
	usleep(200000); /* it sends until the socket is full; nobody reads */
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT, &slot);
	fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &dead);
	usleep(200000); /* it learns that a mirror is dead while it is stuck */
	intent = fake_expect_intent(&web.fake, WEB_PROMPT_MS);
	ck_assert_msg(web.fake.was_superseded, "the first transaction was not stuck");
	ck_assert_uint_eq(intent->epoch, 2);
	ck_assert_uint_eq(intent->n_mirrors, 20 * 120);
	ck_assert_double_eq(intent->mirrors[0].share, 0);
	ck_assert_double_gt(intent->mirrors[1].share, 0);
	intent_free(intent);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("controlplane_link");
	TCase *tc = tcase_create("dataplane.sock");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 20);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_loop_test(tc, a_wrong_message_closes_the_link_with_one_line, 0,
		sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tc, nothing_is_taken_before_welcome);
	tcase_add_test(tc, a_refusal_is_logged_once_however_often_it_comes);
	tcase_add_test(tc, a_second_control_plane_does_not_touch_the_data_plane);
	tcase_add_test(tc, an_absent_data_plane_is_logged_once);
	tcase_add_test(tc, the_flow_memory_outlives_the_data_plane);
	tcase_add_test(tc, newer_intent_supersedes_what_is_stuck);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
