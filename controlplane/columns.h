/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table for eyes: cells in rows, every column as wide as its widest cell, two blanks between, no
 * blank at the end of a line.  Control characters in a cell are escaped.  Pure.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct columns;

#define COLUMNS_MAX      80
#define COLUMNS_CELL_MAX 512 /* bytes; what is longer is cut */

/* 'titles' are separated by '|'; one that begins with '>' (not shown) is set to the right.  Returns
 * NULL when out of memory, and the other functions take that. */
struct columns *
columns_create(const char *titles);
void
columns_free(struct columns *c);

/* The next cell, row by row. */
void
columns_add(struct columns *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the titles and all full rows. */
void
columns_print(const struct columns *c, FILE *out);

/* The same without the titles. */
void
columns_print_rows(const struct columns *c, FILE *out);
