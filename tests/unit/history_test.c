/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "history.h"
#include "suite.h"

START_TEST(what_was_added_is_kept_in_order)
{
	const struct history_entry *e;

	ck_assert_ptr_null(history_after(0));
	history_add(HISTORY_MIRROR, "web/%s: up -> dead", "m1");
	history_add(HISTORY_RELOAD, "done");
	e = history_after(0);
	ck_assert_str_eq(e->text, "web/m1: up -> dead");
	ck_assert_str_eq(history_kind_name(e->kind), "mirror");
	ck_assert_uint_gt(e->unix_us, 0);
	e = history_after(e->number);
	ck_assert_str_eq(e->text, "done");
	ck_assert_ptr_null(history_after(e->number));
}
END_TEST

START_TEST(the_oldest_make_room)
{
	unsigned n = 0;

	for (unsigned i = 1; i <= HISTORY_KEPT + 5; i++)
		history_add(HISTORY_MIRROR, "%u", i);
	ck_assert_str_eq(history_after(0)->text, "6");
	for (const struct history_entry *e = history_after(0); e != NULL;
		e = history_after(e->number), n++)
		ck_assert_uint_eq(e->number, n + 6);
	ck_assert_uint_eq(n, HISTORY_KEPT);
	ck_assert_uint_eq(history_count(), HISTORY_KEPT + 5);
}
END_TEST

START_TEST(a_long_text_is_cut)
{
	history_add(HISTORY_MIRROR, "%1000s", "x");
	ck_assert_uint_eq(strlen(history_after(0)->text), HISTORY_TEXT_MAX - 1);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		what_was_added_is_kept_in_order,
		the_oldest_make_room,
		a_long_text_is_cut,
		NULL,
	};

	return suite_run("history", tests);
}
