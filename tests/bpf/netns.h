/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A private world for one test: this process moves to a network namespace of its own with eth1
 * (10.77.0.1/24), whose other end is eth1 (10.77.0.2/24) in a second one.  Both vanish with the
 * process, so nothing is to be cleaned up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NETNS_HERE  "10.77.0.1"
#define NETNS_THERE "10.77.0.2"

/* A Check fixture. */
void
netns_enter(void);

/* Index of eth1 on our side. */
unsigned
netns_ifindex(void);

/* MAC of eth1 on the other side. */
void
netns_peer_mac(uint8_t mac[6]);

/* Runs a shell command here, or on the other side; it must succeed. */
__attribute__((format(printf, 1, 2))) void
here(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void
there(const char *fmt, ...);

/* Whether the output of a command run here holds 'text'. */
bool
here_says(const char *command, const char *text);

enum answer {
	ACCEPTED,
	REFUSED, /* the kernel sent a RST */
	SILENCE, /* nothing within 300 ms */
};

/* What TCP from the other side to address and port meets. */
enum answer
connect_from_there(const char *address, uint16_t port);

/* Waits, 5 s at most, until 'condition(context)'. */
bool
wait_until(bool (*condition)(void *context), void *context);
