/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program on an interface: who owns the interface, and is the attached program ours?
 * DPDK's AF_XDP driver loads and attaches it; we reach its maps by its id.  Control thread only;
 * called by ports.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "steer_maps.h"

struct steer {
	unsigned ifindex;
	int owner;           /* the socket that makes the interface ours; -1: it is not */
	uint32_t program_id; /* 0: not attached yet */
	bool is_native;      /* XDP runs in the driver, not in the kernel's generic path */
	struct steer_maps maps;
};

/* Whether the interface could be ours: as steer_own(), but takes nothing. */
int
steer_check(unsigned ifindex, struct err *err);

/*
 * Takes ownership of an interface: until steer_close() no other instance in this network namespace
 * can.  Refused with a sentence when another one lives, or a foreign XDP program is attached.
 */
int
steer_own(struct steer *steer, unsigned ifindex, struct err *err);

/* Detaches a program that an instance of ours left behind.  Right before the driver attaches. */
int
steer_detach_stale(const struct steer *steer, struct err *err);

/* Finds the program that the driver has just attached, and its maps. */
int
steer_attached(struct steer *steer, struct err *err);

/*
 * True while the program that steer_attached() found is still the attached one.  False: 'err' says
 * whose is there; then the driver must not close the port, for it detaches whatever it finds.
 */
bool
steer_is_ours(const struct steer *steer, struct err *err);

/* Gives up the ownership.  Detaches nothing: the driver does. */
void
steer_close(struct steer *steer);
