/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket's server end.  Control thread; every call on a socket is non-blocking. */
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "log.h"
#include "log_limit.h"
#include "message_check.h"

#define MESSAGES_PER_TURN 1024 /* then other events of the loop have their turn */

struct link {
	struct event_base *loop;
	struct link_handler handler;
	struct sockaddr_un address;
	int listen_fd;
	int fd; /* the control plane's; -1: none */
	struct event *on_connect;
	struct event *on_readable;
	struct event *on_writable;
	struct log_limit limit;
};

static int
listen_at(struct link *l, const char *run_dir, struct err *err);
static void
accept_peer(evutil_socket_t fd, short what, void *context);
static bool
read_message(struct link *l);
static void
read_messages(evutil_socket_t fd, short what, void *context);
static void
resume_writing(evutil_socket_t fd, short what, void *context);
static void
drop_peer(struct link *l);

int
link_open(struct link **link, struct event_base *loop, const char *run_dir,
	const struct link_handler *handler, struct err *err)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return err_set(err, -ENOMEM, "no memory for the socket");
	l->loop = loop;
	l->handler = *handler;
	l->listen_fd = l->fd = -1;
	l->limit = (struct log_limit){.interval_us = 10 * KARMALB_SECOND, .burst = 10};
	int rc = listen_at(l, run_dir, err);

	if (rc < 0) {
		free(l);
		return rc;
	}
	l->on_connect = event_new(loop, l->listen_fd, EV_READ | EV_PERSIST, accept_peer, l);
	if (l->on_connect == NULL || event_add(l->on_connect, NULL) < 0) {
		link_close(l);
		return err_set(err, -ENOMEM, "no memory for the socket's events");
	}
	*link = l;
	return 0;
}

void
link_close(struct link *l)
{
	if (l == NULL)
		return;
	drop_peer(l);
	if (l->on_connect != NULL)
		event_free(l->on_connect);
	close(l->listen_fd);
	unlink(l->address.sun_path);
	free(l);
}

bool
link_is_up(const struct link *l)
{
	return l->fd >= 0;
}

int
link_send(struct link *l, const struct karmalb_header *message, int fd)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)message, .iov_len = message->size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};

	if (l->fd < 0)
		return -ENOTCONN;
	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	if (sendmsg(l->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR) {
		event_add(l->on_writable, NULL);
		return -EAGAIN;
	}
	/* It has hung up; reading finds out and closes. */
	return -ENOTCONN;
}

/* REFUSED on a descriptor that is about to be closed; lost if the peer does not read. */
static void
send_refusal(int fd, const char *sentence)
{
	struct karmalb_refused m = {
		.header = {KARMALB_MESSAGE_REFUSED, KARMALB_PROTOCOL_VERSION, sizeof(m)},
	};

	snprintf(m.sentence, sizeof(m.sentence), "%s", sentence);
	send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * Closes such that what we sent last can still be read: unread bytes in our own queue would turn
 * the peer's next read into ECONNRESET.
 */
static void
close_gently(int fd)
{
	char byte;

	shutdown(fd, SHUT_RDWR);
	/* Bounded by what a socket's buffer holds: nothing arrives after shutdown(). */
	while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
		;
	close(fd);
}

void
link_refuse(struct link *l, const char *sentence)
{
	unsigned n_left_out;

	if (l->fd < 0)
		return;
	if (log_limit_allows(&l->limit, karmalb_now_us(), &n_left_out))
		log_warning("control plane refused: %s (%u earlier ones not shown)", sentence,
			n_left_out);
	send_refusal(l->fd, sentence);
	drop_peer(l);
}

static void
drop_peer(struct link *l)
{
	if (l->fd < 0)
		return;
	event_free(l->on_readable);
	event_free(l->on_writable);
	l->on_readable = l->on_writable = NULL;
	close_gently(l->fd);
	l->fd = -1;
	l->handler.closed(l->handler.context);
}

/* Whether somebody answers on the socket's path; a file without a process behind it refuses. */
static bool
is_alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool alive =
		fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
				   errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return alive;
}

