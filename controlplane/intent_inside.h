/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files behind intent.h share. */
#pragma once

#include <event2/util.h>

#include "intent.h"

struct event;

struct intent {
	struct intent_options options;
	const struct config *file;
	const struct config *saved; /* what the next start would begin with; NULL: to be made */
	struct event *drain_end;    /* NULL: it was stopped */
	/* A reload that waits to be confirmed: what was before it; NULL: none. */
	struct {
		const struct config *config, *file;
		uint64_t until_us;
	} back;
	struct event *confirm; /* pending meanwhile */
	struct status_reload reload;
};

/* The file, or what was saved, is another one. */
void
intent_forget_saved(struct intent *i);

/* Nobody confirmed in time. */
void
intent_on_unconfirmed(evutil_socket_t fd, short what, void *arg);
