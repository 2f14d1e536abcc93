/* SPDX-License-Identifier: BSD-3-Clause */
/* From the workers' rings and counters to totals.  Control thread; never waits for a worker. */
#include "collect.h"

#include <karmalb/clock.h>

#include "instance.h"
#include "sample.h"
#include "totals.h"
#include "worker.h"

#define BATCH_SAMPLES 512 /* of a worker at a time */

/* Where a worker's batch comes from. */
struct source {
	struct worker *worker;
	unsigned n_taken;
	struct sample samples[BATCH_SAMPLES];
};

/* Bounded by what the ring held: a worker may fill it as fast as it is emptied. */
static void
refill(struct totals_batch *batch, void *arg)
{
	struct source *source = arg;

	if (source->n_taken >= WORKER_RING_SAMPLES)
		return;
	batch->samples = source->samples;
	batch->n_samples = worker_take_samples(source->worker, source->samples, BATCH_SAMPLES);
	source->n_taken += batch->n_samples;
}

unsigned
collect_samples(struct instance *inst, uint64_t now_us)
{
	static struct source sources[KARMALB_WORKERS_MAX];
	struct totals_batch batches[KARMALB_WORKERS_MAX];
	unsigned n_all = 0;

	for (unsigned w = 0; w < inst->n_workers; w++) {
		sources[w].worker = &inst->workers[w];
		sources[w].n_taken = 0;
		batches[w] = (struct totals_batch){.refill = refill, .arg = &sources[w]};
		refill(&batches[w], &sources[w]);
	}
	totals_add_samples(inst->totals, batches, inst->n_workers, now_us);
	for (unsigned w = 0; w < inst->n_workers; w++)
		n_all += sources[w].n_taken;
	return n_all;
}

/*
 * First the time up to which all is there, then what is there: samples here, the counters as soon
 * as the caller reads them.
 */
static void
begin_reading(struct instance *inst, struct totals_reading *reading,
	const struct slot_counters *workers[KARMALB_WORKERS_MAX])
{
	*reading = (struct totals_reading){
		.workers = workers,
		.n_workers = inst->n_workers,
		.stamp_us = UINT64_MAX,
	};
	for (unsigned w = 0; w < inst->n_workers; w++) {
		uint64_t done_us = worker_done_us(&inst->workers[w]);

		workers[w] = inst->workers[w].slots;
		if (done_us < reading->stamp_us)
			reading->stamp_us = done_us;
	}
	reading->now_us = karmalb_now_us();
	collect_samples(inst, reading->now_us);
}

void
collect_counters(struct instance *inst, unsigned n_slots)
{
	const struct slot_counters *workers[KARMALB_WORKERS_MAX];
	struct totals_reading reading;

	begin_reading(inst, &reading, workers);
	for (unsigned i = 0; i < n_slots; i++)
		totals_add_counters(inst->totals, (uint16_t)i, &reading);
}

void
collect_urgent(struct instance *inst, unsigned n_slots)
{
	const struct slot_counters *workers[KARMALB_WORKERS_MAX];
	struct totals_reading reading;

	begin_reading(inst, &reading, workers);
	for (unsigned i = 0; i < n_slots; i++)
		if (totals_is_urgent(inst->totals, (uint16_t)i))
			totals_add_counters(inst->totals, (uint16_t)i, &reading);
}
