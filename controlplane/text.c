/* SPDX-License-Identifier: BSD-3-Clause */
/* What may go to a terminal and what must be escaped first; LIKE.  Pure. */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ESCAPE_LENGTH 4 /* "\\x1b" */

static unsigned
plain_length(const char *text, size_t size);
static size_t
escaped_length(const char *text, size_t size);
static uint32_t
decode(const unsigned char *bytes, unsigned length);
static bool
is_control(uint32_t character);

size_t
text_printable(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		unsigned length = plain_length(text + at, size - at);

		if (length == 0)
			break;
		at += length;
	}
	return at;
}

unsigned
text_character(const char *text, size_t size)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned length = bytes[0] < 0x80             ? 1
			  : (bytes[0] & 0xe0) == 0xc0 ? 2
			  : (bytes[0] & 0xf0) == 0xe0 ? 3
			  : (bytes[0] & 0xf8) == 0xf0 ? 4
						      : 0;

	if (length == 0 || length > size)
		return 0;
	for (unsigned i = 1; i < length; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	uint32_t character = decode(bytes, length);
	bool is_surrogate = character >= 0xd800 && character <= 0xdfff;

	return character < lowest[length] || character > 0x10ffff || is_surrogate ? 0 : length;
}

char *
text_escape(const char *text, char *out, size_t size)
{
	static const char more[] = "...";
	size_t in_size = strlen(text), n = 0;
	bool is_cut = escaped_length(text, in_size) >= size;
	size_t limit = !is_cut ? size : size > sizeof(more) ? size - (sizeof(more) - 1) : 1;

	for (size_t in = 0; in < in_size;) {
		unsigned plain = plain_length(text + in, in_size - in);
		size_t room = plain > 0 ? plain : ESCAPE_LENGTH;

		if (n + room >= limit)
			break;
		if (plain > 0)
			memcpy(out + n, text + in, plain);
		else
			snprintf(out + n, size - n, "\\x%02x", (unsigned char)text[in]);
		n += room;
		in += plain > 0 ? plain : 1;
	}
	snprintf(out + n, size - n, "%s", is_cut ? more : "");
	return out;
}

bool
text_like(const char *text, const char *pattern)
{
	const char *resume_pattern = NULL, *resume_text = NULL;

	while (*text != '\0') {
		unsigned length = text_character(text, strnlen(text, 4));

		if (length == 0)
			length = 1;
		if (*pattern == '%') {
			resume_pattern = ++pattern;
			resume_text = text;
		} else if (*pattern == '_') {
			text += length;
			pattern++;
		} else if (*pattern == *text) {
			text++;
			pattern++;
		} else if (resume_pattern != NULL) {
			/* The last '%' takes one character more; an earlier one never needs to. */
			pattern = resume_pattern;
			length = text_character(resume_text, strnlen(resume_text, 4));
			text = resume_text += length > 0 ? length : 1;
		} else {
			return false;
		}
	}
	while (*pattern == '%')
		pattern++;
	return *pattern == '\0';
}

bool
text_like_name(const char *name, const char *pattern)
{
	const char *point = strrchr(name, '.');

	return text_like(name, pattern) || (point != NULL && text_like(point + 1, pattern));
}

/* Bytes of the printable character that 'text' begins with; 0: its first byte needs escaping. */
static unsigned
plain_length(const char *text, size_t size)
{
	unsigned length = text_character(text, size);

	return length > 0 && !is_control(decode((const unsigned char *)text, length)) ? length : 0;
}

static size_t
escaped_length(const char *text, size_t size)
{
	size_t n = 0;

	for (size_t in = 0; in < size;) {
		unsigned plain = plain_length(text + in, size - in);

		n += plain > 0 ? plain : ESCAPE_LENGTH;
		in += plain > 0 ? plain : 1;
	}
	return n;
}

static uint32_t
decode(const unsigned char *bytes, unsigned length)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t character = bytes[0] & first_bits[length];

	for (unsigned i = 1; i < length; i++)
		character = character << 6 | (bytes[i] & 0x3f);
	return character;
}

static bool
is_control(uint32_t character)
{
	/* The line and paragraph separators and the bidirectional overrides can forge a line too.
	 */
	return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069);
}
