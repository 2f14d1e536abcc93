/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client end of dataplane.sock: connects and reconnects for ever, greets, checks and hands on
 * what comes up, sends transactions down without ever blocking.  Knows messages, not what they are
 * about.  Loop's thread only.
 *
 * Reconnects after 100 ms, doubling up to 1 s.  Troubles are logged once, not once per attempt.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

struct dplink;
struct event_base;
struct transaction;

#define DPLINK_SOCKET_NAME "dataplane.sock" /* in the run directory */

/* Called from the loop.  They may call dplink_send(), not dplink_free(). */
struct dplink_events {
	/* A message that passed message_check(); the first on a link is WELCOME.  Valid during the
	 * call. */
	void (*message)(void *arg, const struct karmalb_header *message);
	/* All that was there to read has been handed on. */
	void (*drained)(void *arg);
	/* No link, or none any more; 'why' is for a person.  Also called for failed attempts. */
	void (*closed)(void *arg, const char *why);
};

/* Begins to connect once the loop runs.  'events' must outlive the link.  NULL when out of memory
 * or 'path' is too long for a socket's address. */
struct dplink *
dplink_create(
	struct event_base *base, const char *path, const struct dplink_events *events, void *arg);

/* Takes NULL. */
void
dplink_free(struct dplink *link);

/*
 * Sends a transaction from the loop, as fast as the other side reads; whatever is left of an
 * earlier one is dropped, which the protocol allows at any message.  't' must stay until the next
 * dplink_send(), 'closed', or dplink_free().  Only while there is a link.
 */
void
dplink_send(struct dplink *link, const struct transaction *t);

/* Sends one message of its own from the loop, before what is left of a transaction.  Copied.
 * -ENOTCONN: there is no link; -ENOMEM. */
int
dplink_ask(struct dplink *link, const struct karmalb_header *message);

/* The data plane's flow memory, kept open so that it outlives the process that made it; -1: none.
 */
int
dplink_memory(const struct dplink *link);
