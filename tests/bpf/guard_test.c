/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guard and steering program on a real interface: what the kernel answers with, without and between
 * them, and who owns the interface.  Needs root.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "bpf_object.h"
#include "guard.h"
#include "kernel.h"
#include "netns.h"
#include "steer.h"

#define SERVED "10.77.0.100"
#define QDISC  "tc qdisc show dev eth1"

/* The served address is local, so that the kernel would refuse. */
static void
begin(void)
{
	bpf_object_quiet();
	netns_enter();
	here("ip addr add " SERVED "/32 dev eth1");
}

static void
guard_serves(struct guard *g)
{
	struct karmalb_endpoint served = service(SERVED, 80, IPPROTO_TCP);
	struct port_intent intent = {.services = &served, .n_services = 1};
	struct err err = {""};

	ck_assert_msg(steer_maps_add(&g->maps, &intent, &err) == 0, "%s", err.text);
}

static void
open_guard(struct guard *g)
{
	struct err err = {""};

	ck_assert_msg(guard_open(g, netns_ifindex(), &err) == 0, "%s", err.text);
}

START_TEST(the_kernel_is_silent_while_a_guard_is_there)
{
	struct guard g;

	ck_assert_int_eq(connect_from_there(SERVED, 80), REFUSED);
	open_guard(&g);
	guard_serves(&g);
	ck_assert_int_eq(connect_from_there(SERVED, 80), SILENCE);
	ck_assert_uint_ge(guard_drops(&g), 1);
	ck_assert_int_eq(connect_from_there(SERVED, 81), REFUSED);
	ck_assert_int_eq(connect_from_there(NETNS_HERE, 80), REFUSED);
	guard_close(&g, true);
	ck_assert_int_eq(connect_from_there(SERVED, 80), REFUSED);
	ck_assert(!here_says(QDISC, "clsact"));
}
END_TEST

START_TEST(a_guard_outlives_its_process_and_hands_its_lists_on)
{
	struct guard g;
	int status;

	pid_t pid = fork();

	if (pid == 0) {
		open_guard(&g);
		guard_serves(&g);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(connect_from_there(SERVED, 80), SILENCE);
	open_guard(&g);
	ck_assert(g.is_taken_over);
	ck_assert_int_eq(connect_from_there(SERVED, 80), SILENCE);
	ck_assert_uint_ge(guard_drops(&g), 1);
	guard_close(&g, true);
	ck_assert_int_eq(connect_from_there(SERVED, 80), REFUSED);
	ck_assert(!here_says(QDISC, "clsact"));
}
END_TEST

START_TEST(a_guard_that_is_not_removed_stays)
{
	struct guard g;

	open_guard(&g);
	guard_serves(&g);
	guard_close(&g, false);
	ck_assert_int_eq(connect_from_there(SERVED, 80), SILENCE);
}
END_TEST

START_TEST(an_operators_qdisc_and_filters_stay)
{
	struct guard g;

	here("tc qdisc add dev eth1 clsact");
	open_guard(&g);
	ck_assert(!g.is_taken_over);
	guard_close(&g, true);
	ck_assert(here_says(QDISC, "clsact"));
	here("tc qdisc del dev eth1 clsact");

	open_guard(&g); /* ours now, but somebody comes to use it */
	here("tc filter add dev eth1 egress prio 7 protocol ip bpf da obj %s sec tc",
		getenv("GUARD_OBJECT"));
	guard_close(&g, true);
	ck_assert(here_says(QDISC, "clsact"));
	ck_assert(here_says("tc filter show dev eth1 egress", "pref 7"));
	ck_assert(!here_says("tc filter show dev eth1 ingress", GUARD_PROGRAM));
}
END_TEST

START_TEST(a_living_owner_is_named_to_a_second_instance)
{
	struct steer first, second;
	struct err err = {""};
	char pid[16];

	ck_assert_msg(steer_own(&first, netns_ifindex(), &err) == 0, "%s", err.text);
	ck_assert_int_eq(steer_check(netns_ifindex(), &err), -EBUSY);
	ck_assert_int_eq(steer_own(&second, netns_ifindex(), &err), -EBUSY);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	ck_assert_msg(strstr(err.text, pid) != NULL && strstr(err.text, "eth1") != NULL, "\"%s\"",
		err.text);
	steer_close(&first);
	ck_assert_msg(steer_own(&second, netns_ifindex(), &err) == 0, "%s", err.text);
	steer_close(&second);
}
END_TEST

/* An XDP program that passes everything, under any name. */
static int
attach_foreign(const char *name)
{
	struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, name, "GPL", pass, 2, NULL);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bpf_xdp_attach((int)netns_ifindex(), fd, 0, NULL), 0);
	return fd;
}

