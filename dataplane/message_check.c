/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of a message only: ranges of its fields are for intent.c.  Control thread; no I/O. */
#include "message_check.h"

#include <assert.h>
#include <errno.h>

#include <karmalb/wire.h>

#include "err.h"

/* How many messages a control plane sends; their numbers begin with 1 and have no gap. */
#define IS_DOWNWARD(member, number, type) +((number) < 16)
#define NUMBER(member, number, type)      +((number) < 16 ? (number) : 0)
#define N_DOWNWARD                        (0 KARMALB_MESSAGES(IS_DOWNWARD))

static_assert((0 KARMALB_MESSAGES(NUMBER)) == N_DOWNWARD * (N_DOWNWARD + 1) / 2, "a gap");

int
message_check(const void *bytes, size_t size, struct err *err)
{
	const struct karmalb_header *h = bytes;

	if (size < sizeof(*h))
		return err_set(err, -EPROTO, "message of %zu bytes, expected a header of %zu", size,
			sizeof(*h));
	if (h->version != KARMALB_PROTOCOL_VERSION)
		return err_set(err, -EPROTO,
			"protocol version %u, expected %u: both programs must come from one build",
			h->version, KARMALB_PROTOCOL_VERSION);

	uint32_t expected = h->message <= N_DOWNWARD ? karmalb_message_size(h->message) : 0;

	if (expected == 0)
		return err_set(err, -EPROTO, "message number %u, expected 1 .. %d", h->message,
			N_DOWNWARD);
	if (h->size != size || size != expected)
		return err_set(err, -EPROTO, "message %u of %zu bytes that says %u, expected %u",
			h->message, size, h->size, expected);
	return 0;
}
