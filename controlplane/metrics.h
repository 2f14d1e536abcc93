/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GET /metrics over HTTP/1.1 for Prometheus: each answer is made from one copy of the status.
 * Whoever reaches the address may read, hence the default is the loopback address.  Nothing but
 * /metrics is served.  Loop's thread only, and never blocks it; a client that is slow is dropped,
 * one too many waits.
 */
#pragma once

struct err;
struct event_base;
struct intent;
struct metrics;

#define METRICS_CLIENTS_MAX 16
#define METRICS_TIMEOUT_S   10

/* 'address' is "127.0.0.1:9464" as config.h checked it.  'intent' must live as long.  Returns NULL
 * with a sentence when nothing can listen there. */
struct metrics *
metrics_open(
	struct event_base *base, const struct intent *intent, const char *address, struct err *err);

/* Takes NULL. */
void
metrics_close(struct metrics *m);
