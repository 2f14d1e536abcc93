/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of people that a setting names.  It is looked up whenever it matters, so one that is made
 * later, or whose members change, counts from then on.  That may block where the host's name
 * service asks a server.  Loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <karmalb/limits.h>

struct err;
struct ucred;

struct control_group {
	const char *without;         /* what holds while there is none, for the log */
	char name[KARMALB_NAME_MAX]; /* as last looked up; empty: nobody is meant */
	bool exists;
	bool is_missed; /* the log has it */
	gid_t gid;
};

/* Looks it up; 'g' has what was found, and the log has, once, that there is none or that there is
 * one by now.  Returns whether there is. */
bool
control_group_find(struct control_group *g, const char *name);

/* Whether the peer of the socket 'fd' belongs to the group as last found: its process has it, or
 * its user is a member by now. */
bool
control_group_has(const struct control_group *g, int fd, const struct ucred *peer);

/* Whether files may be given to the group, if there is one.  0, or -EPERM with a sentence. */
int
control_group_check(const char *name, struct err *err);
