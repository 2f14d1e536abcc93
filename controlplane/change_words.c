/* SPDX-License-Identifier: BSD-3-Clause */
/* Pure. */
#include "change_words.h"

#include <stdlib.h>

void
change_words_free(struct change_words *list, unsigned n)
{
	for (unsigned i = 0; list != NULL && i < n; i++) {
		free(list[i].name);
		free(list[i].old_text);
		free(list[i].new_text);
		free(list[i].sentence);
	}
	free(list);
}
