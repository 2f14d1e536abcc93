/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocols of pings.  No clock, no I/O; what comes in is not trusted. */
#include "ping_dialogue.h"

#include <stdio.h>
#include <string.h>

#define MYSQL_USER     "karmalb"
#define MYSQL_ERR_HEAD 3 /* 0xff and the code; a sentence follows */
#define MYSQL_ERR_MAX  4096
#define MYSQL_PLUGIN   "mysql_native_password"

enum mysql_step {
	MYSQL_GREETING,
	MYSQL_LOGIN,
	MYSQL_PING,
};

enum mysql_byte {
	MYSQL_OK = 0x00,
	MYSQL_PROTOCOL_10 = 0x0a,
	MYSQL_COM_QUIT = 0x01,
	MYSQL_COM_PING = 0x0e,
	MYSQL_AUTH_SWITCH = 0xfe,
	MYSQL_ERR = 0xff,
};

static const uint8_t sphinxapi_ping[] = {
	0, 0, 0, 1,             /* our version */
	0, 9, 1, 0, 0, 0, 0, 4, /* command PING, its version, length */
	0x6b, 0x61, 0x72, 0x6d, /* cookie */
};

static enum ping_verdict
hear_http(struct ping_dialogue *d);
static enum ping_verdict
hear_sphinxapi(struct ping_dialogue *d);
static enum ping_verdict
hear_mysql(struct ping_dialogue *d);

static enum ping_verdict
fail(struct ping_dialogue *d, const char *failure)
{
	snprintf(d->failure, sizeof(d->failure), "%s", failure);
	return PING_FAILED;
}

static void
say(struct ping_dialogue *d, const void *bytes, size_t size)
{
	memcpy(d->say + d->n_say, bytes, size);
	d->n_say += size;
}

enum ping_verdict
ping_dialogue_begin(
	struct ping_dialogue *d, enum ping_kind kind, const char *path, const char *host)
{
	int n;

	*d = (struct ping_dialogue){.kind = kind};
	switch (kind) {
	case PING_HTTP:
		n = snprintf((char *)d->say, sizeof(d->say),
			"GET %s%s HTTP/1.0\r\nHost: %s\r\nUser-Agent: karmalb\r\n"
			"Connection: close\r\n\r\n",
			path[0] == '/' ? "" : "/", path, host);
		d->n_say = (size_t)n < sizeof(d->say) ? (size_t)n : sizeof(d->say) - 1;
		return PING_OPEN;
	case PING_SPHINXAPI:
		say(d, sphinxapi_ping, sizeof(sphinxapi_ping));
		return PING_OPEN;
	case PING_MYSQL:
		return PING_OPEN;
	case PING_TCP:
	case PING_NONE:
		break;
	}
	return PING_ALIVE;
}

enum ping_verdict
ping_dialogue_hear(struct ping_dialogue *d, size_t size)
{
	enum ping_verdict verdict = PING_OPEN;

	d->n_heard += size;
	if (d->kind == PING_HTTP)
		verdict = hear_http(d);
	else if (d->kind == PING_SPHINXAPI)
		verdict = hear_sphinxapi(d);
	else if (d->kind == PING_MYSQL)
		verdict = hear_mysql(d);
	if (verdict == PING_OPEN && size == 0)
		return fail(d, "closed the connection without an answer");
	if (verdict == PING_OPEN && d->n_heard == sizeof(d->heard))
		return fail(d, "the answer does not end");
	return verdict;
}

/* Behind heard[at] no more than 'n_heard'. */
static bool
begins_with(const struct ping_dialogue *d, const char *text)
{
	size_t n = strlen(text);

	return memcmp(d->heard, text, d->n_heard < n ? d->n_heard : n) == 0;
}

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200" */
static enum ping_verdict
hear_http(struct ping_dialogue *d)
{
	const uint8_t *h = d->heard;

	if (!begins_with(d, "HTTP/"))
		return fail(d, "the answer is not HTTP");
	if (d->n_heard < 12)
		return PING_OPEN;
	if (h[8] != ' ' || !is_digit(h[9]) || !is_digit(h[10]) || !is_digit(h[11]))
		return fail(d, "the answer is not HTTP");
	if (h[9] == '2' || h[9] == '3')
		return PING_ALIVE;
	snprintf(d->failure, sizeof(d->failure), "HTTP status %.3s, expected 200 to 399",
		(const char *)&h[9]);
	return PING_FAILED;
}

/* Version, then status 0, version of the command, length 4, cookie. */
static enum ping_verdict
hear_sphinxapi(struct ping_dialogue *d)
{
	const uint8_t *reply = d->heard + 4;
	size_t n_cookie = 4;

	if (d->n_heard >= 4 && (d->heard[0] != 0 || d->heard[1] != 0))
		return fail(d, "the answer is not SphinxAPI");
	if (d->n_heard < 4 + 8)
		return PING_OPEN;
	if (reply[0] != 0 || reply[1] != 0) {
		snprintf(d->failure, sizeof(d->failure), "SphinxAPI status %u",
			(unsigned)reply[0] << 8 | reply[1]);
		return PING_FAILED;
	}
	if (d->n_heard < 4 + 8 + n_cookie)
		return PING_OPEN;
	if (memcmp(reply + 8, sphinxapi_ping + sizeof(sphinxapi_ping) - n_cookie, n_cookie) != 0)
		return fail(d, "SphinxAPI ping came back with another cookie");
	return PING_ALIVE;
}

