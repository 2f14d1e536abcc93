/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ping.h per mirror of the model, kept in step with it: who joins is pinged, who left is not,
 * and who stays goes on undisturbed.  Loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct model;
struct model_mirror;
struct model_service;
struct ping_result;
struct pinger;
struct pingers;

/* 'done' is told the outcomes.  NULL when out of memory. */
struct pingers *
pingers_create(struct event_base *base,
	void (*done)(void *arg, struct model_mirror *mirror, const struct ping_result *result),
	void *arg);

/* Takes NULL.  Checks that are out end. */
void
pingers_free(struct pingers *pingers);

/*
 * After mirrors or settings have changed: sees to it that every mirror has its pinger, set to the
 * service's settings, and that nobody else has one.  0, or -ENOMEM: some mirrors have none, and it
 * may be called again.
 */
int
pingers_set(struct pingers *pingers, struct model *model);

/* As ping_observe(); 'pinger' may be NULL. */
void
pinger_observe(struct pinger *pinger, uint64_t query_us, bool is_dead);

/* Who wants to know how a mirror answers. */
struct pinger_author {
	/* Called once, from the loop; NULL: it was given up. */
	void (*told)(void *arg, const struct ping_result *result);
	void *arg;
};

/*
 * One ping to a mirror as its service says, now, beside those that it gets anyway and without their
 * hearing of it: not only when it is idle, with pings off or in maintenance, too.  0, and the
 * author is told within 'limit_us', not before this returns; -EOPNOTSUPP: there is no such ping,
 * since the service says "none" or names nothing that TCP reaches; -ENOMEM; -ECANCELED: all ends.
 */
int
pingers_check(struct pingers *pingers, const struct model_service *service,
	const struct model_mirror *mirror, uint64_t limit_us, const struct pinger_author *author);
