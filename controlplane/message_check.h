/* SPDX-License-Identifier: BSD-3-Clause */
/* What the data plane sends is believed only after this.  Pure. */
#pragma once

#include <stddef.h>

/*
 * Looks at one datagram: known, meant for us, of our version, exactly its struct's size, every
 * field inside its range.  Returns NULL when all is well, else what is wrong, in words.  'bytes' is
 * aligned for any message.
 */
const char *
message_check(const void *bytes, size_t size);
