/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted choice of a mirror in constant time: Vose's alias method (M. D. Vose, "A linear
 * algorithm for generating random numbers with a given distribution", IEEE TSE 17(9), 1991), in
 * integers, so that the columns hold the shares to the last of 32 bits.  Pure.
 */
#pragma once

#include <stdint.h>

#include "tables.h"

struct pick_share {
	double share; /* finite, >= 0; need not sum to 1 */
	uint16_t slot;
};

/*
 * Writes the alias table of 'n_shares' (<= KARMALB_MIRRORS_MAX) mirrors; 'columns' has room for as
 * many.  Returns the number of columns, which is that of the shares above 0; a mirror of share 0
 * is in none of them.  Control thread.
 */
unsigned
pick_build(struct table_alias *columns, const struct pick_share *shares, unsigned n_shares);

/*
 * The same for taking turns: the mirrors whose share is above 0, in their order.  What pick_draw()
 * makes of such columns is a uniform draw.
 */
unsigned
pick_order(struct table_alias *columns, const struct pick_share *shares, unsigned n_shares);

/* The slot that 64 random bits choose; 'n_columns' > 0. */
static inline uint16_t
pick_draw(const struct table_alias *columns, uint32_t n_columns, uint64_t random)
{
	const struct table_alias *column = &columns[((random >> 32) * n_columns) >> 32];
	uint32_t draw = (uint32_t)random;

	if (draw < column->threshold || column->threshold == UINT32_MAX)
		return column->slot;
	return column->alias;
}

/* Next 64 bits of xorshift64* (S. Vigna, 2016); '*state' is never 0. */
static inline uint64_t
pick_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}
