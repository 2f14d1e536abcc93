/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzing of the pipeline, for libFuzzer or any driver that calls LLVMFuzzerTestOneInput():
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -std=gnu17 -D_GNU_SOURCE -Iinclude \
 *	-Idataplane -Itests/support tests/fuzz/pipeline_fuzz.c tests/support/f*.c \
 *	<dataplane_pure_sources of dataplane/meson.build> -o pipeline_fuzz && ./pipeline_fuzz
 *
 * An input is a list of items of 8 bytes and what follows them: a segment put together from a few
 * choices, so that handshakes are found soon; or the bytes of a frame.  What must hold after any
 * packet is checked in fixture_send_frame() and here; a violation aborts.
 */
#include <stdlib.h>

#include "fixture.h"

/* Flows are few and budgets tight, so that all limits are met. */
#define N_CLIENTS 4
#define MAX_FLOWS 12

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fixture f;

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* Counters, records and budgets agree. */
static void
check_books(void)
{
	uint64_t opened = 0, closed = 0, n_waiting = 0, n_live = 0, n_flows = 0;

	for (unsigned i = 0; i < f.tables.n_slots; i++) {
		opened += f.slots[i].opened;
		closed += f.slots[i].closed;
		n_waiting += f.slots[i].n_waiting;
		must(f.slots[i].n_waiting > 0 || f.slots[i].waiting_since_us == 0);
	}
	for (uint32_t i = 0; i < f.flows.worker->n_touched; i++) {
		const struct flow *flow = &f.flows.records[i];

		must((flow->sequence & 1) == 0);
		n_flows += flow->state != FLOW_FREE;
		n_live += flow->state != FLOW_FREE && flow->state != FLOW_RESTING;
		if (flow->state != FLOW_FREE && flow->exchange == FLOW_EXCHANGE_WAIT)
			n_waiting--;
	}
	must(opened - closed == n_live);
	must(n_flows == f.flows.worker->n_flows);
	must(n_waiting == 0);
	must(f.pipeline.counters[KARMALB_COUNTER_SAMPLES_LOST] == 0);
}

/* A segment of a client or a mirror that may well belong to a flow. */
static void
send_segment(const uint8_t item[8])
{
	bool is_client = item[0] & 1;
	struct segment s = {
		.mac_from = {2, 0, 0, 0, 0, (uint8_t)(item[0] >> 1 & 1)},
		.source = is_client ? FIXTURE_CLIENT : FIXTURE_MIRROR + (item[1] & 1),
		.destination = is_client ? FIXTURE_VIP : FIXTURE_SOURCE,
		.source_port = (uint16_t)(is_client ? 2000 + item[1] % N_CLIENTS : 8080),
		.destination_port = (uint16_t)(is_client ? 80 : 1024 + (item[1] >> 1 & 7)),
		.seq = (uint32_t)(item[2] >> 4) * 100,
		.ack = (uint32_t)(item[2] & 15) * 100 + (item[3] & 1),
		.flags = item[4] & 31,
		.payload_size = (uint16_t)(item[3] >> 1 & 1 ? 100 : 0),
		.ip_options = item[5] % 4 == 3,
		.has_partial_checksum = item[6] & 1,
	};

	fixture_send(&f, is_client ? 0 : 1, &s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fixture_init(&f, &(struct fixture_conf){.n_mirrors = 2,
				 .n_sources = 1,
				 .max_flows = MAX_FLOWS,
				 .max_half_open = 3});
	for (unsigned i = 0; i < 2; i++)
		f.tables.ports[i].is_partial_checksum = true;
	while (size >= 8) {
		size_t n_bytes = data[0] & 128 ? data[7] : 0;

		if (n_bytes > size - 8)
			n_bytes = size - 8;
		if (data[0] & 64)
			fixture_pass(&f, (uint64_t)data[6] << (data[5] & 15));
		if (data[0] & 128)
			fixture_send_bytes(&f, data[0] & 1, data + 8, (unsigned)n_bytes);
		else
			send_segment(data);
		check_books();
		data += 8 + n_bytes;
		size -= 8 + n_bytes;
	}
	fixture_fini(&f);
	return 0;
}
