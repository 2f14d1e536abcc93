/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker without a device, for tests, fuzzer and benchmark. */
#include "fixture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"
#include "pick.h"

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(__builtin_bswap32(address)),
		.port_be = __builtin_bswap16(port),
		.protocol = 6,
	};
}

static void
fill_tables(struct fixture *f, unsigned n_mirrors, unsigned n_sources)
{
	struct tables *t = &f->tables;

	t->epoch = 7;
	t->n_services = 1;
	t->n_sources = (uint16_t)n_sources;
	t->n_slots = (uint16_t)n_mirrors;
	t->n_ports = 2;
	for (unsigned i = 0; i < n_sources; i++)
		t->sources[i] = endpoint(FIXTURE_SOURCE + i, 0).address;
	for (unsigned i = 0; i < 2; i++) {
		t->ports[i].mac[0] = 0x02;
		t->ports[i].mac[5] = (uint8_t)i;
		t->ports[i].is_up = true;
	}
	t->services[0].listen = endpoint(FIXTURE_VIP, FIXTURE_VIP_PORT);
	t->columns = calloc(KARMALB_MIRRORS_MAX, sizeof(t->columns[0]));
	t->slots = aligned_alloc(64, n_mirrors * sizeof(t->slots[0]));
	for (unsigned i = 0; i < n_mirrors; i++) {
		t->slots[i] = (struct table_slot){
			.listen = t->services[0].listen,
			.address = endpoint(FIXTURE_MIRROR + i, FIXTURE_MIRROR_PORT),
			.next_hop_mac = {0x06, 0, 0, 0, 1, (uint8_t)i},
			.next_hop_port = 1,
			.has_next_hop = true,
			.connect_timeout_ms = 1000,
			.query_timeout_ms = 3000,
			.idle_timeout_ms = 60000,
		};
	}
	int error = lookup_build(t);

	assert(error == 0);
	(void)error;
}

void
fixture_init(struct fixture *f, const struct fixture_conf *conf)
{
	unsigned n_mirrors = conf->n_mirrors != 0 ? conf->n_mirrors : 4;
	unsigned n_sources = conf->n_sources != 0 ? conf->n_sources : 2;
	double shares[KARMALB_MIRRORS_MAX];

	memset(f, 0, sizeof(*f));
	fill_tables(f, n_mirrors, n_sources);
	struct flow_conf flow_conf = {
		.n_workers = conf->n_workers != 0 ? conf->n_workers : 1,
		.max_flows = conf->max_flows != 0 ? conf->max_flows : 1000,
		.max_half_open = conf->max_half_open != 0 ? conf->max_half_open : 100,
		.sources = f->tables.sources,
		.n_sources = n_sources,
		.hash_key = {0x1234567890abcdef, 0xfedcba9876543211, 0x0f1e2d3c4b5a6977,
			0xdeadbeefcafef00d},
	};
	size_t size = flow_region_size(&flow_conf);
	void *region = aligned_alloc(64, size);

	memset(region, 0, size);
	f->header = flow_region_init(region, &flow_conf);
	flow_table_open(&f->flows, f->header, 0);
	f->slots = calloc(KARMALB_SLOTS_MAX, sizeof(f->slots[0]));
	f->now_us = FIXTURE_START_US;
	f->pipeline = (struct pipeline){
		.tables = &f->tables,
		.flows = &f->flows,
		.slots = f->slots,
		.random = 0x9e3779b97f4a7c15,
		.samples = f->samples,
	};
	for (unsigned i = 0; i < n_mirrors; i++)
		shares[i] = 1;
	fixture_shares(f, shares, n_mirrors);
}

void
fixture_fini(struct fixture *f)
{
	free(f->tables.columns);
	free(f->tables.slots);
	free(f->header);
	free(f->slots);
}

void
fixture_shares(struct fixture *f, const double *shares, unsigned n)
{
	struct pick_share all[KARMALB_MIRRORS_MAX];

	for (unsigned i = 0; i < n; i++) {
		all[i] = (struct pick_share){.share = shares[i], .slot = (uint16_t)i};
		f->tables.slots[i].is_selected = shares[i] > 0;
	}
	f->tables.services[0].n_columns = pick_build(f->tables.columns, all, n);
}

static void
keep_samples(struct fixture *f)
{
	for (unsigned i = 0; i < f->pipeline.n_samples; i++) {
		if (f->n_seen < FIXTURE_SEEN_MAX)
			f->seen[f->n_seen++] = f->samples[i];
	}
	f->pipeline.n_samples = 0;
}

struct fixture_result
fixture_send(struct fixture *f, uint8_t port_in, const struct segment *segment)
{
	uint8_t bytes[FRAME_MAX];
	unsigned size = frame_build(bytes, segment);

	return fixture_send_frame(f, port_in, bytes, size);
}

/* In memory of just the size that the pipeline is promised, so that sanitizers see a byte too far.
 */
static struct fixture_result
run_one(struct fixture *f, uint8_t port_in, const uint8_t *bytes, unsigned size, bool is_checked)
{
	uint8_t *room = malloc(FIXTURE_HEADROOM + size);
	struct pipeline_packet packet = {
		.data = room + FIXTURE_HEADROOM,
		.size = (uint16_t)size,
		.headroom = FIXTURE_HEADROOM,
		.port_in = port_in,
		.is_handed_over = f->header->n_workers > 1, /* it is the only one that runs */
	};
	struct fixture_result result = {.is_sent = false};
	uint64_t before[KARMALB_N_COUNTERS];
	unsigned n_drops = 0;

	memcpy(packet.data, bytes, size);
	memcpy(before, f->pipeline.counters, sizeof(before));
	pipeline_burst(&f->pipeline, &packet, 1, f->now_us);
	keep_samples(f);
	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
		if (f->pipeline.counters[i] == before[i])
			continue;
		n_drops += (unsigned)(f->pipeline.counters[i] - before[i]);
		result.reason = (enum karmalb_worker_counter)i;
	}
	result.is_sent = packet.verdict == PIPELINE_SEND;
	if (result.is_sent) {
		memcpy(f->sent, packet.data, packet.size_out);
		f->sent_size = packet.size_out;
	}
	result.port_out = packet.port_out;
	if (n_drops != (result.is_sent ? 0 : 1))
		abort();
	if (result.is_sent && is_checked && !frame_read(packet.data, packet.size_out, &result.out))
		abort();
	free(room);
	return result;
}

struct fixture_result
fixture_send_frame(struct fixture *f, uint8_t port_in, const uint8_t *bytes, unsigned size)
{
	return run_one(f, port_in, bytes, size, true);
}

struct fixture_result
fixture_send_bytes(struct fixture *f, uint8_t port_in, const uint8_t *bytes, unsigned size)
{
	return run_one(f, port_in, bytes, size, false);
}

void
fixture_pass(struct fixture *f, uint64_t us)
{
	for (uint64_t end_us = f->now_us + us; f->now_us < end_us;) {
		f->now_us += end_us - f->now_us < 1000 ? end_us - f->now_us : 1000;
		pipeline_tick(&f->pipeline, f->now_us);
		keep_samples(f);
	}
}

uint64_t
fixture_drops(const struct fixture *f)
{
	uint64_t sum = 0;

	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++)
		sum += f->pipeline.counters[i];
	return sum;
}

void
fixture_forget(struct fixture *f)
{
	f->n_seen = 0;
}

unsigned
fixture_count(const struct fixture *f, enum sample_kind kind, int outcome)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_seen; i++)
		n += f->seen[i].kind == kind &&
		     (kind != SAMPLE_FAILURE || f->seen[i].outcome == outcome);
	return n;
}
