/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a worker writes down what it saw while it works on one burst: counters, outcomes and
 * samples; and what everything done in that burst has in common: time, snapshot, flow table.
 * Pure; the owning worker only.
 */
#pragma once

#include "counter.h"
#include "flow.h"
#include "sample.h"

struct probe;

struct ledger {
	const struct tables *tables;
	struct flow_table *flows;
	uint64_t *counters; /* KARMALB_N_COUNTERS of them */
	struct slot_counters *slots;
	uint64_t *random; /* state of pick_random() */
	struct sample *samples;
	unsigned n_samples;
	unsigned max_samples;
	struct probe *probes; /* PROBES_MAX; NULL: nobody probes */
	/* Payload of the packet in hand; set for every one that a flow is found or opened for. */
	const uint8_t *payload;
	unsigned payload_size;
	uint32_t now_ms; /* low 32 bits */
	uint64_t now_us;
};

static inline void
ledger_count(struct ledger *ledger, enum karmalb_worker_counter counter)
{
	counter_add(&ledger->counters[counter], 1);
}

/* A full buffer costs the sample and is counted. */
static inline void
ledger_sample(struct ledger *ledger, const struct flow *flow, enum sample_kind kind,
	uint32_t latency_us, enum karmalb_outcome outcome)
{
	if (ledger->n_samples == ledger->max_samples) {
		ledger_count(ledger, KARMALB_COUNTER_SAMPLES_LOST);
		return;
	}
	ledger->samples[ledger->n_samples++] = (struct sample){
		.latency_us = latency_us,
		.epoch = flow->epoch,
		.at_us = (uint32_t)ledger->now_us,
		.slot = flow->slot,
		.kind = (uint8_t)kind,
		.outcome = (uint8_t)outcome,
	};
}

/* Our own port towards the flow's mirror has a link: else what is missing says nothing of it. */
static inline bool
ledger_has_link(const struct ledger *ledger, const struct flow *flow)
{
	return ledger->tables->ports[ledger->tables->slots[flow->slot].next_hop_port].is_up;
}

/* A failure of the flow's mirror that showed after 'latency_us'. */
static inline void
ledger_failure(struct ledger *ledger, const struct flow *flow, enum karmalb_outcome outcome,
	uint32_t latency_us)
{
	counter_add(&ledger->slots[flow->slot].outcomes[outcome], 1);
	ledger_sample(ledger, flow, SAMPLE_FAILURE, latency_us, outcome);
}
