/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * karmalb-controlplane as a process, seen from the other end of its socket.  Real time, periods of
 * one second.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "fake_dataplane.h"

#define PROMPT_MS   3000 /* for what happens at once on an idle machine */
#define PERIOD_US   KARMALB_SECOND
#define INSTANCE    UINT64_C(0x1234)
#define SOME_ERRORS 4

static struct fake f;
static struct karmalb_slot_totals totals[FAKE_MIRRORS_MAX];

/* Four mirrors behind one listen, documented rule, no pings. */
static const char web[] =
	"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ha_strategy = \"nodeads\";\n"
	"  karma_rule = \"documented\"; ha_period_karma = \"1s\"; ping = \"none\";\n"
	"  mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; },\n"
	"              { name = \"m2\"; address = \"10.0.0.2\"; },\n"
	"              { name = \"m3\"; address = \"10.0.0.3\"; },\n"
	"              { name = \"m4\"; address = \"10.0.0.4\"; } ); }";

static const double equal[4] = {0.25, 0.25, 0.25, 0.25};
static const double w1[4] = {0.15, 0.30, 0.05, 0.50};

static void
set_up(void)
{
	memset(totals, 0, sizeof(totals));
	fake_start(&f, web);
	fake_accept(&f, PROMPT_MS);
}

static void
tear_down(void)
{
	fake_stop(&f);
}

static void
assert_shares(const struct intent *intent, const double *expected, double tolerance)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert_double_eq_tol(intent->mirrors[i].share, expected[i], tolerance);
}

/* Every slot with these shares in force, and its totals. */
static void
send_pairs(const double *shares)
{
	for (unsigned i = 0; i < 4; i++) {
		struct karmalb_slot slot = {
			.listen = {karmalb_address_from_v4(inet_addr("192.0.2.10")), htons(80),
				IPPROTO_TCP},
			.address = {karmalb_address_from_v4(htonl(0x0a000001 + i)), htons(80),
				IPPROTO_TCP},
			.slot = (uint16_t)i,
			.is_selected = 1,
			.share = shares[i],
		};

		fake_send(&f, KARMALB_MESSAGE_SLOT, &slot);
		totals[i].slot = (uint16_t)i;
		totals[i].stamp_us = karmalb_now_us();
		fake_send(&f, KARMALB_MESSAGE_SLOT_TOTALS, &totals[i]);
	}
}

/* The seed's example: 10, 5, 30 and 3 ms. */
static void
send_answers(unsigned n)
{
	static const uint64_t latencies_us[4] = {10000, 5000, 30000, 3000};

	for (unsigned i = 0; i < 4; i++) {
		struct karmalb_slot_totals *t = &totals[i];

		t->slot = (uint16_t)i;
		t->opened += n;
		t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] += n;
		t->query.count += n;
		t->query.sum_us += n * latencies_us[i];
		t->query.histogram[karmalb_histogram_bucket(latencies_us[i])] += n;
		t->query.max_us = latencies_us[i];
		t->stamp_us = t->last_success_us = karmalb_now_us();
		fake_send(&f, KARMALB_MESSAGE_SLOT_TOTALS, t);
	}
}

static void
apply_and_free(struct intent *intent)
{
	fake_apply(&f, intent);
	intent_free(intent);
}

/* ---- the transaction ---- */

START_TEST(it_sends_everything_as_configured)
{
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 0, 0, -1);
	intent = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 1);
	ck_assert_uint_eq(intent->n_services, 1);
	ck_assert_uint_eq(intent->n_mirrors, 4);
	ck_assert_str_eq(intent->services[0].name, "web");
	ck_assert_str_eq(intent->mirrors[2].name, "m3");
	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, 1000);
	ck_assert_uint_eq(intent->services[0].query_timeout_ms, 3000);
	assert_shares(intent, equal, 1e-12);
	apply_and_free(intent);
	ck_assert_ptr_null(fake_next_intent(&f, 300)); /* nothing new, nothing sent */
}
END_TEST

