/* SPDX-License-Identifier: BSD-3-Clause */
/* A listening UNIX socket at a path: takes the place of a dead one, never of a living one. */
#pragma once

struct err;

/*
 * Returns a listening descriptor (not blocking, closed on exec) for the socket made at 'path', mode
 * 0660, its group 'group' if there is such a group; if not (logged) or if 'group' is empty, only
 * its owner may connect.  Or returns -errno with a sentence: somebody answers at 'path' already,
 * 'path' is something else than a socket, or it cannot be made.  Changes umask for a moment: call
 * it before there are threads.
 */
int
unix_listener_open(const char *path, const char *group, struct err *err);

/* Closes it and removes the path. */
void
unix_listener_close(int fd, const char *path);
