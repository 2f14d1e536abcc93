/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds alias tables.  Control thread.  Each column holds 2^32 units; shares are first turned into
 * units that sum to exactly n * 2^32, so the rest is exact integer arithmetic.
 */
#include "pick.h"

#include <assert.h>

#define PICK_UNIT (UINT64_C(1) << 32)

static unsigned
take_positive(
	double *shares, struct table_alias *columns, const struct pick_share *all, unsigned n_all);
static void
share_units(uint64_t *units, const double *shares, unsigned n);
static void
fill_columns(struct table_alias *columns, uint64_t *units, unsigned n);

unsigned
pick_build(struct table_alias *columns, const struct pick_share *shares, unsigned n_shares)
{
	double positive[KARMALB_MIRRORS_MAX];
	uint64_t units[KARMALB_MIRRORS_MAX];

	assert(n_shares <= KARMALB_MIRRORS_MAX);
	unsigned n = take_positive(positive, columns, shares, n_shares);

	share_units(units, positive, n);
	fill_columns(columns, units, n);
	return n;
}

unsigned
pick_order(struct table_alias *columns, const struct pick_share *shares, unsigned n_shares)
{
	double positive[KARMALB_MIRRORS_MAX];

	assert(n_shares <= KARMALB_MIRRORS_MAX);
	unsigned n = take_positive(positive, columns, shares, n_shares);

	for (unsigned i = 0; i < n; i++) {
		columns[i].threshold = UINT32_MAX;
		columns[i].alias = columns[i].slot;
	}
	return n;
}

static unsigned
take_positive(
	double *shares, struct table_alias *columns, const struct pick_share *all, unsigned n_all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_all; i++) {
		if (all[i].share > 0) {
			shares[n] = all[i].share;
			columns[n].slot = all[i].slot;
			n++;
		}
	}
	return n;
}

/* What rounding leaves over, fewer than n units, goes to the largest share. */
static void
share_units(uint64_t *units, const double *shares, unsigned n)
{
	double sum = 0;
	uint64_t total = 0;
	unsigned largest = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += shares[i];
		if (shares[i] > shares[largest])
			largest = i;
	}
	for (unsigned i = 0; i < n; i++) {
		units[i] = (uint64_t)(shares[i] / sum * (double)(n * PICK_UNIT));
		total += units[i];
	}
	if (n > 0)
		units[largest] += n * PICK_UNIT - total;
}

/*
 * Vose: a column with too few units is filled up from one with too many, which may thereby become
 * one with too few.
 */
static void
fill_columns(struct table_alias *columns, uint64_t *units, unsigned n)
{
	uint16_t small[KARMALB_MIRRORS_MAX], large[KARMALB_MIRRORS_MAX];
	unsigned n_small = 0, n_large = 0;

	for (unsigned i = 0; i < n; i++) {
		columns[i].threshold = UINT32_MAX;
		columns[i].alias = columns[i].slot;
		if (units[i] < PICK_UNIT)
			small[n_small++] = (uint16_t)i;
		else if (units[i] > PICK_UNIT)
			large[n_large++] = (uint16_t)i;
	}
	while (n_small > 0) {
		unsigned poor = small[--n_small], rich = large[n_large - 1];

		columns[poor].threshold = (uint32_t)units[poor];
		columns[poor].alias = columns[rich].slot;
		units[rich] -= PICK_UNIT - units[poor];
		if (units[rich] > PICK_UNIT)
			continue;
		n_large--;
		if (units[rich] < PICK_UNIT)
			small[n_small++] = (uint16_t)rich;
	}
}
