/* SPDX-License-Identifier: (BSD-3-Clause OR GPL-2.0-only) */
/*
 * What user space and the BPF programs agree on: names, keys, values and sizes of the maps.  Both
 * programs (XDP steering, tc guard) have the same lists.  Included by both sides, hence nothing but
 * the kernel's fixed-width types.
 */
#pragma once

#include <linux/types.h>

/* Twice what is served at most, since additions come before removals. */
#define STEER_SERVICES_MAX 512
#define STEER_SOURCES_MAX  512
#define STEER_QUEUES_MAX   64

/* Names of programs and maps; the kernel keeps 15 characters of one. */
#define STEER_PROGRAM      "karmalb_steer"
#define GUARD_PROGRAM      "karmalb_guard"
#define STEER_MAP_SERVICES "services"
#define STEER_MAP_VIPS     "vips"
#define STEER_MAP_SOURCES  "sources"
#define STEER_MAP_COUNTERS "counters"
#define GUARD_MAP_STATE    "guard_state"

/* IPv4 in its mapped form; a struct karmalb_address. */
struct steer_address {
	__u8 bytes[16];
};

/*
 * Key of STEER_MAP_SERVICES; a struct karmalb_endpoint.  Key of STEER_MAP_VIPS: the same with port
 * 0, present while the VIP has a service of that protocol, since fragments carry no port.
 */
struct steer_service {
	struct steer_address address;
	__be16 port_be;
	__u8 protocol;
	__u8 pad;
};

/* STEER_MAP_SOURCES is keyed by struct steer_address.  The lists' values are a byte, unread. */

/* Index into STEER_MAP_COUNTERS, a __u64 per CPU. */
enum steer_counter {
	STEER_COUNTER_TAKEN,  /* XDP: steered to us; guard: dropped */
	STEER_COUNTER_PASSED, /* left to the kernel */
	STEER_N_COUNTERS,
};

/* The one value of GUARD_MAP_STATE: what an instance must know of the one before it. */
struct guard_state {
	__u32 is_clsact_ours; /* we made the qdisc, so we remove it */
};
