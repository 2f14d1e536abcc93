/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AF_XDP sockets that DPDK's driver makes and tells nobody about.  They are found by looking at
 * the process's descriptors before and after a queue is set up.  Control thread only, and while no
 * other thread makes AF_XDP sockets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define XSK_MAX 1024 /* KARMALB_PORTS_MAX * KARMALB_WORKERS_MAX */

/* The AF_XDP descriptors that are open at a moment. */
struct xsk_seen {
	unsigned n;
	int fds[XSK_MAX];
};

/* 0 or a negative errno. */
int
xsk_look(struct xsk_seen *seen);

/* The one AF_XDP descriptor that is open now and was not then, or -1: none, or more than one. */
int
xsk_find_new(const struct xsk_seen *then);

/* The kernel lets the device write into our memory. */
bool
xsk_is_zero_copy(int fd);

/* Packets for which the socket had no room, or no buffer. */
uint64_t
xsk_missed(int fd);
