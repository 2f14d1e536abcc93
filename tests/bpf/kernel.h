/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both BPF programs, loaded but attached to nothing, and what is usually served: TCP 80 on an IPv4
 * and an IPv6 VIP, and one source address.  Of the tests of the BPF programs.
 */
#pragma once

#include <check.h>

#include "packet.h"
#include "ports.h"
#include "steer_maps.h"

#define VIP    "192.0.2.10"
#define VIP6   "2001:db8::10"
#define SOURCE "192.0.2.240"
#define OTHER  "192.0.2.99"
#define CLIENT "198.51.100.7"
#define PEER6  "2001:db8:1::7"

enum {
	HOP_BY_HOP = 0,
	ROUTING = 43,
	FRAGMENT = 44,
	AUTHENTICATION = 51,
	ICMPV6 = 58,
	DESTINATION = 60,
};

enum who {
	NOBODY,          /* XDP passes it, and so does the guard */
	STEER_ALONE,     /* XDP takes it; the kernel may have it, should it slip past */
	STEER_AND_GUARD, /* nobody else may ever see it */
};

struct bpf_object;

struct loaded {
	struct bpf_object *object;
	int fd;
	struct steer_maps maps;
};

extern struct loaded steer, guard;

/*
 * main() of such a test: arguments are the two object files.  Exit status 77 without root, for the
 * programs cannot be loaded then.
 */
int
kernel_main(int argc, char **argv, Suite *suite);

/* A fixture: the lists hold what is usually served, and nothing else. */
void
serve_usual(void);

void
serve_nothing(void);

struct karmalb_endpoint
service(const char *address, uint16_t port, uint8_t protocol);

/* The program's verdict on the packet's first 'size' bytes. */
int
run(const struct loaded *program, const struct packet *p, unsigned size);

void
assert_taken_by(enum who who, const struct packet *p);

/* A packet from a client up to its IP header. */
void
ipv4(struct packet *p, const char *destination, uint8_t protocol);
void
ipv6(struct packet *p, const char *destination, uint8_t protocol);

/* An IPv4 fragment; its payload is of no port that is served. */
void
fragment(struct packet *p, const char *destination, uint8_t protocol, uint16_t offset);

/* An ICMP error to, and about a TCP packet from, the same address. */
void
icmp_error(struct packet *p, uint8_t type, const char *about_source, uint16_t about_port);
