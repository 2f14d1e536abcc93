/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one list of what is counted: enum, array layout, name in every output and help text all come
 * from the rows below.  A row is X(MEMBER, name, help).  Values are uint64_t, cumulative since the
 * data plane's start, one writer each.
 */
#pragma once

/*
 * How an exchange with a mirror ended; the names are Manticore's (SHOW AGENT STATUS).  Every
 * connection and query ends in at most one of them, except that 'warnings' comes in addition.
 */
#define KARMALB_OUTCOMES(X)                                                                        \
	X(QUERY_TIMEOUTS, query_timeouts, "no answer within agent_query_timeout")                  \
	X(CONNECT_TIMEOUTS, connect_timeouts, "no SYN-ACK within agent_connect_timeout")           \
	X(CONNECT_FAILURES, connect_failures, "SYN answered with RST or unreachable")              \
	X(NETWORK_ERRORS, network_errors, "RST from the mirror while an answer was due")           \
	X(WRONG_REPLIES, wrong_replies, "answer that reply_check calls wrong")                     \
	X(UNEXPECTED_CLOSINGS, unexpected_closings, "FIN from the mirror while an answer was due") \
	X(WARNINGS, warnings, "answer that carries a warning")                                     \
	X(SUCCEEDED_QUERIES, succeeded_queries, "query answered")

enum karmalb_outcome {
#define X(member, name, help) KARMALB_OUTCOME_##member,
	KARMALB_OUTCOMES(X)
#undef X
	KARMALB_N_OUTCOMES,
};

/* What one worker counts besides the outcomes.  'drop_' rows are reasons for which a packet died.
 */
#define KARMALB_WORKER_COUNTERS(X)                                                               \
	X(RX_PACKETS, rx_packets, "packets received, counted by the worker that handles them")   \
	X(RX_BYTES, rx_bytes, "bytes received, Ethernet header included")                        \
	X(TX_PACKETS, tx_packets, "packets given to the device")                                 \
	X(TX_BYTES, tx_bytes, "bytes given to the device, Ethernet header included")             \
	X(HANDED_OVER, handed_over, "packets given to the worker that owns their flow")          \
	X(TX_HANDED_OVER, tx_handed_over, "packets given to the worker that owns the tx queue")  \
	X(FLOWS_OPENED, flows_opened, "flows created by a SYN or datagram")                      \
	X(FLOWS_CLOSED, flows_closed, "flows that ended: closed, reset, replaced or expired")    \
	X(FLOWS_REPLACED, flows_replaced, "closing or resting flows replaced by a new SYN")      \
	X(FLOWS_RECLAIMED, flows_reclaimed, "resting flows ended early to make room")            \
	X(CHECKSUM_COMPLETED, checksum_completed, "unfinished TCP or UDP checksums completed")   \
	X(SAMPLES_LOST, samples_lost, "latency samples lost to a full ring")                     \
	X(PROBES_ANSWERED, probes_answered, "answers to a SYN of our own, taken in")             \
	X(DROP_TRUNCATED, drop_truncated, "frame shorter than its headers say")                  \
	X(DROP_MALFORMED, drop_malformed, "header field out of its range")                       \
	X(DROP_IP_CHECKSUM, drop_ip_checksum, "IPv4 header checksum wrong")                      \
	X(DROP_L4_CHECKSUM, drop_l4_checksum, "TCP or UDP checksum flagged wrong by the device") \
	X(DROP_GROUP_MAC, drop_group_mac, "frame sent to a broadcast or multicast MAC address")  \
	X(DROP_FRAGMENT, drop_fragment, "IP fragment")                                           \
	X(DROP_VLAN, drop_vlan, "more than two VLAN tags, or 255 others in use")                 \
	X(DROP_PROTOCOL, drop_protocol, "protocol that no service has")                          \
	X(DROP_ICMP, drop_icmp, "ICMP message that is no error about a flow of ours")            \
	X(DROP_TTL, drop_ttl, "time to live used up")                                            \
	X(DROP_NO_SERVICE, drop_no_service, "addressed to none of our services or sources")      \
	X(DROP_NO_FLOW, drop_no_flow, "neither of a known flow nor the first of one")            \
	X(DROP_NO_MIRROR, drop_no_mirror, "no eligible mirror for a new flow")                   \
	X(DROP_NO_SOURCE_PORT, drop_no_source_port,                                              \
		"every probed source port towards the mirror busy")                              \
	X(DROP_FLOW_TABLE_FULL, drop_flow_table_full, "no flow record free")                     \
	X(DROP_HALF_OPEN_FULL, drop_half_open_full, "too many flows not answered yet")           \
	X(DROP_TCP_STATE, drop_tcp_state, "TCP flags that the flow's state does not allow")      \
	X(DROP_NO_NEXT_HOP, drop_no_next_hop, "next hop's MAC address not known")                \
	X(DROP_PORT_DOWN, drop_port_down, "the port to leave by has no link")                    \
	X(DROP_TOO_BIG, drop_too_big, "packet larger than the MTU of the port to leave by")      \
	X(DROP_HEADROOM, drop_headroom, "no room before it for the client's VLAN tags")          \
	X(DROP_HANDOVER_FULL, drop_handover_full, "ring to the flow's worker full")              \
	X(DROP_TX_HANDOVER_FULL, drop_tx_handover_full, "ring to the tx queue's worker full")    \
	X(DROP_TX_FULL, drop_tx_full, "device took no more packets")

enum karmalb_worker_counter {
#define X(member, name, help) KARMALB_COUNTER_##member,
	KARMALB_WORKER_COUNTERS(X)
#undef X
	KARMALB_N_COUNTERS,
};

/* First and last of the drop rows, for whoever lists drops only. */
#define KARMALB_COUNTER_DROP_FIRST KARMALB_COUNTER_DROP_TRUNCATED
#define KARMALB_COUNTER_DROP_LAST  KARMALB_COUNTER_DROP_TX_FULL
