/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads one HTTP/1.1 response from pieces of any size and says when it is whole.  Knows
 * Content-Length and chunked bodies; a body that only the closing of the connection ends counts as
 * broken, since nobody could tell it from one that was cut off.  Pure: no I/O, no allocation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_RESPONSE_LINE_MAX   256
#define HTTP_RESPONSE_MIRROR_MAX 32

enum http_response_state {
	HTTP_RESPONSE_STATUS_LINE,
	HTTP_RESPONSE_HEADER,
	HTTP_RESPONSE_LENGTH_BODY,
	HTTP_RESPONSE_CHUNK_SIZE,
	HTTP_RESPONSE_CHUNK_DATA,
	HTTP_RESPONSE_CHUNK_END,
	HTTP_RESPONSE_TRAILER,
	HTTP_RESPONSE_COMPLETE,
	HTTP_RESPONSE_BROKEN,
};

struct http_response {
	enum http_response_state state;
	unsigned status; /* 200, ...; 0 before the first line */
	bool is_chunked;
	bool has_length;
	bool is_closing;    /* Connection: close */
	uint64_t body_size; /* bytes of body seen */
	uint64_t remaining; /* of the body, or of the present chunk */
	size_t line_size;   /* bytes in 'line' */
	char line[HTTP_RESPONSE_LINE_MAX];
	char mirror[HTTP_RESPONSE_MIRROR_MAX]; /* value of X-Mirror, or "" */
};

/* Begins a new response. */
void
http_response_init(struct http_response *r);

/*
 * Takes the next bytes.  Returns how many were used: all of them, or fewer when the response became
 * complete or broken on the way; 'state' tells which.
 */
size_t
http_response_feed(struct http_response *r, const char *bytes, size_t size);
