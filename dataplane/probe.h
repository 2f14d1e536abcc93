/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A SYN of our own to a mirror, to see whether it answers, from a source address and port that are
 * allocated as any flow's are.  Whatever comes back is answered with RST, so that no connection is
 * left anywhere; karma does not hear of it.  A probe holds a flow record in state FLOW_PROBE, with
 * its index in 'client_port_be' and no client's entry; the record does not expire, since the entry
 * in 'probes' points to it: only the end of the probe lets it go.  Pure; owning worker, but for
 * what control does with entries that are its own.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <karmalb/wire.h>

#define PROBES_MAX 64 /* of one worker at a time */

struct craft_frames;
struct ledger;
struct packet_view;

/* Says whose the rest of the entry is. */
enum probe_state {
	PROBE_FREE,    /* control's */
	PROBE_ORDERED, /* worker's: not sent yet */
	PROBE_SENT,    /* worker's */
	PROBE_DONE,    /* control's: 'result' and what follows it are there */
};

struct probe {
	_Atomic uint32_t state;
	uint32_t timeout_ms; /* control writes */
	uint64_t ordered_us; /* control writes: CLOCK_MONOTONIC */
	uint16_t slot;       /* control writes */
	uint16_t source_port_be;
	uint8_t source; /* index into tables.sources */
	uint8_t result; /* enum karmalb_check_result */
	uint32_t record;
	uint32_t took_us;
	uint64_t sent_us;
};

/*
 * Sends what was ordered, as far as 'out' has room, and gives up what waited too long: for room
 * since the order, for an answer since it was sent.  Returns how many are still under way.
 */
unsigned
probes_run(struct ledger *ledger, struct craft_frames *out);

/*
 * A packet of the mirror to 'record', which is a probe's, or an ICMP error about it.  Writes the
 * RST to be sent over 'frame', which is at least as large as what came.  Returns its size, 0: none.
 */
unsigned
probe_answer(struct ledger *ledger, uint32_t record, const struct packet_view *view, uint8_t *frame,
	uint8_t *port_out);
