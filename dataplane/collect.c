/* SPDX-License-Identifier: BSD-3-Clause */
/* From the workers' rings and counters to totals.  Control thread; never waits for a worker. */
#include "collect.h"

#include <karmalb/clock.h>

#include "instance.h"
#include "sample.h"
#include "totals.h"
#include "worker.h"

#define BATCH_SAMPLES 512 /* of each worker at a time */
#define BATCHES_MAX   (WORKER_RING_SAMPLES / BATCH_SAMPLES)

/* One batch of every worker, so that what was observed at about the same time meets. */
static unsigned
take_batch(struct instance *inst, uint64_t now_us)
{
	static struct sample samples[KARMALB_WORKERS_MAX][BATCH_SAMPLES];
	struct totals_batch batches[KARMALB_WORKERS_MAX];
	unsigned n = 0;

	for (unsigned w = 0; w < inst->n_workers; w++) {
		batches[w].samples = samples[w];
		batches[w].n_samples =
			worker_take_samples(&inst->workers[w], samples[w], BATCH_SAMPLES);
		n += batches[w].n_samples;
	}
	totals_add_samples(inst->totals, batches, inst->n_workers, now_us);
	return n;
}

unsigned
collect_samples(struct instance *inst, uint64_t now_us)
{
	unsigned n_all = 0, n;

	/* Bounded by what the rings held: a worker may fill them as fast as they are emptied. */
	for (unsigned i = 0; i < BATCHES_MAX && (n = take_batch(inst, now_us)) > 0; i++)
		n_all += n;
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
