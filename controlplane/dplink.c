/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One socket, three events: readable, writable, time to try again.  Nothing is written outside the
 * writable event, so that no caller ever finds the link closed under its feet.
 */
#include "dplink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "log.h"
#include "message_check.h"
#include "transaction.h"

#define RETRY_MIN_US   (100 * KARMALB_MILLISECOND)
#define RETRY_MAX_US   KARMALB_SECOND
#define READS_PER_TURN 256 /* then others get their turn */

/* A message that waits for room on the socket. */
struct ask {
	struct ask *next;
	uint64_t bytes[]; /* aligned for any message */
};

struct dplink {
	struct event_base *base;
	const struct dplink_events *events;
	void *arg;
	struct sockaddr_un address;
	int fd;        /* -1: none */
	int memory_fd; /* -1: none */
	bool is_welcome;
	uint64_t started_us;
	uint64_t retry_us;
	const struct transaction *out; /* NULL: nothing to send; not owned */
	size_t out_at;
	struct ask *asks, **asks_end;
	struct event *readable, *writable; /* of 'fd' */
	struct event *retry;
	char complaint[KARMALB_SENTENCE_MAX]; /* the last one logged; empty after a welcome */
};

static void
on_retry(evutil_socket_t fd, short what, void *arg);
static void
on_readable(evutil_socket_t fd, short what, void *arg);
static void
on_writable(evutil_socket_t fd, short what, void *arg);
static void
close_link(struct dplink *link, const char *why);

struct dplink *
dplink_create(
	struct event_base *base, const char *path, const struct dplink_events *events, void *arg)
{
	struct dplink *link = calloc(1, sizeof(*link));
	static const struct timeval at_once = {0};

	if (link == NULL)
		return NULL;
	*link = (struct dplink){.base = base,
		.events = events,
		.arg = arg,
		.fd = -1,
		.memory_fd = -1,
		.asks_end = &link->asks,
		.started_us = karmalb_now_us(),
		.retry_us = RETRY_MIN_US,
		.address.sun_family = AF_UNIX};
	if (snprintf(link->address.sun_path, sizeof(link->address.sun_path), "%s", path) >=
		(int)sizeof(link->address.sun_path))
		goto fail;
	link->retry = evtimer_new(base, on_retry, link);
	if (link->retry == NULL || event_add(link->retry, &at_once) < 0)
		goto fail;
	return link;
fail:
	dplink_free(link);
	return NULL;
}

static void
drop_asks(struct dplink *link)
{
	while (link->asks != NULL) {
		struct ask *ask = link->asks;

		link->asks = ask->next;
		free(ask);
	}
	link->asks_end = &link->asks;
}

static void
drop_socket(struct dplink *link)
{
	drop_asks(link);
	if (link->readable != NULL)
		event_free(link->readable);
	if (link->writable != NULL)
		event_free(link->writable);
	if (link->fd >= 0)
		close(link->fd);
	link->readable = NULL;
	link->writable = NULL;
	link->fd = -1;
	link->is_welcome = false;
	link->out = NULL;
}

void
dplink_free(struct dplink *link)
{
	if (link == NULL)
		return;
	drop_socket(link);
	if (link->retry != NULL)
		event_free(link->retry);
	if (link->memory_fd >= 0)
		close(link->memory_fd);
	free(link);
}

void
dplink_send(struct dplink *link, const struct transaction *t)
{
	link->out = t;
	link->out_at = 0;
	if (link->writable != NULL)
		event_add(link->writable, NULL);
}

int
dplink_ask(struct dplink *link, const struct karmalb_header *message)
{
	struct ask *ask;

	if (!link->is_welcome)
		return -ENOTCONN;
	ask = malloc(sizeof(*ask) + message->size);
	if (ask == NULL)
		return -ENOMEM;
	ask->next = NULL;
	memcpy(ask->bytes, message, message->size);
	*link->asks_end = ask;
	link->asks_end = &ask->next;
	event_add(link->writable, NULL);
	return 0;
}

int
dplink_memory(const struct dplink *link)
{
	return link->memory_fd;
}

/* ---- the link's life ---- */

