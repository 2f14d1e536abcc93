/* SPDX-License-Identifier: BSD-3-Clause */
/* Edit distance (optimal string alignment) between names.  Pure; any thread. */
#include "nearest.h"

#include <ctype.h>
#include <string.h>

#include <karmalb/limits.h>

static unsigned
min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Both shorter than KARMALB_NAME_MAX; case does not count. */
static unsigned
edit_distance(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned rows[3][KARMALB_NAME_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= n; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			int x = tolower((unsigned char)a[i - 1]);
			int y = tolower((unsigned char)b[j - 1]);

			row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
				y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		unsigned *spare = before;

		before = last;
		last = row;
		row = spare;
	}
	return last[n];
}

struct nearest
nearest_to(const char *typed)
{
	unsigned allowed = (unsigned)strnlen(typed, KARMALB_NAME_MAX) / 3;

	return (struct nearest){.typed = typed, .distance = (allowed > 1 ? allowed : 1) + 1};
}

void
nearest_offer(struct nearest *nearest, const char *name)
{
	if (strlen(nearest->typed) >= KARMALB_NAME_MAX || strlen(name) >= KARMALB_NAME_MAX)
		return;
	unsigned distance = edit_distance(nearest->typed, name);

	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->name = name;
	}
}
