/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a ping says to a mirror, and which answers are signs of life.  Pure: bytes come in, bytes to
 * be sent come out.
 *
 *   tcp        a connection is enough
 *   http       GET path; status 200 to 399
 *   sphinxapi  version and PING in one segment; its own version and the cookie back
 *   mysql      greeting, login as "karmalb" without password, then COM_PING; a login that is turned
 *              down is a sign of life too, since the server looked at it.  Only errors about the
 *              server's own condition are none, such as "too many connections"
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <karmalb/limits.h>

#include "settings.h"

#define PING_SAY_MAX     256
#define PING_HEARD_MAX   512
#define PING_FAILURE_MAX 64

enum ping_verdict {
	PING_OPEN, /* go on listening */
	PING_ALIVE,
	PING_FAILED,
};

struct ping_dialogue {
	enum ping_kind kind;
	unsigned step;             /* of those that the kind has, from 0 */
	size_t n_say;              /* bytes of 'say' to be sent now; the caller zeroes it */
	uint8_t say[PING_SAY_MAX]; /* after a verdict too: a farewell */
	size_t n_heard;            /* not used up yet */
	uint8_t heard[PING_HEARD_MAX];
	char failure[PING_FAILURE_MAX]; /* in words, once the verdict is PING_FAILED */
};

/* The connection stands.  'path' is for http, 'host' for its Host header. */
enum ping_verdict
ping_dialogue_begin(
	struct ping_dialogue *d, enum ping_kind kind, const char *path, const char *host);

/* 'size' more bytes stand behind heard[n_heard], at most what fits there; 0: the mirror closed. */
enum ping_verdict
ping_dialogue_hear(struct ping_dialogue *d, size_t size);