/* Every trouble ends here: it is said once, the socket goes, the next attempt is due. */
static void
close_link(struct dplink *link, const char *why)
{
	struct timeval wait = {.tv_sec = (time_t)(link->retry_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(link->retry_us % KARMALB_SECOND)};
	char sentence[KARMALB_SENTENCE_MAX]; /* 'why' may lie in what we are about to free */

	snprintf(sentence, sizeof(sentence), "%s", why);
	if (strcmp(link->complaint, sentence) != 0) {
		memcpy(link->complaint, sentence, sizeof(sentence));
		log_warning("data plane at %s: %s", link->address.sun_path, sentence);
	}
	drop_socket(link);
	event_add(link->retry, &wait);
	link->retry_us = 2 * link->retry_us < RETRY_MAX_US ? 2 * link->retry_us : RETRY_MAX_US;
	link->events->closed(link->arg, sentence);
}

static void
close_link_errno(struct dplink *link, const char *what, int error)
{
	char why[KARMALB_SENTENCE_MAX];

	snprintf(why, sizeof(why), "%s: %s", what, strerror(error));
	close_link(link, why);
}

/* The socket is new, hence empty: the first message always fits. */
static int
send_hello(struct dplink *link)
{
	const struct karmalb_hello hello = {
		.header = {KARMALB_MESSAGE_HELLO, KARMALB_PROTOCOL_VERSION, sizeof(hello)},
		.started_us = link->started_us,
	};

	return send(link->fd, &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static void
on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct dplink *link = arg;
	int error;

	(void)fd;
	(void)what;
	link->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (link->fd < 0) {
		close_link_errno(link, "no socket", errno);
		return;
	}
	if (connect(link->fd, (struct sockaddr *)&link->address, sizeof(link->address)) < 0) {
		close_link_errno(link, "not reachable", errno);
		return;
	}
	link->readable = event_new(link->base, link->fd, EV_READ | EV_PERSIST, on_readable, link);
	link->writable = event_new(link->base, link->fd, EV_WRITE, on_writable, link);
	error = link->readable == NULL || link->writable == NULL ||
				event_add(link->readable, NULL) < 0
			? -ENOMEM
			: send_hello(link);
	if (error < 0)
		close_link_errno(link, "no greeting", -error);
}

/* ---- upwards ---- */

union message {
	struct karmalb_header header;
	uint64_t aligned;
	uint8_t bytes[KARMALB_MESSAGE_SIZE_MAX + 1]; /* one more, to notice what is too long */
};

union ancillary {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* The descriptor that came along, or -1. */
static int
received_fd(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void
keep_memory(struct dplink *link, int fd)
{
	if (fd < 0)
		return;
	if (link->memory_fd >= 0)
		close(link->memory_fd);
	link->memory_fd = fd;
}

/* Returns false when the link was closed over it. */
static bool
take_message(struct dplink *link, const union message *message, size_t size, int fd)
{
	const struct karmalb_header *header = &message->header;
	const char *wrong = message_check(message, size);
	bool is_welcome = wrong == NULL && header->message == KARMALB_MESSAGE_WELCOME;
	char sentence[KARMALB_SENTENCE_MAX + 32];

	if (is_welcome && !link->is_welcome)
		keep_memory(link, fd);
	else if (fd >= 0)
		close(fd);
	if (wrong == NULL && header->message == KARMALB_MESSAGE_REFUSED) {
		snprintf(sentence, sizeof(sentence), "refused us: %s",
			((const struct karmalb_refused *)header)->sentence);
		close_link(link, sentence);
		return false;
	}
	if (wrong == NULL && is_welcome == link->is_welcome)
		wrong = is_welcome ? "a second WELCOME" : "a message before WELCOME";
	if (wrong != NULL) {
		snprintf(sentence, sizeof(sentence), "link closed, it sent %s", wrong);
		close_link(link, sentence);
		return false;
	}
	if (is_welcome) {
		link->is_welcome = true;
		link->retry_us = RETRY_MIN_US;
		link->complaint[0] = '\0';
	}
	link->events->message(link->arg, header);
	return true;
}

/* Reads one datagram.  Returns false when there is no more, or no link any more. */
static bool
read_message(struct dplink *link)
{
	union message message;
	union ancillary ancillary;
	struct iovec iov = {message.bytes, sizeof(message.bytes)};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &ancillary,
		.msg_controllen = sizeof(ancillary),
	};
	ssize_t size = recvmsg(link->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (size > 0)
		return take_message(link, &message, (size_t)size, received_fd(&msg));
	if (size == 0)
		close_link(link, "gone");
	else if (errno == ECONNRESET)
		return true; /* said once, before what it still had to tell us */
	else if (errno != EAGAIN && errno != EINTR)
		close_link_errno(link, "gone", errno);
	return false;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct dplink *link = arg;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < READS_PER_TURN && read_message(link); i++) {
	}
	link->events->drained(link->arg);
}

/* ---- downwards ---- */

/* False: not now, or nobody is there to take it. */
static bool
send_message(struct dplink *link, const struct karmalb_header *header)
{
	if (send(link->fd, header, header->size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS) {
		event_add(link->writable, NULL);
		return false;
	}
	link->out = NULL; /* it is gone: reading finds out, and perhaps why */
	drop_asks(link);
	return false;
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct dplink *link = arg;

	(void)fd;
	(void)what;
	while (link->asks != NULL) {
		struct ask *ask = link->asks;

		if (!send_message(link, (const struct karmalb_header *)ask->bytes))
			return;
		link->asks = ask->next;
		if (link->asks == NULL)
			link->asks_end = &link->asks;
		free(ask);
	}
	while (link->out != NULL && link->out_at < link->out->size) {
		const struct karmalb_header *header =
			(const void *)((const uint8_t *)link->out->bytes + link->out_at);

		if (!send_message(link, header))
			return;
		link->out_at += header->size;
	}
	link->out = NULL;
}
