/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads of queries and answers.  No state; any thread. */
#include "reply.h"

#include <stddef.h>
#include <string.h>

#define TLS_HEADER       5  /* type, version (2), length (2) of a record */
#define TLS_RECORDS      3  /* looked at in one segment */
#define TLS_ALERT_SEALED 19 /* alert (2), its true type (1) and tag (16), under TLS 1.3 */

#define MYSQL_HEADER   4 /* length (3), number of the packet in its exchange (1) */
#define MYSQL_COMMANDS 4 /* looked at in one segment */

enum tls_type {
	TLS_CHANGE_CIPHER = 0x14,
	TLS_ALERT,
	TLS_HANDSHAKE,
	TLS_DATA, /* under TLS 1.3 anything */
};

enum mysql_byte {
	MYSQL_OK = 0x00,
	MYSQL_ERR = 0xff,
	MYSQL_COM_QUIT = 0x01,
	MYSQL_COM_STMT_SEND_LONG_DATA = 0x18,
	MYSQL_COM_STMT_CLOSE = 0x19,
};

enum searchd_status {
	SEARCHD_OK,
	SEARCHD_ERROR,
	SEARCHD_RETRY,
	SEARCHD_WARNING,
};

/* What each side of SphinxAPI begins a connection with. */
static const uint8_t sphinxapi_version[4] = {0, 0, 0, 1};

#define SEARCHD_SEARCH_VERSION 0x0110 /* a SEARCH reply has it at least, all others less */

static bool
is_tls_farewell(const uint8_t *head, unsigned size);
static enum reply_query
mysql_query(const uint8_t *head, unsigned size);
static enum reply_verdict
judge_http(bool is_begun, const uint8_t *head, unsigned size);
static enum reply_verdict
judge_sphinxapi(bool is_handshake, const uint8_t *head, unsigned size);
static enum reply_verdict
judge_mysql(const uint8_t *head, unsigned size);

enum reply_query
reply_query(enum karmalb_reply_check check, bool is_greeted, const uint8_t *head, unsigned size)
{
	if (is_tls_farewell(head, size))
		return REPLY_QUERY_NONE;
	switch (check) {
	case KARMALB_REPLY_CHECK_SPHINXAPI:
		if (size != sizeof(sphinxapi_version) || memcmp(head, sphinxapi_version, size) != 0)
			return REPLY_QUERY;
		return is_greeted ? REPLY_QUERY_NONE : REPLY_QUERY_HANDSHAKE;
	case KARMALB_REPLY_CHECK_MYSQL:
		return mysql_query(head, size);
	case KARMALB_REPLY_CHECK_HTTP:
	case KARMALB_REPLY_CHECK_NONE:
	case KARMALB_N_REPLY_CHECKS:
		break;
	}
	return REPLY_QUERY;
}

enum reply_verdict
reply_judge(enum karmalb_reply_check check, bool is_handshake, const uint8_t *head, unsigned size)
{
	switch (check) {
	case KARMALB_REPLY_CHECK_HTTP:
		return judge_http(false, head, size);
	case KARMALB_REPLY_CHECK_SPHINXAPI:
		return judge_sphinxapi(is_handshake, head, size);
	case KARMALB_REPLY_CHECK_MYSQL:
		return judge_mysql(head, size);
	case KARMALB_REPLY_CHECK_NONE:
	case KARMALB_N_REPLY_CHECKS:
		break;
	}
	return REPLY_GOOD;
}

enum reply_verdict
reply_judge_next(
	enum karmalb_reply_check check, bool is_handshake, const uint8_t *head, unsigned size)
{
	if (check == KARMALB_REPLY_CHECK_HTTP)
		return judge_http(true, head, size);
	return reply_judge(check, is_handshake, head, size);
}

/* Content type, then version 3.1 to 3.4; a packet of MySQL beginning so would be of 64 kB. */
static bool
is_tls(const uint8_t *head, unsigned size)
{
	return size >= 3 && head[0] >= TLS_CHANGE_CIPHER && head[0] <= TLS_DATA && head[1] == 3 &&
	       head[2] >= 1 && head[2] <= 4;
}

/*
 * Ends with an alert, and has nothing before it that could be asked: what clients say before they
 * close, to which many servers just close, too.
 */
