/* SPDX-License-Identifier: BSD-3-Clause */
/* The strategies and their table, which stands at the foot of the file.  No clock, no I/O. */
#include "strategy.h"

#include <assert.h>
#include <stddef.h>

/* Scales shares to a sum of 'whole'; with nothing to scale all stay 0. */
static void
normalise(double *shares, unsigned n_shares, double whole)
{
	double sum = 0;

	for (unsigned i = 0; i < n_shares; i++)
		sum += shares[i];
	for (unsigned i = 0; i < n_shares && sum > 0; i++)
		shares[i] *= whole / sum;
}

static void
random_shares(const struct strategy_view *view, double *shares)
{
	for (unsigned i = 0; i < view->n_mirrors; i++)
		shares[i] = view->mirrors[i].configured;
	normalise(shares, view->n_mirrors, 1);
}

/* Shown as what they come to; the order makes the choice. */
static void
roundrobin_shares(const struct strategy_view *view, double *shares)
{
	for (unsigned i = 0; i < view->n_mirrors; i++)
		shares[i] = 1;
	normalise(shares, view->n_mirrors, 1);
}

/* All dead: those with the fewest failures in a row, evenly, whatever their weights. */
static void
least_bad_shares(const struct strategy_view *view, double *shares)
{
	uint32_t fewest = UINT32_MAX;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		if (view->mirrors[i].failures < fewest)
			fewest = view->mirrors[i].failures;
	}
	for (unsigned i = 0; i < view->n_mirrors; i++)
		shares[i] = view->mirrors[i].failures == fewest ? 1 : 0;
	normalise(shares, view->n_mirrors, 1);
}

/* What each mirror on trial takes: the same for all, but never more than it was configured for. */
static double
trial_share(const struct strategy_view *view, const struct strategy_mirror *m)
{
	if (m->state != MIRROR_TRIAL)
		return 0;
	return view->trial_share < m->configured ? view->trial_share : m->configured;
}

/*
 * Mirrors that are up share by weight what the trials leave.  Caution needs someone to fall back
 * on: where less than half of the configured capacity is up, trials count as up, else the first
 * mirror to come back after a common failure would have to carry everybody's load.
 */
static void
nodeads_shares(const struct strategy_view *view, double *shares)
{
	double all = 0, up = 0, trials = 0;
	unsigned n_alive = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];

		all += m->configured;
		up += m->state == MIRROR_UP ? m->configured : 0;
		trials += trial_share(view, m);
		n_alive += m->state != MIRROR_DEAD;
	}
	if (n_alive == 0) {
		least_bad_shares(view, shares);
		return;
	}

	bool is_cautious = 2 * up >= all;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];
		bool is_regular =
			m->state == MIRROR_UP || (m->state == MIRROR_TRIAL && !is_cautious);

		shares[i] = is_regular ? m->weight : 0;
	}
	normalise(shares, view->n_mirrors, is_cautious ? 1 - trials : 1);
	for (unsigned i = 0; i < view->n_mirrors && is_cautious; i++)
		shares[i] += trial_share(view, &view->mirrors[i]);
}

double
strategy_trial_share(double karma_floor)
{
	return karma_floor > STRATEGY_TRIAL_SHARE_MIN ? karma_floor : STRATEGY_TRIAL_SHARE_MIN;
}

const struct strategy *
strategy_at(unsigned ha_strategy)
{
	const struct strategy *s = strategies;

	while (ha_strategy-- > 0 && s->name != NULL)
		s++;
	assert(s->name != NULL);
	return s;
}

const struct strategy strategies[] = {
	{
		.name = "random",
		.help = "by configured weight alone; a mirror that is dead keeps its share",
		.selector = KARMALB_SELECTOR_WEIGHTED,
		.shares = random_shares,
	},
	{
		.name = "nodeads",
		.help = "by karma among mirrors that are not dead; all dead: the least bad, evenly",
		.selector = KARMALB_SELECTOR_WEIGHTED,
		.uses_health = true,
		.uses_karma = true,
		.shares = nodeads_shares,
	},
	{
		.name = "roundrobin",
		.help = "one after the other, whatever their weights; a dead mirror keeps its turn",
		.selector = KARMALB_SELECTOR_ROTATE,
		.shares = roundrobin_shares,
	},
	{.name = NULL},
};
