/* SPDX-License-Identifier: BSD-3-Clause */
/* One pinger per mirror: a timer that ping_schedule.h sets, and a socket while a ping is out. */
#include "ping.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "ping_schedule.h"

struct ping {
	struct event_base *base;
	void (*done)(void *arg, const struct ping_result *result);
	void *arg;
	struct karmalb_endpoint to;
	struct ping_schedule schedule;
	bool is_dead;
	uint64_t began_us;
	uint64_t armed_us; /* when the timer fires; UINT64_MAX: not set */
	struct event *timer;
	struct event *socket; /* NULL: no ping is out */
};

static void
on_timer(evutil_socket_t fd, short what, void *arg);
static void
on_socket(evutil_socket_t fd, short what, void *arg);

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

void
ping_set(struct ping *ping, const struct karmalb_endpoint *to, uint64_t interval_us)
{
	if (karmalb_endpoint_equal(&ping->to, to) && ping->schedule.interval_us == interval_us)
		return;
	drop_socket(ping);
	event_del(ping->timer);
	ping->armed_us = UINT64_MAX;
	ping->to = *to;
	ping_schedule_init(&ping->schedule, interval_us, karmalb_now_us());
	arm(ping);
}

void
ping_observe(struct ping *ping, uint64_t query_us, bool is_dead)
{
	ping_schedule_query(&ping->schedule, query_us);
	ping->is_dead = is_dead;
	arm(ping);
}

/* ---- one ping ---- */

static void
finish(struct ping *ping, const char *failure)
{
	uint64_t now_us = karmalb_now_us();
	struct ping_result result = {failure == NULL, now_us - ping->began_us, failure};

	drop_socket(ping);
	ping_schedule_end(&ping->schedule, now_us);
	ping->done(ping->arg, &result);
	arm(ping);
}

static void
finish_errno(struct ping *ping, int error)
{
	switch (error) {
	case ECONNREFUSED:
		finish(ping, "connection refused");
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

static void
on_timer(evutil_socket_t unused, short what, void *arg)
{
	struct ping *ping = arg;
	struct timeval limit = timeval_from_us(ping->schedule.interval_us);
	int fd;

	(void)unused;
	(void)what;
	ping->armed_us = UINT64_MAX;
	if (karmalb_now_us() < ping_schedule_due_us(&ping->schedule, ping->is_dead)) {
		arm(ping); /* a query came in between */
		return;
	}
	ping_schedule_begin(&ping->schedule);
	ping->began_us = karmalb_now_us();
	fd = connect_to(&ping->to);
	if (fd < 0) {
		finish_errno(ping, -fd);
		return;
	}
	ping->socket = event_new(ping->base, fd, EV_WRITE, on_socket, ping);
	if (ping->socket != NULL && event_add(ping->socket, &limit) == 0)
		return;
	if (ping->socket == NULL)
		close(fd);
	finish_errno(ping, ENOMEM);
}

static const char *
wait_text(uint64_t us, char *text, size_t size)
{
	if (us < KARMALB_SECOND)
		snprintf(text, size, "%u ms", (unsigned)(us / KARMALB_MILLISECOND));
	else
		snprintf(text, size, "%.1f s", (double)us / KARMALB_SECOND);
	return text;
}

static void
on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct ping *ping = arg;
	char text[64], wait[32];
	int error = 0;
	socklen_t size = sizeof(error);

	if (what & EV_TIMEOUT) {
		snprintf(text, sizeof(text), "no answer in %s",
			wait_text(ping->schedule.interval_us, wait, sizeof(wait)));
		finish(ping, text);
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (error == 0)
		finish(ping, NULL);
	else
		finish_errno(ping, error);
}
