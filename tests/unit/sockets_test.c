/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include "sockets.h"

#define TITLE                                                                            \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   " \
	"uid  timeout inode\n"
#define TAIL " 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"

static bool
find(const char *text, const char *address, struct socket_use *use)
{
	struct karmalb_address a = karmalb_address_from_v4(inet_addr(address));
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	ck_assert_ptr_nonnull(file);
	bool is_found = socket_find_in(file, &a, use);

	fclose(file);
	return is_found;
}

START_TEST(a_listener_on_the_address_is_found)
{
	struct socket_use use = {0};
	const char *text = TITLE "   0: 0100007F:0016 00000000:0000 0A" TAIL
				 "   1: F00200C0:1F90 00000000:0000 0A" TAIL;

	ck_assert(find(text, "192.0.2.240", &use));
	ck_assert_uint_eq(use.port, 8080);
	ck_assert(use.is_listening);
}
END_TEST

START_TEST(a_connection_counts_and_its_peer_does_not)
{
	struct socket_use use = {0};
	const char *text = TITLE "  12: 010200C0:0016 F00200C0:D431 01" TAIL;

	ck_assert(find(text, "192.0.2.1", &use));
	ck_assert_uint_eq(use.port, 22);
	ck_assert(!use.is_listening);
	ck_assert(!find(text, "192.0.2.240", &use));
}
END_TEST

START_TEST(wildcards_and_time_wait_do_not_count)
{
	struct socket_use use;
	const char *text = TITLE "   0: 00000000:0016 00000000:0000 0A" TAIL
				 "   1: F00200C0:1F90 010200C0:0050 06" TAIL;

	ck_assert(!find(text, "192.0.2.240", &use));
}
END_TEST

START_TEST(an_ipv4_socket_of_the_ipv6_kind_is_found)
{
	struct socket_use use;
	const char *text = TITLE "   0: 0000000000000000FFFF0000F00200C0:0050 "
				 "00000000000000000000000000000000:0000 0A" TAIL;

	ck_assert(find(text, "192.0.2.240", &use));
	ck_assert_uint_eq(use.port, 80);
}
END_TEST

START_TEST(lines_of_another_shape_are_skipped)
{
	struct socket_use use;

	ck_assert(!find("\n", "192.0.2.240", &use));
	ck_assert(!find(TITLE "  0: F00200C0\n  1: F002:0050 0:0 0A\n zzz\n", "192.0.2.240", &use));
}
END_TEST

START_TEST(a_real_socket_of_this_process_is_found)
{
	struct sockaddr_in bound = {
		.sin_family = AF_INET, .sin_addr.s_addr = inet_addr("127.0.0.77")};
	struct karmalb_address address = karmalb_address_from_v4(bound.sin_addr.s_addr);
	socklen_t size = sizeof(bound);
	struct socket_use use;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert(!socket_find(&address, &use));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&bound, size), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&bound, &size), 0);
	ck_assert(socket_find(&address, &use));
	ck_assert_uint_eq(use.protocol, IPPROTO_TCP);
	ck_assert_uint_eq(use.port, ntohs(bound.sin_port));
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	bound.sin_port = 0;
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&bound, size), 0);
	ck_assert(socket_find(&address, &use));
	ck_assert_uint_eq(use.protocol, IPPROTO_UDP);
	close(fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sockets");
	TCase *tc = tcase_create("proc");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, a_listener_on_the_address_is_found);
	tcase_add_test(tc, a_connection_counts_and_its_peer_does_not);
	tcase_add_test(tc, wildcards_and_time_wait_do_not_count);
	tcase_add_test(tc, an_ipv4_socket_of_the_ipv6_kind_is_found);
	tcase_add_test(tc, lines_of_another_shape_are_skipped);
	tcase_add_test(tc, a_real_socket_of_this_process_is_found);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
