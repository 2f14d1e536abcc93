/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control.sock: HTTP/1.1 over a UNIX socket, for karmactl and for programs.
 *
 *     POST /cli     body: a statement        Accept: application/json for JSON,
 *                   text/tab-separated-values for that, else text
 *
 *     200 done   400 wrong statement   403 not allowed   404, 405 not /cli, not POST   503 not now
 *
 * Who may open the socket may read: its owner and the group 'control_group' of the settings.
 * Changes are for root, the control plane's own user, and members of 'admin_group'.  Both are
 * looked up ever anew (control_group.h), the former every CONTROL_SOCKET_LOOK_S and after each
 * statement. Text that is long in coming (CHECK SERVICE) is sent line by line, in chunks.
 * Everything here runs on the loop's thread; a client that is slow is dropped, one too many waits.
 */
#pragma once

struct command_request;
struct config;
struct config_controlplane;
struct control_socket;
struct err;
struct event_base;

#define CONTROL_SOCKET_NAME        "control.sock" /* in the run directory */
#define CONTROL_SOCKET_CLIENTS_MAX 64
#define CONTROL_SOCKET_TIMEOUT_S   30
#define CONTROL_SOCKET_LOOK_S      5

struct control_options {
	void (*run)(void *arg, const struct command_request *request); /* commands_run() */
	/* In force; valid until the next change. */
	const struct config_controlplane *(*settings)(void *arg);
	void *arg;
};

/*
 * Takes 'run_dir'/control.sock: whoever connects waits until control_socket_serve().  A socket that
 * a killed control plane left behind is replaced.  Returns NULL with a sentence if another control
 * plane answers there, or the socket cannot be made.
 */
struct control_socket *
control_socket_open(const char *run_dir, const struct config_controlplane *conf, struct err *err);

/* Whether the socket can be as 'wanted' says.  0, or a negative errno with a sentence. */
int
control_socket_check(const struct config *wanted, struct err *err);

/* Answers from here on, on the loop of 'base'.  0, or -ENOMEM with a sentence; close it then. */
int
control_socket_serve(struct control_socket *s, struct event_base *base,
	const struct control_options *options, struct err *err);

/* Removes the socket.  Call it after balance_free(), so that no statement still waits for its
 * answer.  Takes NULL. */
void
control_socket_close(struct control_socket *s);
