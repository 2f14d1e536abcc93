/* SPDX-License-Identifier: BSD-3-Clause */
/* Another configuration for a loop that has run: who stays keeps all that was learnt of it. */
#include <arpa/inet.h>
#include <string.h>

#include "config_edit.h"
#include "loop.h"
#include "shares.h"
#include "suite.h"

static struct config *wanted;
static struct err err;

/* One period of the seed's answers, so that shares are W1's; then a copy to edit. */
static void
begin(void)
{
	loop_set_up();
	loop_begin(1);
	loop_connect_to(1, 0, NULL);
	loop_tick_at(loop_block_at(1, 0));
	loop_answer_like_the_seed(100);
	loop_tick_at(loop_block_at(2, 0));
	loop_assert_shares(loop_w1);
	wanted = config_copy(&loop.config);
}

static void
end(void)
{
	config_free(wanted);
	loop_tear_down();
}

static void
apply(void)
{
	ck_assert_int_eq(model_apply(loop.model, wanted, loop.now_us), 0);
	loop.web = model_find_service(loop.model, "web");
}

START_TEST(the_same_again_changes_nothing)
{
	struct model_mirror *mirrors = loop.web->mirrors;

	apply();
	ck_assert_ptr_eq(loop.web->mirrors, mirrors);
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(who_stays_keeps_x_karma_and_slots)
{
	double x[LOOP_N_MIRRORS];

	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		x[i] = loop.web->mirrors[i].x;
	ck_assert_int_eq(config_edit_drop_mirror(wanted, "web", "m1", &err), 0);
	apply();
	ck_assert_uint_eq(loop.web->n_mirrors, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct model_mirror *m = &loop.web->mirrors[i];

		ck_assert_double_eq(m->x, x[i + 1]);
		ck_assert_ptr_nonnull(karma_block(&m->karma, LOOP_FIRST_BLOCK + 1));
		ck_assert_uint_eq(m->slots[0].number, loop_number_of(i + 1, 0));
		ck_assert_ptr_eq(loop.model->owners[loop_number_of(i + 1, 0)].mirror, m);
		ck_assert_ptr_eq(loop.model->owners[loop_number_of(i + 1, 0)].slot, m->slots);
	}
	ck_assert_ptr_null(loop.model->owners[loop_number_of(0, 0)].slot);
	loop_send_totals(0, 0); /* nobody's */
}
END_TEST

/* The data plane turned the drop down: it names no slot anew that it never dropped. */
START_TEST(who_comes_back_from_a_change_taken_back_is_as_before)
{
	struct config *before = config_copy(wanted);
	uint64_t opened = model_opened(loop.web, &loop.web->mirrors[1]);
	double x = loop.web->mirrors[1].x;
	const struct model_mirror *m2;

	ck_assert_int_eq(config_edit_drop_mirror(wanted, "web", "m2", &err), 0);
	apply();
	ck_assert_int_eq(config_edit_drop_mirror(wanted, "web", "m1", &err), 0);
	apply();
	ck_assert_uint_eq(loop.web->n_mirrors, 2);
	config_free(wanted);
	wanted = before;
	apply();
	m2 = &loop.web->mirrors[1];
	loop_assert_shares(loop_w1);
	ck_assert_double_eq(m2->x, x);
	ck_assert_int_eq(m2->health.state, MIRROR_UP);
	ck_assert_ptr_nonnull(karma_block(&m2->karma, LOOP_FIRST_BLOCK + 1));
	loop_answer(1, 0, 7, 5 * MS);
	ck_assert_uint_eq(model_opened(loop.web, m2), opened + 7);
	model_forget_dropped(loop.model);
	loop_answer(1, 0, 7, 5 * MS);
	ck_assert_uint_eq(model_opened(loop.web, m2), opened + 14);
}
END_TEST

START_TEST(a_service_back_from_a_change_taken_back_is_as_before)
{
	static const struct config none;
	double x = loop.web->mirrors[1].x;

	ck_assert_int_eq(model_apply(loop.model, &none, loop.now_us), 0);
	ck_assert_uint_eq(loop.model->n_services, 0);
	loop_send_totals(1, 0); /* nobody's */
	apply();
	ck_assert_double_eq(loop.web->mirrors[1].x, x);
	ck_assert_uint_gt(loop.web->n_reweights, 0);
	ck_assert_ptr_eq(loop.model->owners[loop_number_of(1, 0)].mirror, &loop.web->mirrors[1]);
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(who_comes_back_after_the_answer_is_new)
{
	struct config *before = config_copy(wanted);

	ck_assert_int_eq(config_edit_drop_mirror(wanted, "web", "m2", &err), 0);
	apply();
	model_forget_dropped(loop.model);
	config_free(wanted);
	wanted = before;
	apply();
	ck_assert_int_eq(loop.web->mirrors[1].health.state, MIRROR_TRIAL);
	ck_assert(!loop.web->mirrors[1].slots[0].is_known);
}
END_TEST

START_TEST(a_new_mirror_in_a_pool_at_work_is_on_trial)
{
	struct config_mirror m5 = {.name = "m5", .weight = 1};

	m5.address = karmalb_address_from_v4(htonl(0x0a000009));
	ck_assert_int_eq(config_edit_add_mirror(wanted, "web", &m5, &err), 0);
	apply();
	ck_assert_uint_eq(loop.web->n_mirrors, 5);
	ck_assert_int_eq(loop.web->mirrors[4].health.state, MIRROR_TRIAL);
	ck_assert_int_eq(loop.web->mirrors[0].health.state, MIRROR_UP);
	ck_assert_double_eq(loop.web->mirrors[0].configured, 0.2);
	shares_spread(loop.web, loop.now_us);
	ck_assert_double_gt(loop.web->mirrors[4].share, 0);
	ck_assert_double_lt(loop.web->mirrors[4].share, 0.1);
}
END_TEST

START_TEST(a_service_called_otherwise_keeps_the_slots_that_the_data_plane_goes_on_with)
{
	struct config_service *s = (struct config_service *)(uintptr_t)wanted->services;

	strcpy(s->name, "www");
	apply();
	ck_assert_ptr_null(loop.web);
	loop.web = model_find_service(loop.model, "www");
	ck_assert_uint_eq(loop.web->n_reweights, 0);
	ck_assert(loop.web->mirrors[2].slots[0].is_known);
	ck_assert_uint_eq(loop.web->mirrors[2].slots[0].number, loop_number_of(2, 0));
}
END_TEST

START_TEST(a_drained_mirror_gets_nothing_and_comes_back_as_it_was)
{
	struct config_value drain = {"state", "drain"}, active = {"state", "active"};

	ck_assert_int_eq(config_edit_mirror(wanted, "web", "m2", &drain, &err), 0);
	apply();
	shares_spread(loop.web, loop.now_us);
	ck_assert_double_eq(loop.web->mirrors[1].share, 0);
	ck_assert_double_eq_tol(loop.web->mirrors[0].share, 0.15 / 0.70, 1e-9);
	ck_assert_int_eq(config_edit_mirror(wanted, "web", "m2", &active, &err), 0);
	apply();
	shares_spread(loop.web, loop.now_us);
	loop_assert_shares(loop_w1);
}
END_TEST

START_TEST(a_mirror_in_maintenance_is_not_called_dead_and_returns_on_trial)
{
	struct config_value away = {"state", "maintenance"}, active = {"state", "active"};

	ck_assert_int_eq(config_edit_mirror(wanted, "web", "m2", &away, &err), 0);
	apply();
	for (unsigned i = 0; i < 10; i++)
		loop_query_fails(1, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	loop_tick_at(loop.now_us + S);
	ck_assert_int_eq(loop.web->mirrors[1].health.state, MIRROR_UP);
	ck_assert_double_eq(loop.web->mirrors[1].share, 0);
	ck_assert_uint_eq(shares_wake_us(loop.web, &loop.model->dataplane), loop_block_at(3, 0));
	loop.now_us += S;
	ck_assert_int_eq(config_edit_mirror(wanted, "web", "m2", &active, &err), 0);
	apply();
	ck_assert_int_eq(loop.web->mirrors[1].health.state, MIRROR_TRIAL);
	loop_tick_at(loop.now_us + S);
	ck_assert_int_eq(loop.web->mirrors[1].health.state, MIRROR_TRIAL);
}
END_TEST

START_TEST(another_weight_moves_the_share_not_x)
{
	double x = loop.web->mirrors[0].x;

	ck_assert_int_eq(config_edit_mirror(
				 wanted, "web", "m1", &(struct config_value){"weight", "2"}, &err),
		0);
	apply();
	ck_assert_double_eq(loop.web->mirrors[0].configured, 0.4);
	ck_assert_double_eq(loop.web->mirrors[0].x, x);
}
END_TEST

START_TEST(another_listen_keeps_the_mirrors)
{
	double x = loop.web->mirrors[3].x;

	ck_assert_int_eq(config_edit_listens(wanted, "web", loop.listens, 2, &err), 0);
	apply();
	ck_assert_uint_eq(loop.web->n_listens, 2);
	ck_assert_double_eq(loop.web->mirrors[3].x, x);
	ck_assert(loop.web->mirrors[3].slots[0].is_known);
	ck_assert(!loop.web->mirrors[3].slots[1].is_known);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		the_same_again_changes_nothing,
		who_stays_keeps_x_karma_and_slots,
		who_comes_back_from_a_change_taken_back_is_as_before,
		a_service_back_from_a_change_taken_back_is_as_before,
		who_comes_back_after_the_answer_is_new,
		a_new_mirror_in_a_pool_at_work_is_on_trial,
		a_service_called_otherwise_keeps_the_slots_that_the_data_plane_goes_on_with,
		a_drained_mirror_gets_nothing_and_comes_back_as_it_was,
		a_mirror_in_maintenance_is_not_called_dead_and_returns_on_trial,
		another_weight_moves_the_share_not_x,
		another_listen_keeps_the_mirrors,
		NULL,
	};

	Suite *suite = suite_create("model_apply");
	TCase *tc = tcase_create("model_apply");
	SRunner *runner = srunner_create(suite);

	tcase_add_checked_fixture(tc, begin, end);
	suite_add_tcase(suite, tc);
	for (unsigned i = 0; tests[i] != NULL; i++)
		tcase_add_test(tc, tests[i]);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
