/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: a libevent loop that ties the socket, the network's changes, intent and
 * observation together.  Everything in it is short; nothing waits for a worker or for a peer.
 */
#pragma once

#include "err.h"

struct control;
struct instance;

/*
 * Begins to listen on 'run_dir'/dataplane.sock, so that a second data plane for the same directory
 * stops before it touches anything.  A control plane that connects now waits for control_run().
 */
int
control_open(struct control **control, const char *run_dir, struct err *err);

/* Serves until SIGTERM or SIGINT, which are unblocked here.  0, or -ENOMEM with a sentence. */
int
control_run(struct control *c, struct instance *instance, struct err *err);

/* Closes the socket.  NULL is fine. */
void
control_close(struct control *c);
