/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/self/fd, and AF_XDP's own socket options. */
#include "xsk.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_xdp.h>

static bool
is_xsk(int fd)
{
	int domain = 0;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_XDP;
}

int
xsk_look(struct xsk_seen *seen)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	seen->n = 0;
	if (folder == NULL)
		return -errno;
	while ((entry = readdir(folder)) != NULL && seen->n < XSK_MAX) {
		char *end;
		long fd = strtol(entry->d_name, &end, 10);

		if (*end == '\0' && end != entry->d_name && is_xsk((int)fd))
			seen->fds[seen->n++] = (int)fd;
	}
	closedir(folder);
	return 0;
}

static bool
is_among(const struct xsk_seen *seen, int fd)
{
	for (unsigned i = 0; i < seen->n; i++) {
		if (seen->fds[i] == fd)
			return true;
	}
	return false;
}

int
xsk_find_new(const struct xsk_seen *then)
{
	struct xsk_seen now;
	int found = -1;

	if (xsk_look(&now) != 0)
		return -1;
	for (unsigned i = 0; i < now.n; i++) {
		if (is_among(then, now.fds[i]))
			continue;
		if (found >= 0)
			return -1;
		found = now.fds[i];
	}
	return found;
}

bool
xsk_is_zero_copy(int fd)
{
	struct xdp_options options = {0};
	socklen_t size = sizeof(options);

	return getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &size) == 0 &&
	       (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

uint64_t
xsk_missed(int fd)
{
	struct xdp_statistics s = {0};
	socklen_t size = sizeof(s);

	if (getsockopt(fd, SOL_XDP, XDP_STATISTICS, &s, &size) != 0)
		return 0;
	/* Where the kernel copies it counts a packet that finds no buffer as dropped, too. */
	return s.rx_dropped + s.rx_ring_full +
	       (xsk_is_zero_copy(fd) ? s.rx_fill_ring_empty_descs : 0);
}
