/* SPDX-License-Identifier: BSD-3-Clause */
/* One pinger per mirror: a timer that ping_schedule.h sets, and a socket while a ping is out. */
#include "ping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "ping_dialogue.h"
#include "ping_schedule.h"
#include "units.h"

struct ping {
	struct event_base *base;
	void (*done)(void *arg, const struct ping_result *result);
	void *arg;
	struct ping_target target;
	struct ping_schedule schedule;
	struct ping_dialogue dialogue; /* once the connection stands */
	bool is_dead;
	bool is_single; /* of ping_once() */
	uint64_t began_us;
	uint64_t end_us;   /* it must be over by then; UINT64_MAX: there is a limit to steps only */
	uint64_t armed_us; /* when the timer fires; UINT64_MAX: not set */
	struct event *timer;
	uint64_t step_us;     /* the present step of a ping may take so long, */
	uint64_t until_us;    /* hence until then */
	struct event *socket; /* NULL: no ping is out */
};

static void
on_timer(evutil_socket_t fd, short what, void *arg);
static void
on_connected(evutil_socket_t fd, short what, void *arg);
static void
on_answer(evutil_socket_t fd, short what, void *arg);

static struct timeval
timeval_from_us(uint64_t us)
{
	return (struct timeval){.tv_sec = (time_t)(us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(us % KARMALB_SECOND)};
}

struct ping *
ping_create(struct event_base *base, void (*done)(void *arg, const struct ping_result *result),
	void *arg)
{
	struct ping *ping = calloc(1, sizeof(*ping));

	if (ping == NULL)
		return NULL;
	*ping = (struct ping){.base = base, .done = done, .arg = arg, .armed_us = UINT64_MAX};
	ping_schedule_init(&ping->schedule, 0, karmalb_now_us());
	ping->timer = evtimer_new(base, on_timer, ping);
	if (ping->timer != NULL)
		return ping;
	ping_free(ping);
	return NULL;
}

static void
drop_socket(struct ping *ping)
{
	if (ping->socket == NULL)
		return;
	evutil_socket_t fd = event_get_fd(ping->socket);

	event_free(ping->socket);
	close(fd);
	ping->socket = NULL;
}

void
ping_free(struct ping *ping)
{
	if (ping == NULL)
		return;
	drop_socket(ping);
	if (ping->timer != NULL)
		event_free(ping->timer);
	free(ping);
}

/* Sets the timer unless it fires early enough: an idle timer that has to look again costs less than
 * moving it with every query. */
static void
arm(struct ping *ping)
{
	uint64_t due_us = ping_schedule_due_us(&ping->schedule, ping->is_dead);
	uint64_t now_us = karmalb_now_us();
	struct timeval wait = timeval_from_us(due_us > now_us ? due_us - now_us : 0);

	if (due_us == UINT64_MAX || due_us >= ping->armed_us)
		return;
	ping->armed_us = due_us;
	event_add(ping->timer, &wait);
}

static bool
is_same(const struct ping_target *a, const struct ping_target *b)
{
	return karmalb_endpoint_equal(&a->to, &b->to) && a->interval_us == b->interval_us &&
	       a->kind == b->kind && strcmp(a->path, b->path) == 0;
}

/* Gives up what is out, and begins anew with a schedule of 'interval_us'. */
static void
restart(struct ping *ping, const struct ping_target *target, uint64_t interval_us)
{
	drop_socket(ping);
	event_del(ping->timer);
	ping->armed_us = UINT64_MAX;
	ping->end_us = UINT64_MAX;
	ping->target = *target;
	ping_schedule_init(&ping->schedule, interval_us, karmalb_now_us());
}

void
ping_set(struct ping *ping, const struct ping_target *target)
{
	if (!ping->is_single && is_same(&ping->target, target))
		return;
	restart(ping, target, target->interval_us);
	ping->is_single = false;
	arm(ping);
}

void
ping_once(struct ping *ping, const struct ping_target *target, uint64_t limit_us)
{
	restart(ping, target, 0);
	ping->is_single = true;
	ping->end_us = karmalb_now_us() + limit_us;
	event_add(ping->timer, &(struct timeval){0});
}

void
ping_observe(struct ping *ping, uint64_t query_us, bool is_dead)
{
	ping_schedule_query(&ping->schedule, query_us);
	ping->is_dead = is_dead;
	arm(ping);
}

/* ---- one ping ---- */

/* The last thing that is done with a ping: 'done' may have freed it. */
static void
finish(struct ping *ping, const char *failure)
{
	uint64_t now_us = karmalb_now_us();
	char text[PING_FAILURE_MAX];
	struct ping_result result = {failure == NULL, now_us - ping->began_us, NULL};

	if (failure != NULL) {
		snprintf(text, sizeof(text), "%s", failure); /* it may stand in 'ping' */
		result.failure = text;
	}
	drop_socket(ping);
	ping_schedule_end(&ping->schedule, now_us);
	arm(ping);
	ping->done(ping->arg, &result);
}

static void
finish_errno(struct ping *ping, int error)
{
	switch (error) {
	case ECONNREFUSED:
		finish(ping, "connection refused");
		return;
	case ECONNRESET:
	case EPIPE:
		finish(ping, "connection reset");
		return;
	case EHOSTUNREACH:
	case ENETUNREACH:
		finish(ping, "no route");
		return;
	default:
		finish(ping, strerror(error));
	}
}

static int
connect_to(const struct karmalb_endpoint *to)
{
	bool is_v4 = karmalb_address_is_v4(&to->address);
	struct sockaddr_in v4 = {
		.sin_family = AF_INET,
		.sin_port = to->port_be,
		.sin_addr.s_addr = karmalb_address_v4_be(&to->address),
	};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = to->port_be};
	const struct sockaddr *address = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	memcpy(&v6.sin6_addr, to->address.bytes, sizeof(v6.sin6_addr));

	if (fd < 0)
		return -errno;
	if (connect(fd, address, is_v4 ? sizeof(v4) : sizeof(v6)) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Waits for the socket until the present step's time is up.  False: it has ended instead. */
static bool
await(struct ping *ping)
{
	uint64_t now_us = karmalb_now_us();
	struct timeval limit =
		timeval_from_us(ping->until_us > now_us ? ping->until_us - now_us : 0);

	if (event_add(ping->socket, &limit) == 0)
		return true;
	finish_errno(ping, ENOMEM);
	return false;
}

/* How long a step that begins now may take: an interval, but not beyond the ping's own limit. */
static uint64_t
step_limit_us(const struct ping *ping, uint64_t now_us)
{
	uint64_t left_us = ping->end_us > now_us ? ping->end_us - now_us : 0;
	uint64_t interval_us = ping->target.interval_us;

	return interval_us > 0 && interval_us < left_us ? interval_us : left_us;
}

/* A new step on that socket.  False: it has ended instead. */
static bool
begin_step(struct ping *ping, evutil_socket_t fd, short what, event_callback_fn done)
{
	uint64_t now_us = karmalb_now_us();

	ping->step_us = step_limit_us(ping, now_us);
	ping->until_us = now_us + ping->step_us;
	ping->socket = event_new(ping->base, fd, what, done, ping);
	if (ping->socket != NULL)
		return await(ping);
	close(fd);
	finish_errno(ping, ENOMEM);
	return false;
}

static void
on_timer(evutil_socket_t unused, short what, void *arg)
{
	struct ping *ping = arg;
	int fd;

	(void)unused;
	(void)what;
	ping->armed_us = UINT64_MAX;
	if (!ping->is_single &&
		karmalb_now_us() < ping_schedule_due_us(&ping->schedule, ping->is_dead)) {
		arm(ping); /* a query came in between */
		return;
	}
	ping_schedule_begin(&ping->schedule);
	ping->began_us = karmalb_now_us();
	fd = connect_to(&ping->target.to);
	if (fd < 0)
		finish_errno(ping, -fd);
	else
		begin_step(ping, fd, EV_WRITE, on_connected);
}

static void
finish_late(struct ping *ping, const char *how)
{
	uint64_t us = ping->step_us;
	char text[PING_FAILURE_MAX];

	if (us < KARMALB_SECOND)
		snprintf(text, sizeof(text), "%sno answer in %u ms", how,
			(unsigned)(us / KARMALB_MILLISECOND));
	else
		snprintf(text, sizeof(text), "%sno answer in %.1f s", how,
			(double)us / KARMALB_SECOND);
	finish(ping, text);
}

/* Says what is to be said.  A few bytes into an empty socket buffer fit, or the mirror is gone. */
static int
speak(struct ping_dialogue *d, int fd)
{
	size_t size = d->n_say;
	ssize_t n = size > 0 ? send(fd, d->say, size, MSG_NOSIGNAL) : 0;

	d->n_say = 0;
	if (n == (ssize_t)size)
		return 0;
	return n < 0 ? -errno : -EPIPE;
}

/* After each step of the dialogue. */
static void
go_on(struct ping *ping, enum ping_verdict verdict)
{
	struct ping_dialogue *d = &ping->dialogue;
	int error = speak(d, event_get_fd(ping->socket));

	if (verdict == PING_ALIVE)
		finish(ping, NULL);
	else if (verdict == PING_FAILED)
		finish(ping, d->failure);
	else if (error < 0)
		finish_errno(ping, -error);
	else
		await(ping);
}

static void
on_connected(evutil_socket_t fd, short what, void *arg)
{
	struct ping *ping = arg;
	const struct karmalb_endpoint *to = &ping->target.to;
	socklen_t size = sizeof(int);
	char host[UNITS_TEXT_MAX];
	enum ping_verdict verdict;
	int error = 0;

	if (what & EV_TIMEOUT) {
		finish_late(ping, "");
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error != 0) {
		finish_errno(ping, error);
		return;
	}
	units_format_host(&to->address, ntohs(to->port_be), host, sizeof(host));
	verdict = ping_dialogue_begin(&ping->dialogue, ping->target.kind, ping->target.path, host);
	if (verdict == PING_OPEN) {
		event_free(ping->socket);
		if (!begin_step(ping, fd, EV_READ, on_answer))
			return;
	}
	go_on(ping, verdict);
}

static void
on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct ping *ping = arg;
	struct ping_dialogue *d = &ping->dialogue;
	ssize_t n;

	if (what & EV_TIMEOUT) {
		finish_late(ping, "connected, but ");
		return;
	}
	n = recv(fd, d->heard + d->n_heard, sizeof(d->heard) - d->n_heard, 0);
	if (n >= 0)
		go_on(ping, ping_dialogue_hear(d, (size_t)n));
	else if (errno == EAGAIN || errno == EINTR)
		await(ping);
	else
		finish_errno(ping, errno);
}