START_TEST(a_foreign_program_is_named_and_left_alone)
{
	struct steer s;
	struct err err = {""};

	attach_foreign("firewall");
	ck_assert_int_eq(steer_own(&s, netns_ifindex(), &err), -EBUSY);
	ck_assert_msg(strstr(err.text, "firewall") != NULL, "\"%s\"", err.text);
	ck_assert_msg(strstr(err.text, "ip link set dev eth1 xdp off") != NULL, "\"%s\"", err.text);
	ck_assert(here_says("ip link show eth1", "prog/xdp"));
}
END_TEST

START_TEST(a_dead_instances_program_is_detached_and_a_successor_found)
{
	struct steer s;
	struct err err = {""};

	/* What the driver does: the kernel keeps the program, whoever loaded it. */
	ck_assert_int_eq(bpf_xdp_attach((int)netns_ifindex(), steer.fd, 0, NULL), 0);
	ck_assert_msg(steer_own(&s, netns_ifindex(), &err) == 0, "%s", err.text);
	ck_assert_msg(steer_detach_stale(&s, &err) == 0, "%s", err.text);
	ck_assert(!here_says("ip link show eth1", "prog/xdp"));
	ck_assert_int_ne(steer_attached(&s, &err), 0);
	ck_assert_int_eq(bpf_xdp_attach((int)netns_ifindex(), steer.fd, 0, NULL), 0);
	ck_assert_msg(steer_attached(&s, &err) == 0, "%s", err.text);
	ck_assert(s.is_native);
	ck_assert_int_ge(s.maps.services, 0);
	ck_assert(steer_is_ours(&s, &err));
	steer_close(&s);
}
END_TEST

START_TEST(a_program_that_took_our_place_is_noticed)
{
	struct steer s;
	struct err err = {""};

	ck_assert_msg(steer_own(&s, netns_ifindex(), &err) == 0, "%s", err.text);
	ck_assert_int_eq(bpf_xdp_attach((int)netns_ifindex(), steer.fd, 0, NULL), 0);
	ck_assert_msg(steer_attached(&s, &err) == 0, "%s", err.text);
	attach_foreign("firewall");
	ck_assert(!steer_is_ours(&s, &err));
	ck_assert_msg(strstr(err.text, "firewall") != NULL, "\"%s\"", err.text);
	ck_assert_int_eq(bpf_xdp_detach((int)netns_ifindex(), 0, NULL), 0);
	ck_assert(!steer_is_ours(&s, &err));
	ck_assert_msg(strstr(err.text, "detached") != NULL, "\"%s\"", err.text);
	steer_close(&s);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("guard");
	TCase *tc = tcase_create("guard");

	if (argc == 3)
		setenv("GUARD_OBJECT", argv[2], 1);
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, the_kernel_is_silent_while_a_guard_is_there);
	tcase_add_test(tc, a_guard_outlives_its_process_and_hands_its_lists_on);
	tcase_add_test(tc, a_guard_that_is_not_removed_stays);
	tcase_add_test(tc, an_operators_qdisc_and_filters_stay);
	suite_add_tcase(suite, tc);
	tc = tcase_create("owner");
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, a_living_owner_is_named_to_a_second_instance);
	tcase_add_test(tc, a_foreign_program_is_named_and_left_alone);
	tcase_add_test(tc, a_dead_instances_program_is_detached_and_a_successor_found);
	tcase_add_test(tc, a_program_that_took_our_place_is_noticed);
	suite_add_tcase(suite, tc);
	return kernel_main(argc, argv, suite);
}
