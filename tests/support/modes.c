/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers without a device that serve in all modes. */
#include "modes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"
#include "pick.h"
#include "vlan.h"

static const char *const counter_names[] = {
#define X(member, name, help) #name,
	KARMALB_WORKER_COUNTERS(X)
#undef X
};

static struct karmalb_endpoint
endpoint(const char *address, uint16_t port, uint8_t protocol)
{
	struct karmalb_endpoint e = {.port_be = htons(port), .protocol = protocol};
	uint32_t v4;

	if (inet_pton(AF_INET, address, &v4) == 1)
		e.address = karmalb_address_from_v4(v4);
	else if (inet_pton(AF_INET6, address, &e.address) != 1)
		abort();
	return e;
}

static void
add_service(struct modes *m, struct karmalb_endpoint listen, const char *mirrors, uint16_t port)
{
	unsigned i = m->tables.n_services++;
	struct pick_share shares[MODES_N_MIRRORS];

	for (unsigned k = 0; k < MODES_N_MIRRORS; k++) {
		unsigned slot = i * MODES_N_MIRRORS + k;
		char address[64];

		snprintf(address, sizeof(address), "%s%u", mirrors, k + 1);
		shares[k] = (struct pick_share){.share = 0.5, .slot = (uint16_t)slot};
		m->slots[slot] = (struct table_slot){
			.listen = listen,
			.address = endpoint(address, port, listen.protocol),
			.next_hop_mac = {6, 0, 0, 0, (uint8_t)i, (uint8_t)k},
			.next_hop_port = 1,
			.has_next_hop = true,
			.is_selected = true,
			.connect_timeout_ms = 1000,
			.query_timeout_ms = 3000,
			.idle_timeout_ms = 60000,
		};
	}
	m->tables.services[i] = (struct table_service){
		.listen = listen,
		.first_column = i * MODES_N_MIRRORS,
		.n_columns = pick_build(&m->columns[i * MODES_N_MIRRORS], shares, MODES_N_MIRRORS),
	};
}

static void
fill_tables(struct modes *m)
{
	m->tables = (struct tables){
		.n_slots = MODES_N_SLOTS,
		.n_sources = 2,
		.n_ports = 2,
		.epoch = 1,
		.columns = m->columns,
		.slots = m->slots,
		.sources = {endpoint("10.2.0.1", 0, 0).address,
			endpoint("2001:db8:2::1", 0, 0).address},
	};
	for (unsigned i = 0; i < 2; i++)
		m->tables.ports[i] =
			(struct table_port){.mac = {2, 0, 0, 0, 0, (uint8_t)i}, .is_up = true};
	add_service(m, endpoint("10.0.0.1", 80, IPPROTO_TCP), "10.1.0.", 8080);
	add_service(m, endpoint("10.0.0.1", 53, IPPROTO_UDP), "10.1.0.", 5353);
	add_service(m, endpoint("2001:db8::1", 80, IPPROTO_TCP), "2001:db8:1::", 8080);
	add_service(m, endpoint("2001:db8::1", 53, IPPROTO_UDP), "2001:db8:1::", 5353);
	if (lookup_build(&m->tables) != 0)
		abort();
}

static struct flow_conf
flow_conf_of(const struct modes *m)
{
	return (struct flow_conf){
		.n_workers = m->n_workers,
		.max_flows = m->conf.max_flows,
		.max_half_open = m->conf.max_half_open,
		.sources = m->tables.sources,
		.n_sources = m->tables.n_sources,
		.hash_key = {1, 2, 3, 4},
	};
}

void
modes_open(struct modes *m, const struct modes_conf *conf)
{
	m->conf = *conf;
	m->n_workers = conf->n_workers != 0 ? conf->n_workers : 1;
	fill_tables(m);
	struct flow_conf flow_conf = flow_conf_of(m);

	m->header = aligned_alloc(64, flow_region_size(&flow_conf));
	modes_restart(m);
}

void
modes_restart(struct modes *m)
{
	fill_tables(m);
	struct flow_conf flow_conf = flow_conf_of(m);

	memset(m->header, 0, flow_region_size(&flow_conf));
	memset(m->n_of_kind, 0, sizeof(m->n_of_kind));
	flow_region_init(m->header, &flow_conf);
	for (unsigned i = 0; i < m->n_workers; i++) {
		struct modes_worker *w = &m->workers[i];

		memset(w->slot_counters, 0, sizeof(w->slot_counters));
		flow_table_open(&w->flows, m->header, i);
		w->pipeline = (struct pipeline){
			.tables = &m->tables,
			.flows = &w->flows,
			.slots = w->slot_counters,
			.random = 1 + i,
			.samples = w->samples,
		};
	}
	m->now_us = MODES_START_US;
}

void
modes_close(struct modes *m)
{
	free(m->header);
}

void
modes_take_samples(struct modes *m)
{
	for (unsigned k = 0; k < m->n_workers; k++) {
		struct modes_worker *w = &m->workers[k];

		for (unsigned i = 0; i < w->pipeline.n_samples; i++)
			m->n_of_kind[w->samples[i].kind]++;
		w->pipeline.n_samples = 0;
	}
}

uint64_t
modes_count(const struct modes *m, enum karmalb_worker_counter counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < m->n_workers; i++)
		sum += m->workers[i].pipeline.counters[counter];
	return sum;
}

struct counts {
	uint64_t of[KARMALB_N_COUNTERS];
};

static struct counts
counts_of(const struct modes *m)
{
	struct counts counts;

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		counts.of[i] = modes_count(m, (enum karmalb_worker_counter)i);
	return counts;
}

static uint64_t
count_since(const struct modes *m, const struct counts *before, enum karmalb_worker_counter counter)
{
	return modes_count(m, counter) - before->of[counter];
}

