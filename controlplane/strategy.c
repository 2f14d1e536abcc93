/* SPDX-License-Identifier: BSD-3-Clause */
/* The strategies and their table, which stands at the foot of the file.  No clock, no I/O. */
#include "strategy.h"

#include <assert.h>
#include <stddef.h>

#include "noerrors.h"

/* One part to each mirror of the role; returns how many there are. */
static unsigned
level(const struct strategy_view *view, struct strategy_share *shares, enum strategy_role role)
{
	unsigned n = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		if (shares[i].role == role) {
			shares[i].share = 1;
			n++;
		}
	}
	return n;
}

/* Scales shares to a sum of 'whole'; where the weights of all who take part came to nothing,
 * evenly. */
static void
normalise(const struct strategy_view *view, struct strategy_share *shares, double whole)
{
	double sum = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++)
		sum += shares[i].share;
	if (sum == 0)
		sum = level(view, shares, STRATEGY_REGULAR);
	if (sum == 0)
		sum = level(view, shares, STRATEGY_TRIAL);
	for (unsigned i = 0; i < view->n_mirrors && sum > 0; i++)
		shares[i].share *= whole / sum;
}

static void
random_shares(const struct strategy_view *view, struct strategy_share *shares)
{
	for (unsigned i = 0; i < view->n_mirrors; i++)
		shares[i] = (struct strategy_share){view->mirrors[i].configured, STRATEGY_REGULAR};
	normalise(view, shares, 1);
}

/* Shown as what they come to; the order makes the choice. */
static void
roundrobin_shares(const struct strategy_view *view, struct strategy_share *shares)
{
	unsigned n_alive = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++)
		n_alive += view->mirrors[i].state != MIRROR_DEAD;
	for (unsigned i = 0; i < view->n_mirrors; i++) {
		bool is_skipped = view->is_dead_skipped && n_alive > 0 &&
				  view->mirrors[i].state == MIRROR_DEAD;

		shares[i] = is_skipped ? (struct strategy_share){0, STRATEGY_OUT}
				       : (struct strategy_share){1, STRATEGY_REGULAR};
	}
	normalise(view, shares, 1);
}

/* Nobody takes part: of the dead those with the fewest failures in a row, evenly, whatever their
 * weights. */
static void
least_bad_shares(const struct strategy_view *view, struct strategy_share *shares)
{
	uint32_t fewest = UINT32_MAX;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		if (view->mirrors[i].failures < fewest)
			fewest = view->mirrors[i].failures;
	}
	for (unsigned i = 0; i < view->n_mirrors; i++) {
		shares[i].share = view->mirrors[i].failures == fewest ? 1 : 0;
		shares[i].role = STRATEGY_OUT;
	}
	normalise(view, shares, 1);
}

/* How many failures in a row a dead mirror may have and take part all the same, since max_dead is
 * reached; 0: none may. */
static uint32_t
failures_forgiven(const struct strategy_view *view)
{
	unsigned n_dead = 0, n_allowed = (unsigned)(view->max_dead * view->n_mirrors + 1e-9);
	uint32_t forgiven = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++)
		n_dead += view->mirrors[i].state == MIRROR_DEAD;
	/* Those with the fewest failures first; equals all alike.  Bounded by the mirrors. */
	while (n_dead > n_allowed) {
		uint32_t next = UINT32_MAX;
		unsigned n = 0;

		for (unsigned i = 0; i < view->n_mirrors; i++) {
			const struct strategy_mirror *m = &view->mirrors[i];

			if (m->state != MIRROR_DEAD || m->failures < forgiven)
				continue;
			n = m->failures == next ? n + 1 : m->failures < next ? 1 : n;
			next = m->failures < next ? m->failures : next;
		}
		forgiven = next + 1;
		n_dead -= n < n_dead ? n : n_dead;
	}
	return forgiven;
}

/* By health alone.  False: nobody takes part, since all are dead and max_dead keeps none in. */
static bool
cast_by_health(const struct strategy_view *view, struct strategy_share *shares)
{
	uint32_t forgiven = failures_forgiven(view);
	bool is_anybody_in = false;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];

		shares[i].share = 0;
		if (m->state == MIRROR_TRIAL)
			shares[i].role = STRATEGY_TRIAL;
		else if (m->state == MIRROR_UP || m->failures < forgiven)
			shares[i].role = STRATEGY_REGULAR;
		else
			shares[i].role = STRATEGY_OUT;
		is_anybody_in |= shares[i].role != STRATEGY_OUT;
	}
	return is_anybody_in;
}

/* What each mirror on trial takes: the same for all, but never more than it was configured for. */
static double
trial_share(const struct strategy_view *view, const struct strategy_mirror *m)
{
	return view->trial_share < m->configured ? view->trial_share : m->configured;
}

/*
 * Caution with newcomers needs someone to fall back on: where those that are settled, neither on
 * trial nor on their ramp, are less than half of the configured capacity, nobody is held back, else
 * the first mirror to come back after a common failure would have to carry everybody's load.  One
 * that joins, or was avoided, is no loss while it is held back: the others do without it already.
 */
static bool
is_cautious(const struct strategy_view *view, const struct strategy_share *shares)
{
	double all = 0, settled = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];
		bool is_held_back = shares[i].role == STRATEGY_TRIAL || m->ramp < 1;
		bool is_missed = !is_held_back || !(m->is_joining || m->was_avoided);

		if (shares[i].role != STRATEGY_AVOIDED && is_missed)
			all += m->configured;
		if (shares[i].role == STRATEGY_REGULAR && !is_held_back)
			settled += m->configured;
	}
	return settled > 0 && 2 * settled >= all;
}

/* Shares for the roles: regular mirrors by weight, of what the trials leave. */
static void
deal(const struct strategy_view *view, struct strategy_share *shares)
{
	bool cautious = is_cautious(view, shares);
	double trials = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];

		if (shares[i].role == STRATEGY_REGULAR)
			shares[i].share = m->weight * (cautious ? m->ramp : 1);
		else if (shares[i].role == STRATEGY_TRIAL && !cautious)
			shares[i].share = m->weight;
		else if (shares[i].role == STRATEGY_TRIAL)
			trials += trial_share(view, m);
	}
	normalise(view, shares, cautious ? 1 - trials : 1);
	for (unsigned i = 0; i < view->n_mirrors && cautious; i++) {
		if (shares[i].role == STRATEGY_TRIAL)
			shares[i].share = trial_share(view, &view->mirrors[i]);
	}
}

static void
nodeads_shares(const struct strategy_view *view, struct strategy_share *shares)
{
	if (cast_by_health(view, shares))
		deal(view, shares);
	else
		least_bad_shares(view, shares);
}

static void
noerrors_shares(const struct strategy_view *view, struct strategy_share *shares)
{
	if (!cast_by_health(view, shares)) {
		least_bad_shares(view, shares);
		return;
	}
	noerrors_cast(view, shares);
	deal(view, shares);
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
		.name = "noerrors",
		.help = "as nodeads, among those with the lowest rate of errors, then of warnings",
		.selector = KARMALB_SELECTOR_WEIGHTED,
		.uses_health = true,
		.uses_karma = true,
		.shares = noerrors_shares,
	},
	{
		.name = "roundrobin",
		.help = "one after the other, whatever their weights; a dead mirror keeps its turn",
		.selector = KARMALB_SELECTOR_ROTATE,
		.shares = roundrobin_shares,
	},
	{.name = NULL},
};
