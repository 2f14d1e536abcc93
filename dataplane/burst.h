/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One burst of packets through a worker: from a queue or another worker, through the pipeline, to
 * a queue or another worker.  The worker's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* Receives from the worker's queue number 'i' and forwards.  Returns the number of packets. */
unsigned
burst_receive(struct worker *w, unsigned i, uint64_t now_us);

/*
 * Does what worker 'from' has handed over: sends its finished packets, forwards those whose flows
 * are ours.  Returns the number of packets.
 */
unsigned
burst_take_over(struct worker *w, unsigned from, uint64_t now_us);

/* Sends frames that nobody sent to us, see errands.h.  True: there is more to do at once. */
bool
burst_run_errands(struct worker *w, uint64_t now_us);

/* Gives what the pipeline has observed to the control thread. */
void
burst_push_samples(struct worker *w);
