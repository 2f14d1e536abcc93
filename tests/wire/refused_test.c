/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a live data plane does with messages that are wrong: a sentence, the end of the link, and
 * nothing of them in force.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "peer.h"
#include "process.h"

#define N_DATAGRAMS 3000

static struct process dataplane;
static uint32_t epoch_before;

/* Each test begins with a sound transaction in force, two mirrors at 0.5. */
static void
set_up(void)
{
	struct peer p;

	epoch_before = peer_greet(&p, &dataplane) + 1;
	peer_send_transaction(&p, epoch_before, 2);
	ck_assert_int_eq(peer_expect_applied(&p, epoch_before), 0);
	peer_close(&p);
}

/* And ends with it, whatever came in between: alive, same epoch, same mirrors and shares. */
static void
expect_untouched(void)
{
	struct peer p;
	unsigned n_selected = 0;

	ck_assert(process_is_alive(&dataplane));
	ck_assert_uint_eq(peer_greet(&p, &dataplane), epoch_before);
	for (uint32_t i = p.message.welcome.n_slots; i > 0; i--) {
		peer_expect(&p, KARMALB_MESSAGE_SLOT);
		if (p.message.slot.is_selected) {
			ck_assert(p.message.slot.share == 0.5);
			ck_assert_uint_eq(p.message.slot.epoch, epoch_before);
			n_selected++;
		}
		peer_expect(&p, KARMALB_MESSAGE_SLOT_TOTALS);
	}
	ck_assert_uint_eq(n_selected, 2);
	peer_close(&p);
}

static uint32_t
next_epoch(void)
{
	return epoch_before + 1;
}

START_TEST(welcome_brings_the_flow_memory_and_every_slot)
{
	struct peer p;
	uint64_t magic = 0;

	ck_assert_uint_eq(peer_greet(&p, &dataplane), epoch_before);
	ck_assert_int_ge(p.received_fd, 0);
	ck_assert_int_eq(pread(p.received_fd, &magic, sizeof(magic), 0), sizeof(magic));
	ck_assert_mem_eq(&magic, "kmlbflow", 8);
	ck_assert_uint_eq(p.message.welcome.n_sources, 4);
	ck_assert_uint_eq(p.message.welcome.max_flows, 1000);
	for (uint32_t i = p.message.welcome.n_slots; i > 0; i--) {
		ck_assert(peer_receive(&p));
		ck_assert_uint_eq(p.message.header.message, KARMALB_MESSAGE_SLOT);
		uint16_t slot = p.message.slot.slot;

		ck_assert(peer_receive(&p));
		ck_assert_uint_eq(p.message.header.message, KARMALB_MESSAGE_SLOT_TOTALS);
		ck_assert_uint_eq(p.message.slot_totals.slot, slot);
	}
	peer_close(&p);
}
END_TEST

START_TEST(second_control_plane_is_told_so)
{
	struct peer first, second;

	peer_greet(&first, &dataplane);
	peer_connect(&second, &dataplane);
	peer_expect_refused(&second, "another control plane is connected");
	peer_send_transaction(&first, next_epoch(), 2);
	ck_assert_int_eq(peer_expect_applied(&first, next_epoch()), 0);
	peer_close(&first);
	epoch_before++;
}
END_TEST

