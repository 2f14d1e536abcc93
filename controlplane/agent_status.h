/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SHOW AGENT STATUS in Manticore's names: every mirror address is an agent, counted from 0 in the
 * order of the file.  One that several services share is shown once, its counts added up.  Pure.
 *
 * Ours differ from Manticore's in this: msecsperquery is of answered queries only, pings have no
 * part in any count, wrong_query is always 0, and rows of our own (services, state, share, why)
 * follow the documented ones.  connect_avg and connect_max are microseconds, as documented.
 */
#pragma once

#include <stdbool.h>

struct pairs;
struct status;
struct status_service;

/* All agents: ag_0_hostname ... */
void
agent_status_all(struct pairs *pairs, const struct status *status);

/* One agent, by "host:port": agent_hostname ...  False: there is none. */
bool
agent_status_one(struct pairs *pairs, const struct status *status, const char *host);

/* One service's mirrors, as Manticore shows a distributed table: dstindex_1mirror1_id ... */
void
agent_status_service(struct pairs *pairs, const struct status_service *service);

/* For SHOW STATUS: totals of each mirror of each service since the data plane began. */
void
agent_status_life(struct pairs *pairs, const struct status *status);

/* The "host:port" of an agent, for sentences; false: there is no agent number 'i'. */
bool
agent_status_host(const struct status *status, unsigned i, char *host, unsigned size);
