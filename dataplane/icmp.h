/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP and ICMPv6 errors about packets that we sent.  Pure; owning worker of the flow that the
 * embedded packet belongs to.
 */
#pragma once

#include "ledger.h"
#include "packet.h"

/*
 * What an error does to its flow; 'sent_to' is the side that the embedded packet was sent to.
 * Unreachable about a SYN is a connect failure, about a datagram a failed query; all else is for
 * the one who sent the packet to judge.  A SYN is known by its sequence number, which only those on
 * the way have seen, hence any of them is believed; a datagram has none, hence the mirror alone is
 * believed, and what routers say is a hint for the client (RFC 1122 section 4.1.3.3).  Returns
 * whether it may be passed on: not if it speaks of sequence numbers that were never sent (RFC
 * 5927), or nobody is left to hear it.
 */
bool
icmp_take(struct ledger *ledger, struct flow *flow, enum flow_side sent_to, const uint8_t *frame,
	const struct packet_view *view);

/* Whether an error says that our SYN to a mirror, a client's or a probe's, cannot arrive. */
bool
icmp_ends_connect(const struct flow *flow, const uint8_t *frame, const struct packet_view *view);