/* Drops since then; '*reason' is the name of a counter that moved. */
static uint64_t
drops_since(const struct modes *m, const struct counts *before, const char **reason)
{
	uint64_t n_drops = 0;

	*reason = NULL;
	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
		uint64_t n = count_since(m, before, (enum karmalb_worker_counter)i);

		n_drops += n;
		if (n > 0)
			*reason = counter_names[i];
	}
	return n_drops;
}

#define AT_NOBODY UINT8_MAX

/* Those of the packets that are at 'worker', in one burst. */
static void
run_at(struct modes *m, unsigned worker, struct pipeline_packet *packets, const uint8_t *at,
	unsigned n)
{
	struct pipeline_packet burst[PIPELINE_BURST_MAX];
	unsigned of[PIPELINE_BURST_MAX], n_burst = 0;

	for (unsigned i = 0; i < n; i++) {
		if (at[i] != worker)
			continue;
		of[n_burst] = i;
		burst[n_burst++] = packets[i];
	}
	pipeline_burst(&m->workers[worker].pipeline, burst, n_burst, m->now_us);
	for (unsigned i = 0; i < n_burst; i++)
		packets[of[i]] = burst[i];
}

/* To their owners go those that are to be handed over, each as it came. */
static void
hand_over(const struct modes *m, const struct modes_packet *as_they_came,
	struct pipeline_packet *packets, uint8_t *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct pipeline_packet *p = &packets[i];
		const struct modes_packet *came = &as_they_came[i];

		if (p->verdict != PIPELINE_HAND_OVER) {
			at[i] = AT_NOBODY;
			continue;
		}
		if (p->is_handed_over || p->owner == at[i] || p->owner >= m->n_workers ||
			p->size != came->size || memcmp(p->data, came->bytes, p->size) != 0)
			abort();
		at[i] = p->owner;
		p->is_handed_over = true;
	}
}

/* Each is received by one worker and handled by one, which counts it. */
static void
run_all(struct modes *m, const struct modes_packet *packets, struct pipeline_packet *burst,
	unsigned n)
{
	struct counts before = counts_of(m);
	uint8_t at[PIPELINE_BURST_MAX];
	uint64_t n_bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		at[i] = packets[i].worker;
		n_bytes += packets[i].size;
	}
	for (unsigned w = 0; w < m->n_workers; w++)
		run_at(m, w, burst, at, n);
	modes_take_samples(m);
	hand_over(m, packets, burst, at, n);
	for (unsigned w = 0; w < m->n_workers; w++)
		run_at(m, w, burst, at, n);
	modes_take_samples(m);
	for (unsigned i = 0; i < n; i++)
		if (burst[i].verdict == PIPELINE_HAND_OVER)
			abort();
	if (count_since(m, &before, KARMALB_COUNTER_RX_PACKETS) != n ||
		count_since(m, &before, KARMALB_COUNTER_RX_BYTES) != n_bytes)
		abort();
}

/* Returns a name of a drop counter that moved; NULL: none did. */
static const char *
run_burst(struct modes *m, const struct modes_packet *packets, unsigned n,
	struct modes_result *results)
{
	struct pipeline_packet burst[PIPELINE_BURST_MAX];
	struct counts before = counts_of(m);
	uint8_t *rooms[PIPELINE_BURST_MAX];
	uint64_t n_sent = 0;
	const char *reason;

	for (unsigned i = 0; i < n; i++) {
		rooms[i] = malloc(VLAN_HEADROOM + packets[i].size);
		burst[i] = (struct pipeline_packet){.data = rooms[i] + VLAN_HEADROOM,
			.size = (uint16_t)packets[i].size,
			.headroom = VLAN_HEADROOM,
			.port_in = packets[i].port_in};
		memcpy(burst[i].data, packets[i].bytes, packets[i].size);
	}
	run_all(m, packets, burst, n);
	for (unsigned i = 0; i < n; i++) {
		results[i].is_sent = burst[i].verdict == PIPELINE_SEND;
		results[i].reason = NULL;
		if (results[i].is_sent) {
			n_sent++;
			results[i].port_out = burst[i].port_out;
			results[i].size = burst[i].size_out;
			memcpy(results[i].bytes, burst[i].data, burst[i].size_out);
		}
		free(rooms[i]);
	}
	uint64_t n_unsent = n - n_sent, n_drops = drops_since(m, &before, &reason);
	uint64_t n_taken = count_since(m, &before, KARMALB_COUNTER_PROBES_ANSWERED);

	/* An answer to a probe is taken in, with an RST sent or without. */
	if (n_unsent < n_drops || n_unsent > n_drops + n_taken)
		abort();
	return reason;
}

void
modes_send(struct modes *m, uint8_t port_in, const uint8_t *bytes, unsigned size,
	struct modes_result *result)
{
	result->reason = run_burst(m, &(struct modes_packet){port_in, 0, bytes, size}, 1, result);
}

void
modes_send_burst(struct modes *m, const struct modes_packet *packets, unsigned n,
	struct modes_result *results)
{
	run_burst(m, packets, n, results);
}

void
modes_pass(struct modes *m, uint64_t us)
{
	uint64_t end_us = m->now_us + us, due_us = m->now_us;

	while (m->now_us < end_us) {
		/* The next tick when it was asked for, but some time must pass. */
		m->now_us = due_us <= m->now_us ? m->now_us + 100 : due_us;
		if (m->now_us > end_us)
			m->now_us = end_us;
		due_us = UINT64_MAX;
		for (unsigned i = 0; i < m->n_workers; i++) {
			uint64_t again_us = pipeline_tick(&m->workers[i].pipeline, m->now_us);

			if (again_us < due_us)
				due_us = again_us;
		}
		modes_take_samples(m);
	}
}
