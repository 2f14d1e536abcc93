/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool.h"

#include <math.h>
#include <string.h>

/* xorshift64*, to (0, 1]. */
static double
draw(struct pool *p)
{
	p->random ^= p->random >> 12;
	p->random ^= p->random << 25;
	p->random ^= p->random >> 27;
	return (double)((p->random * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / (1ull << 53) + 1e-17;
}

static double
draw_exponential(struct pool *p, double mean)
{
	return -mean * log(draw(p));
}

void
pool_init(struct pool *p, unsigned n_mirrors, double load, double samples)
{
	memset(p, 0, sizeof(*p));
	p->n_mirrors = n_mirrors;
	p->random = UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned i = 0; i < n_mirrors; i++) {
		p->mirrors[i].service_ms = 10;
		p->mirrors[i].n_workers = POOL_WORKERS_MAX;
		p->weights[i].configured = 1.0 / n_mirrors;
		p->weights[i].is_in_pool = true;
	}
	p->arrivals_per_ms = load * n_mirrors * POOL_WORKERS_MAX / 10;
	p->period_ms = samples * n_mirrors / p->arrivals_per_ms;
}

double
pool_share(const struct pool *p, unsigned mirror)
{
	double sum = 0;

	for (unsigned i = 0; i < p->n_mirrors; i++) {
		if (!p->mirrors[i].is_dead)
			sum += weight_share(p->weights[i].x, p->weights[i].configured);
	}
	return p->mirrors[mirror].is_dead
		       ? 0
		       : weight_share(p->weights[mirror].x, p->weights[mirror].configured) / sum;
}

static unsigned
pick(struct pool *p, const double *shares)
{
	double at = draw(p);
	unsigned i = 0;

	while (i + 1 < p->n_mirrors && at > shares[i])
		at -= shares[i++];
	return i;
}

/* When a request that arrives now will be answered. */
static double
serve(struct pool *p, struct pool_mirror *m, double now_ms)
{
	double *free_at_ms = &m->free_at_ms[0];

	for (unsigned i = 1; i < m->n_workers; i++) {
		if (m->free_at_ms[i] < *free_at_ms)
			free_at_ms = &m->free_at_ms[i];
	}
	*free_at_ms = fmax(*free_at_ms, now_ms) + draw_exponential(p, m->service_ms);
	return *free_at_ms;
}

/* Files one request: as answered in the period of its answer, as waiting at every end before. */
static void
note(struct pool *p, unsigned mirror, double began_ms, double ended_ms)
{
	unsigned period = p->period;

	for (; period < POOL_PERIODS_MAX; period++) {
		struct pool_block *b = &p->blocks[period][mirror];
		double end_ms = (period + 1) * p->period_ms;

		if (ended_ms < end_ms) {
			b->n_answers++;
			b->answers_ms += ended_ms - began_ms;
			return;
		}
		b->n_waiting++;
		b->waiting_ms += end_ms - began_ms;
	}
}

void
pool_run_period(struct pool *p, struct weight_rule *rule)
{
	double shares[POOL_MIRRORS_MAX], now_ms = p->period * p->period_ms;
	double end_ms = now_ms + p->period_ms;

	for (unsigned i = 0; i < p->n_mirrors; i++)
		shares[i] = pool_share(p, i);
	while ((now_ms += draw_exponential(p, 1 / p->arrivals_per_ms)) < end_ms) {
		unsigned i = pick(p, shares);

		note(p, i, now_ms, serve(p, &p->mirrors[i], now_ms));
	}
	for (unsigned i = 0; i < p->n_mirrors; i++) {
		const struct pool_block *b = &p->blocks[p->period][i];
		struct weight_mirror *w = &p->weights[i];

		w->is_in_pool = !p->mirrors[i].is_dead;
		w->n_answers = b->n_answers;
		w->answers_us = (uint64_t)(1000 * b->answers_ms);
		w->n_waiting = b->n_waiting;
		w->waiting_us = (uint64_t)(1000 * b->waiting_ms);
	}
	if (rule->trusted_samples > 0)
		rule->gain = weight_tuned_gain(rule, p->weights, p->n_mirrors);
	weight_step(rule, p->weights, p->n_mirrors);
	p->period++;
}

double
pool_mean_ms(const struct pool *p)
{
	double sum_ms = 0;
	uint64_t n = 0;

	for (unsigned i = 0; i < p->n_mirrors; i++) {
		sum_ms += p->blocks[p->period - 1][i].answers_ms;
		n += p->blocks[p->period - 1][i].n_answers;
	}
	return n > 0 ? sum_ms / (double)n : 0;
}
