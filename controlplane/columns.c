/* SPDX-License-Identifier: BSD-3-Clause */
/* Aligned tables.  Pure. */
#include "columns.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct columns {
	unsigned n_columns;
	bool is_right[COLUMNS_MAX];
	size_t widths[COLUMNS_MAX];
	bool is_incomplete; /* memory ran out */
	size_t n_cells;     /* the titles included */
	char **cells;
};

static void
print_cells(const struct columns *c, size_t first, FILE *out);
static void
print_row(const struct columns *c, char *const *cells, FILE *out);
static void
add_cell(struct columns *c, const char *text);
static size_t
width_of(const char *text);

struct columns *
columns_create(const char *titles)
{
	struct columns *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	for (const char *rest = titles;;) {
		size_t length = strcspn(rest, "|");
		char title[64];

		c->is_right[c->n_columns] = rest[0] == '>';
		snprintf(title, sizeof(title), "%.*s", (int)length, rest);
		c->n_columns++;
		add_cell(c, title[0] == '>' ? title + 1 : title);
		rest += length;
		if (*rest++ == '\0' || c->n_columns == COLUMNS_MAX)
			break;
	}
	return c;
}

void
columns_free(struct columns *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->n_cells; i++)
		free(c->cells[i]);
	free(c->cells);
	free(c);
}

void
columns_add(struct columns *c, const char *format, ...)
{
	char text[COLUMNS_CELL_MAX], escaped[COLUMNS_CELL_MAX];
	va_list args;

	if (c == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add_cell(c, text_escape(text, escaped, sizeof(escaped)));
}

void
columns_print(const struct columns *c, FILE *out)
{
	print_cells(c, 0, out);
}

void
columns_print_rows(const struct columns *c, FILE *out)
{
	print_cells(c, 1, out);
}

/* From row 'first' on; the titles are row 0. */
static void
print_cells(const struct columns *c, size_t first, FILE *out)
{
	if (c == NULL || c->is_incomplete) {
		fputs("out of memory\n", out);
		return;
	}
	for (size_t i = first * c->n_columns; i + c->n_columns <= c->n_cells; i += c->n_columns)
		print_row(c, &c->cells[i], out);
}

static void
print_row(const struct columns *c, char *const *cells, FILE *out)
{
	size_t blanks = 0; /* owed, and written only before something else */

	for (unsigned i = 0; i < c->n_columns; i++) {
		size_t room = c->widths[i] - width_of(cells[i]);

		if (cells[i][0] == '\0') {
			blanks += room;
		} else if (c->is_right[i]) {
			fprintf(out, "%*s%s", (int)(blanks + room), "", cells[i]);
			blanks = 0;
		} else {
			fprintf(out, "%*s%s", (int)blanks, "", cells[i]);
			blanks = room;
		}
		blanks += 2;
	}
	fputc('\n', out);
}

static void
add_cell(struct columns *c, const char *text)
{
	char *copy = strdup(text);

	/* Full whenever the count is a power of two. */
	if (copy != NULL && (c->n_cells & (c->n_cells - 1)) == 0) {
		size_t n = c->n_cells > 0 ? 2 * c->n_cells : 1;
		char **cells = reallocarray(c->cells, n, sizeof(*cells));

		if (cells == NULL) {
			free(copy);
			copy = NULL;
		} else {
			c->cells = cells;
		}
	}
	if (copy == NULL) {
		c->is_incomplete = true;
		return;
	}
	size_t *widest = &c->widths[c->n_cells % c->n_columns];

	*widest = width_of(text) > *widest ? width_of(text) : *widest;
	c->cells[c->n_cells++] = copy;
}

/* In characters: bytes that begin one. */
static size_t
width_of(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}
