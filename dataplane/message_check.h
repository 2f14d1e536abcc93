/* SPDX-License-Identifier: BSD-3-Clause */
/* What may come down the socket, before anybody looks at what it says.  Pure. */
#pragma once

#include <stddef.h>

struct err;

/*
 * Looks at one datagram: of our version, a message that a control plane sends, exactly its struct's
 * size.  0, or -EPROTO with a sentence.  'bytes' is aligned for any message; no more than 'size' of
 * them are read.
 */
int
message_check(const void *bytes, size_t size, struct err *err);
