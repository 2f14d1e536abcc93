/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's Environment Abstraction Layer: its arguments, its memory, its threads.  The caller's
 * thread becomes EAL's main lcore (number 0) and is the control thread; worker w is lcore w + 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct ports;

struct eal_conf {
	uint16_t worker_cpus[KARMALB_WORKERS_MAX]; /* CPU of worker w; one CPU may serve several */
	uint16_t n_workers;                        /* 1 .. KARMALB_WORKERS_MAX */
	uint64_t huge_pages_size;                  /* bytes we may take; 0: do without */
	/* Bytes of DPDK memory needed, ports_memory_size() and the caller's. */
	uint64_t memory_size;      /* in huge pages */
	uint64_t plain_size;       /* in others */
	const struct ports *ports; /* checked, not yet open: PCI devices are named to EAL */
};

struct eal {
	bool has_huge_pages; /* DPDK's memory is on huge pages; others may take theirs, too */
	char notice[KARMALB_SENTENCE_MAX]; /* why not, though asked for; empty: nothing to say */
};

/*
 * Starts EAL once per process.  Huge pages are used, never reserved: with fewer free ones than
 * asked for it goes on without any and says so in eal->notice.  0, or a negative errno and 'err'.
 */
int
eal_start(struct eal *eal, const struct eal_conf *conf, struct err *err);

/* The lcore that runs worker 'worker', for rte_eal_remote_launch(). */
unsigned
eal_worker_lcore(uint16_t worker);

/* Gives everything back.  After ports_close(), and after every worker has returned. */
void
eal_stop(void);
