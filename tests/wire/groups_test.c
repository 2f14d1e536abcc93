/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may read and who may change, as the file names their groups and a reload changes that.  Takes
 * root, for the test is somebody else at times: user 65534, with groups that every host has.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "web.h"

#define NOBODY  65534
#define READERS "users"
#define ADMINS  "daemon"
#define SKIPPED 77

#define CHANGE "SET SERVICE web karma_gain = '0.5'"

static void
begin(void)
{
	web_begin();
	ck_assert_int_eq(chmod(web.fake.dir, 0755), 0);
}

static gid_t
number_of(const char *name)
{
	const struct group *group = getgrnam(name);

	ck_assert_msg(group != NULL, "this host has no group %s", name);
	return group->gr_gid;
}

/* What the file says of the control plane from now on; the answer of RELOAD. */
static const char *
reload(const char *controlplane)
{
	snprintf(web.fake.more, sizeof(web.fake.more), "controlplane = { %s };", controlplane);
	fake_configure(&web.fake, web_services);
	return web_read_answer(web_ask("RELOAD"));
}

/* The answer that somebody gets who belongs to these groups; NULL: none. */
static const char *
ask_as(const char *statement, const char *first, const char *second)
{
	gid_t groups[2];
	size_t n = 0;
	int fd;

	if (first != NULL)
		groups[n++] = number_of(first);
	if (second != NULL)
		groups[n++] = number_of(second);
	ck_assert_int_eq(setgroups(n, groups), 0);
	ck_assert_int_eq(setegid(NOBODY), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
	fd = web_ask(statement);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
	return web_read_answer(fd);
}

/* Group and permissions of control.sock. */
static void
assert_socket(gid_t group, mode_t mode)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/control.sock", web.fake.dir);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, mode);
	if (mode == 0660)
		ck_assert_uint_eq(st.st_gid, group);
}

START_TEST(a_reload_takes_other_groups_into_force)
{
	begin();
	web_assert_says(reload("control_group = \"" READERS "\"; admin_group = \"" ADMINS "\";"),
		"controlplane: admin_group karmalb-admin -> " ADMINS "\n");
	assert_socket(number_of(READERS), 0660);
	web_assert_says(
		ask_as("SHOW DIFF", READERS, NULL), "In force is what the configuration file says");
	web_assert_says(ask_as(CHANGE, READERS, NULL), "that takes root or the group " ADMINS);
	web_assert_says(ask_as(CHANGE, READERS, ADMINS), "HTTP/1.1 200 ");
	web_assert_says(reload("control_group = \"" READERS "\";"), "HTTP/1.1 200 ");
	web_assert_says(ask_as(CHANGE, READERS, ADMINS), "HTTP/1.1 403 ");
	web_assert_shows("SHOW SETTINGS LIKE 'admin_group'", "karmalb-admin");
}
END_TEST

START_TEST(a_group_that_does_not_exist_is_told_once_and_is_no_mistake)
{
	begin();
	web_assert_says(
		reload("control_group = \"" READERS "\"; admin_group = \"karmalb-nobody\";"),
		"HTTP/1.1 200 ");
	for (unsigned i = 0; i < 3; i++)
		web_assert_says(ask_as(CHANGE, READERS, ADMINS), "HTTP/1.1 403 ");
	web_expect_in_log("there is no group karmalb-nobody, so changes are for root", 1);
	web_assert_says(reload("control_group = \"karmalb-nobody\";"), "HTTP/1.1 200 ");
	assert_socket(0, 0600);
	web_expect_in_log("there is no group karmalb-nobody, so only its owner", 1);
}
END_TEST

START_TEST(what_else_the_group_says_takes_a_restart)
{
	begin();
	web_assert_says(reload("local_name = \"lb\"; admin_group = \"" ADMINS "\";"),
		"(not in force before karmalb-controlplane is restarted)");
	web_assert_shows("SHOW DIFF", "\n1 difference from");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("groups");
	TCase *tc = tcase_create("groups");
	SRunner *runner;

	if (geteuid() != 0) {
		puts("needs root to be somebody else");
		return SKIPPED;
	}
	runner = srunner_create(suite);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 45);
	tcase_add_checked_fixture(tc, web_set_up, web_tear_down);
	tcase_add_test(tc, a_reload_takes_other_groups_into_force);
	tcase_add_test(tc, a_group_that_does_not_exist_is_told_once_and_is_no_mistake);
	tcase_add_test(tc, what_else_the_group_says_takes_a_restart);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
