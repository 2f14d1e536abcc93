/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "did you mean ...?": the known name that is nearest to a mistyped one.  Pure.
 *
 *     struct nearest nearest = nearest_to(typed);
 *     for each known name: nearest_offer(&nearest, known);
 *     if (nearest.name != NULL) ... did you mean nearest.name?
 */
#pragma once

struct nearest {
	const char *typed;
	const char *name; /* the best so far, or NULL while none is near enough */
	unsigned
		distance; /* insertions, deletions, changes and swaps of neighbours that it needs */
};

/* A third of the typed letters, and at least one, may be wrong. */
struct nearest
nearest_to(const char *typed);

/* 'name' must live as long as the result is used. */
void
nearest_offer(struct nearest *nearest, const char *name);
