/* SPDX-License-Identifier: BSD-3-Clause */
/* HELP for eyes.  Pure. */
#include <string.h>

#include "columns.h"
#include "render.h"

static void
print_words(FILE *out, const struct render_help *help, unsigned first, unsigned n);

void
render_text_help(FILE *out, const struct render_help *help)
{
	for (unsigned i = 0; i < help->n_commands; i++) {
		const struct render_command *command = &help->commands[i];

		fprintf(out, "%s\n    %s\n", command->syntax, command->help);
		if (help->is_full)
			fprintf(out, "    Example: %s\n", command->example);
	}
	for (unsigned first = 0, n; help->is_full && first < help->n_words; first += n) {
		for (n = 1; first + n < help->n_words; n++)
			if (strcmp(help->words[first + n].argument, help->words[first].argument) !=
				0)
				break;
		print_words(out, help, first, n);
	}
}

/* What one argument may be. */
static void
print_words(FILE *out, const struct render_help *help, unsigned first, unsigned n)
{
	struct columns *columns = columns_create("|");

	fprintf(out, "%s:\n", help->words[first].argument);
	for (unsigned i = first; i < first + n; i++) {
		columns_add(columns, "    %s", help->words[i].word);
		columns_add(columns, "%s", help->words[i].help);
	}
	columns_print_rows(columns, out);
	columns_free(columns);
}
