/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text from elsewhere on its way to a person's terminal, and the pattern of LIKE.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where 'text' stops being printable UTF-8: the offset of the first control character (C0, DEL or
 * C1) or of the first byte that is not UTF-8; 'size' if there is none. */
size_t
text_printable(const char *text, size_t size);

/* The bytes of the character that 'text' begins with, 1 .. 4; 0 if it is not UTF-8.  'size' > 0. */
unsigned
text_character(const char *text, size_t size);

/*
 * Copies 'text' into 'out' (of 'size' > 0 bytes, always terminated), each byte that
 * text_printable() objects to as "\xNN"; what does not fit ends in "...".  Returns 'out'.
 */
char *
text_escape(const char *text, char *out, size_t size);

/* SQL's LIKE over the whole of 'text': '%' is any run, '_' any one character, all else itself;
 * case counts.  Time at most length times length. */
bool
text_like(const char *text, const char *pattern);

/* Likewise of a name in parts, "defaults.ha_strategy": the whole of it, or what stands behind its
 * last point. */
bool
text_like_name(const char *name, const char *pattern);
