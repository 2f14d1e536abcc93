/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of re-weighting.  No clock, no I/O, no state of its own. */
#include "weight.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <karmalb/limits.h>

/* e^-40 is no share any more; the bound keeps exp() and log() finite. */
#define X_MAX 40.0

/* Of weight_tuned_gain().  Less falls faster than more rises, or a slow swing would never end. */
#define GAIN_LESS   0.5
#define GAIN_MORE   1.05
#define GAIN_SPREAD 1.3 /* grown more than noise makes it: squares */

const struct weight_rule weight_rule_documented = {.gain = 1};

/* Of a step: where it begins, and how far it may go. */
struct bounds {
	double x[KARMALB_MIRRORS_MAX];
	double low[KARMALB_MIRRORS_MAX];
	double high[KARMALB_MIRRORS_MAX];
};

static double
see_latencies(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors);
static double
pull_of(const struct weight_rule *rule, const struct weight_mirror *m, double median_us);
static double
move(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors,
	double median_us);
static void
set_bounds(const struct weight_rule *rule, const struct weight_mirror *mirrors, unsigned n_mirrors,
	struct bounds *bounds);
static void
fit(struct weight_mirror *mirrors, unsigned n_mirrors, const struct bounds *bounds);

double
weight_x(double share, double configured)
{
	double x = log(share / configured);

	return isnan(x) ? 0 : fmin(fmax(x, -X_MAX), X_MAX);
}

double
weight_share(double x, double configured)
{
	return configured * exp(x);
}

double
weight_step(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors)
{
	struct bounds bounds;

	assert(n_mirrors <= KARMALB_MIRRORS_MAX);

	double median_us = see_latencies(rule, mirrors, n_mirrors);

	if (median_us == 0)
		return 0;
	set_bounds(rule, mirrors, n_mirrors, &bounds);

	double mass = move(rule, mirrors, n_mirrors, median_us);

	fit(mirrors, n_mirrors, &bounds);
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		if (m->is_in_pool)
			m->x = weight_x(m->share * mass, m->configured);
		m->moved = m->x - bounds.x[i];
	}
	return median_us;
}

double
weight_tuned_gain(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors)
{
	double median_us = see_latencies(rule, mirrors, n_mirrors);
	double moves = 0, pulls = 0, agreement = 0, spread = 0, spread_before = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < n_mirrors; i++) {
		const struct weight_mirror *m = &mirrors[i];
		double pull = pull_of(rule, m, median_us);

		if (!m->is_in_pool || m->latency_us == 0)
			continue;
		moves += m->moved;
		pulls += pull;
		agreement += m->moved * pull;
		if (m->pulled != 0) /* one that was not there made the pool no wider */
			spread += pull * pull;
		spread_before += m->pulled * m->pulled;
		n++;
	}
	if (n == 0)
		return rule->gain;
	agreement -= moves * pulls / n; /* what all have in common moves no share */
	if (agreement < 0 || (spread_before > 0 && spread > GAIN_SPREAD * spread_before))
		return fmax(rule->gain * GAIN_LESS, WEIGHT_GAIN_MIN);
	if (agreement > 0)
		return fmin(rule->gain * GAIN_MORE, WEIGHT_GAIN_MAX);
	return rule->gain;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median_latency_us(const struct weight_mirror *mirrors, unsigned n_mirrors)
{
	double seen[KARMALB_MIRRORS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < n_mirrors; i++) {
		if (mirrors[i].is_in_pool && mirrors[i].latency_us > 0)
			seen[n++] = mirrors[i].latency_us;
	}
	if (n == 0)
		return 0;
	qsort(seen, n, sizeof(seen[0]), compare_doubles);
	return (seen[(n - 1) / 2] + seen[n / 2]) / 2;
}

/* With the queries that still wait, where those say more than the answers. */
static double
latency_with_waiting_us(const struct weight_mirror *m, double typical_us)
{
	double mean_us = m->n_answers > 0 ? m->latency_us : typical_us;
	double age_us = m->n_waiting > 0 ? (double)m->waiting_us / (double)m->n_waiting : 0;

	if (mean_us == 0 || age_us <= mean_us)
		return m->latency_us;
	return (double)(m->answers_us + m->waiting_us) / (double)(m->n_answers + m->n_waiting);
}