START_TEST(shares_in_force_are_announced_again)
{
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	ck_assert_ptr_null(fake_next_intent(&f, 100)); /* not before all slots are known */
	send_pairs(w1);
	intent = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 42);
	assert_shares(intent, w1, 1e-12);
	intent_free(intent);
}
END_TEST

START_TEST(a_killed_control_plane_comes_back_with_the_same_shares)
{
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	send_pairs(w1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	fake_kill(&f);
	fake_run(&f);
	fake_accept(&f, PROMPT_MS);
	fake_welcome(&f, INSTANCE, 42, 4, -1);
	send_pairs(w1);
	intent = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_uint_eq(intent->epoch, 43);
	assert_shares(intent, w1, 1e-12);
	intent_free(intent);
}
END_TEST

START_TEST(after_a_reconnect_everything_is_sent_again)
{
	struct intent *first, *again;

	fake_welcome(&f, INSTANCE, 0, 0, -1);
	first = fake_expect_intent(&f, PROMPT_MS);
	fake_apply(&f, first);
	fake_close(&f);
	fake_accept(&f, PROMPT_MS);
	fake_welcome(&f, INSTANCE, first->epoch, 4, -1);
	send_pairs(equal);
	again = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_uint_gt(again->epoch, first->epoch);
	ck_assert_uint_eq(again->n_mirrors, first->n_mirrors);
	ck_assert_mem_eq(again->services, first->services, sizeof(first->services[0]));
	ck_assert_mem_eq(again->mirrors, first->mirrors, 4 * sizeof(first->mirrors[0]));
	intent_free(first);
	intent_free(again);
}
END_TEST

START_TEST(a_new_instance_gets_the_shares_that_were_decided)
{
	static const double none[4] = {0, 0, 0, 0};
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	send_pairs(w1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	fake_close(&f);
	fake_accept(&f, PROMPT_MS);
	fake_welcome(&f, INSTANCE + 1, 0, 4, -1);
	send_pairs(none);
	intent = fake_expect_intent(&f, PROMPT_MS);
	assert_shares(intent, w1, 1e-12);
	intent_free(intent);
}
END_TEST

/* ---- the loop ---- */

START_TEST(reweighting_uses_the_first_whole_block)
{
	uint64_t synced_us, came_us, first_whole_us;
	struct intent *intent;

	/* in the middle of a block, so that the rest of it must not count */
	usleep((useconds_t)((2 * PERIOD_US - karmalb_now_us() % PERIOD_US + PERIOD_US / 2) %
			    PERIOD_US));
	fake_welcome(&f, INSTANCE, 0, 0, -1);
	synced_us = karmalb_now_us();
	first_whole_us = (synced_us / PERIOD_US + 1) * PERIOD_US;
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	while ((intent = fake_next_intent(&f, 50)) == NULL)
		send_answers(5);
	came_us = karmalb_now_us();
	ck_assert_uint_ge(came_us, first_whole_us + PERIOD_US);
	ck_assert_uint_lt(came_us, first_whole_us + PERIOD_US + 200 * KARMALB_MILLISECOND);
	assert_shares(intent, w1, 1e-9);
	apply_and_free(intent);

	/* and one period later the next */
	while ((intent = fake_next_intent(&f, 50)) == NULL)
		send_answers(5);
	ck_assert_double_eq_tol(intent->mirrors[3].share, 0.684932, 1e-6);
	intent_free(intent);
}
END_TEST

static struct intent *
die_of_refused_connects(unsigned mirror)
{
	struct karmalb_slot_totals *t = &totals[mirror];

	t->slot = (uint16_t)mirror;
	for (unsigned i = 0; i < SOME_ERRORS; i++) {
		ck_assert_ptr_null(fake_next_intent(&f, 3));
		t->outcomes[KARMALB_OUTCOME_CONNECT_FAILURES]++;
		t->last_error = KARMALB_OUTCOME_CONNECT_FAILURES;
		t->last_error_us = t->stamp_us = karmalb_now_us();
		if (t->errors_in_row++ == 0)
			t->row_began_us = karmalb_now_us();
		fake_send(&f, KARMALB_MESSAGE_SLOT_TOTALS, t);
	}
	return fake_expect_intent(&f, 50);
}

START_TEST(a_dead_mirror_is_out_within_50_ms_of_its_fourth_failure)
{
	static const double without_m4[4] = {0.3, 0.6, 0.1, 0};
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	send_pairs(w1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	intent = die_of_refused_connects(3);
	assert_shares(intent, without_m4, 1e-12);
	intent_free(intent);
	ck_assert_uint_eq(
		fake_count_in_log(&f, "mirror web/m4: up -> dead (4 connects refused"), 1);
}
END_TEST

START_TEST(with_pings_off_a_trial_follows_one_quiet_period)
{
	static const double trial[4] = {0.99 * 0.3, 0.99 * 0.6, 0.99 * 0.1, 0.01};
	struct intent *intent;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	send_pairs(w1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	apply_and_free(die_of_refused_connects(3));
	ck_assert_ptr_null(fake_next_intent(&f, 800));
	intent = fake_expect_intent(&f, 400);
	assert_shares(intent, trial, 1e-12);
	apply_and_free(intent);

	totals[3].errors_in_row = 0;
	totals[3].row_began_us = 0;
	totals[3].outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES]++;
	totals[3].stamp_us = totals[3].last_success_us = karmalb_now_us();
	fake_send(&f, KARMALB_MESSAGE_SLOT_TOTALS, &totals[3]);
	intent = fake_expect_intent(&f, 50);
	assert_shares(intent, w1, 1e-12);
	intent_free(intent);
}
END_TEST

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

	fake_welcome(&f, INSTANCE, 0, 0, -1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	if (wrong[_i].message == KARMALB_MESSAGE_WELCOME)
		m.welcome.n_workers = 1;
	fake_send_raw(&f, &m, wrong[_i].size);
	fake_expect_closed(&f, PROMPT_MS);
	ck_assert_uint_eq(fake_count_in_log(&f, wrong[_i].log), 1);

	fake_accept(&f, PROMPT_MS); /* and it comes again */
	fake_welcome(&f, INSTANCE, f.epoch, 4, -1);
	send_pairs(equal);
	intent_free(fake_expect_intent(&f, PROMPT_MS));
}
END_TEST

START_TEST(nothing_is_taken_before_welcome)
{
	struct karmalb_applied applied = {.epoch = 1};

	fake_send(&f, KARMALB_MESSAGE_APPLIED, &applied);
	fake_expect_closed(&f, PROMPT_MS);
	ck_assert_uint_eq(fake_count_in_log(&f, "a message before WELCOME"), 1);
}
END_TEST

START_TEST(a_refusal_is_logged_once_however_often_it_comes)
{
	struct karmalb_refused refused = {.sentence = "another control plane is connected"};

	for (unsigned i = 0; i < 4; i++) {
		if (i > 0)
			fake_accept(&f, PROMPT_MS);
		fake_send(&f, KARMALB_MESSAGE_REFUSED, &refused);
		refused.header.size = 0;
		fake_close(&f);
	}
	fake_accept(&f, PROMPT_MS);
	ck_assert_uint_eq(
		fake_count_in_log(&f, "refused us: another control plane is connected"), 1);
}
END_TEST

START_TEST(an_absent_data_plane_is_logged_once)
{
	fake_close(&f);
	close(f.listener);
	f.listener = -1;
	usleep(1500000);
	ck_assert_uint_eq(fake_count_in_log(&f, "not reachable"), 1);
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
	fake_welcome(&f, INSTANCE, 0, 0, memory);
	close(memory);
	intent_free(fake_expect_intent(&f, PROMPT_MS));
	ck_assert(has_open(f.pid, "karmalb-test-flows"));
	fake_close(&f);
	fake_accept(&f, PROMPT_MS);
	ck_assert(has_open(f.pid, "karmalb-test-flows"));
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
	fake_start(&f, services);
	free(services);
	fake_accept(&f, PROMPT_MS);
}

START_TEST(newer_intent_supersedes_what_is_stuck)
{
	struct karmalb_slot slot = {
		.listen = {karmalb_address_from_v4(inet_addr("192.0.2.1")), htons(80), IPPROTO_TCP},
		.address = {karmalb_address_from_v4(inet_addr("10.0.0.1")), htons(80), IPPROTO_TCP},
	};
	struct karmalb_slot_totals dead = {.errors_in_row = 4, .last_error_us = karmalb_now_us()};
	struct intent *intent;

	fake_stop(&f);
	start_large();
	fake_welcome(&f, INSTANCE, 0, 0, -1);
	usleep(200000); /* it sends until the socket is full; nobody reads */
	fake_send(&f, KARMALB_MESSAGE_SLOT, &slot);
	fake_send(&f, KARMALB_MESSAGE_SLOT_TOTALS, &dead);
	usleep(200000); /* it learns that a mirror is dead while it is stuck */
	intent = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_msg(f.is_leaving_begun, "the first transaction was not stuck");
	ck_assert_uint_eq(intent->epoch, 2);
	ck_assert_uint_eq(intent->n_mirrors, 20 * 120);
	ck_assert_double_eq(intent->mirrors[0].share, 0);
	ck_assert_double_gt(intent->mirrors[1].share, 0);
	intent_free(intent);
}
END_TEST

/* ---- changes ---- */

/* Sends a statement to control.sock; the answer is read by read_answer(). */
static int
ask(const char *statement)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned n_tries = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", f.dir);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		ck_assert_uint_lt(n_tries++, PROMPT_MS / 10); /* opened shortly after the start */
		usleep(10000);
	}
	dprintf(fd,
		"POST /cli HTTP/1.1\r\nHost: karmalb\r\nConnection: close\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		strlen(statement), statement);
	return fd;
}

static const char *
read_answer(int fd)
{
	static char answer[4096];
	size_t at = 0;
	ssize_t size;

	while ((size = read(fd, answer + at, sizeof(answer) - 1 - at)) > 0)
		at += (size_t)size;
	answer[at] = '\0';
	close(fd);
	return answer;
}

START_TEST(a_change_is_answered_when_every_worker_has_it)
{
	struct intent *intent;
	struct pollfd waiting = {.events = POLLIN};
	const char *answer;

	fake_welcome(&f, INSTANCE, 41, 4, -1);
	send_pairs(w1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	waiting.fd = ask("SET SERVICE web ha_strategy = 'random'");
	intent = fake_expect_intent(&f, PROMPT_MS);
	assert_shares(intent, equal, 1e-12);
	ck_assert_int_eq(poll(&waiting, 1, 100), 0); /* not before that */
	apply_and_free(intent);
	answer = read_answer(waiting.fd);
	ck_assert_msg(strstr(answer, "200 OK") != NULL && strstr(answer, "in force after") != NULL,
		"%s", answer);

	/* back again: what karma had learnt is still there */
	waiting.fd = ask("SET SERVICE web ha_strategy = 'nodeads'");
	intent = fake_expect_intent(&f, PROMPT_MS);
	assert_shares(intent, w1, 1e-12);
	apply_and_free(intent);
	close(waiting.fd);
}
END_TEST

START_TEST(a_change_of_our_own_affairs_is_in_force_at_once)
{
	const char *answer;

	fake_welcome(&f, INSTANCE, 0, 0, -1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	answer = read_answer(ask("SET SERVICE web karma_gain = '0.5'"));
	ck_assert_msg(strstr(answer, "in force at once") != NULL, "%s", answer);
	ck_assert_ptr_null(fake_next_intent(&f, 100));
}
END_TEST

START_TEST(without_a_data_plane_a_change_waits_for_it)
{
	const char *answer;
	struct intent *intent;

	fake_close(&f);
	answer = read_answer(ask("SET SERVICE web agent_connect_timeout = '123ms'"));
	ck_assert_msg(strstr(answer, "when the data plane is back") != NULL, "%s", answer);
	fake_accept(&f, PROMPT_MS);
	fake_welcome(&f, INSTANCE, 0, 0, -1);
	intent = fake_expect_intent(&f, PROMPT_MS);
	ck_assert_uint_eq(intent->services[0].connect_timeout_ms, 123);
	intent_free(intent);
}
END_TEST

START_TEST(a_change_that_nobody_confirms_is_said_to_be_so)
{
	const char *answer;

	fake_welcome(&f, INSTANCE, 0, 0, -1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	answer = read_answer(ask("SET SERVICE web agent_query_timeout = '4s'"));
	ck_assert_msg(strstr(answer, "not confirmed") != NULL, "%s", answer);
}
END_TEST

/* ---- pings ---- */

static int
listen_on_loopback(uint16_t *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd, 100), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

START_TEST(a_mirror_that_refuses_pings_is_out_and_returns_on_trial)
{
	char services[600];
	uint16_t port[2];
	int fd[2] = {listen_on_loopback(&port[0]), listen_on_loopback(&port[1])};
	int one = 1;
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port[1])};
	struct intent *intent;

	fake_stop(&f);
	snprintf(services, sizeof(services),
		"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ha_strategy = \"nodeads\";\n"
		"  ha_ping_interval = \"50ms\"; mirrors = (\n"
		"  { name = \"m1\"; address = \"127.0.0.1:%u\"; },\n"
		"  { name = \"m2\"; address = \"127.0.0.1:%u\"; } ); }",
		port[0], port[1]);
	fake_start(&f, services);
	f.is_on_loopback = true;
	fake_accept(&f, PROMPT_MS);
	fake_welcome(&f, INSTANCE, 0, 0, -1);
	apply_and_free(fake_expect_intent(&f, PROMPT_MS));
	ck_assert_ptr_null(fake_next_intent(&f, 300)); /* both answer: nothing moves */

	close(fd[1]);
	intent = fake_expect_intent(&f, 600);
	ck_assert_double_eq(intent->mirrors[0].share, 1);
	ck_assert_double_eq(intent->mirrors[1].share, 0);
	apply_and_free(intent);
	ck_assert_uint_eq(
		fake_count_in_log(&f, "web/m2: up -> dead (ping: connection refused 4 times)"), 1);

	fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd[1], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert_int_eq(bind(fd[1], (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(fd[1], 100), 0);
	intent = fake_expect_intent(&f, 600);
	ck_assert_double_eq_tol(intent->mirrors[1].share, 0.01, 1e-12);
	intent_free(intent);
	close(fd[0]);
	close(fd[1]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("controlplane");
	TCase *tc = tcase_create("dataplane.sock");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 20);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, it_sends_everything_as_configured);
	tcase_add_test(tc, shares_in_force_are_announced_again);
	tcase_add_test(tc, a_killed_control_plane_comes_back_with_the_same_shares);
	tcase_add_test(tc, after_a_reconnect_everything_is_sent_again);
	tcase_add_test(tc, a_new_instance_gets_the_shares_that_were_decided);
	tcase_add_test(tc, reweighting_uses_the_first_whole_block);
	tcase_add_test(tc, a_dead_mirror_is_out_within_50_ms_of_its_fourth_failure);
	tcase_add_test(tc, with_pings_off_a_trial_follows_one_quiet_period);
	tcase_add_loop_test(tc, a_wrong_message_closes_the_link_with_one_line, 0,
		sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_test(tc, nothing_is_taken_before_welcome);
	tcase_add_test(tc, a_refusal_is_logged_once_however_often_it_comes);
	tcase_add_test(tc, an_absent_data_plane_is_logged_once);
	tcase_add_test(tc, the_flow_memory_outlives_the_data_plane);
	tcase_add_test(tc, newer_intent_supersedes_what_is_stuck);
	tcase_add_test(tc, a_change_is_answered_when_every_worker_has_it);
	tcase_add_test(tc, a_change_of_our_own_affairs_is_in_force_at_once);
	tcase_add_test(tc, without_a_data_plane_a_change_waits_for_it);
	tcase_add_test(tc, a_change_that_nobody_confirms_is_said_to_be_so);
	tcase_add_test(tc, a_mirror_that_refuses_pings_is_out_and_returns_on_trial);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
