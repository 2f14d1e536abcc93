/* SPDX-License-Identifier: (BSD-3-Clause OR GPL-2.0-only) */
/*
 * XDP program on a port's interface: gives our packets to the DPDK queues and leaves everything
 * else to the kernel.  Loaded and attached by DPDK's AF_XDP driver, which asks for exactly one
 * program per object and a map named xsks_map.  Where no queue is bound (the process was killed)
 * our packets are dropped: silence, never a RST.
 */
#include "steer_parse.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, STEER_QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

SEC("xdp")
int
karmalb_steer(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *data_end = (void *)(long)ctx->data_end;

	if (!steer_is_ours(data, data_end, true)) {
		steer_count(STEER_COUNTER_PASSED);
		return XDP_PASS;
	}
	steer_count(STEER_COUNTER_TAKEN);
	return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_DROP);
}

const char licence[] SEC("license") = "Dual BSD/GPL";
