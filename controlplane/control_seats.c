/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evhttp says when it accepts (it asks for a bufferevent), but not when it closes.  So a seat
 * remembers the descriptor and its socket's inode: another inode, or none, means it was closed.
 * The descriptor is known only after evhttp has put it into the bufferevent, right after asking; an
 * event activated by then runs before that connection's first.
 */
#include "control_seats.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <karmalb/clock.h>

#define RETRY_MS 100

struct seat {
	bool is_taken;
	int fd;                  /* -1: not known yet */
	struct bufferevent *bev; /* referenced until 'fd' is known */
	ino_t inode;
	uint64_t since_us;
};

struct control_seats {
	struct evconnlistener *listener;
	struct event *settle; /* runs settle_seats() */
	struct event *retry;  /* pending while the listener rests */
	uint64_t patience_us;
	unsigned n_seats;
	struct seat seats[];
};

static struct bufferevent *
on_accept(struct event_base *base, void *arg);
static void
on_accept_error(struct evconnlistener *listener, void *arg);
static void
settle_seats(evutil_socket_t fd, short what, void *arg);
static void
retry(evutil_socket_t fd, short what, void *arg);
static bool
has_free_seat(struct control_seats *seats);
static void
rest(struct control_seats *seats);

struct control_seats *
control_seats_create(struct event_base *base, struct evhttp *http, struct evconnlistener *listener,
	unsigned n_seats, unsigned patience_s)
{
	struct control_seats *seats = calloc(1, sizeof(*seats) + n_seats * sizeof(struct seat));

	if (seats == NULL)
		return NULL;
	seats->listener = listener;
	seats->n_seats = n_seats;
	seats->patience_us = patience_s * KARMALB_SECOND;
	seats->settle = event_new(base, -1, 0, settle_seats, seats);
	seats->retry = event_new(base, -1, 0, retry, seats);
	if (seats->settle == NULL || seats->retry == NULL) {
		control_seats_free(seats);
		return NULL;
	}
	evhttp_set_bevcb(http, on_accept, seats);
	evconnlistener_set_error_cb(listener, on_accept_error);
	return seats;
}

void
control_seats_free(struct control_seats *seats)
{
	if (seats == NULL)
		return;
	if (seats->settle != NULL)
		event_free(seats->settle);
	if (seats->retry != NULL)
		event_free(seats->retry);
	for (unsigned i = 0; i < seats->n_seats; i++)
		if (seats->seats[i].bev != NULL)
			bufferevent_decref(seats->seats[i].bev);
	free(seats);
}

/* evhttp has accepted and wants a bufferevent for it.  It closes the descriptor itself. */
static struct bufferevent *
on_accept(struct event_base *base, void *arg)
{
	struct control_seats *seats = arg;
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	for (unsigned i = 0; bev != NULL && i < seats->n_seats; i++) {
		struct seat *seat = &seats->seats[i];

		if (seat->is_taken)
			continue;
		bufferevent_incref(bev);
		*seat = (struct seat){
			.is_taken = true, .fd = -1, .bev = bev, .since_us = karmalb_now_us()};
		event_active(seats->settle, EV_TIMEOUT, 0);
		break;
	}
	if (!has_free_seat(seats))
		rest(seats);
	return bev;
}

static void
listen_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(arg);
}

/* Most likely no descriptors are left: trying again at once would spin.  'arg' is evhttp's. */
static void
on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct timeval pause = {.tv_usec = RETRY_MS * 1000};

	(void)arg;
	evconnlistener_disable(listener);
	event_base_once(
		evconnlistener_get_base(listener), -1, EV_TIMEOUT, listen_again, listener, &pause);
}

static ino_t
inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void
settle_seats(evutil_socket_t fd, short what, void *arg)
{
	struct control_seats *seats = arg;

	(void)fd;
	(void)what;
	for (unsigned i = 0; i < seats->n_seats; i++) {
		struct seat *seat = &seats->seats[i];

		if (seat->bev == NULL)
			continue;
		seat->fd = bufferevent_getfd(seat->bev);
		seat->inode = inode_of(seat->fd);
		seat->is_taken = seat->inode != 0;
		bufferevent_decref(seat->bev);
		seat->bev = NULL;
	}
}

static void
retry(evutil_socket_t fd, short what, void *arg)
{
	struct control_seats *seats = arg;
	struct seat *oldest = NULL;

	(void)fd;
	(void)what;
	if (has_free_seat(seats)) {
		evconnlistener_enable(seats->listener);
		return;
	}
	for (unsigned i = 0; i < seats->n_seats; i++)
		if (oldest == NULL || seats->seats[i].since_us < oldest->since_us)
			oldest = &seats->seats[i];
	if (oldest->fd >= 0 && karmalb_now_us() - oldest->since_us > seats->patience_us)
		shutdown(oldest->fd, SHUT_RDWR); /* evhttp sees the end and closes */
	rest(seats);
}

/* Notices which seats were left. */
static bool
has_free_seat(struct control_seats *seats)
{
	bool has = false;

	for (unsigned i = 0; i < seats->n_seats; i++) {
		struct seat *seat = &seats->seats[i];

		if (seat->is_taken && seat->fd >= 0 && inode_of(seat->fd) != seat->inode)
			seat->is_taken = false;
		has = has || !seat->is_taken;
	}
	return has;
}

static void
rest(struct control_seats *seats)
{
	struct timeval pause = {.tv_usec = RETRY_MS * 1000};

	evconnlistener_disable(seats->listener);
	event_add(seats->retry, &pause);
}
