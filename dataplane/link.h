/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server end of dataplane.sock: one control plane at a time, whole messages, nothing that
 * blocks.  Knows sizes and numbers of messages, not what they mean.  Control thread, on its
 * libevent loop.
 *
 * Whatever is not a message of the control plane's (size, number, version, truncated) is answered
 * with REFUSED and a sentence, and the link is closed; so is a message that the handler refuses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "err.h"

struct event_base;
struct link;

struct link_handler {
	/* A control plane is there; nothing was exchanged yet. */
	void (*opened)(void *context);
	/* A message of right size and version.  Negative: 'err' goes out as REFUSED. */
	int (*message)(void *context, const struct karmalb_header *message, struct err *err);
	/* After link_send() had to give up: there is room again. */
	void (*writable)(void *context);
	/* It is gone, whoever closed. */
	void (*closed)(void *context);
	void *context;
};

/*
 * Listens on 'run_dir'/dataplane.sock (mode 0660); the directory is made if missing.  A socket left
 * behind by a process that is gone is replaced; -EADDRINUSE and a sentence if one lives.
 */
int
link_open(struct link **link, struct event_base *loop, const char *run_dir,
	const struct link_handler *handler, struct err *err);

/* Closes and removes the socket.  NULL is fine. */
void
link_close(struct link *link);

bool
link_is_up(const struct link *link);

/*
 * Sends a message, with descriptor 'fd' (-1: none) riding along.  0; -EAGAIN when the peer does not
 * read: stop sending until handler.writable; -ENOTCONN when there is no peer or it has gone.
 */
int
link_send(struct link *link, const struct karmalb_header *message, int fd);

/* Answers REFUSED with a sentence and closes. */
void
link_refuse(struct link *link, const char *sentence);
