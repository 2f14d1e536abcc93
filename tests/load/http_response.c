/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HTTP/1.1 responses, read incrementally: a line at a time until the body, then by count.  Strict
 * on purpose: what it does not understand is a broken response, never a complete one.
 */
#include "http_response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t
feed_line(struct http_response *r, const char *bytes, size_t size);
static size_t
feed_data(struct http_response *r, size_t size);

void
http_response_init(struct http_response *r)
{
	memset(r, 0, sizeof(*r));
	r->state = HTTP_RESPONSE_STATUS_LINE;
}

size_t
http_response_feed(struct http_response *r, const char *bytes, size_t size)
{
	size_t used = 0;

	while (used < size && r->state < HTTP_RESPONSE_COMPLETE) {
		if (r->state == HTTP_RESPONSE_LENGTH_BODY || r->state == HTTP_RESPONSE_CHUNK_DATA)
			used += feed_data(r, size - used);
		else
			used += feed_line(r, bytes + used, size - used);
	}
	return used;
}

static size_t
feed_data(struct http_response *r, size_t size)
{
	size_t n = size < r->remaining ? size : (size_t)r->remaining;

	r->body_size += n;
	r->remaining -= n;
	if (r->remaining == 0)
		r->state = r->state == HTTP_RESPONSE_CHUNK_DATA ? HTTP_RESPONSE_CHUNK_END
								: HTTP_RESPONSE_COMPLETE;
	return n;
}

/* A number that fills 'text' up to a NUL, a ';' or white space.  Returns false for anything else.
 */
static bool
number_parse(const char *text, int base, uint64_t *value)
{
	char *end;

	if (strchr("0123456789abcdefABCDEF", *text) == NULL || *text == '\0')
		return false;
	errno = 0;
	*value = strtoull(text, &end, base);
	return errno == 0 && strchr("; \t", *end) != NULL;
}

static void
status_line(struct http_response *r)
{
	uint64_t status;

	if (strncmp(r->line, "HTTP/1.1 ", 9) == 0 && number_parse(r->line + 9, 10, &status) &&
		status >= 100 && status <= 599) {
		r->status = (unsigned)status;
		r->state = HTTP_RESPONSE_HEADER;
	} else {
		r->state = HTTP_RESPONSE_BROKEN;
	}
}

/* Only what needs no escaping in JSON. */
static void
mirror_name(struct http_response *r, const char *value)
{
	size_t n = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

	if (n < sizeof(r->mirror))
		memcpy(r->mirror, value, n);
}

static void
header_line(struct http_response *r)
{
	char *value = strchr(r->line, ':');

	if (value == NULL) {
		r->state = HTTP_RESPONSE_BROKEN;
		return;
	}
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcasecmp(r->line, "Content-Length") == 0) {
		r->has_length = number_parse(value, 10, &r->remaining);
		if (!r->has_length)
			r->state = HTTP_RESPONSE_BROKEN;
	} else if (strcasecmp(r->line, "Transfer-Encoding") == 0) {
		r->is_chunked = strcasecmp(value, "chunked") == 0;
	} else if (strcasecmp(r->line, "Connection") == 0) {
		r->is_closing = strcasecmp(value, "close") == 0;
	} else if (strcasecmp(r->line, "X-Mirror") == 0) {
		mirror_name(r, value);
	}
}

static void
header_end(struct http_response *r)
{
	if (r->is_chunked)
		r->state = HTTP_RESPONSE_CHUNK_SIZE;
	else if (!r->has_length)
		r->state = HTTP_RESPONSE_BROKEN;
	else
		r->state = r->remaining > 0 ? HTTP_RESPONSE_LENGTH_BODY : HTTP_RESPONSE_COMPLETE;
}

static void
chunk_size_line(struct http_response *r)
{
	if (!number_parse(r->line, 16, &r->remaining))
		r->state = HTTP_RESPONSE_BROKEN;
	else
		r->state = r->remaining > 0 ? HTTP_RESPONSE_CHUNK_DATA : HTTP_RESPONSE_TRAILER;
}

static void
line_end(struct http_response *r)
{
	bool is_empty = r->line[0] == '\0';

	switch (r->state) {
	case HTTP_RESPONSE_STATUS_LINE:
		status_line(r);
		break;
	case HTTP_RESPONSE_HEADER:
		if (is_empty)
			header_end(r);
		else
			header_line(r);
		break;
	case HTTP_RESPONSE_CHUNK_SIZE:
		chunk_size_line(r);
		break;
	case HTTP_RESPONSE_CHUNK_END:
		r->state = is_empty ? HTTP_RESPONSE_CHUNK_SIZE : HTTP_RESPONSE_BROKEN;
		break;
	case HTTP_RESPONSE_TRAILER:
		if (is_empty)
			r->state = HTTP_RESPONSE_COMPLETE;
		break;
	default:
		r->state = HTTP_RESPONSE_BROKEN;
	}
}

/* Takes bytes up to and including the next line feed. */
static size_t
feed_line(struct http_response *r, const char *bytes, size_t size)
{
	const char *lf = memchr(bytes, '\n', size);
	size_t n = lf != NULL ? (size_t)(lf - bytes) : size;

	if (r->line_size + n >= sizeof(r->line)) {
		r->state = HTTP_RESPONSE_BROKEN;
		return n;
	}
	memcpy(r->line + r->line_size, bytes, n);
	r->line_size += n;
	if (lf == NULL)
		return n;
	if (r->line_size > 0 && r->line[r->line_size - 1] == '\r')
		r->line_size--;
	r->line[r->line_size] = '\0';
	r->line_size = 0;
	line_end(r);
	return n + 1;
}
