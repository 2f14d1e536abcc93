/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing list of named values.  Pure. */
#include "pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static void
add(struct pairs *p, const char *prefix, const char *name, enum pair_kind kind, const char *value);

void
pairs_init(struct pairs *p, const char *name_title, const char *value_title, const char *pattern)
{
	*p = (struct pairs){
		.name_title = name_title, .value_title = value_title, .pattern = pattern};
}

void
pairs_free(struct pairs *p)
{
	for (unsigned i = 0; i < p->n_pairs; i++) {
		free(p->pairs[i].name);
		free(p->pairs[i].value);
	}
	free(p->pairs);
}

void
pairs_add_text(struct pairs *p, const char *prefix, const char *name, const char *text)
{
	add(p, prefix, name, PAIR_TEXT, text);
}

void
pairs_add_count(struct pairs *p, const char *prefix, const char *name, uint64_t count)
{
	char value[24];

	snprintf(value, sizeof(value), "%" PRIu64, count);
	add(p, prefix, name, PAIR_NUMBER, value);
}

void
pairs_add_number(struct pairs *p, const char *prefix, const char *name, double number, int decimals)
{
	char value[340]; /* the longest double in %f */

	snprintf(value, sizeof(value), "%.*f", decimals, number);
	add(p, prefix, name, PAIR_NUMBER, value);
}

void
pairs_add_none(struct pairs *p, const char *prefix, const char *name)
{
	add(p, prefix, name, PAIR_NONE, "n/a");
}

/* Room grows by doubling: full whenever the count is a power of two. */
static struct pair *
next_pair(struct pairs *p)
{
	if ((p->n_pairs & (p->n_pairs - 1)) == 0) {
		size_t n = p->n_pairs > 0 ? 2 * (size_t)p->n_pairs : 1;
		struct pair *pairs = reallocarray(p->pairs, n, sizeof(*pairs));

		if (pairs == NULL)
			return NULL;
		p->pairs = pairs;
	}
	return &p->pairs[p->n_pairs];
}

static void
add(struct pairs *p, const char *prefix, const char *name, enum pair_kind kind, const char *value)
{
	struct pair pair = {.kind = kind};
	struct pair *place;

	if (asprintf(&pair.name, "%s%s", prefix, name) < 0) {
		p->is_incomplete = true;
		return;
	}
	if (p->pattern != NULL && !text_like(pair.name, p->pattern)) {
		free(pair.name);
		return;
	}
	pair.value = strdup(value);
	place = next_pair(p);
	if (pair.value == NULL || place == NULL) {
		free(pair.name);
		free(pair.value);
		p->is_incomplete = true;
		return;
	}
	*place = pair;
	p->n_pairs++;
}
