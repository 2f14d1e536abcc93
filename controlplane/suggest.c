/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edit distance (insert, delete, replace, swap of neighbours) between a word and candidates.  Pure,
 * no allocation; words longer than a name are never near anything.
 */
#include "suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static unsigned
distance_between(const char *a, size_t n_a, const char *b, size_t n_b);

void
suggest_begin(struct suggestion *s, const char *word)
{
	size_t length = strlen(word);

	s->word = word;
	s->nearest[0] = '\0';
	/* One mistake in a short word, one in three letters of a long one, and never all of it. */
	s->distance = length < 2 ? 1 : length < 6 ? 2 : (unsigned)(length / 3) + 1;
}

void
suggest_offer(struct suggestion *s, const char *candidate)
{
	size_t n_word = strlen(s->word), n_candidate = strlen(candidate);

	if (n_word >= KARMALB_NAME_MAX || n_candidate >= KARMALB_NAME_MAX)
		return;
	unsigned distance = distance_between(s->word, n_word, candidate, n_candidate);

	if (distance >= s->distance)
		return;
	s->distance = distance;
	memcpy(s->nearest, candidate, n_candidate + 1);
}

static bool
is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment over three rows.  Both lengths are below KARMALB_NAME_MAX. */
static unsigned
distance_between(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned rows[3][KARMALB_NAME_MAX];

	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n_a; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *above2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n_b; j++) {
			row[j] = above[j - 1] + (is_same(a[i - 1], b[j - 1]) ? 0 : 1);
			row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) &&
				is_same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], above2[j - 2] + 1);
		}
	}
	return rows[n_a % 3][n_b];
}
