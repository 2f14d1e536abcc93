/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes doorbells; the rest is inline. */
#include "doorbell.h"

#include <errno.h>

int
doorbell_open(struct doorbell *b)
{
	atomic_init(&b->is_armed, false);
	b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return b->fd < 0 ? -errno : 0;
}

void
doorbell_close(struct doorbell *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}