START_TEST(hello_comes_first_and_once)
{
	struct karmalb_hello hello = {0};
	struct karmalb_begin b = peer_begin(next_epoch());
	struct peer p;

	peer_connect(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_expect_refused(&p, "before HELLO");
	peer_greet(&p, &dataplane);
	peer_send(&p, HELLO, &hello);
	peer_expect_refused(&p, "HELLO twice");
}
END_TEST

/* A message of 'size' bytes whose header says 'said'. */
static void
expect_frame_refused(uint16_t number, uint32_t size, uint32_t said, const char *words)
{
	static union {
		struct karmalb_header header;
		uint8_t bytes[8192];
	} m;
	struct peer p;

	m.header = (struct karmalb_header){number, KARMALB_PROTOCOL_VERSION, said};
	peer_greet(&p, &dataplane);
	peer_send_bytes(&p, m.bytes, size);
	peer_expect_refused(&p, words);
}

START_TEST(message_of_wrong_size_is_refused)
{
	static const uint16_t numbers[] = {KARMALB_MESSAGE_HELLO, KARMALB_MESSAGE_BEGIN,
		KARMALB_MESSAGE_SERVICE, KARMALB_MESSAGE_MIRROR, KARMALB_MESSAGE_COMMIT,
		KARMALB_MESSAGE_LIST_FLOWS, KARMALB_MESSAGE_FIND_FLOW, KARMALB_MESSAGE_RESET_FLOWS,
		KARMALB_MESSAGE_CHECK_SLOT};
	uint16_t number = numbers[_i];
	uint32_t size = karmalb_message_size(number);

	expect_frame_refused(number, size - 1, size - 1, "expected"); /* short, and says so */
	expect_frame_refused(number, size - 1, size, "expected");     /* truncated */
	expect_frame_refused(number, size + 1, size + 1, "expected");
	expect_frame_refused(number, size, size + 8, "expected");
	expect_frame_refused(number, 8, 8, "expected");
	expect_frame_refused(number, 8192, size, "8192 bytes");
	expect_frame_refused(number, 7, size, "expected a header");
	expect_frame_refused(number, 1, size, "expected a header");
}
END_TEST

START_TEST(number_that_no_control_plane_sends_is_refused)
{
	static const uint16_t numbers[] = {0, 10, 15, KARMALB_MESSAGE_WELCOME,
		KARMALB_MESSAGE_SLOT_TOTALS, KARMALB_MESSAGE_REFUSED, 26, UINT16_MAX};
	uint32_t size = karmalb_message_size(numbers[_i]);

	expect_frame_refused(numbers[_i], size ? size : 16, size ? size : 16, "expected 1 .. 9");
}
END_TEST

START_TEST(other_protocol_version_is_refused)
{
	struct karmalb_hello hello = {
		.header = {KARMALB_MESSAGE_HELLO, KARMALB_PROTOCOL_VERSION + 1, sizeof(hello)}};
	struct peer p;

	peer_connect(&p, &dataplane);
	peer_send_bytes(&p, &hello, sizeof(hello));
	peer_expect_refused(&p, "both programs must come from one build");
}
END_TEST

START_TEST(message_out_of_order_is_refused)
{
	struct karmalb_begin b = peer_begin(next_epoch());
	struct karmalb_service s = peer_service(1);
	struct karmalb_mirror m = peer_mirror(0, 1);
	struct karmalb_commit c = peer_commit(next_epoch());
	struct peer p;

	peer_greet(&p, &dataplane);
	peer_send(&p, SERVICE, &s);
	peer_expect_refused(&p, "SERVICE without BEGIN");
	peer_greet(&p, &dataplane);
	peer_send(&p, MIRROR, &m);
	peer_expect_refused(&p, "MIRROR without BEGIN");
	peer_greet(&p, &dataplane);
	peer_send(&p, COMMIT, &c);
	peer_expect_refused(&p, "COMMIT without BEGIN");
	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_send(&p, MIRROR, &m);
	peer_expect_refused(&p, "MIRROR beyond");
	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_send(&p, SERVICE, &s);
	peer_send(&p, COMMIT, &c);
	peer_expect_refused(&p, "COMMIT while 1 mirrors");
}
END_TEST

START_TEST(epoch_in_force_is_not_taken_again)
{
	struct karmalb_begin b = peer_begin(epoch_before);
	struct peer p;

	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_expect_refused(&p, "expected one above");
}
END_TEST

START_TEST(share_that_is_no_share_is_refused)
{
	static const double shares[] = {-0.5, 1.5, __builtin_nan(""), __builtin_inf()};
	struct karmalb_begin b = peer_begin(next_epoch());
	struct karmalb_service s = peer_service(1);
	struct karmalb_mirror m = peer_mirror(0, shares[_i]);
	struct peer p;

	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_send(&p, SERVICE, &s);
	peer_send(&p, MIRROR, &m);
	peer_expect_refused(&p, "expected 0..1");
}
END_TEST

START_TEST(half_a_transaction_leaves_no_trace)
{
	struct karmalb_begin b = peer_begin(next_epoch());
	struct karmalb_service s = peer_service(2);
	struct karmalb_mirror m = peer_mirror(0, 1);
	struct peer p;

	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_send(&p, SERVICE, &s);
	peer_send(&p, MIRROR, &m);
	peer_close(&p); /* hangs up in the middle */
}
END_TEST

/* Commits 's' and 'm' and expects APPLIED with an error, and the link to stay. */
static void
expect_not_applied(struct karmalb_service s, struct karmalb_mirror m, const char *words)
{
	struct karmalb_begin b = peer_begin(next_epoch());
	struct karmalb_commit c = peer_commit(next_epoch());
	struct peer p;

	peer_greet(&p, &dataplane);
	peer_send(&p, BEGIN, &b);
	peer_send(&p, SERVICE, &s);
	peer_send(&p, MIRROR, &m);
	peer_send(&p, COMMIT, &c);
	ck_assert_int_lt(peer_expect_applied(&p, next_epoch()), 0);
	ck_assert_msg(strstr(p.message.applied.sentence, words) != NULL, "'%s' lacks '%s'",
		p.message.applied.sentence, words);
	/* The link is still good, and the epoch was not used up. */
	peer_send(&p, BEGIN, &b);
	peer_close(&p);
}

START_TEST(whole_that_cannot_be_is_not_applied)
{
	struct karmalb_service s = peer_service(1);
	struct karmalb_mirror m = peer_mirror(0, 1);

	m.address.address = s.listen.address;
	m.address.port_be = 0x1234;
	expect_not_applied(s, m, "a loop");
	m = peer_mirror(239, 1);
	m.mirror = 0;
	expect_not_applied(s, m, "one of our source addresses");
	m = peer_mirror(0, 1);
	m.address.address.bytes[0] = 0x20;
	expect_not_applied(s, m, "IPv4 in front of IPv6");
	m = peer_mirror(0, 1);
	s.listen.address.bytes[0] = 0x20;
	expect_not_applied(s, m, "no source address of its version");
}
END_TEST

START_TEST(control_plane_that_does_not_read_holds_nothing_up)
{
	struct peer p;
	uint32_t epoch = peer_greet(&p, &dataplane);

	/* Its answers go unread; sooner or later it is let go, but never waited for. */
	for (unsigned i = 0; i < 100; i++)
		peer_send_transaction(&p, ++epoch, 2);
	peer_close(&p);
	set_up(); /* works at once, with whatever epoch came through */
}
END_TEST

/* Sound messages with some bytes changed, and plain noise; the seed is fixed and printed. */
START_TEST(noise_is_refused_and_survived)
{
	struct karmalb_begin b = peer_begin(next_epoch());
	struct karmalb_service s = peer_service(1);
	struct karmalb_mirror m = peer_mirror(0, 1);
	struct {
		void *bytes;
		size_t size;
	} sound[] = {{&b, sizeof(b)}, {&s, sizeof(s)}, {&m, sizeof(m)}};
	unsigned seed = 20240229;
	struct peer p;

	printf("seed %u\n", seed);
	srandom(seed);
	for (unsigned i = 0; i < N_DATAGRAMS; i++) {
		uint8_t noise[256];
		unsigned kind = (unsigned)random() % 4;
		size_t size = 1 + (size_t)random() % sizeof(noise);

		if (i % 10 == 0) {
			if (i > 0)
				peer_close(&p);
			peer_connect(&p, &dataplane);
			struct karmalb_hello hello = {0};

			peer_send(&p, HELLO, &hello);
			peer_send(&p, BEGIN, &b);
			peer_send(&p, SERVICE, &s);
			peer_send(&p, MIRROR, &m);
			b = peer_begin(next_epoch());
		}
		for (size_t k = 0; k < size; k++)
			noise[k] = (uint8_t)random();
		if (kind < 3) {
			size = sound[kind].size;
			memcpy(noise, sound[kind].bytes, size);
			noise[8 + (size_t)random() % (size - 8)] ^= (uint8_t)(1 + random() % 255);
		}
		peer_send_bytes(&p, noise, size);
	}
	peer_close(&p);
}
END_TEST

static TCase *
cases(void)
{
	TCase *tc = tcase_create("refused");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, expect_untouched);
	tcase_add_test(tc, welcome_brings_the_flow_memory_and_every_slot);
	tcase_add_test(tc, second_control_plane_is_told_so);
	tcase_add_test(tc, hello_comes_first_and_once);
	tcase_add_loop_test(tc, message_of_wrong_size_is_refused, 0, 9);
	tcase_add_loop_test(tc, number_that_no_control_plane_sends_is_refused, 0, 8);
	tcase_add_test(tc, other_protocol_version_is_refused);
	tcase_add_test(tc, message_out_of_order_is_refused);
	tcase_add_test(tc, epoch_in_force_is_not_taken_again);
	tcase_add_loop_test(tc, share_that_is_no_share_is_refused, 0, 4);
	tcase_add_test(tc, half_a_transaction_leaves_no_trace);
	tcase_add_test(tc, whole_that_cannot_be_is_not_applied);
	tcase_add_test(tc, control_plane_that_does_not_read_holds_nothing_up);
	tcase_add_test(tc, noise_is_refused_and_survived);
	return tc;
}

int
main(void)
{
	Suite *suite = suite_create("refused");

	process_prepare(&dataplane);
	if (!process_start(&dataplane)) {
		fprintf(stderr, "the data plane does not start, see %s\n", dataplane.log);
		return EXIT_FAILURE;
	}
	suite_add_tcase(suite, cases());
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);
	int status = process_end(&dataplane, SIGTERM);

	if (status != 0)
		fprintf(stderr, "the data plane ended with status %d, see %s\n", status,
			dataplane.log);
	else
		process_forget(&dataplane);
	srunner_free(runner);
	return n_failed == 0 && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
