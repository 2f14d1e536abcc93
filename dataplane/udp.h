/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a UDP flow: it begins with a client's datagram to a service and ends when neither
 * side has sent one for the slot's idle time-out.  What the client sends while nothing waits is a
 * query, the mirror's next datagram its answer (see latency.h).  Where the mirror says that nobody
 * listens there, the flow ends, so that the client's next datagram finds another mirror.  So does
 * that of a mirror that gets no new flows any more (dead, drained, gone) once it owes an answer for
 * too long, or nobody waits for any, or nothing reaches it.
 *
 * Until the mirror has sent something, the client's address may be forged.  Such flows have a
 * budget of their own, as many as half-open ones (flow_worker.n_unanswered), so that a flood of
 * them can push out neither flows in use nor TCP's new ones.
 * Pure; owning worker only.
 */
#pragma once

#include "ledger.h"

/* Whether the budget of flows without an answer is used up. */
static inline bool
udp_is_full(const struct flow_table *table)
{
	return table->worker->n_unanswered >= table->max_half_open;
}

/* Makes a record, just taken, a flow of datagrams; its first one begins a query.  The caller
 * brackets with flow_change() and flow_changed(), and has seen that udp_is_full() is false. */
void
udp_open(struct ledger *ledger, struct flow *flow);

/* Whether the client's datagram in hand is to open a flow anew, to another mirror. */
bool
udp_is_forsaken(const struct ledger *ledger, const struct flow *flow);

/* A datagram of the client, resp. of the mirror.  All are forwarded. */
void
udp_client_packet(struct ledger *ledger, struct flow *flow);
void
udp_mirror_packet(struct ledger *ledger, struct flow *flow);

/* The mirror says that what we sent to it cannot arrive. */
void
udp_unreachable(struct ledger *ledger, struct flow *flow);
