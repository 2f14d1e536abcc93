/* SPDX-License-Identifier: BSD-3-Clause */
/* To which groups a file may be given; as root, for the test is somebody else at times. */
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "control_group.h"
#include "err.h"
#include "suite.h"

#define NOBODY  65534
#define SKIPPED 77

static struct err err;

/* User 65534 with this group besides its own. */
static void
become_nobody_in(const char *name)
{
	const struct group *group = getgrnam(name);

	ck_assert_ptr_nonnull(group);
	ck_assert_int_eq(setgroups(1, &group->gr_gid), 0);
	ck_assert_int_eq(setegid(NOBODY), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
}

/* LeakSanitizer looks at the process when the test is over, as its user. */
static void
become_root_again(void)
{
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
}

START_TEST(root_may_give_to_any_group)
{
	ck_assert_int_eq(control_group_check("daemon", &err), 0);
}
END_TEST

START_TEST(others_may_give_to_groups_that_they_have)
{
	become_nobody_in("users");
	ck_assert_int_eq(control_group_check("users", &err), 0);
	ck_assert_int_eq(control_group_check("nogroup", &err), 0);
	ck_assert_int_eq(control_group_check("daemon", &err), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.sentence, "has not got the group daemon"));
	become_root_again();
}
END_TEST

START_TEST(no_group_and_none_of_that_name_are_no_mistakes)
{
	become_nobody_in("users");
	ck_assert_int_eq(control_group_check("", &err), 0);
	ck_assert_int_eq(control_group_check("karmalb-nobody", &err), 0);
	become_root_again();
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		root_may_give_to_any_group,
		others_may_give_to_groups_that_they_have,
		no_group_and_none_of_that_name_are_no_mistakes,
		NULL,
	};

	if (geteuid() != 0) {
		puts("needs root to be somebody else");
		return SKIPPED;
	}
	return suite_run("control_group", tests);
}
