/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a worker without packets sleeps such that the next packet does not notice: it polls on for
 * 'spin_us' after the last packet, then blocks on the queues' descriptors and its doorbell.  A
 * device without descriptor leaves naps of IDLE_NAP_US instead.  Worker's thread only.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include <karmalb/limits.h>

#define IDLE_NAP_US 50
/*
 * A woken worker goes before ordinary programs: on a busy CPU each of them would keep packets
 * waiting for its slice of some milliseconds.  One that spins would leave them nothing.
 */
#define IDLE_NICE       (-10)
#define IDLE_QUEUES_MAX (KARMALB_PORTS_MAX * KARMALB_WORKERS_MAX) /* all of all ports */

struct doorbell;

struct idle {
	struct doorbell *bell;
	struct pollfd fds[IDLE_QUEUES_MAX + 1]; /* the doorbell's is first */
	unsigned n_fds;
	bool is_napping;  /* some device has no descriptor to block on */
	bool is_spinning; /* never sleep */
	uint32_t spin_us;
	uint64_t busy_us; /* when the last packet came */
};

/* Prepares the calling thread's sleep, and its priority; the doorbell is open and outlives it. */
void
idle_init(struct idle *idle, struct doorbell *bell, uint32_t spin_us, bool is_spinning);

/* One more queue to watch: the descriptor that tells of its packets, or -1 if it has none. */
void
idle_watch(struct idle *idle, int fd);

/* Packets came at 'now_us': a new spinning time begins. */
static inline void
idle_note_packets(struct idle *idle, uint64_t now_us)
{
	idle->busy_us = now_us;
}

/* Nothing came for so long that it is time to sleep. */
static inline bool
idle_is_due(const struct idle *idle, uint64_t now_us)
{
	return !idle->is_spinning && now_us - idle->busy_us >= idle->spin_us;
}

/*
 * Blocks until a packet, a ring of the doorbell, or 'until_us'.  The caller has armed the doorbell
 * and looked for work since, and disarms it afterwards.
 */
void
idle_block(struct idle *idle, uint64_t now_us, uint64_t until_us);
