/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matches queries with their answers inside a flow: a query is the client's payload after an answer
 * (or at the beginning), its answer the mirror's next payload.  Only new payload counts; what
 * repeats or lies before bytes already seen is a retransmission.  Each exchange ends in at most one
 * outcome:
 *
 *   succeeded_queries    payload within the slot's query time-out, with a sample of the latency
 *   wrong_replies        payload within it that the slot's reply check calls wrong; no success
 *   query_timeouts       none within it; an answer after that is no success
 *   unexpected_closings  FIN instead
 *   network_errors       RST instead
 *   none                 the client left (RST, or FIN and no answer came any more), our own link
 *                        was down when the query timed out, or what was
 *                        answered was a greeting or login of the protocol that the reply check
 *                        knows: the query is yet to come
 *
 * Where the reply check knows a protocol in which the mirror speaks first (MySQL), its greeting is
 * due from when the connection is established until the client says something or closes: one that
 * does not come in time, or FIN or RST instead of it, has the same outcomes as a query has.  One
 * that comes has none, and is not waited for in the sense below.
 *
 * After the client's FIN nothing but an answer counts.  A client that half-closed, for whom a
 * mirror that closes now has failed, looks like one that gave up, or that sends and never listens;
 * those a server may drop (nginx's 499), and is not to be called ill for it.  After the mirror's
 * FIN there are no more queries.
 *
 * While a query waits it is counted in its slot's n_waiting and waiting_since_us, until any of the
 * above.  A client that half-closes no longer counts as waiting, but may still be answered.  Pure;
 * callers bracket with flow_change() and flow_changed().  Owning worker.
 */
#pragma once

#include <karmalb/clock.h>

#include "ledger.h"

/* 'end' - 'seen' in sequence space is above 0. */
static inline bool
latency_is_new(uint32_t end, uint32_t seen)
{
	return (int32_t)(end - seen) > 0;
}

/*
 * What payload, ledger->payload, does beyond moving 'end' on; see the two functions below.  A query
 * may follow a handshake that was not answered yet: then it begins now.
 */
void
latency_query_begins(struct ledger *ledger, struct flow *flow);
void
latency_query_follows(struct ledger *ledger, struct flow *flow);
void
latency_answer_begins(struct ledger *ledger, struct flow *flow);

/* The client sent payload that ends before sequence number 'end'. */
static inline void
latency_client_payload(struct ledger *ledger, struct flow *flow, uint32_t end)
{
	if (!latency_is_new(end, flow->client_end))
		return;
	flow->client_end = end;
	if (flow->exchange == FLOW_EXCHANGE_IDLE || flow->exchange == FLOW_EXCHANGE_ANSWER)
		latency_query_begins(ledger, flow);
	else if (flow->flags & FLOW_FLAG_HANDSHAKE)
		latency_query_follows(ledger, flow);
}

/* The mirror did. */
static inline void
latency_mirror_payload(struct ledger *ledger, struct flow *flow, uint32_t end)
{
	if (!latency_is_new(end, flow->mirror_end))
		return;
	flow->mirror_end = end;
	if (flow->exchange != FLOW_EXCHANGE_ANSWER)
		latency_answer_begins(ledger, flow);
}

/*
 * The client's SYN carries payload, ledger->payload, resp. the mirror has taken that with its
 * SYN-ACK: a query since the SYN.
 */
void
latency_syn_payload(struct ledger *ledger, struct flow *flow);
void
latency_syn_taken(struct ledger *ledger, struct flow *flow);

/*
 * A datagram of the client, resp. of the mirror.  Every one is new, and since nobody repeats it, a
 * query begins also after one that was never answered.
 */
void
latency_client_datagram(struct ledger *ledger, struct flow *flow);
void
latency_mirror_datagram(struct ledger *ledger, struct flow *flow);

/*
 * The network says that the query cannot arrive: it failed, if one waits, and in any case where
 * none ever does (table_slot.is_one_way).
 */
void
latency_unreachable(struct ledger *ledger, struct flow *flow, enum karmalb_outcome outcome);

/* The connection is established: if the mirror is to greet, then from now on. */
static inline void
latency_established(const struct ledger *ledger, struct flow *flow)
{
	if (flow->exchange == FLOW_EXCHANGE_IDLE)
		flow->began_us = (uint32_t)ledger->now_us;
}

/* The client closed its side. */
void
latency_client_fin(struct ledger *ledger, struct flow *flow);

/* The mirror closed its side, resp. reset the connection; payload in that packet goes first. */
void
latency_mirror_fin(struct ledger *ledger, struct flow *flow);
void
latency_mirror_rst(struct ledger *ledger, struct flow *flow);

/* The flow ends for a reason that is not the mirror's. */
void
latency_abandon(struct ledger *ledger, struct flow *flow);

/* The mirror is to speak first, and has not yet. */
static inline bool
latency_is_greeting_due(const struct ledger *ledger, const struct flow *flow)
{
	const struct table_slot *slot = &ledger->tables->slots[flow->slot];

	return flow->exchange == FLOW_EXCHANGE_IDLE && flow->state == FLOW_ESTABLISHED &&
	       slot->reply_check == KARMALB_REPLY_CHECK_MYSQL && !slot->is_one_way;
}

/*
 * Whether a query or greeting has been without an answer for too long.  Right for up to 71 minutes
 * after it began; within that time the sweep comes by.
 */
static inline bool
latency_is_overdue(const struct ledger *ledger, const struct flow *flow)
{
	uint32_t age_us = (uint32_t)ledger->now_us - flow->began_us;

	return (flow->exchange == FLOW_EXCHANGE_WAIT || flow->exchange == FLOW_EXCHANGE_LEFT ||
		       latency_is_greeting_due(ledger, flow)) &&
	       age_us >= ledger->tables->slots[flow->slot].query_timeout_ms *
				 (uint32_t)KARMALB_MILLISECOND;
}

/*
 * Ends the wait of a query that is overdue, and counts it unless the client has left, or our own
 * link to the mirror is down.
 */
void
latency_time_out(struct ledger *ledger, struct flow *flow);
