/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP states and what leads from one to the next.  Owning worker only.  Plain packets of
 * established flows, nearly all there are, do not come here (see tcp_is_plain()).
 */
#include "tcp.h"

#include <assert.h>

#include "halfopen.h"
#include "latency.h"

static enum tcp_verdict
client_half_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static enum tcp_verdict
client_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static enum tcp_verdict
mirror_syn_sent(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static enum tcp_verdict
mirror_syn_acked(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static enum tcp_verdict
mirror_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static void
syn_acked(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
static void
refused(struct ledger *ledger, struct flow *flow);
static void
establish(struct ledger *ledger, struct flow *flow, uint32_t client_next, uint32_t mirror_next);
static void
closing_step(struct ledger *ledger, struct flow *flow);
static void
rest(struct ledger *ledger, struct flow *flow, uint32_t rest_ms);

/* How long to rest after FINs, or after nothing more came. */
static uint32_t
rest_of(const struct flow *flow)
{
	return flow->flags & FLOW_FLAG_MIRROR_FIRST ? TCP_TIME_WAIT_MS : TCP_REST_MS;
}

/* Sequence number after all that a segment occupies, its FIN not counted. */
static uint32_t
payload_end(const struct packet_view *view)
{
	return view->seq + view->payload_size;
}

bool
tcp_is_expired(const struct ledger *ledger, const struct flow *flow)
{
	if (flow->state == FLOW_PROBE)
		return false;
	uint32_t expires_ms = flow_is_half_open(flow)
				      ? ledger->flows->half_opens[flow->half_open].deadline_ms
				      : flow->expires_ms;

	return (int32_t)(ledger->now_ms - expires_ms) >= 0;
}

void
tcp_open(struct ledger *ledger, uint32_t record, const struct packet_view *view)
{
	struct flow *flow = &ledger->flows->records[record];
	uint32_t timeout_ms = ledger->tables->slots[flow->slot].connect_timeout_ms;
	uint32_t entry = half_open_add(
		ledger->flows, record, tcp_deadline(ledger, timeout_ms), ledger->now_ms);

	assert(entry != FLOW_NONE);
	flow->half_open = entry;
	flow->state = FLOW_SYN_SENT;
	flow->client_end = view->seq + 1;
	flow->mirror_end = flow->client_end + view->payload_size;
	if (view->payload_size > 0)
		latency_syn_payload(ledger, flow);
	flow->began_us = (uint32_t)ledger->now_us;
	ledger_count(ledger, KARMALB_COUNTER_FLOWS_OPENED);
	counter_add(&ledger->slots[flow->slot].opened, 1);
}

enum tcp_verdict
tcp_client_packet(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	bool is_syn = view->tcp_flags & PACKET_SYN;
	enum tcp_verdict verdict;

	if (is_syn && (view->tcp_flags & PACKET_ACK))
		return TCP_DROP_STATE;
	if (flow->state == FLOW_RESTING)
		return is_syn ? TCP_REPLACE : TCP_FORWARD;
	flow_change(flow);
	if (flow_is_half_open(flow))
		verdict = client_half_open(ledger, flow, view);
	else
		verdict = client_open(ledger, flow, view);
	flow_changed(flow);
	return verdict;
}

enum tcp_verdict
tcp_mirror_packet(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	enum tcp_verdict verdict;

	if (flow->flags & FLOW_FLAG_CLIENT_UNLINKED)
		return TCP_DROP_NO_FLOW;
	if (flow->state == FLOW_RESTING)
		return view->tcp_flags & PACKET_SYN ? TCP_DROP_STATE : TCP_FORWARD;
	flow_change(flow);
	if (flow->state == FLOW_SYN_SENT)
		verdict = mirror_syn_sent(ledger, flow, view);
	else if (flow->state == FLOW_SYN_ACKED)
		verdict = mirror_syn_acked(ledger, flow, view);
	else
		verdict = mirror_open(ledger, flow, view);
	flow_changed(flow);
	return verdict;
}

void
tcp_syn_unreachable(struct ledger *ledger, struct flow *flow)
{
	flow_change(flow);
	refused(ledger, flow);
	flow_changed(flow);
}

void
tcp_replaced(struct ledger *ledger, struct flow *flow)
{
	flow_change(flow);
	if (flow->state != FLOW_RESTING)
		rest(ledger, flow, rest_of(flow));
	flow->flags |= FLOW_FLAG_CLIENT_UNLINKED;
	flow_changed(flow);
	ledger_count(ledger, KARMALB_COUNTER_FLOWS_REPLACED);
}

void
tcp_expire(struct ledger *ledger, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	uint8_t state = flow->state;

	assert(state != FLOW_PROBE);
	bool rests = flow_is_half_open(flow) ||
		     (state == FLOW_CLOSING && (flow->flags & FLOW_FLAG_MIRROR_FIRST) &&
			     (flow->flags & FLOW_FLAG_CLIENT_FIN));

	flow_change(flow);
	if (state == FLOW_SYN_SENT && ledger_has_link(ledger, flow))
		ledger_failure(ledger, flow, KARMALB_OUTCOME_CONNECT_TIMEOUTS,
			(uint32_t)ledger->now_us - flow->began_us);
	if (flow_is_datagram(flow) && flow->exchange == FLOW_EXCHANGE_WAIT)
		latency_time_out(ledger, flow);
	if (state != FLOW_RESTING)
		rest(ledger, flow, rest_of(flow));
	flow_changed(flow);
	if (!rests)
		flow_remove(ledger->flows, ledger->tables, record);
}

void
tcp_end(struct ledger *ledger, uint32_t record)
{
	struct flow *flow = &ledger->flows->records[record];
	bool is_datagram = flow_is_datagram(flow);

	flow_change(flow);
	rest(ledger, flow, TCP_CLOSING_MS);
	flow_changed(flow);
	if (is_datagram)
		flow_remove(ledger->flows, ledger->tables, record);
}

/* Whether the mirror's first byte has this number by one of its SYN-ACKs. */
static bool
is_begin(const struct flow *flow, uint32_t seq)
{
	return seq == flow->mirror_end || seq == flow->other_end;
}

/*
 * Whether 'number' is that of the client's next byte: after the payload of its SYN where the mirror
 * has taken that, however much it was.
 */
static bool
is_client_next(const struct flow *flow, uint32_t number)
{
	uint32_t ahead = number - flow->client_end;

	return ahead == 0 || (flow->exchange == FLOW_EXCHANGE_WAIT && ahead < UINT16_MAX);
}

static enum tcp_verdict
client_half_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	if (view->tcp_flags & PACKET_SYN) {
		if (view->seq + 1 != flow->client_end)
			return TCP_REPLACE;
		flow->flags |= FLOW_FLAG_SYN_REPEATED;
		return TCP_FORWARD;
	}
	if (view->tcp_flags & PACKET_RST) {
		if (is_client_next(flow, view->seq))
			rest(ledger, flow, TCP_REST_MS);
		return TCP_FORWARD;
	}
	if (flow->state == FLOW_SYN_SENT || !is_begin(flow, view->ack))
		return TCP_DROP_STATE;
	establish(ledger, flow, view->seq, view->ack);
	return client_open(ledger, flow, view);
}

static enum tcp_verdict
client_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	uint32_t end = payload_end(view);

	if (view->tcp_flags & PACKET_SYN)
		return flow->state == FLOW_CLOSING ? TCP_REPLACE : TCP_FORWARD;
	if (view->tcp_flags & PACKET_RST) {
		if (tcp_is_near(view->seq, flow->client_end))
			rest(ledger, flow, TCP_REST_MS);
		return TCP_FORWARD;
	}
	if (tcp_has_client_payload(flow, view))
		latency_client_payload(ledger, flow, end);
	if ((view->tcp_flags & PACKET_FIN) && tcp_is_near(end, flow->client_end)) {
		latency_client_fin(ledger, flow);
		if (latency_is_new(end + 1, flow->client_end))
			flow->client_end = end + 1;
		flow->flags |= FLOW_FLAG_CLIENT_FIN;
		flow->state = FLOW_CLOSING;
	}
	if ((flow->flags & FLOW_FLAG_MIRROR_FIN) && !latency_is_new(flow->mirror_end, view->ack))
		flow->flags |= FLOW_FLAG_MIRROR_FIN_ACKED;
	closing_step(ledger, flow);
	return TCP_FORWARD;
}

/* Whether it acknowledges the client's SYN, with or without what that carried. */
static bool
is_syn_acknowledged(const struct flow *flow, const struct packet_view *view)
{
	uint32_t ahead = view->ack - flow->client_end;

	if ((view->tcp_flags & PACKET_ACK) == 0)
		return false;
	return flow->state == FLOW_SYN_SENT ? ahead <= flow->mirror_end - flow->client_end
					    : ahead < UINT16_MAX; /* how much is forgotten */
}

/*
 * A bare acknowledgement is a challenge from a mirror that still has an older connection in this
 * place; the client will reset that and try again.
 */
static enum tcp_verdict
mirror_syn_sent(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	bool is_ours = is_syn_acknowledged(flow, view);

	if (view->tcp_flags & PACKET_RST) {
		if (is_ours)
			refused(ledger, flow);
		return TCP_FORWARD;
	}
	if (view->tcp_flags & PACKET_SYN) {
		if (!is_ours)
			return TCP_DROP_STATE;
		syn_acked(ledger, flow, view);
		return TCP_FORWARD;
	}
	if (view->payload_size > 0 || (view->tcp_flags & PACKET_FIN))
		return TCP_DROP_STATE;
	return TCP_FORWARD;
}

/*
 * Another SYN-ACK may number otherwise: the mirror was restarted, or has SYN cookies.  The client
 * goes on with the one that reaches it first, and challenges the other; so both hold.  A mirror
 * that speaks before the client has acknowledged anything knows the client already (TCP Fast Open).
 */
static enum tcp_verdict
mirror_syn_acked(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	bool is_ours = is_syn_acknowledged(flow, view);

	if (view->tcp_flags & PACKET_SYN) {
		if (!is_ours)
			return TCP_DROP_STATE;
		if (!is_begin(flow, view->seq + 1)) {
			flow->other_end = flow->mirror_end;
			flow->mirror_end = view->seq + 1;
			half_open_move(ledger->flows, flow->half_open,
				tcp_deadline(ledger, TCP_HANDSHAKE_MS));
		}
		return TCP_FORWARD;
	}
	if (view->tcp_flags & PACKET_RST) {
		if (is_begin(flow, view->seq)) {
			latency_mirror_rst(ledger, flow);
			rest(ledger, flow, TCP_REST_MS);
		} else if (is_ours && view->seq == 0) { /* of the SYN, which came again */
			refused(ledger, flow);
		}
		return TCP_FORWARD;
	}
	if (!is_ours || !is_begin(flow, view->seq) ||
		(view->payload_size == 0 && !(view->tcp_flags & PACKET_FIN)))
		return TCP_FORWARD;
	establish(ledger, flow, view->ack, view->seq);
	return mirror_open(ledger, flow, view);
}

static enum tcp_verdict
mirror_open(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	uint32_t end = payload_end(view);

	if (view->tcp_flags & PACKET_SYN)
		return TCP_FORWARD;
	if (view->tcp_flags & PACKET_RST) {
		if (tcp_is_near(view->seq, flow->mirror_end)) {
			latency_mirror_rst(ledger, flow);
			rest(ledger, flow, TCP_REST_MS);
		}
		return TCP_FORWARD;
	}
	if (tcp_has_mirror_payload(flow, view))
		latency_mirror_payload(ledger, flow, end);
	if ((view->tcp_flags & PACKET_FIN) && tcp_is_near(end, flow->mirror_end)) {
		latency_mirror_fin(ledger, flow);
		if (latency_is_new(end + 1, flow->mirror_end))
			flow->mirror_end = end + 1;
		/* Sent without knowing of the client's FIN: the mirror will be in TIME-WAIT. */
		if (!(flow->flags & FLOW_FLAG_MIRROR_FIN) &&
			(!(flow->flags & FLOW_FLAG_CLIENT_FIN) ||
				latency_is_new(flow->client_end, view->ack)))
			flow->flags |= FLOW_FLAG_MIRROR_FIRST;
		flow->flags |= FLOW_FLAG_MIRROR_FIN;
		flow->state = FLOW_CLOSING;
	}
	if ((flow->flags & FLOW_FLAG_CLIENT_FIN) && !latency_is_new(flow->client_end, view->ack))
		flow->flags |= FLOW_FLAG_CLIENT_FIN_ACKED;
	closing_step(ledger, flow);
	return TCP_FORWARD;
}

static void
syn_acked(struct ledger *ledger, struct flow *flow, const struct packet_view *view)
{
	/* Karn: which of several SYNs was answered cannot be known. */
	if (!(flow->flags & FLOW_FLAG_SYN_REPEATED))
		ledger_sample(
			ledger, flow, SAMPLE_CONNECT, (uint32_t)ledger->now_us - flow->began_us, 0);
	if (view->ack != flow->client_end)
		latency_syn_taken(ledger, flow);
	flow->state = FLOW_SYN_ACKED;
	flow->mirror_end = view->seq + 1;
	flow->other_end = flow->mirror_end;
	half_open_move(ledger->flows, flow->half_open, tcp_deadline(ledger, TCP_HANDSHAKE_MS));
}

static void
refused(struct ledger *ledger, struct flow *flow)
{
	ledger_failure(ledger, flow, KARMALB_OUTCOME_CONNECT_FAILURES,
		(uint32_t)ledger->now_us - flow->began_us);
	rest(ledger, flow, TCP_REST_MS);
}

/* What each side's next byte is numbered, by either's word. */
static void
establish(struct ledger *ledger, struct flow *flow, uint32_t client_next, uint32_t mirror_next)
{
	if (is_client_next(flow, client_next))
		flow->client_end = client_next;
	flow->mirror_end = mirror_next;
	half_open_remove(ledger->flows, flow->half_open);
	flow->state = FLOW_ESTABLISHED;
	latency_established(ledger, flow);
	flow->flags &= (uint8_t)~FLOW_FLAG_SYN_REPEATED;
	flow->seq_delta = 0;
	flow->expires_ms = tcp_deadline(ledger, ledger->tables->slots[flow->slot].idle_timeout_ms);
}

/* After every packet of an open flow: how long it may now be silent, and whether it is over. */
static void
closing_step(struct ledger *ledger, struct flow *flow)
{
	const uint8_t fins = FLOW_FLAG_CLIENT_FIN | FLOW_FLAG_MIRROR_FIN;
	const uint8_t acks = FLOW_FLAG_CLIENT_FIN_ACKED | FLOW_FLAG_MIRROR_FIN_ACKED;
	uint32_t timeout_ms = ledger->tables->slots[flow->slot].idle_timeout_ms;

	if ((flow->flags & (fins | acks)) == (fins | acks))
		rest(ledger, flow, rest_of(flow));
	else if ((flow->flags & fins) == fins)
		flow->expires_ms = tcp_deadline(ledger, TCP_CLOSING_MS);
	else
		flow->expires_ms = tcp_deadline(ledger, timeout_ms);
}

/* Ends a flow that was open. */
static void
rest(struct ledger *ledger, struct flow *flow, uint32_t rest_ms)
{
	if (flow_is_half_open(flow))
		half_open_remove(ledger->flows, flow->half_open);
	else if (flow->state == FLOW_DATAGRAM_SENT)
		counter_add32(&ledger->flows->worker->n_unanswered, -1u);
	latency_abandon(ledger, flow);
	flow->state = FLOW_RESTING;
	flow->expires_ms = tcp_deadline(ledger, rest_ms);
	ledger_count(ledger, KARMALB_COUNTER_FLOWS_CLOSED);
	counter_add(&ledger->slots[flow->slot].closed, 1);
}