static int
bind_at(struct link *l, struct err *err)
{
	const char *path = l->address.sun_path;

	if (is_alive(&l->address))
		return err_set(err, -EADDRINUSE, "%s: another data plane serves it", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, -errno, "%s: cannot replace it: %s", path, strerror(errno));

	/* The mode must hold from the first moment on. */
	mode_t mask = umask(0117);
	int rc = bind(l->listen_fd, (const struct sockaddr *)&l->address, sizeof(l->address));

	umask(mask);
	if (rc < 0 || listen(l->listen_fd, 8) < 0)
		return err_set(err, -errno, "%s: cannot listen: %s", path, strerror(errno));
	return 0;
}

static int
listen_at(struct link *l, const char *run_dir, struct err *err)
{
	l->address.sun_family = AF_UNIX;
	snprintf(l->address.sun_path, sizeof(l->address.sun_path), "%.90s/dataplane.sock", run_dir);
	if (mkdir(run_dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: cannot make it: %s", run_dir, strerror(errno));
	l->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->listen_fd < 0)
		return err_set(err, -errno, "no socket: %s", strerror(errno));

	int rc = bind_at(l, err);

	if (rc < 0)
		close(l->listen_fd);
	return rc;
}

static void
log_peer(const struct link *l)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	getsockopt(l->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	log_info("control plane: none -> process %d of user %u", peer.pid, peer.uid);
}

/*
 * A control plane that restarts may be here again before we were told that its predecessor has
 * gone.  Takes what that one had still sent, down to its end.
 */
static void
take_leave_of_dead(struct link *l)
{
	struct pollfd p = {.fd = l->fd};

	if (l->fd < 0 || poll(&p, 1, 0) <= 0 || (p.revents & POLLHUP) == 0)
		return;
	/* Bounded by what a socket's buffer holds: nobody adds to it. */
	while (read_message(l))
		;
}

static void
accept_peer(evutil_socket_t listen_fd, short what, void *context)
{
	struct link *l = context;
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	if (fd < 0)
		return;
	take_leave_of_dead(l);
	if (l->fd >= 0) {
		send_refusal(fd, "another control plane is connected, expected to be the only one");
		close_gently(fd);
		return;
	}
	l->on_readable = event_new(l->loop, fd, EV_READ | EV_PERSIST, read_messages, l);
	l->on_writable = event_new(l->loop, fd, EV_WRITE, resume_writing, l);
	if (l->on_readable == NULL || l->on_writable == NULL ||
		event_add(l->on_readable, NULL) < 0) {
		log_error("no memory for a control plane's events");
		if (l->on_readable != NULL)
			event_free(l->on_readable);
		if (l->on_writable != NULL)
			event_free(l->on_writable);
		close(fd);
		return;
	}
	l->fd = fd;
	log_peer(l);
	l->handler.opened(l->handler.context);
}

/* One message.  False: none there, or the link is no more. */
static bool
read_message(struct link *l)
{
	union {
		struct karmalb_header header;
		uint64_t aligned[KARMALB_MESSAGE_SIZE_MAX / 8];
	} buffer;
	struct err err = {0};
	ssize_t size = recv(l->fd, &buffer, sizeof(buffer), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return false;
	if (size <= 0) {
		drop_peer(l);
		return false;
	}
	int rc = message_check(&buffer, (size_t)size, &err);

	if (rc == 0)
		rc = l->handler.message(l->handler.context, &buffer.header, &err);
	if (rc < 0)
		link_refuse(l, err.text);
	return l->fd >= 0;
}

static void
read_messages(evutil_socket_t fd, short what, void *context)
{
	struct link *l = context;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < MESSAGES_PER_TURN && read_message(l); i++)
		;
}

static void
resume_writing(evutil_socket_t fd, short what, void *context)
{
	struct link *l = context;

	(void)fd;
	(void)what;
	l->handler.writable(l->handler.context);
}
