/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing error rates.  No clock, no I/O. */
#include "noerrors.h"

#include <assert.h>
#include <stdlib.h>

#include "strategy.h"

/* A mirror that has answered, and how well. */
struct standing {
	double rc, ra;
	unsigned mirror;
};

static unsigned
rank(const struct strategy_view *view, const struct strategy_share *shares,
	struct standing *standings);
static unsigned
count_kept(const struct strategy_view *view, const struct standing *standings, unsigned n);
static void
cast_unknown(const struct strategy_view *view, struct strategy_share *shares);

void
noerrors_cast(const struct strategy_view *view, struct strategy_share *shares)
{
	struct standing standings[KARMALB_MIRRORS_MAX];
	unsigned n = rank(view, shares, standings);

	if (n == 0)
		return; /* nobody has answered: nothing speaks for anybody */
	cast_unknown(view, shares);
	for (unsigned i = count_kept(view, standings, n); i < n; i++)
		shares[standings[i].mirror].role = STRATEGY_AVOIDED;
}

static double
queries(const struct strategy_counts *c)
{
	return c->criticals + c->warnings + c->successes;
}

/* 0 up to the tolerance. */
static double
rate(const struct strategy_view *view, double part, double whole)
{
	return part <= view->tolerance * whole ? 0 : part / whole;
}

static int
compare_standings(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	if (x->rc != y->rc)
		return x->rc < y->rc ? -1 : 1;
	return (x->ra > y->ra) - (x->ra < y->ra);
}

/* Regular mirrors that have answered, best first; returns their number. */
static unsigned
rank(const struct strategy_view *view, const struct strategy_share *shares,
	struct standing *standings)
{
	unsigned n = 0;

	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];
		const struct strategy_counts *c = &m->counts;
		double whole = queries(c);
		bool is_pinged_well = whole == 0 && m->is_answering && !m->was_avoided;

		if (shares[i].role != STRATEGY_REGULAR)
			continue;
		if (is_pinged_well)
			standings[n++] = (struct standing){0, 0, i};
		else if (c->warnings + c->successes > 0)
			standings[n++] = (struct standing){rate(view, c->criticals, whole),
				rate(view, c->criticals + c->warnings, whole), i};
	}
	qsort(standings, n, sizeof(standings[0]), compare_standings);
	return n;
}

/* How many of the ranked stay: the equals of the best, and as many as max_avoided asks for, with
 * the equals of their last. */
static unsigned
count_kept(const struct strategy_view *view, const struct standing *standings, unsigned n)
{
	unsigned n_avoidable = (unsigned)(view->max_avoided * view->n_mirrors + 1e-9);
	unsigned n_due = n > n_avoidable ? n - n_avoidable : 0;
	unsigned kept = 1;

	while (kept < n &&
		(kept < n_due || compare_standings(&standings[kept - 1], &standings[kept]) == 0))
		kept++;
	return kept;
}

/* Those that have not answered: known to fail, or not known. */
static void
cast_unknown(const struct strategy_view *view, struct strategy_share *shares)
{
	for (unsigned i = 0; i < view->n_mirrors; i++) {
		const struct strategy_mirror *m = &view->mirrors[i];
		double whole = queries(&m->counts);

		if (shares[i].role != STRATEGY_REGULAR)
			continue;
		if (whole == 0 && (!m->is_answering || m->was_avoided))
			shares[i].role = STRATEGY_TRIAL;
		else if (whole > 0 && whole == m->counts.criticals)
			shares[i].role = STRATEGY_AVOIDED;
	}
}
