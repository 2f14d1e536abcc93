/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread sleeps on a descriptor, others wake it when they have left work for it: an eventfd
 * that is written only while somebody sleeps, so that a busy pair of threads makes no syscalls.
 *
 *   sleeper: doorbell_arm() - look for work once more - block on 'fd' - doorbell_disarm()
 *   waker:   leave the work - doorbell_ring()
 *
 * The fences in arm and ring pair up: either the sleeper sees the work or the waker sees it armed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct doorbell {
	int fd; /* eventfd, non-blocking; -1: not open */
	atomic_bool is_armed;
};

/* 0, or a negative errno. */
int
doorbell_open(struct doorbell *b);

void
doorbell_close(struct doorbell *b);

/* Sleeper only.  Afterwards look for work once more before blocking. */
static inline void
doorbell_arm(struct doorbell *b)
{
	atomic_store_explicit(&b->is_armed, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Sleeper only.  Also swallows a ring that came in the meantime; one that is still on its way costs
 * one needless waking later.
 */
static inline void
doorbell_disarm(struct doorbell *b)
{
	uint64_t n;

	atomic_store_explicit(&b->is_armed, false, memory_order_relaxed);
	(void)!read(b->fd, &n, sizeof(n));
}

/* Any thread.  Never blocks; no syscall unless the sleeper sleeps. */
static inline void
doorbell_ring(struct doorbell *b)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&b->is_armed, memory_order_relaxed) &&
		atomic_exchange_explicit(&b->is_armed, false, memory_order_relaxed))
		eventfd_write(b->fd, 1);
}
