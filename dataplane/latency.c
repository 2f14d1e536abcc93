/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange tracking: IDLE, WAIT, ANSWER and what may come between.  Owning worker; hot. */
#include "latency.h"

#include "reply.h"

static uint32_t
age_of(const struct ledger *ledger, const struct flow *flow)
{
	return (uint32_t)ledger->now_us - flow->began_us;
}

static void
wait_end(struct ledger *ledger, struct flow *flow)
{
	struct slot_counters *slot = &ledger->slots[flow->slot];

	counter_add(&slot->n_waiting, -UINT64_C(1));
	counter_add(&slot->waiting_since_us, age_of(ledger, flow) - ledger->now_us);
}

static const struct table_slot *
slot_of(const struct ledger *ledger, const struct flow *flow)
{
	return &ledger->tables->slots[flow->slot];
}

static enum karmalb_reply_check
check_of(const struct ledger *ledger, const struct flow *flow)
{
	return (enum karmalb_reply_check)slot_of(ledger, flow)->reply_check;
}

static enum reply_verdict
judge(const struct ledger *ledger, const struct flow *flow)
{
	bool is_handshake = flow->flags & FLOW_FLAG_HANDSHAKE;

	if (flow->flags & FLOW_FLAG_INTERIM)
		return reply_judge_next(check_of(ledger, flow), is_handshake, ledger->payload,
			ledger->payload_size);
	return reply_judge(
		check_of(ledger, flow), is_handshake, ledger->payload, ledger->payload_size);
}

/* The query is no longer waiting: it is answered, if only to say that it failed. */
static void
answered(struct ledger *ledger, struct flow *flow, enum reply_verdict verdict)
{
	uint64_t *outcomes = ledger->slots[flow->slot].outcomes;

	if (verdict == REPLY_HANDSHAKE)
		return;
	if (verdict == REPLY_WRONG) {
		ledger_failure(ledger, flow, KARMALB_OUTCOME_WRONG_REPLIES, age_of(ledger, flow));
		return;
	}
	if (verdict == REPLY_WARNING)
		counter_add(&outcomes[KARMALB_OUTCOME_WARNINGS], 1);
	counter_add(&outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES], 1);
	ledger_sample(ledger, flow, SAMPLE_QUERY, age_of(ledger, flow),
		verdict == REPLY_WARNING ? KARMALB_OUTCOME_WARNINGS
					 : KARMALB_OUTCOME_SUCCEEDED_QUERIES);
}

/*
 * The mirror speaks first: a sign of life, unless it is to say that it will not serve.  What is
 * known for its protocol's greeting proves as little as a SYN-ACK.
 */
static void
greeted(struct ledger *ledger, struct flow *flow, enum reply_verdict verdict)
{
	if (verdict == REPLY_WRONG)
		ledger_failure(ledger, flow, KARMALB_OUTCOME_WRONG_REPLIES, 0);
	else if (verdict != REPLY_HANDSHAKE && verdict != REPLY_NOT_YET)
		ledger_sample(ledger, flow, SAMPLE_GREETING, 0, 0);
}

static void
fail(struct ledger *ledger, struct flow *flow, enum karmalb_outcome outcome)
{
	if (flow->exchange == FLOW_EXCHANGE_WAIT)
		wait_end(ledger, flow);
	ledger_failure(ledger, flow, outcome, age_of(ledger, flow));
}

static bool
is_answer_due(const struct ledger *ledger, const struct flow *flow)
{
	return flow->exchange == FLOW_EXCHANGE_WAIT || latency_is_greeting_due(ledger, flow);
}

/* What should have been noticed before this packet. */
static void
settle(struct ledger *ledger, struct flow *flow)
{
	if (latency_is_overdue(ledger, flow))
		latency_time_out(ledger, flow);
}

/* Since flow->began_us. */
static void
wait_begin(struct ledger *ledger, struct flow *flow)
{
	struct slot_counters *slot = &ledger->slots[flow->slot];

	flow->exchange = FLOW_EXCHANGE_WAIT;
	counter_add(&slot->n_waiting, 1);
	counter_add(&slot->waiting_since_us, ledger->now_us - age_of(ledger, flow));
}

static void
wait_begin_now(struct ledger *ledger, struct flow *flow)
{
	flow->began_us = (uint32_t)ledger->now_us;
	wait_begin(ledger, flow);
}