/* Sets latency_us; returns their median. */
static double
see_latencies(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors)
{
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		m->latency_us = m->n_answers > 0 ? (double)m->answers_us / (double)m->n_answers : 0;
	}

	double median_us = median_latency_us(mirrors, n_mirrors);

	if (!rule->is_waiting_counted)
		return median_us;
	for (unsigned i = 0; i < n_mirrors; i++)
		mirrors[i].latency_us = latency_with_waiting_us(&mirrors[i], median_us);
	return median_latency_us(mirrors, n_mirrors);
}

/* From what the pool's shares are before the step. */
static void
set_bounds(const struct weight_rule *rule, const struct weight_mirror *mirrors, unsigned n_mirrors,
	struct bounds *bounds)
{
	double mass = 0, configured = 0;

	for (unsigned i = 0; i < n_mirrors; i++) {
		if (mirrors[i].is_in_pool) {
			mass += weight_share(mirrors[i].x, mirrors[i].configured);
			configured += mirrors[i].configured;
		}
	}
	for (unsigned i = 0; i < n_mirrors; i++) {
		const struct weight_mirror *m = &mirrors[i];
		double before = weight_share(m->x, m->configured) / mass;
		double low = fmin(rule->floor, m->configured / configured / 2);
		double high = 1;

		bounds->x[i] = m->x;
		if (!m->is_in_pool)
			continue;
		if (rule->step_max > 0) {
			low = fmax(low, before / rule->step_max);
			high = fmax(low, before * rule->step_max);
		}
		bounds->low[i] = low;
		bounds->high[i] = high;
	}
}

/* What its latency asks of x at gain 1. */
static double
pull_of(const struct weight_rule *rule, const struct weight_mirror *m, double median_us)
{
	double n = (double)(m->n_answers + (rule->is_waiting_counted ? m->n_waiting : 0));
	double trust = n < rule->trusted_samples ? n / rule->trusted_samples : 1;

	return m->latency_us > 0 ? -trust * log(m->latency_us / median_us) : 0;
}

/* The rule itself.  Leaves shares not yet normalised; returns the pool's former mass. */
static double
move(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors,
	double median_us)
{
	double mass = 0, largest = -INFINITY;

	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		m->pulled = m->is_in_pool ? pull_of(rule, m, median_us) : 0;
		if (!m->is_in_pool)
			continue;
		mass += weight_share(m->x, m->configured);
		m->x *= 1 - rule->forget;
		m->x += rule->gain * m->pulled;
		largest = fmax(largest, m->x);
	}
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		m->share = m->is_in_pool ? weight_share(m->x - largest, m->configured) : 0;
	}
	return mass;
}

static double
bounded_sum(const struct weight_mirror *mirrors, unsigned n_mirrors, const struct bounds *bounds,
	double scale)
{
	double sum = 0;

	for (unsigned i = 0; i < n_mirrors; i++) {
		if (mirrors[i].is_in_pool)
			sum += fmin(
				fmax(mirrors[i].share * scale, bounds->low[i]), bounds->high[i]);
	}
	return sum;
}

/*
 * Scales the shares so that with each kept inside its bounds they add up to 1: the one scale at
 * which they do, found by bisection, since the sum rises with it.  It exists because all the lows
 * add up to less than 1 (floors to a half, steps to an eighth) and all the highs to at least 1.
 */
static void
fit(struct weight_mirror *mirrors, unsigned n_mirrors, const struct bounds *bounds)
{
	double low = 0, high = 1, sum;

	while (high < 1e300 && bounded_sum(mirrors, n_mirrors, bounds, high) < 1)
		high *= 2;
	for (unsigned i = 0; i < 200; i++) { /* more than a double has bits */
		double middle = low + (high - low) / 2;

		if (bounded_sum(mirrors, n_mirrors, bounds, middle) < 1)
			low = middle;
		else
			high = middle;
	}
	sum = bounded_sum(mirrors, n_mirrors, bounds, high);
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		if (m->is_in_pool)
			m->share =
				fmin(fmax(m->share * high, bounds->low[i]), bounds->high[i]) / sum;
	}
}
