/* SPDX-License-Identifier: BSD-3-Clause */
/* The passing of time for one worker's flows.  Owning worker only; no clock of its own. */
#include "sweep.h"

#include "halfopen.h"
#include "latency.h"
#include "tcp.h"

static bool
run_half_opens(struct ledger *ledger);
static bool
run_records(struct ledger *ledger);
static uint32_t
records_due(struct ledger *ledger);
static bool
visit(struct ledger *ledger, uint32_t record);

uint64_t
sweep_run(struct ledger *ledger)
{
	const struct flow_worker *worker = ledger->flows->worker;
	bool is_more = !run_half_opens(ledger);
	uint64_t ahead_us = SWEEP_AHEAD_US;

	is_more |= !run_records(ledger);
	if (is_more)
		return ledger->now_us;
	/* Often enough that no call need do more than half of what it may. */
	if (worker->n_touched > 0 &&
		SWEEP_RECORDS / 2 * SWEEP_ROUND_US / worker->n_touched < ahead_us)
		ahead_us = SWEEP_RECORDS / 2 * SWEEP_ROUND_US / worker->n_touched;
	if (worker->n_half_open > 0 && ahead_us > KARMALB_MILLISECOND)
		ahead_us = KARMALB_MILLISECOND;
	return ledger->now_us + ahead_us;
}

/* How gladly a record is let go: 0 not at all. */
static unsigned
rank_of(const struct ledger *ledger, const struct flow *flow)
{
	if (flow->state != FLOW_RESTING)
		return 0;
	if (tcp_is_expired(ledger, flow))
		return 3;
	return flow->flags & FLOW_FLAG_MIRROR_FIRST ? 1 : 2;
}

bool
sweep_reclaim(struct ledger *ledger, uint32_t keep)
{
	struct flow_worker *worker = ledger->flows->worker;
	uint32_t best = FLOW_NONE;
	unsigned best_rank = 0;

	/* Bounded by SWEEP_RECLAIMS. */
	for (unsigned i = 0; i < SWEEP_RECLAIMS && i < worker->n_touched && best_rank < 3; i++) {
		if (worker->reclaim_at >= worker->n_touched)
			worker->reclaim_at = 0;
		uint32_t record = worker->reclaim_at++;
		unsigned rank = rank_of(ledger, &ledger->flows->records[record]);

		if (record == keep || rank <= best_rank)
			continue;
		best = record;
		best_rank = rank;
	}
	if (best == FLOW_NONE)
		return false;
	flow_remove(ledger->flows, ledger->tables, best);
	ledger_count(ledger, KARMALB_COUNTER_FLOWS_RECLAIMED);
	return true;
}

static bool
has_room(const struct ledger *ledger)
{
	return ledger->n_samples < ledger->max_samples;
}

/* Returns false when a bound ended it. */
static bool
run_half_opens(struct ledger *ledger)
{
	unsigned budget = SWEEP_HALF_OPENS;

	/* Bounded by SWEEP_HALF_OPENS. */
	while (has_room(ledger)) {
		uint32_t record = half_open_due(ledger->flows, ledger->now_ms, &budget);

		if (record == FLOW_NONE)
			return budget > 0;
		tcp_expire(ledger, record);
	}
	return false;
}

static bool
run_records(struct ledger *ledger)
{
	struct flow_worker *worker = ledger->flows->worker;
	uint32_t due = records_due(ledger), n_ended = 0, i;

	/* Bounded by SWEEP_RECORDS. */
	for (i = 0; i < due && n_ended < SWEEP_EXPIRIES && has_room(ledger); i++) {
		if (worker->sweep_at >= worker->n_touched)
			worker->sweep_at = 0;
		n_ended += visit(ledger, worker->sweep_at++);
	}
	if (i > 0)
		worker->swept_us += i * SWEEP_ROUND_US / worker->n_touched;
	return i == due && due < SWEEP_RECORDS;
}

/* The walk's share of the time gone by, at most SWEEP_RECORDS. */
static uint32_t
records_due(struct ledger *ledger)
{
	struct flow_worker *worker = ledger->flows->worker;
	uint64_t elapsed_us = ledger->now_us - worker->swept_us;

	if (elapsed_us > SWEEP_ROUND_US) {
		elapsed_us = SWEEP_ROUND_US;
		worker->swept_us = ledger->now_us - SWEEP_ROUND_US;
	}
	uint64_t due = worker->n_touched * elapsed_us / SWEEP_ROUND_US;

	return due < SWEEP_RECORDS ? (uint32_t)due : SWEEP_RECORDS;
}

/* Returns whether the flow ended. */
static bool
visit(struct ledger *ledger, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];

	if (flow->state == FLOW_FREE || flow_is_half_open(flow))
		return false;
	if (latency_is_overdue(ledger, flow)) {
		flow_change(flow);
		latency_time_out(ledger, flow);
		flow_changed(flow);
	}
	if (!tcp_is_expired(ledger, flow))
		return false;
	tcp_expire(ledger, record);
	return true;
}
