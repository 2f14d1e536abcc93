/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule that turns one period's answer times into the next period's shares.  Pure.
 *
 * Each mirror has x = ln(share / configured share), up to a constant that the pool has in common.
 * Once a period, for all mirrors in the pool, with m the median of their latencies:
 *
 *     x <- (1 - forget) * x - gain * ln(latency / m)
 *
 * then floor and step limit, then normalised.  A mirror without samples has no latency term: it
 * drifts towards its configured share; a pool in which nobody has a sample is left as it is, for a
 * night without traffic teaches nothing.  gain 1, forget 0, no floor and no step limit is the rule
 * as documented for ha_strategy: new share = old share / latency, renormalised.
 *
 * Floor: no mirror's share of the pool is below rule.floor, nor below half its configured share if
 * that is less (else a large pool could not move at all).  What is below is raised and fixed, the
 * rest rescaled.  Step limit: no share changes by more than rule.step_max in either direction.
 *
 * Who is in the pool: mirrors that take regular traffic.  Dead ones and those on trial are left
 * out of median, rule and normalisation and keep their x.  A step preserves the pool's sum of
 * configured * e^x, in other words it shares out among the pool what the pool had: so a mirror that
 * comes back with its old x has the share against all others together that it left with.
 *
 * Waiting queries (finding: a mean over answered queries lies by omission): where the mean age of
 * the queries still waiting exceeds the mirror's own mean, or without answers the pool's median,
 * they count as samples of their age.
 *
 * A gain that finds itself, weight_tuned_gain(): 1 is quick and the documented step, but a pool
 * near its capacity answers so steeply to a change of shares that at 1 it swings to and fro, ever
 * wider.  So the gain halves whenever a step was too long, and creeps up again while steps prove
 * short.  Too long: what the latencies ask for runs, over the pool, against what the last step did;
 * or they lie much further apart than before it.  The second is what shows an overshoot that takes
 * several periods to turn round, because queues have to drain first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WEIGHT_GAIN_MIN        0.1 /* of a tuned gain; stable to 92 % load in tests/sim */
#define WEIGHT_GAIN_MAX        1.0
#define WEIGHT_TRUSTED_SAMPLES 100 /* their mean is known to a tenth where CV is 1 */
#define WEIGHT_STEP_MAX        8.0 /* fits the documented rule's first step, 25 % to 5 % */

struct weight_rule {
	double gain;
	double forget;
	double floor;            /* 0: none */
	double step_max;         /* > 1; 0: no limit */
	double trusted_samples;  /* a mirror with fewer moves less, in proportion; 0: never */
	bool is_waiting_counted; /* see above; not in the documented rule */
};

extern const struct weight_rule weight_rule_documented;

struct weight_mirror {
	/* in: one whole block */
	uint64_t n_answers;
	uint64_t answers_us; /* their sum */
	uint64_t n_waiting;  /* at its end */
	uint64_t waiting_us; /* sum of their ages */
	double configured;   /* share, > 0; all mirrors of the service together 1 */
	bool is_in_pool;
	/* in and out */
	double x;      /* finite */
	double moved;  /* by which the last step changed x; 0: none yet */
	double pulled; /* that its latency asked for in the last step, at gain 1; 0: none yet */
	/* out, of the pool's members */
	double latency_us; /* as the rule saw it; 0: no sample */
	double share;      /* of the pool: together 1; not set without a median */
};

/* One step of the rule for at most KARMALB_MIRRORS_MAX mirrors.  Returns the pool's median latency
 * in us; 0 when it has no sample at all, and then nothing moved. */
double
weight_step(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors);

/*
 * The gain for the coming step of a pool that is to find it by itself: rule->gain, which is that of
 * the last step, or half of it, or a little more; WEIGHT_GAIN_MIN .. WEIGHT_GAIN_MAX.  The mirrors
 * are as weight_step() will get them, which comes after.
 */
double
weight_tuned_gain(
	const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors);

/* x of a mirror that has 'share' (0 .. 1) where 'configured' (> 0) was asked for. */
double
weight_x(double share, double configured);

/* The inverse up to the pool's normalisation. */
double
weight_share(double x, double configured);
