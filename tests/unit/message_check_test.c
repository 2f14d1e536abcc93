/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/wire.h>

#include "message_check.h"

static union {
	struct karmalb_header header;
	struct karmalb_welcome welcome;
	struct karmalb_applied applied;
	struct karmalb_slot slot;
	struct karmalb_slot_totals totals;
	struct karmalb_worker_totals worker;
	struct karmalb_port_status port;
	struct karmalb_refused refused;
	struct karmalb_flow flow;
	struct karmalb_checked checked;
	struct karmalb_answered answered;
	uint64_t aligned;
} m;

#define M(member, number, type) KARMALB_MESSAGE_##member,
static const uint16_t messages[] = {KARMALB_MESSAGES(M)};
#undef M

/* A message that is all zeros but for what must not be. */
static void
make(uint16_t message)
{
	memset(&m, 0, sizeof(m));
	m.header = (struct karmalb_header){
		message, KARMALB_PROTOCOL_VERSION, karmalb_message_size(message)};
	if (message == KARMALB_MESSAGE_WELCOME)
		m.welcome.n_workers = 1;
}

START_TEST(what_goes_up_passes_and_what_goes_down_does_not)
{
	make(messages[_i]);

	const char *wrong = message_check(&m, m.header.size);

	if (messages[_i] < 16)
		ck_assert_ptr_nonnull(wrong);
	else
		ck_assert_ptr_null(wrong);
}
END_TEST

START_TEST(any_other_size_is_wrong)
{
	make(messages[_i]);
	if (messages[_i] < 16)
		return;
	for (size_t size = 0; size < sizeof(m); size += 4) {
		bool is_right = size == m.header.size;

		ck_assert_int_eq(message_check(&m, size) == NULL, is_right);
	}
	m.header.size += 8;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size - 8));
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
}
END_TEST

START_TEST(unknown_numbers_and_versions_are_wrong)
{
	make(KARMALB_MESSAGE_APPLIED);
	m.header.version++;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_APPLIED);
	m.header.message = 999;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	m.header.message = 0;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
}
END_TEST

static const double bad_shares[] = {-0.001, 1.001, NAN, INFINITY, -INFINITY};

START_TEST(shares_outside_0_to_1_are_wrong)
{
	make(KARMALB_MESSAGE_SLOT);
	m.slot.share = bad_shares[_i];
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
}
END_TEST

START_TEST(numbers_that_index_are_bounded)
{
	make(KARMALB_MESSAGE_SLOT);
	m.slot.slot = KARMALB_SLOTS_MAX - 1;
	ck_assert_ptr_null(message_check(&m, m.header.size));
	m.slot.slot = KARMALB_SLOTS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_SLOT_TOTALS);
	m.totals.slot = KARMALB_SLOTS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_SLOT_TOTALS);
	m.totals.last_error = KARMALB_N_OUTCOMES;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_WORKER_TOTALS);
	m.worker.worker = KARMALB_WORKERS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_PORT_STATUS);
	m.port.port = KARMALB_PORTS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_FLOW);
	m.flow.slot = KARMALB_SLOTS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_FLOW);
	m.flow.worker = KARMALB_WORKERS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_FLOW);
	m.flow.state = KARMALB_N_FLOW_STATES;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_CHECKED);
	m.checked.slot = KARMALB_SLOTS_MAX;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_CHECKED);
	m.checked.result = KARMALB_N_CHECK_RESULTS;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_ANSWERED);
	m.answered.error = 1;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_WELCOME);
	m.welcome.n_slots = KARMALB_SLOTS_MAX + 1;
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
}
END_TEST

START_TEST(texts_must_end)
{
	make(KARMALB_MESSAGE_REFUSED);
	memset(m.refused.sentence, 'x', sizeof(m.refused.sentence));
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_APPLIED);
	memset(m.applied.sentence, 'x', sizeof(m.applied.sentence));
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
	make(KARMALB_MESSAGE_PORT_STATUS);
	memset(m.port.device, 'x', sizeof(m.port.device));
	ck_assert_ptr_nonnull(message_check(&m, m.header.size));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("message_check");
	TCase *tc = tcase_create("messages");
	SRunner *runner = srunner_create(suite);
	int n_messages = sizeof(messages) / sizeof(messages[0]);

	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, what_goes_up_passes_and_what_goes_down_does_not, 0, n_messages);
	tcase_add_loop_test(tc, any_other_size_is_wrong, 0, n_messages);
	tcase_add_test(tc, unknown_numbers_and_versions_are_wrong);
	tcase_add_loop_test(
		tc, shares_outside_0_to_1_are_wrong, 0, sizeof(bad_shares) / sizeof(bad_shares[0]));
	tcase_add_test(tc, numbers_that_index_are_bounded);
	tcase_add_test(tc, texts_must_end);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
