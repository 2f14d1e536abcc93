/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a TCP flow, as far as it can be read off its packets.  Pure; owning worker only.
 *
 *   SYN_SENT     client's SYN forwarded.  Half-open until the slot's connect time-out
 *   SYN_ACKED    mirror's SYN-ACK forwarded, or several that number differently, of which the last
 *                two hold.  Half-open until the client acknowledges one, which a client with a
 *                forged address cannot, or the mirror speaks, which has known it by its cookie
 *                (TCP Fast Open); TCP_HANDSHAKE_MS
 *   ESTABLISHED  idle time-out of the slot
 *   CLOSING      a FIN seen; idle time-out, TCP_CLOSING_MS from the second FIN on
 *   RESTING      over.  What belongs to the end of the conversation is still forwarded, our
 *                (source, port, mirror) is not used again: TCP_TIME_WAIT_MS if the mirror closed
 *                first and holds the connection in TIME-WAIT, else TCP_REST_MS
 *
 * A SYN of the client on a CLOSING or RESTING flow, or one with another initial sequence number on
 * a half-open flow, begins a new flow with a mirror and port of its own; the old record loses its
 * client's entry and rests.  On an ESTABLISHED flow the mirror is to judge it (RFC 5961 challenge).
 *
 * RST and FIN are forwarded in any case, as their receiver knows better; but they change the flow
 * only when their sequence number lies within TCP_NEAR of what that side has last sent, so that a
 * blind one succeeds in 1 of 8,192 tries; half-open, only when it is the very number expected.
 * Payload is forwarded likewise, and counts as what that side has sent if tcp_is_credible().
 */
#pragma once

#include "ledger.h"
#include "packet.h"

#define TCP_HANDSHAKE_MS 10000u
#define TCP_CLOSING_MS   10000u
#define TCP_TIME_WAIT_MS 60000u
#define TCP_REST_MS      1000u
#define TCP_NEAR         (1u << 18)
#define TCP_REACH        (1u << 24)

enum tcp_verdict {
	TCP_FORWARD,
	TCP_REPLACE,      /* a SYN that begins a new flow in this one's place */
	TCP_DROP_STATE,   /* not allowed in this state */
	TCP_DROP_NO_FLOW, /* the client has gone on to another flow */
};

/* Neither SYN, FIN nor RST on an established flow: only payload and expiry matter. */
static inline bool
tcp_is_plain(const struct flow *flow, const struct packet_view *view)
{
	return flow->state == FLOW_ESTABLISHED &&
	       (view->tcp_flags & (PACKET_SYN | PACKET_FIN | PACKET_RST)) == 0;
}

/* Sequence number 'seq' is close to 'known'. */
static inline bool
tcp_is_near(uint32_t seq, uint32_t known)
{
	return seq - known + TCP_NEAR < 2 * TCP_NEAR;
}

/*
 * Whether payload that ends at 'end' is its side's, whose payload has so far ended at 'known', and
 * moves that on: it begins where that ends, or nearly; or, as after a loss before us, whoever sent
 * it knows what the other side, whose payload ends at 'other', has sent.  A bulk transfer each way
 * leaves both somewhat behind: then both are to be in reach.  Blind payload succeeds in 1 of 4,681
 * tries, and the flow's own puts right what it did.
 */
static inline bool
tcp_is_credible(uint32_t end, uint32_t known, uint32_t ack, uint32_t other)
{
	return end - known < TCP_NEAR || tcp_is_near(ack, other) ||
	       (end - known < TCP_REACH && ack - other + TCP_REACH < 2 * TCP_REACH);
}

/* The packet, of the client resp. of the mirror, has payload that latency.h is to be told of. */
static inline bool
tcp_has_client_payload(const struct flow *flow, const struct packet_view *view)
{
	return view->payload_size > 0 && tcp_is_credible(view->seq + view->payload_size,
						 flow->client_end, view->ack, flow->mirror_end);
}

static inline bool
tcp_has_mirror_payload(const struct flow *flow, const struct packet_view *view)
{
	return view->payload_size > 0 && tcp_is_credible(view->seq + view->payload_size,
						 flow->mirror_end, view->ack, flow->client_end);
}

/* The moment 'after_ms' from now, rounded up. */
static inline uint32_t
tcp_deadline(const struct ledger *ledger, uint32_t after_ms)
{
	return ledger->now_ms + after_ms + 1;
}

/*
 * Puts the expiry off, at most once a second, and once in an eighth of short time-outs: most
 * packets then leave the record clean, and a flow lives on for at least seven eighths of its
 * time-out.
 */
static inline void
tcp_touch(const struct ledger *ledger, struct flow *flow, uint32_t timeout_ms)
{
	uint32_t expires_ms = tcp_deadline(ledger, timeout_ms);

	if ((uint32_t)(expires_ms - flow->expires_ms) < (timeout_ms < 8000 ? timeout_ms / 8 : 1000))
		return;
	flow_change(flow);
	flow->expires_ms = expires_ms;
	flow_changed(flow);
}

/* Whether the flow's time is up; tcp_expire() is then due before anything else. */
bool
tcp_is_expired(const struct ledger *ledger, const struct flow *flow);

/*
 * Makes a record, just taken, the flow that the SYN in 'view' begins, and enters it as half-open;
 * the caller has seen that there is room.
 */
void
tcp_open(struct ledger *ledger, uint32_t record, const struct packet_view *view);

/* What a packet of the client, resp. of the mirror, does to its flow, and what becomes of it. */
enum tcp_verdict
tcp_client_packet(struct ledger *ledger, struct flow *flow, const struct packet_view *view);
enum tcp_verdict
tcp_mirror_packet(struct ledger *ledger, struct flow *flow, const struct packet_view *view);

/* The network says that the flow's SYN cannot arrive: a connect failure, as if by RST. */
void
tcp_syn_unreachable(struct ledger *ledger, struct flow *flow);

/* Another flow has taken over the client's entry: ends this one if need be, and lets it rest. */
void
tcp_replaced(struct ledger *ledger, struct flow *flow);

/*
 * The flow's time is up: a connect time-out is counted, unless our own link is down, and rests, an
 * established flow ends, a resting one is removed.  A flow of datagrams ends in any case, and a
 * query of it has then waited too long.
 */
void
tcp_expire(struct ledger *ledger, uint32_t record);

/*
 * Ends a flow because we want it to end: what was asked and not answered counts neither as answered
 * nor as failed.  TCP rests for TCP_CLOSING_MS, so that whoever did not hear of it is told by the
 * other side; datagrams leave nothing behind.
 */
void
tcp_end(struct ledger *ledger, uint32_t record);