static bool
is_tls_farewell(const uint8_t *head, unsigned size)
{
	/* Bounded by TLS_RECORDS. */
	for (unsigned i = 0; i < TLS_RECORDS && size >= TLS_HEADER && is_tls(head, size); i++) {
		unsigned length = (unsigned)head[3] << 8 | head[4];
		bool is_alert =
			head[0] == TLS_ALERT || (head[0] == TLS_DATA && length == TLS_ALERT_SEALED);

		if ((!is_alert && head[0] != TLS_CHANGE_CIPHER) || length > size - TLS_HEADER)
			return false;
		head += TLS_HEADER + length;
		size -= TLS_HEADER + length;
		if (size == 0)
			return is_alert;
	}
	return false;
}

static const char http_begin[] = "HTTP/1.";

/* Whether there is an empty line before 'at', or nothing of which it could be told. */
static bool
is_behind_headers(const uint8_t *head, unsigned at)
{
	unsigned n_ends = 0;

	while (at > 0 && n_ends < 2 && (head[at - 1] == '\n' || head[at - 1] == '\r'))
		n_ends += head[--at] == '\n';
	return n_ends == 2 || at == 0;
}

/*
 * Where the next answer of HTTP begins, from 'at' on; of the last one the segment may have but the
 * first letters.  Not below 'size' or REPLY_HEAD_MAX: nowhere.
 */
static unsigned
http_find_answer(const uint8_t *head, unsigned size, unsigned at)
{
	/* Bounded by REPLY_HEAD_MAX. */
	for (; at < size && at < REPLY_HEAD_MAX; at++) {
		unsigned left = size - at;

		if (left > sizeof(http_begin) - 1)
			left = sizeof(http_begin) - 1;
		if (memcmp(&head[at], http_begin, left) == 0 && is_behind_headers(head, at))
			break;
	}
	return at;
}

/* "100 Continue" and its like come before the answer, sometimes with it; 101 is one. */
static bool
is_http_interim(const uint8_t *head, unsigned size)
{
	static const char interim[] = "HTTP/1.1 1";

	return size >= 12 && memcmp(head, interim, sizeof(interim) - 1) == 0 &&
	       (head[10] != '0' || head[11] != '1');
}

/* "HTTP/1.1 503": a status of 500 or above is the server's own failure. */
static enum reply_verdict
judge_http_status(const uint8_t *head, unsigned size)
{
	if (size < 12 || memcmp(head, http_begin, sizeof(http_begin) - 1) != 0 || head[8] != ' ')
		return REPLY_GOOD;
	return head[9] >= '5' && head[9] <= '9' ? REPLY_WRONG : REPLY_GOOD;
}

/* 'is_begun': with an interim answer, whose headers may still go on. */
static enum reply_verdict
judge_http(bool is_begun, const uint8_t *head, unsigned size)
{
	unsigned at = is_begun ? http_find_answer(head, size, 0) : 0;

	/* Bounded by REPLY_HEAD_MAX, as each turn goes on from where the one before came to. */
	while (at < size && at < REPLY_HEAD_MAX && is_http_interim(&head[at], size - at))
		at = http_find_answer(head, size, at + 1);
	if (at >= REPLY_HEAD_MAX && at < size)
		return REPLY_GOOD;
	return at < size ? judge_http_status(&head[at], size - at) : REPLY_NOT_YET;
}

/* A sentence of searchd that speaks of what this mirror lacks, not of the query. */
static bool
is_searchd_failure(const uint8_t *text, unsigned size)
{
	static const char *const beginnings[] = {"unknown local index", "unknown local table",
		"no enabled local index", "no enabled local table", "no enabled tables"};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t n = strlen(beginnings[i]);

		if (size >= n && memcmp(text, beginnings[i], n) == 0)
			return true;
	}
	return false;
}

/* A reply to SEARCH has a status (4) for each query; of the first one: an error's length, text. */
static enum reply_verdict
judge_search(const uint8_t *body, unsigned size)
{
	if (size < 4 || body[0] != 0 || body[1] != 0 || body[2] != 0)
		return REPLY_GOOD;
	if (body[3] == SEARCHD_WARNING)
		return REPLY_WARNING;
	if (body[3] == SEARCHD_OK || size < 8)
		return REPLY_GOOD;
	if (body[3] == SEARCHD_RETRY)
		return REPLY_WRONG;
	return is_searchd_failure(body + 8, size - 8) ? REPLY_WRONG : REPLY_GOOD;
}