void
latency_query_begins(struct ledger *ledger, struct flow *flow)
{
	bool is_greeted = flow->exchange == FLOW_EXCHANGE_ANSWER;
	enum reply_query query = reply_query(
		check_of(ledger, flow), is_greeted, ledger->payload, ledger->payload_size);

	flow->flags &= (uint8_t) ~(FLOW_FLAG_HANDSHAKE | FLOW_FLAG_INTERIM);
	if (query == REPLY_QUERY_NONE || slot_of(ledger, flow)->is_one_way)
		return;
	/* Nothing can answer it: the farewell of TLS, or a query that crossed the closing. */
	if (flow->flags & FLOW_FLAG_MIRROR_FIN)
		return;
	if (query == REPLY_QUERY_HANDSHAKE)
		flow->flags |= FLOW_FLAG_HANDSHAKE;
	wait_begin_now(ledger, flow);
}

void
latency_query_follows(struct ledger *ledger, struct flow *flow)
{
	flow->flags &= (uint8_t)~FLOW_FLAG_HANDSHAKE;
	settle(ledger, flow);
	if (flow->exchange != FLOW_EXCHANGE_WAIT)
		return;
	wait_end(ledger, flow);
	wait_begin_now(ledger, flow);
}

void
latency_answer_begins(struct ledger *ledger, struct flow *flow)
{
	enum reply_verdict verdict = judge(ledger, flow);

	settle(ledger, flow);
	if (flow->exchange == FLOW_EXCHANGE_IDLE) {
		greeted(ledger, flow, verdict);
	} else if (verdict == REPLY_NOT_YET) {
		flow->flags |= FLOW_FLAG_INTERIM;
		return;
	}
	if (flow->exchange == FLOW_EXCHANGE_WAIT)
		wait_end(ledger, flow);
	if (flow->exchange == FLOW_EXCHANGE_WAIT || flow->exchange == FLOW_EXCHANGE_LEFT)
		answered(ledger, flow, verdict);
	flow->exchange = FLOW_EXCHANGE_ANSWER;
}

void
latency_syn_payload(struct ledger *ledger, struct flow *flow)
{
	if (reply_query(check_of(ledger, flow), false, ledger->payload, ledger->payload_size) ==
		REPLY_QUERY_HANDSHAKE)
		flow->flags |= FLOW_FLAG_HANDSHAKE;
}

void
latency_syn_taken(struct ledger *ledger, struct flow *flow)
{
	wait_begin(ledger, flow);
}

void
latency_client_fin(struct ledger *ledger, struct flow *flow)
{
	settle(ledger, flow);
	if (flow->exchange != FLOW_EXCHANGE_WAIT)
		return;
	wait_end(ledger, flow);
	flow->exchange = FLOW_EXCHANGE_LEFT;
}

void
latency_mirror_fin(struct ledger *ledger, struct flow *flow)
{
	settle(ledger, flow);
	if (is_answer_due(ledger, flow))
		fail(ledger, flow, KARMALB_OUTCOME_UNEXPECTED_CLOSINGS);
	flow->exchange = FLOW_EXCHANGE_ANSWER;
}

void
latency_mirror_rst(struct ledger *ledger, struct flow *flow)
{
	settle(ledger, flow);
	if (is_answer_due(ledger, flow))
		fail(ledger, flow, KARMALB_OUTCOME_NETWORK_ERRORS);
	flow->exchange = FLOW_EXCHANGE_ANSWER;
}

void
latency_abandon(struct ledger *ledger, struct flow *flow)
{
	settle(ledger, flow);
	if (flow->exchange == FLOW_EXCHANGE_WAIT)
		wait_end(ledger, flow);
	flow->exchange = FLOW_EXCHANGE_ANSWER;
}

void
latency_time_out(struct ledger *ledger, struct flow *flow)
{
	if (is_answer_due(ledger, flow) && ledger_has_link(ledger, flow))
		fail(ledger, flow, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	else if (flow->exchange == FLOW_EXCHANGE_WAIT)
		wait_end(ledger, flow);
	flow->exchange = FLOW_EXCHANGE_LATE;
}

void
latency_client_datagram(struct ledger *ledger, struct flow *flow)
{
	settle(ledger, flow);
	if (flow->exchange == FLOW_EXCHANGE_LATE)
		flow->exchange = FLOW_EXCHANGE_IDLE;
	latency_client_payload(ledger, flow, flow->client_end + 1);
}

void
latency_mirror_datagram(struct ledger *ledger, struct flow *flow)
{
	latency_mirror_payload(ledger, flow, flow->mirror_end + 1);
}

void
latency_unreachable(struct ledger *ledger, struct flow *flow, enum karmalb_outcome outcome)
{
	settle(ledger, flow);
	if (flow->exchange == FLOW_EXCHANGE_WAIT)
		fail(ledger, flow, outcome);
	else if (slot_of(ledger, flow)->is_one_way)
		ledger_failure(ledger, flow, outcome, 0);
	flow->exchange = FLOW_EXCHANGE_LATE;
}
