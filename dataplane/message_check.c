/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of a message only: ranges of its fields are for intent.c.  Control thread; no I/O. */
#include "message_check.h"

#include <errno.h>

#include <karmalb/wire.h>

#include "err.h"

#define LAST_DOWNWARD 15 /* numbers of messages that a control plane sends */

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

	uint32_t expected = h->message <= LAST_DOWNWARD ? karmalb_message_size(h->message) : 0;

	if (expected == 0)
		return err_set(err, -EPROTO, "message number %u, expected 1 .. 5", h->message);
	if (h->size != size || size != expected)
		return err_set(err, -EPROTO, "message %u of %zu bytes that says %u, expected %u",
			h->message, size, h->size, expected);
	return 0;
}
