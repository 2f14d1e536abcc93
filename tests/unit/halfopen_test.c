/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "halfopen.h"
#include "suite.h"

#define BUDGET 300

static struct flow_table table;
static struct flow_worker worker;
static struct half_open entries[BUDGET];
static uint32_t wheel[HALF_OPEN_WHEEL_LISTS];

static void
open_budget(void)
{
	table = (struct flow_table){
		.worker = &worker, .half_opens = entries, .wheel = wheel, .max_half_open = BUDGET};
	half_open_init(&table);
}

/* Removes what is due; returns how many, and checks that they are. */
static unsigned
expire(uint32_t now_ms)
{
	unsigned n = 0;

	for (;;) {
		unsigned budget = UINT32_MAX;
		uint32_t record = half_open_due(&table, now_ms, &budget), i;

		ck_assert_uint_gt(budget, 0);
		if (record == FLOW_NONE)
			return n;
		for (i = 0; i < BUDGET && entries[i].record != record; i++)
			;
		ck_assert_int_ge((int32_t)(now_ms - entries[i].deadline_ms), 0);
		entries[i].record = FLOW_NONE;
		half_open_remove(&table, i);
		n++;
	}
}

START_TEST(wheel_finds_deadlines_to_the_millisecond)
{
	static const uint32_t starts[] = {
		0, 5, 255, 256, 65535, 0x7fffff00, 0xffffff80, 0xfffffffe};
	static const uint32_t aheads[] = {1, 2, 255, 256, 257, 511, 512, 65535, 65536, 65537, 70000,
		131072, 1000000, 3600001};

	for (unsigned s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (unsigned a = 0; a < sizeof(aheads) / sizeof(aheads[0]); a++) {
			uint32_t now = starts[s], deadline = now + aheads[a];

			open_budget();
			half_open_add(&table, 1, deadline, now);
			ck_assert_uint_eq(expire(deadline - 1), 0);
			ck_assert_uint_eq(expire(deadline), 1);
			ck_assert_uint_eq(worker.n_half_open, 0);
		}
	}
}
END_TEST

START_TEST(wheel_behaves_as_a_naive_model)
{
	uint64_t random = suite_seed();
	struct {
		bool is_used;
		uint32_t deadline_ms;
	} model[BUDGET] = {{false, 0}};
	uint32_t now = (uint32_t)-200000;
	unsigned n = 0, n_refused = 0;

	open_budget();
	for (unsigned step = 0; step < 200000; step++) {
		uint32_t ahead = 1 + (uint32_t)(suite_random(&random) >>
						(suite_random(&random) % 2 == 0 ? 55 : 44)) %
					     900000;
		uint32_t i = (uint32_t)(suite_random(&random) % BUDGET);

		switch (suite_random(&random) % 5) {
		case 0:
		case 1:
			i = half_open_add(&table, step, now + ahead, now);
			ck_assert_int_eq(i == FLOW_NONE, n == BUDGET);
			n_refused += i == FLOW_NONE;
			if (i == FLOW_NONE)
				break;
			ck_assert(!model[i].is_used);
			model[i].is_used = true;
			model[i].deadline_ms = now + ahead;
			n++;
			break;
		case 2:
			if (!model[i].is_used)
				break;
			half_open_move(&table, i, now + ahead);
			model[i].deadline_ms = now + ahead;
			break;
		case 3:
			if (!model[i].is_used || suite_random(&random) % 4 != 0)
				break;
			half_open_remove(&table, i);
			model[i].is_used = false;
			n--;
			break;
		default: {
			unsigned n_due = 0, n_found = 0, budget = 1 + suite_random(&random) % 400;

			now += suite_random(&random) % 8 == 0 ? suite_random(&random) % 3000
							      : suite_random(&random) % 3;
			for (unsigned k = 0; k < BUDGET; k++)
				n_due += model[k].is_used &&
					 (int32_t)(now - model[k].deadline_ms) >= 0;
			/* In pieces, as a worker would. */
			for (unsigned piece = 0; piece < 10000 && n_found < n_due; piece++) {
				unsigned left = budget;
				uint32_t record = half_open_due(&table, now, &left), k;

				ck_assert_uint_le(left, budget);
				if (record == FLOW_NONE)
					continue;
				for (k = 0; entries[k].record != record || !model[k].is_used; k++)
					ck_assert_uint_lt(k, BUDGET - 1);
				ck_assert_int_ge((int32_t)(now - model[k].deadline_ms), 0);
				half_open_remove(&table, k);
				model[k].is_used = false;
				n_found++;
			}
			ck_assert_uint_eq(n_found, n_due);
			n -= n_found;
		}
		}
		ck_assert_uint_eq(worker.n_half_open, n);
	}
	ck_assert_uint_gt(n_refused, 0);
}
END_TEST

START_TEST(budget_bounds_the_work_of_a_call)
{
	open_budget();
	for (uint32_t i = 0; i < BUDGET; i++)
		half_open_add(&table, i, 100000, 0);
	unsigned budget = 50;

	ck_assert_uint_eq(half_open_due(&table, 100000, &budget), FLOW_NONE);
	ck_assert_uint_eq(budget, 0);
	ck_assert_uint_eq(expire(99999), 0);
	ck_assert_uint_eq(expire(100000), BUDGET);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {wheel_finds_deadlines_to_the_millisecond,
		wheel_behaves_as_a_naive_model, budget_bounds_the_work_of_a_call, NULL};

	return suite_run("halfopen", tests);
}
