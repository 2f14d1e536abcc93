/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads of answers.  No state; any thread. */
#include "reply.h"

#include <string.h>

/* "HTTP/1.1 503": a status of 500 or above is the server's own failure. */
static enum reply_verdict
judge_http(const uint8_t *head, unsigned size)
{
	if (size < 12 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ')
		return REPLY_GOOD;
	return head[9] >= '5' && head[9] <= '9' ? REPLY_WRONG : REPLY_GOOD;
}

/* searchd's own version number comes first in a connection, before or with the first answer. */
static enum reply_verdict
judge_sphinxapi(const uint8_t *head, unsigned size)
{
	enum {
		STATUS_OK,
		STATUS_ERROR,
		STATUS_RETRY,
		STATUS_WARNING
	};
	static const uint8_t version[4] = {0, 0, 0, 1};

	if (size >= 4 && memcmp(head, version, 4) == 0 && (size == 4 || size >= 12)) {
		head += 4;
		size -= 4;
	}
	if (size < 8 || head[0] != 0) /* status, version of the command, length */
		return REPLY_GOOD;
	if (head[1] == STATUS_ERROR || head[1] == STATUS_RETRY)
		return REPLY_WRONG;
	return head[1] == STATUS_WARNING ? REPLY_WARNING : REPLY_GOOD;
}

/* Length (3), number (1), then what it is: 0xff ERR, 0x00 OK. */
static enum reply_verdict
judge_mysql(const uint8_t *head, unsigned size)
{
	if (size < 7)
		return REPLY_GOOD;
	unsigned length = head[0] | head[1] << 8 | head[2] << 16;

	if (head[4] == 0xff && length >= 3)
		return REPLY_WRONG;
	/* OK: two counts, of one byte each or not looked at, status (2), warnings (2). */
	if (head[3] == 0 || head[4] != 0 || length < 7 || size < 11 || head[5] >= 0xfb ||
		head[6] >= 0xfb)
		return REPLY_GOOD;
	return head[9] != 0 || head[10] != 0 ? REPLY_WARNING : REPLY_GOOD;
}

enum reply_verdict
reply_judge(enum karmalb_reply_check check, const uint8_t *head, unsigned size)
{
	switch (check) {
	case KARMALB_REPLY_CHECK_HTTP:
		return judge_http(head, size);
	case KARMALB_REPLY_CHECK_SPHINXAPI:
		return judge_sphinxapi(head, size);
	case KARMALB_REPLY_CHECK_MYSQL:
		return judge_mysql(head, size);
	case KARMALB_REPLY_CHECK_NONE:
	case KARMALB_N_REPLY_CHECKS:
		break;
	}
	return REPLY_GOOD;
}
