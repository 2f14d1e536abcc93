/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Did you mean": keeps, of the candidates offered, the one that a mistyped word is nearest to.
 * Case does not count, and neighbours swapped are one mistake.  Pure.
 *
 *     struct suggestion s;
 *     suggest_begin(&s, "mirros");
 *     suggest_offer(&s, "MIRRORS");
 *     if (s.nearest[0] != '\0') ...
 */
#pragma once

#include <karmalb/limits.h>

struct suggestion {
	const char *word;
	unsigned distance; /* of the nearest so far; what is not nearer than this is no candidate */
	char nearest[KARMALB_NAME_MAX]; /* empty: none is near */
};

/* 'word' is kept, not copied, until the last offer. */
void
suggest_begin(struct suggestion *s, const char *word);

/* Candidates longer than KARMALB_NAME_MAX - 1 are not considered. */
void
suggest_offer(struct suggestion *s, const char *candidate);
