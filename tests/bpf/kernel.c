/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs packets through the programs by BPF_PROG_TEST_RUN.  See kernel.h. */
#include "kernel.h"

#include <arpa/inet.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include "bpf_object.h"

struct loaded steer, guard;

static struct karmalb_address
address(const char *text)
{
	struct karmalb_address a;

	if (inet_pton(AF_INET6, text, a.bytes) == 1)
		return a;
	return karmalb_address_from_v4(inet_addr(text));
}

struct karmalb_endpoint
service(const char *text, uint16_t port, uint8_t protocol)
{
	return (struct karmalb_endpoint){
		.address = address(text), .port_be = htons(port), .protocol = protocol};
}

void
serve_nothing(void)
{
	struct port_intent nothing = {0};
	struct err err = {""};

	ck_assert_msg(steer_maps_remove_others(&steer.maps, &nothing, &err) == 0, "%s", err.text);
	ck_assert_msg(steer_maps_remove_others(&guard.maps, &nothing, &err) == 0, "%s", err.text);
}

void
serve_usual(void)
{
	struct karmalb_endpoint services[] = {
		service(VIP, 80, IPPROTO_TCP),
		service(VIP6, 80, IPPROTO_TCP),
	};
	struct karmalb_address sources[] = {address(SOURCE)};
	struct port_intent intent = {
		.services = services, .sources = sources, .n_services = 2, .n_sources = 1};
	struct err err = {""};

	serve_nothing();
	ck_assert_msg(steer_maps_add(&steer.maps, &intent, &err) == 0, "%s", err.text);
	ck_assert_msg(steer_maps_add(&guard.maps, &intent, &err) == 0, "%s", err.text);
}

int
run(const struct loaded *program, const struct packet *p, unsigned size)
{
	LIBBPF_OPTS(
		bpf_test_run_opts, options, .data_in = p->bytes, .data_size_in = size, .repeat = 1);

	ck_assert_int_eq(bpf_prog_test_run_opts(program->fd, &options), 0);
	return (int)options.retval;
}

void
assert_taken_by(enum who who, const struct packet *p)
{
	int xdp = run(&steer, p, p->size);
	int tc = run(&guard, p, p->size);

	ck_assert_int_eq(xdp, who == NOBODY ? XDP_PASS : XDP_DROP);
	ck_assert_int_eq(tc, who == STEER_AND_GUARD ? TC_ACT_SHOT : TC_ACT_UNSPEC);
}

void
ipv4(struct packet *p, const char *destination, uint8_t protocol)
{
	packet_ethernet(p, ETH_P_IP);
	packet_ipv4(p, &(struct packet_ip){
			       .source = CLIENT, .destination = destination, .protocol = protocol});
}

void
ipv6(struct packet *p, const char *destination, uint8_t protocol)
{
	packet_ethernet(p, ETH_P_IPV6);
	packet_ipv6(p, &(struct packet_ip){
			       .source = PEER6, .destination = destination, .protocol = protocol});
}

void
fragment(struct packet *p, const char *destination, uint8_t protocol, uint16_t offset)
{
	packet_ethernet(p, ETH_P_IP);
	packet_ipv4(p, &(struct packet_ip){.source = CLIENT,
			       .destination = destination,
			       .protocol = protocol,
			       .fragment_bytes = offset,
			       .more_fragments = offset < 1480});
	packet_ports(p, 1, 2); /* a first one's ports, a later one's payload: not to be read */
}

void
icmp_error(struct packet *p, uint8_t type, const char *about_source, uint16_t about_port)
{
	ipv4(p, about_source, IPPROTO_ICMP);
	packet_icmp(p, type);
	packet_ipv4(
		p, &(struct packet_ip){
			   .source = about_source, .destination = CLIENT, .protocol = IPPROTO_TCP});
	packet_ports(p, about_port, 40000);
}

/* Loads an object's program, as DPDK's driver would, and opens its maps. */
static bool
load(const char *path, const char *name, struct loaded *loaded)
{
	struct bpf_object *object = loaded->object = bpf_object__open_file(path, NULL);
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	struct err err = {""};

	if (object == NULL || bpf_object__load(object) != 0) {
		fprintf(stderr, "%s does not load\n", path);
		return false;
	}
	loaded->fd = bpf_program__fd(bpf_object__find_program_by_name(object, name));
	if (loaded->fd < 0 || bpf_obj_get_info_by_fd(loaded->fd, &info, &size) != 0 ||
		steer_maps_open(&loaded->maps, info.id, &err) != 0) {
		fprintf(stderr, "%s: no program %s, or: %s\n", path, name, err.text);
		return false;
	}
	return true;
}

static void
unload(struct loaded *loaded)
{
	steer_maps_close(&loaded->maps);
	bpf_object__close(loaded->object);
}

int
kernel_main(int argc, char **argv, Suite *suite)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s STEER.bpf.o GUARD.bpf.o\n", argv[0]);
		return EXIT_FAILURE;
	}
	if (geteuid() != 0) {
		printf("needs root\n");
		return 77;
	}
	char *folder = strdup(argv[2]);

	bpf_object_look_in(dirname(folder));
	if (!load(argv[1], STEER_PROGRAM, &steer) || !load(argv[2], GUARD_PROGRAM, &guard))
		return EXIT_FAILURE;
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	unload(&steer);
	unload(&guard);
	free(folder);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
