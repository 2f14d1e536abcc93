/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the heads of queries and answers say, so that a mirror that fails fast is not taken for a
 * fast one, and the greetings and logins of a protocol are not taken for queries.  Reads the first
 * segment and nothing else; what cannot be told, as under TLS or compression, or where the segment
 * is too short, is a query and a good answer.  Pure; bounded by REPLY_HEAD_MAX bytes.
 *
 * Wrong is what the mirror is to blame for: HTTP's 500 and above, but no 4xx; a status of error or
 * retry of searchd, or that it lacks the index; of MySQL's ERR packets those that speak of the
 * server's own condition (shutting down, disk full, crashed table, too many connections, not yet
 * prepared).  Every other ERR packet answers a mistake in the statement, a race between clients or
 * a write to a read-only server, and says as little of the mirror as HTTP's 404.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#define REPLY_HEAD_MAX 2048 /* how far into a segment a final HTTP status is looked for */

/* What the client's payload, sent when nothing waits, calls for. */
enum reply_query {
	REPLY_QUERY,           /* an answer */
	REPLY_QUERY_HANDSHAKE, /* an answer, but to a greeting or login only */
	REPLY_QUERY_NONE,      /* none: a farewell, a command that is never answered */
};

enum reply_verdict {
	REPLY_GOOD,
	REPLY_WARNING,
	REPLY_WRONG,
	REPLY_HANDSHAKE, /* belongs to a greeting or login, which it answers or begins */
	REPLY_NOT_YET,   /* something that comes before the answer, which is still due */
};

/* 'is_greeted': the mirror has spoken on this connection already. */
enum reply_query
reply_query(enum karmalb_reply_check check, bool is_greeted, const uint8_t *head, unsigned size);

/* 'is_handshake': all that the client sent so far was REPLY_QUERY_HANDSHAKE. */
enum reply_verdict
reply_judge(enum karmalb_reply_check check, bool is_handshake, const uint8_t *head, unsigned size);

/* The same of what follows a segment that was REPLY_NOT_YET; that may have ended in any place. */
enum reply_verdict
reply_judge_next(
	enum karmalb_reply_check check, bool is_handshake, const uint8_t *head, unsigned size);
