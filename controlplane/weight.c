/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of re-weighting.  No clock, no I/O, no state of its own. */
#include "weight.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <karmalb/limits.h>

/* e^-40 is no share any more; the bound keeps exp() and log() finite. */
#define X_MAX 40.0

const struct weight_rule weight_rule_documented = {.gain = 1};

struct bounds {
	double low[KARMALB_MIRRORS_MAX];
	double high[KARMALB_MIRRORS_MAX];
};

static void
see_latencies(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors);
static double
median_latency_us(const struct weight_mirror *mirrors, unsigned n_mirrors);
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
	see_latencies(rule, mirrors, n_mirrors);

	double median_us = median_latency_us(mirrors, n_mirrors);

	if (median_us == 0)
		return 0;
	set_bounds(rule, mirrors, n_mirrors, &bounds);

	double mass = move(rule, mirrors, n_mirrors, median_us);

	fit(mirrors, n_mirrors, &bounds);
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		if (m->is_in_pool)
			m->x = weight_x(m->share * mass, m->configured);
	}
	return median_us;
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

static void
see_latencies(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors)
{
	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		m->latency_us = m->n_answers > 0 ? (double)m->answers_us / (double)m->n_answers : 0;
	}
	if (!rule->is_waiting_counted)
		return;

	double typical_us = median_latency_us(mirrors, n_mirrors);

	for (unsigned i = 0; i < n_mirrors; i++)
		mirrors[i].latency_us = latency_with_waiting_us(&mirrors[i], typical_us);
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

/* The rule itself.  Leaves shares not yet normalised; returns the pool's former mass. */
static double
move(const struct weight_rule *rule, struct weight_mirror *mirrors, unsigned n_mirrors,
	double median_us)
{
	double mass = 0, largest = -INFINITY;

	for (unsigned i = 0; i < n_mirrors; i++) {
		struct weight_mirror *m = &mirrors[i];

		if (!m->is_in_pool)
			continue;
		mass += weight_share(m->x, m->configured);
		m->x *= 1 - rule->forget;
		if (m->latency_us > 0)
			m->x -= rule->gain * log(m->latency_us / median_us);
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