/* ---- MySQL's protocol ---- */

/* A packet of ours with that number in the exchange. */
static void
mysql_say(struct ping_dialogue *d, uint8_t number, const void *payload, uint8_t size)
{
	const uint8_t header[] = {size, 0, 0, number};

	say(d, header, sizeof(header));
	say(d, payload, size);
}

static void
mysql_log_in(struct ping_dialogue *d, uint8_t number)
{
	static const char names[] = MYSQL_USER "\0\0" MYSQL_PLUGIN; /* empty password between */
	uint8_t payload[32 + sizeof(names)] = {
		/* CLIENT_LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH */
		0x01, 0x82, 0x08, 0x00, 0, 0, 0, 1, /* largest packet */
		33,                                 /* utf8_general_ci */
	};

	memcpy(payload + 32, names, sizeof(names));
	mysql_say(d, number, payload, sizeof(payload));
}

/* The server cannot serve: errors that say nothing about who asked. */
static bool
is_own_condition(unsigned error)
{
	static const uint16_t errors[] = {
		1037, /* out of memory */
		1038, /* out of sort memory */
		1040, /* too many connections */
		1041, /* out of resources */
		1053, /* shutdown in progress */
		1077, /* normal shutdown */
		1079, /* shutdown complete */
		1129, /* host is blocked because of many connection errors */
		1135, /* cannot create a new thread */
		1203, /* too many user connections */
		3032, /* offline mode */
	};

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i] == error)
			return true;
	}
	return false;
}

/* ERR: code (2), with a state "#28000" if it answers a login, sentence. */
static enum ping_verdict
mysql_refused(struct ping_dialogue *d, const uint8_t *payload, size_t size)
{
	unsigned error = size >= 3 ? payload[1] | (unsigned)payload[2] << 8 : 0;

	if (size >= 3 && !is_own_condition(error) && d->step != MYSQL_PING)
		return PING_ALIVE;
	snprintf(d->failure, sizeof(d->failure), "MySQL error %u", error);
	return PING_FAILED;
}

/* One whole packet of the server, number included. */
static enum ping_verdict
mysql_packet(struct ping_dialogue *d, uint8_t number, const uint8_t *payload, size_t size)
{
	static const uint8_t ping = MYSQL_COM_PING, quit = MYSQL_COM_QUIT;

	if (payload[0] == MYSQL_ERR)
		return mysql_refused(d, payload, size);
	if (d->step == MYSQL_GREETING && payload[0] == MYSQL_PROTOCOL_10) {
		d->step = MYSQL_LOGIN;
		mysql_log_in(d, number + 1);
		return PING_OPEN;
	}
	if (d->step == MYSQL_LOGIN && payload[0] == MYSQL_AUTH_SWITCH) {
		mysql_say(d, number + 1, "", 0); /* no password in that way either */
		return PING_OPEN;
	}
	if (d->step == MYSQL_LOGIN && payload[0] == MYSQL_OK) {
		d->step = MYSQL_PING;
		mysql_say(d, 0, &ping, 1);
		return PING_OPEN;
	}
	if (d->step == MYSQL_PING && payload[0] == MYSQL_OK) {
		mysql_say(d, 0, &quit, 1);
		return PING_ALIVE;
	}
	return fail(d, "the answer is not MySQL's protocol");
}

static enum ping_verdict
hear_mysql(struct ping_dialogue *d)
{
	enum ping_verdict verdict = PING_OPEN;

	/* Bounded: each packet takes at least 5 bytes of what was heard. */
	while (verdict == PING_OPEN && d->n_heard >= 5) {
		const uint8_t *h = d->heard;
		size_t size = h[0] | (size_t)h[1] << 8 | (size_t)h[2] << 16;

		bool is_error = h[4] == MYSQL_ERR && size >= MYSQL_ERR_HEAD;

		if (size == 0 || size > (is_error ? MYSQL_ERR_MAX : sizeof(d->heard) - 4))
			return fail(d, "the answer is not MySQL's protocol");
		if (is_error && d->n_heard >= 4 + MYSQL_ERR_HEAD)
			return mysql_refused(
				d, h + 4, MYSQL_ERR_HEAD); /* its sentence may be long */
		if (d->n_heard < 4 + size)
			break;
		if (d->n_say > sizeof(d->say) / 2)
			return fail(d, "the server does not wait for its turn");
		verdict = mysql_packet(d, h[3], h + 4, size);
		d->n_heard -= 4 + size;
		memmove(d->heard, d->heard + 4 + size, d->n_heard);
	}
	return verdict;
}
