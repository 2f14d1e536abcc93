/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a UDP flow: it begins with a client's datagram to a service and ends when neither
 * side has sent one for the slot's idle time-out.  What the client sends while nothing waits is a
 * query, the mirror's next datagram its answer (see latency.h).  Where the network says that the
 * mirror cannot be reached, the flow ends, so that the client's next datagram finds another mirror.
 * Pure; owning worker only.
 */
#pragma once

#include "ledger.h"

/* Makes a record, just taken, a flow of datagrams; its first one begins a query.  The caller
 * brackets with flow_change() and flow_changed(). */
void
udp_open(struct ledger *ledger, struct flow *flow);

/* A datagram of the client, resp. of the mirror.  All are forwarded. */
void
udp_client_packet(struct ledger *ledger, struct flow *flow);
void
udp_mirror_packet(struct ledger *ledger, struct flow *flow);

/* The network says that what we sent to the mirror cannot arrive. */
void
udp_unreachable(struct ledger *ledger, struct flow *flow);
