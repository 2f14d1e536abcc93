/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds the connections of an evhttp, which this version of libevent cannot: each one accepted
 * takes a seat, and while all are taken the listener rests.  A seat is free again when its
 * descriptor is closed.  One that is held for long is taken back when others wait.  Loop's thread
 * only.
 */
#pragma once

struct control_seats;
struct event_base;
struct evconnlistener;
struct evhttp;

/* 'listener' is bound to 'http' already; neither is owned.  'patience_s': how long a seat is safe.
 * Returns NULL when out of memory. */
struct control_seats *
control_seats_create(struct event_base *base, struct evhttp *http, struct evconnlistener *listener,
	unsigned n_seats, unsigned patience_s);

/* Call it after evhttp_free().  Takes NULL. */
void
control_seats_free(struct control_seats *seats);
