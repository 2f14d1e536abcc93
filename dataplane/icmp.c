/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors about flows.  Owning worker only. */
#include "icmp.h"

#include <netinet/in.h>
#include <string.h>

#include "tcp.h"
#include "udp.h"

#define V4_UNREACHABLE 3
#define V4_FRAG_NEEDED 4 /* a code of it, which is no failure */
#define V6_UNREACHABLE 1

static bool
is_unreachable(const uint8_t *frame, const struct packet_view *view)
{
	const uint8_t *icmp = &frame[view->l4_offset];

	if (view->kind & PACKET_IS_V6)
		return icmp[0] == V6_UNREACHABLE;
	return icmp[0] == V4_UNREACHABLE && icmp[1] != V4_FRAG_NEEDED;
}

/* Whether the error comes from the mirror itself, not from a router on the way. */
static bool
is_from_mirror(const uint8_t *frame, const struct packet_view *view, const struct table_slot *slot)
{
	const uint8_t *ip = &frame[view->ip_offset];
	struct karmalb_address source;

	if (view->kind & PACKET_IS_V6)
		memcpy(&source, &ip[8], sizeof(source));
	else
		source = karmalb_address_from_v4(checksum_load32(&ip[12]));
	return memcmp(&source, &slot->address.address, sizeof(source)) == 0;
}

/* Whether the embedded segment can be one that we forwarded. */
static bool
is_plausible(const struct flow *flow, enum flow_side sent_to, const struct packet_view *view)
{
	if (view->key.protocol == IPPROTO_UDP)
		return true;
	if (flow->state == FLOW_SYN_SENT || flow->state == FLOW_PROBE)
		return view->seq + 1 == flow->client_end;
	return tcp_is_near(view->seq, sent_to == FLOW_MIRROR ? flow->client_end : flow->mirror_end);
}

bool
icmp_take(struct ledger *ledger, struct flow *flow, enum flow_side sent_to, const uint8_t *frame,
	const struct packet_view *view)
{
	if ((flow->flags & FLOW_FLAG_CLIENT_UNLINKED) || !is_plausible(flow, sent_to, view))
		return false;
	if (sent_to != FLOW_MIRROR || !is_unreachable(frame, view))
		return true;
	if (flow->state == FLOW_SYN_SENT)
		tcp_syn_unreachable(ledger, flow);
	else if (view->key.protocol == IPPROTO_UDP &&
		 is_from_mirror(frame, view, &ledger->tables->slots[flow->slot]))
		udp_unreachable(ledger, flow);
	return true;
}

bool
icmp_ends_connect(const struct flow *flow, const uint8_t *frame, const struct packet_view *view)
{
	return is_plausible(flow, FLOW_MIRROR, view) && is_unreachable(frame, view);
}
