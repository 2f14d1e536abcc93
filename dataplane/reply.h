/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the head of an answer says, so that a mirror that fails fast is not taken for a fast one.
 * Reads the first segment of an answer and nothing else; what cannot be told, as under TLS, or
 * where the segment is too short, is good.  Pure; bounded by a few bytes.
 */
#pragma once

#include <stdint.h>

#include <karmalb/wire.h>

enum reply_verdict {
	REPLY_GOOD,
	REPLY_WARNING,
	REPLY_WRONG,
};

enum reply_verdict
reply_judge(enum karmalb_reply_check check, const uint8_t *head, unsigned size);
