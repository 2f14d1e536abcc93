/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a UNIX socket where an earlier process may have left one.  May block. */
#include "unix_listener.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "err.h"

#define BACKLOG SOMAXCONN

static int
make_way(const struct sockaddr_un *address, struct err *err);
static int
bind_private(int fd, const struct sockaddr_un *address);

int
unix_listener_open(const char *path, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int rc;

	if (strlen(path) >= sizeof(address.sun_path)) {
		err_set(err, "%s is too long for a socket's path, expected at most %zu bytes", path,
			sizeof(address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	rc = make_way(&address, err);
	if (rc < 0)
		return rc;

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind_private(fd, &address) < 0) {
		rc = -errno;
		err_set(err, "cannot make the socket %s: %s", path, strerror(-rc));
		goto close_fd;
	}
	if (listen(fd, BACKLOG) < 0) {
		rc = -errno;
		err_set(err, "cannot listen at %s: %s", path, strerror(-rc));
		unlink(path);
		goto close_fd;
	}
	return fd;

close_fd:
	if (fd >= 0)
		close(fd);
	return rc;
}

void
unix_listener_close(int fd, const char *path)
{
	close(fd);
	unlink(path);
}

int
unix_listener_admit(const char *path, gid_t group)
{
	return chown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0 ? -errno : 0;
}

int
unix_listener_admit_nobody(const char *path)
{
	return chmod(path, 0600) < 0 ? -errno : 0;
}

/* True also where the queue of whoever listens is full. */
static bool
is_answered(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	bool is = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
		  errno == EAGAIN || errno == EINPROGRESS;

	close(fd);
	return is;
}

/* Removes what a killed process left behind. */
static int
make_way(const struct sockaddr_un *address, struct err *err)
{
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0; /* nothing there; whatever else is wrong, bind() will say */
	if (!S_ISSOCK(st.st_mode)) {
		err_set(err, "%s exists and is no socket; remove it or choose another --run-dir",
			path);
		return -EEXIST;
	}
	if (is_answered(address)) {
		err_set(err,
			"another control plane answers at %s; stop it first or choose another "
			"--run-dir",
			path);
		return -EADDRINUSE;
	}
	if (unlink(path) < 0) {
		int rc = -errno;

		err_set(err, "cannot remove the stale socket %s: %s", path, strerror(-rc));
		return rc;
	}
	return 0;
}

/* Nobody but the owner can have a moment's access. */
static int
bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	umask(before);
	return rc;
}
