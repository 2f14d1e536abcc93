/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sentence for a person, in the caller's hands.  Whoever fails fills it and returns a negative
 * errno; whoever handles the failure speaks (logs, or answers).  Any thread.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include <karmalb/limits.h>

struct err {
	char text[KARMALB_SENTENCE_MAX];
};

/*
 * Fills 'err' (NULL: nobody listens) and returns 'error', so that "return err_set(err, -ENODEV,
 * ...)" is one line.  A sentence that is too long is cut.
 */
__attribute__((format(printf, 3, 4))) static inline int
err_set(struct err *err, int error, const char *fmt, ...)
{
	va_list args;

	if (err == NULL)
		return error;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return error;
}