/* searchd's own version number comes first in a connection, before or with the first answer. */
static enum reply_verdict
judge_sphinxapi(bool is_handshake, const uint8_t *head, unsigned size)
{
	if (size >= 4 && memcmp(head, sphinxapi_version, 4) == 0 && (size == 4 || size >= 12)) {
		head += 4;
		size -= 4;
		if (size == 0)
			return is_handshake ? REPLY_HANDSHAKE : REPLY_NOT_YET;
	}
	if (size < 8 || head[0] != 0) /* status, version of the command, length */
		return REPLY_GOOD;
	if (head[1] == SEARCHD_ERROR || head[1] == SEARCHD_RETRY)
		return REPLY_WRONG;
	if (head[1] == SEARCHD_WARNING)
		return REPLY_WARNING;
	if (head[1] == SEARCHD_OK && (head[2] << 8 | head[3]) >= SEARCHD_SEARCH_VERSION)
		return judge_search(head + 8, size - 8);
	return REPLY_GOOD;
}

static unsigned
mysql_length(const uint8_t *head)
{
	return head[0] | (unsigned)head[1] << 8 | (unsigned)head[2] << 16;
}

/* A login goes on numbering the packets of the server's greeting, a command begins at 0. */
static enum reply_query
mysql_query(const uint8_t *head, unsigned size)
{
	if (is_tls(head, size))
		return REPLY_QUERY;
	/* Bounded by MYSQL_COMMANDS. */
	for (unsigned i = 0; i < MYSQL_COMMANDS; i++) {
		if (size <= MYSQL_HEADER)
			return REPLY_QUERY;
		if (head[3] != 0)
			return REPLY_QUERY_HANDSHAKE;
		if (head[4] != MYSQL_COM_QUIT && head[4] != MYSQL_COM_STMT_CLOSE &&
			head[4] != MYSQL_COM_STMT_SEND_LONG_DATA)
			return REPLY_QUERY;
		unsigned packet_size = MYSQL_HEADER + mysql_length(head);

		if (size <= packet_size)
			return REPLY_QUERY_NONE;
		head += packet_size;
		size -= packet_size;
	}
	return REPLY_QUERY;
}

/*
 * Errors that speak of the server's condition.  Not those that speak of the statement; of other
 * clients (1205 lock wait, 1213 deadlock, or a conflict in Galera); of a limit or an end that
 * somebody wanted (1317, 1927 killed, 1969, 3024 statement's time); of a role that the server was
 * given (1290, 1792, 1836, 1874 read-only).
 */
static bool
is_mysql_failure(const uint8_t *code)
{
	static const uint16_t codes[] = {
		1016, /* cannot open file */
		1021, /* disk full */
		1024, /* error on reading a file */
		1026, /* error on writing a file */
		1030, /* error from the storage engine */
		1034, /* incorrect key file */
		1037, /* out of memory */
		1038, /* out of sort memory */
		1040, /* too many connections */
		1041, /* out of resources */
		1042, /* cannot get the host's name */
		1047, /* unknown command; also Galera: not yet prepared for use */
		1053, /* shutdown in progress */
		1077, /* normal shutdown */
		1079, /* shutdown complete */
		1114, /* table full */
		1129, /* host is blocked: ours */
		1130, /* host is not allowed: ours */
		1135, /* cannot create a thread */
		1180, /* error during commit */
		1194, /* table crashed */
		1195, /* table crashed, and its repair failed */
		1203, /* too many connections of this user */
		1881, /* InnoDB's recovery is forced */
		3032, /* offline mode */
		3168, /* server is not available */
	};
	uint16_t wanted = (uint16_t)(code[0] | code[1] << 8);

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == wanted)
			return true;
	return false;
}

/* Number 0 is a greeting, 1 the answer to a command, what comes after that belongs to a login. */
static enum reply_verdict
judge_mysql(const uint8_t *head, unsigned size)
{
	if (size < MYSQL_HEADER + 3 || is_tls(head, size))
		return REPLY_GOOD;
	unsigned length = mysql_length(head);

	if (size == length + 7) /* compressed, with three bytes more of header */
		return REPLY_GOOD;
	if (head[4] == MYSQL_ERR && length >= 3 && is_mysql_failure(&head[5]))
		return REPLY_WRONG;
	/* searchd has one code for all errors; its sentence stands behind code (2) and state (6).
	 */
	if (head[4] == MYSQL_ERR && size > 13 && is_searchd_failure(&head[13], size - 13))
		return REPLY_WRONG;
	if (head[3] != 1)
		return REPLY_HANDSHAKE;
	/* OK: two counts, of one byte each or not looked at, status (2), warnings (2). */
	if (head[4] != MYSQL_OK || length < 7 || size < 11 || head[5] >= 0xfb || head[6] >= 0xfb)
		return REPLY_GOOD;
	return head[9] != 0 || head[10] != 0 ? REPLY_WARNING : REPLY_GOOD;
}
