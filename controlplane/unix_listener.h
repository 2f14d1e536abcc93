/* SPDX-License-Identifier: BSD-3-Clause */
/* A listening UNIX socket at a path: takes the place of a dead one, never of a living one. */
#pragma once

#include <sys/types.h>

struct err;

/*
 * Returns a listening descriptor (not blocking, closed on exec) for the socket made at 'path', to
 * which only its owner may connect.  Or returns -errno with a sentence: somebody answers at 'path'
 * already, 'path' is something else than a socket, or it cannot be made.  Changes umask for a
 * moment: call it before there are threads.
 */
int
unix_listener_open(const char *path, struct err *err);

/* The group may connect, too, instead of one before it.  0 or a negative errno. */
int
unix_listener_admit(const char *path, gid_t group);
/* Its owner alone. */
int
unix_listener_admit_nobody(const char *path);

/* Closes it and removes the path. */
void
unix_listener_close(int fd, const char *path);
