/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may serve dataplane.sock, and what is left after an end of either kind. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "peer.h"
#include "process.h"

static struct process dataplane;

static void
set_up(void)
{
	process_prepare(&dataplane);
	ck_assert(process_start(&dataplane));
}

static void
tear_down(void)
{
	process_forget(&dataplane);
}

START_TEST(only_the_group_may_connect)
{
	struct stat s;

	ck_assert_int_eq(stat(dataplane.socket, &s), 0);
	ck_assert_uint_eq(s.st_mode & 07777, 0660);
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
}
END_TEST

START_TEST(clean_stop_removes_the_socket)
{
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
	ck_assert_int_ne(access(dataplane.socket, F_OK), 0);
}
END_TEST

START_TEST(socket_of_a_killed_data_plane_is_replaced)
{
	struct peer p;

	process_end(&dataplane, SIGKILL);
	ck_assert_int_eq(access(dataplane.socket, F_OK), 0);
	ck_assert(process_start(&dataplane));
	ck_assert_uint_eq(peer_greet(&p, &dataplane), 0);
	peer_close(&p);
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
}
END_TEST

START_TEST(socket_of_a_living_data_plane_is_left_alone)
{
	struct process second = dataplane;
	struct peer p;

	ck_assert_int_eq(process_run(&second), EXIT_FAILURE);
	ck_assert(process_said(&second, "another data plane serves it"));
	peer_greet(&p, &dataplane);
	peer_close(&p);
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
}
END_TEST

START_TEST(each_start_is_another_instance)
{
	struct peer p;

	peer_greet(&p, &dataplane);
	uint64_t instance = p.message.welcome.instance;

	peer_close(&p);
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
	ck_assert(process_start(&dataplane));
	peer_greet(&p, &dataplane);
	ck_assert_uint_ne(p.message.welcome.instance, instance);
	peer_close(&p);
	ck_assert_int_eq(process_end(&dataplane, SIGINT), 0);
}
END_TEST

START_TEST(hang_up_does_not_end_it)
{
	struct peer p;

	ck_assert_int_eq(kill(dataplane.pid, SIGHUP), 0);
	peer_greet(&p, &dataplane);
	peer_close(&p);
	ck_assert_int_eq(process_end(&dataplane, SIGTERM), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("socket");
	TCase *tc = tcase_create("socket");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, only_the_group_may_connect);
	tcase_add_test(tc, clean_stop_removes_the_socket);
	tcase_add_test(tc, socket_of_a_killed_data_plane_is_replaced);
	tcase_add_test(tc, socket_of_a_living_data_plane_is_left_alone);
	tcase_add_test(tc, each_start_is_another_instance);
	tcase_add_test(tc, hang_up_does_not_end_it);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
