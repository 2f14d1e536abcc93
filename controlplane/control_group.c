/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and members by the host's name service. */
#include "control_group.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "err.h"
#include "log.h"

static void
tell(struct control_group *g);
static bool
has_process(gid_t group, int fd);
static bool
has_member(const struct control_group *g, uid_t uid);

bool
control_group_find(struct control_group *g, const char *name)
{
	const struct group *entry = name[0] != '\0' ? getgrnam(name) : NULL;

	if (strcmp(g->name, name) != 0)
		g->is_missed = false;
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->exists = entry != NULL;
	if (entry != NULL)
		g->gid = entry->gr_gid;
	tell(g);
	return g->exists;
}

static void
tell(struct control_group *g)
{
	bool is_missed = !g->exists && g->name[0] != '\0';

	if (is_missed && !g->is_missed)
		log_info("there is no group %s, so %s; it counts as soon as there is one", g->name,
			g->without);
	if (!is_missed && g->is_missed)
		log_info("group %s: there is one now", g->name);
	g->is_missed = is_missed;
}

bool
control_group_has(const struct control_group *g, int fd, const struct ucred *peer)
{
	return g->exists &&
	       (peer->gid == g->gid || has_process(g->gid, fd) || has_member(g, peer->uid));
}

/* Supplementary groups are those that the peer had when it connected. */
static bool
has_process(gid_t group, int fd)
{
	socklen_t size = 0;
	gid_t *groups;
	bool has = false;

	getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size); /* says the size */
	groups = malloc(size > 0 ? size : 1);
	if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0)
		for (size_t i = 0; i < size / sizeof(gid_t); i++)
			has = has || groups[i] == group;
	free(groups);
	return has;
}

/* Whoever became a member since logging in has no process with the group yet. */
static bool
has_member(const struct control_group *g, uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	const struct group *entry = getgrnam(g->name);

	if (user == NULL || entry == NULL)
		return false;
	for (char *const *member = entry->gr_mem; *member != NULL; member++) {
		if (strcmp(*member, user->pw_name) == 0)
			return true;
	}
	return user->pw_gid == entry->gr_gid;
}

int
control_group_check(const char *name, struct err *err)
{
	const struct group *entry = name[0] != '\0' ? getgrnam(name) : NULL;

	if (entry == NULL || geteuid() == 0 || getegid() == entry->gr_gid ||
		group_member(entry->gr_gid))
		return 0;
	err_set(err,
		"controlplane.control_group: the control plane (user id %u) has not got the group "
		"%s, so it cannot give control.sock to it: make its user a member and restart it",
		(unsigned)geteuid(), name);
	return -EPERM;
}
