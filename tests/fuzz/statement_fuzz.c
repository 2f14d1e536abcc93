/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: any bytes as the text of statements, for control plane and for completion. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "command_list.h"
#include "err.h"
#include "statement.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const syntaxes[] = {
#define X(name, kind, syntax, help, example) syntax,
	COMMANDS(X)
#undef X
};

#define N_SYNTAXES (sizeof(syntaxes) / sizeof(syntaxes[0]))

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static void
check_match(struct statement *st, int row)
{
	if (row < 0)
		return;
	must((unsigned)row < N_SYNTAXES && st->n_arguments <= STATEMENT_ARGUMENTS_MAX);
	for (unsigned i = 0; i < st->n_arguments; i++) {
		char name[64] = {0};
		struct statement_item item = statement_item_name(st->arguments[i].item);

		must(st->arguments[i].token < st->n_tokens && item.length < sizeof(name));
		memcpy(name, item.text, item.length);
		must(statement_argument(st, name) != NULL);
	}
}

/* A text in memory of just its size, that no terminator ends. */
static void
read_one(const uint8_t *data, size_t size)
{
	static struct statement st;
	static struct statement_expected expected;
	struct err err;
	char sentence[ERR_TEXT_MAX];
	char *text = malloc(size > 0 ? size : 1);

	memcpy(text, data, size);
	must(statement_length(text, size) <= size);
	if (statement_read(&st, text, size, &err) == 0) {
		must(st.n_tokens > 0 && st.n_tokens <= STATEMENT_TOKENS_MAX);
		statement_expect(&st, syntaxes, N_SYNTAXES, &expected);
		must(expected.at <= st.n_tokens && expected.n_items <= STATEMENT_EXPECTED_MAX);
		int row = statement_match(&st, syntaxes, N_SYNTAXES, &err);

		must((row >= 0) == expected.is_complete);
		check_match(&st, row);
	} else
		must(err_format(&err, sentence, sizeof(sentence))[0] != '\0');
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_one(data, size);
	return 0;
}
