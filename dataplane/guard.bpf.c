/* SPDX-License-Identifier: (BSD-3-Clause OR GPL-2.0-only) */
/*
 * tc program on a port's ingress, behind XDP: drops TCP, UDP and fragments that are ours and that
 * XDP let pass because it was not attached or not yet told, so that the kernel never answers them.
 * ICMP errors may pass: the kernel knows no socket they could be about.
 */
#include <linux/pkt_cls.h>

#include "steer_parse.h"

/* Ethernet, two tags, IP, options and ports of any packet that is worth the name. */
#define GUARD_HEADERS_MAX 256

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct guard_state);
} guard_state SEC(".maps");

SEC("tc")
int
karmalb_guard(struct __sk_buff *skb)
{
	__u32 size = skb->len < GUARD_HEADERS_MAX ? skb->len : GUARD_HEADERS_MAX;

	/* Only the linear part of a packet is readable; its headers may lie behind that. */
	if (skb->data_end - skb->data < size)
		bpf_skb_pull_data(skb, size);
	void *data = (void *)(long)skb->data;
	void *data_end = (void *)(long)skb->data_end;

	if (!steer_is_ours(data, data_end, false))
		return TC_ACT_UNSPEC; /* the next filter decides */
	steer_count(STEER_COUNTER_TAKEN);
	return TC_ACT_SHOT;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
