/* SPDX-License-Identifier: (BSD-3-Clause OR GPL-2.0-only) */
/*
 * The one decision that the BPF programs share: is this packet ours?  Included by a program of
 * theirs, each of which gets maps of its own.  Every loop is unrolled, every offset is bounded, for
 * the verifiers of Linux 6.1 on.
 *
 * Ours are TCP and UDP to a service or a source address; any fragment to a VIP that has a service
 * of its protocol (of any, where that stands behind options), or to a source address; and, where
 * asked for, ICMP errors about a packet that we sent.  What cannot be parsed is not ours.
 */
#pragma once

/* clang-format off: bpf_helpers.h uses the types that linux/bpf.h brings */
#include <linux/bpf.h>
/* clang-format on */
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "steer_map.h"

#define STEER_VLAN_TAGS_MAX    2
#define STEER_IPV6_OPTIONS_MAX 4

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_SERVICES_MAX);
	__type(key, struct steer_service);
	__type(value, __u8);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_SERVICES_MAX);
	__type(key, struct steer_service);
	__type(value, __u8);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STEER_SOURCES_MAX);
	__type(key, struct steer_address);
	__type(value, __u8);
} sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STEER_N_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

/* As in linux/icmp.h, which drags in headers of the C library that the BPF target has not. */
struct steer_icmp {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

enum steer_icmp_error {
	STEER_ICMP_UNREACHABLE = 3,
	STEER_ICMP_TIME_EXCEEDED = 11,
	STEER_ICMP_PARAMETER_PROBLEM = 12,
};

struct steer_vlan {
	__be16 tag;
	__be16 next_protocol;
};

/* What IPv6's extension headers begin with, and the fragment header as a whole. */
struct steer_option {
	__u8 next_header;
	__u8 size;
	__be16 fragment;
};

struct steer_ports {
	__be16 source;
	__be16 destination;
};

/* A place in the packet and its end; both are packet pointers to the verifier. */
struct steer_cursor {
	void *at;
	void *end;
};

/* The end of the packet that is ours or not: an IP packet's destination, or an error's subject. */
struct steer_end {
	struct steer_service key;
	bool is_fragment; /* the port is not known */
	bool is_of_any;   /* a fragment, nor is the protocol: options stand before it */
};

/* Which side of an IP packet to look at.  Always a constant. */
enum steer_side {
	STEER_DESTINATION,
	STEER_SOURCE, /* of a packet inside an ICMP error */
};

static __always_inline void
steer_count(__u32 counter)
{
	__u64 *n = bpf_map_lookup_elem(&counters, &counter);

	if (n)
		*n += 1;
}

/* Yields the 'size' bytes at the cursor and moves behind them, or NULL where the packet ends. */
static __always_inline void *
steer_take(struct steer_cursor *c, __u32 size)
{
	void *at = c->at;

	if (at + size > c->end)
		return NULL;
	c->at = at + size;
	return at;
}

/*
 * Moves to 'size' bytes behind 'from'.  'size' is a byte of the packet times a constant, from its
 * beginning and not from where a header's fixed part ends: the verifier follows no subtraction.
 */
static __always_inline bool
steer_skip(struct steer_cursor *c, void *from, __u32 size)
{
	c->at = from + size;
	return c->at <= c->end;
}

static __always_inline bool
steer_parse_ports(struct steer_cursor *c, struct steer_end *end, enum steer_side side)
{
	if (end->key.protocol != IPPROTO_TCP && end->key.protocol != IPPROTO_UDP)
		return false;
	struct steer_ports *ports = steer_take(c, sizeof(*ports));

	if (!ports)
		return false;
	end->key.port_be = side == STEER_SOURCE ? ports->source : ports->destination;
	return true;
}

/* Fills address, protocol and is_fragment; leaves the cursor behind the header and its options. */
static __always_inline bool
steer_parse_ipv4(struct steer_cursor *c, struct steer_end *end, enum steer_side side)
{
	struct iphdr *ip = steer_take(c, sizeof(*ip));

	if (!ip || ip->version != 4 || ip->ihl < 5)
		return false;
	__be32 address = side == STEER_SOURCE ? ip->saddr : ip->daddr;

	end->key.address.bytes[10] = 0xff;
	end->key.address.bytes[11] = 0xff;
	__builtin_memcpy(&end->key.address.bytes[12], &address, sizeof(address));
	end->key.protocol = ip->protocol;
	end->is_fragment = ip->frag_off & bpf_htons(0x3fff); /* more fragments, or an offset */
	return steer_skip(c, ip, ip->ihl * 4);
}

static __always_inline bool
steer_is_option(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_FRAGMENT ||
	       protocol == IPPROTO_AH;
}

/* As above; extension headers are walked until the protocol, a fragment header or their limit. */
static __always_inline bool
steer_parse_ipv6(struct steer_cursor *c, struct steer_end *end, enum steer_side side)
{
	struct ipv6hdr *ip = steer_take(c, sizeof(*ip));

	if (!ip || ip->version != 6)
		return false;
	struct in6_addr *address = side == STEER_SOURCE ? &ip->saddr : &ip->daddr;

	if (address->s6_addr32[0] == 0 && address->s6_addr32[1] == 0 &&
		address->s6_addr32[2] == bpf_htonl(0xffff))
		return false; /* would pass for one of the IPv4 addresses in the maps */
	__builtin_memcpy(&end->key.address, address, sizeof(end->key.address));
	end->key.protocol = ip->nexthdr;

#pragma unroll
	for (int i = 0; i < STEER_IPV6_OPTIONS_MAX; i++) {
		__u8 protocol = end->key.protocol;

		if (!steer_is_option(protocol))
			return true;
		struct steer_option *option = steer_take(c, sizeof(*option));

		if (!option)
			return false;
		end->key.protocol = option->next_header;
		if (protocol == IPPROTO_FRAGMENT) {
			end->is_fragment = true;
			end->is_of_any = steer_is_option(option->next_header);
			return true;
		}
		if (!steer_skip(c, option,
			    protocol == IPPROTO_AH ? (option->size + 2) * 4
						   : (option->size + 1) * 8))
			return false;
	}
	return true;
}

/* Moves to the packet inside an ICMP error.  False for every other message. */
static __always_inline bool
steer_enter_icmp_error(struct steer_cursor *c)
{
	struct steer_icmp *icmp = steer_take(c, sizeof(*icmp));

	return icmp &&
	       (icmp->type == STEER_ICMP_UNREACHABLE || icmp->type == STEER_ICMP_TIME_EXCEEDED ||
		       icmp->type == STEER_ICMP_PARAMETER_PROBLEM);
}

static __always_inline bool
steer_enter_icmpv6_error(struct steer_cursor *c)
{
	struct icmp6hdr *icmp = steer_take(c, sizeof(*icmp));

	return icmp && icmp->icmp6_type >= ICMPV6_DEST_UNREACH &&
	       icmp->icmp6_type <= ICMPV6_PARAMPROB;
}

static __always_inline bool
steer_parse_ip(struct steer_cursor *c, __be16 protocol, struct steer_end *end, bool with_icmp)
{
	struct steer_end subject = {};

	if (protocol == bpf_htons(ETH_P_IP)) {
		if (!steer_parse_ipv4(c, end, STEER_DESTINATION))
			return false;
		if (end->is_fragment)
			return true;
		if (end->key.protocol != IPPROTO_ICMP)
			return steer_parse_ports(c, end, STEER_DESTINATION);
		if (!with_icmp || !steer_enter_icmp_error(c) ||
			!steer_parse_ipv4(c, &subject, STEER_SOURCE))
			return false;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		if (!steer_parse_ipv6(c, end, STEER_DESTINATION))
			return false;
		if (end->is_fragment)
			return true;
		if (end->key.protocol != IPPROTO_ICMPV6)
			return steer_parse_ports(c, end, STEER_DESTINATION);
		if (!with_icmp || !steer_enter_icmpv6_error(c) ||
			!steer_parse_ipv6(c, &subject, STEER_SOURCE))
			return false;
	} else {
		return false;
	}
	*end = subject;
	return end->is_fragment || steer_parse_ports(c, end, STEER_SOURCE);
}

/* 'data' begins with the Ethernet header. */
static __always_inline bool
steer_parse(void *data, void *data_end, struct steer_end *end, bool with_icmp)
{
	struct steer_cursor c = {.at = data, .end = data_end};
	struct ethhdr *eth = steer_take(&c, sizeof(*eth));

	if (!eth)
		return false;
	__be16 protocol = eth->h_proto;

#pragma unroll
	for (int i = 0; i < STEER_VLAN_TAGS_MAX; i++) {
		if (protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD))
			break;
		struct steer_vlan *vlan = steer_take(&c, sizeof(*vlan));

		if (!vlan)
			return false;
		protocol = vlan->next_protocol;
	}
	return steer_parse_ip(&c, protocol, end, with_icmp);
}

/* Its port is 0, as in the keys of VIPs. */
static __always_inline bool
steer_is_fragment_listed(struct steer_end *end)
{
	if (end->is_of_any) {
		end->key.protocol = IPPROTO_TCP;
		if (bpf_map_lookup_elem(&vips, &end->key))
			return true;
		end->key.protocol = IPPROTO_UDP;
	}
	return bpf_map_lookup_elem(&vips, &end->key) != NULL;
}

static __always_inline bool
steer_is_listed(struct steer_end *end)
{
	if (bpf_map_lookup_elem(&sources, &end->key.address))
		return true;
	if (end->is_fragment)
		return steer_is_fragment_listed(end);
	return bpf_map_lookup_elem(&services, &end->key) != NULL;
}

static __always_inline bool
steer_is_ours(void *data, void *data_end, bool with_icmp)
{
	struct steer_end end = {};

	return steer_parse(data, data_end, &end, with_icmp) && steer_is_listed(&end);
}
