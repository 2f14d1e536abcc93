/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of mirrors under load, as far as the weight rule can tell it from a real one: requests
 * arrive at random (Poisson), are given to a mirror by the shares in force, and wait there for one
 * of its workers, first come first served; service times are exponential.  One request per
 * connection, no network.  Seeded, hence the same every time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "weight.h"

#define POOL_MIRRORS_MAX 10
#define POOL_WORKERS_MAX 8
#define POOL_PERIODS_MAX 1200

struct pool_mirror {
	double service_ms;
	unsigned n_workers;
	double free_at_ms[POOL_WORKERS_MAX]; /* when each of its workers is idle again */
	bool is_dead;                        /* left out by the strategy */
};

/* What one period's end would show of one mirror. */
struct pool_block {
	uint64_t n_answers, n_waiting;
	double answers_ms, waiting_ms;
};

struct pool {
	unsigned n_mirrors;
	double period_ms;
	double arrivals_per_ms;
	struct pool_mirror mirrors[POOL_MIRRORS_MAX];
	struct weight_mirror weights[POOL_MIRRORS_MAX];
	uint64_t random;
	unsigned period; /* the next to run */
	struct pool_block blocks[POOL_PERIODS_MAX][POOL_MIRRORS_MAX];
};

/* Equal mirrors of 8 workers and 10 ms, loaded to 'load' (of 1) with about 'samples' requests per
 * mirror and period. */
void
pool_init(struct pool *p, unsigned n_mirrors, double load, double samples);

/* Lets one period pass and re-weights at its end; a rule with trusted_samples finds its gain by
 * itself. */
void
pool_run_period(struct pool *p, struct weight_rule *rule);

/* The share that requests are given to a mirror by. */
double
pool_share(const struct pool *p, unsigned mirror);

/* Mean latency over the whole pool in the last period. */
double
pool_mean_ms(const struct pool *p);
