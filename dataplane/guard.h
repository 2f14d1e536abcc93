/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard on an interface's tc ingress: drops, and counts, what is ours and slipped past XDP, so
 * that the kernel never answers a VIP's client with a RST.  It stays attached when we are killed;
 * the next instance takes its lists over and replaces it in one step.  Control thread only; called
 * by ports.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "steer_maps.h"

struct guard {
	unsigned ifindex;
	bool is_clsact_ours; /* we, or one before us, made the qdisc */
	bool is_taken_over;  /* one was there already, left behind by an instance that died */
	struct steer_maps maps;
};

/*
 * Attaches the guard, or replaces one that was left behind, with its lists.  Before an XDP program
 * comes or goes, and before an address becomes local.
 */
int
guard_open(struct guard *guard, unsigned ifindex, struct err *err);

/* Packets dropped since guard_open(). */
uint64_t
guard_drops(const struct guard *guard);

/*
 * 'remove': detaches it, and removes the clsact qdisc if it is ours and nobody else uses it; else
 * it stays attached, as after a kill.
 */
void
guard_close(struct guard *guard, bool remove);
