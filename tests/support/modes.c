/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker without a device that serves in all modes. */
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
		.n_workers = 1,
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
	memset(m->slot_counters, 0, sizeof(m->slot_counters));
	memset(m->n_of_kind, 0, sizeof(m->n_of_kind));
	flow_table_open(&m->flows, flow_region_init(m->header, &flow_conf), 0);
	m->pipeline = (struct pipeline){
		.tables = &m->tables,
		.flows = &m->flows,
		.slots = m->slot_counters,
		.random = 1,
		.samples = m->samples,
	};
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
	for (unsigned i = 0; i < m->pipeline.n_samples; i++)
		m->n_of_kind[m->samples[i].kind]++;
	m->pipeline.n_samples = 0;
}

/* Drops since then; '*reason' is the name of a counter that moved. */
static uint64_t
drops_since(const struct modes *m, const uint64_t *before, const char **reason)
{
	uint64_t n_drops = 0;

	*reason = NULL;
	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
		if (m->pipeline.counters[i] == before[i])
			continue;
		n_drops += m->pipeline.counters[i] - before[i];
		*reason = counter_names[i];
	}
	return n_drops;
}

/* Returns a name of a drop counter that moved; NULL: none did. */
static const char *
run_burst(struct modes *m, const struct modes_packet *packets, unsigned n,
	struct modes_result *results)
{
	struct pipeline_packet burst[PIPELINE_BURST_MAX];
	uint8_t *rooms[PIPELINE_BURST_MAX];
	uint64_t before[KARMALB_N_COUNTERS], n_sent = 0;
	const char *reason;

	for (unsigned i = 0; i < n; i++) {
		rooms[i] = malloc(VLAN_HEADROOM + packets[i].size);
		burst[i] = (struct pipeline_packet){.data = rooms[i] + VLAN_HEADROOM,
			.size = (uint16_t)packets[i].size,
			.headroom = VLAN_HEADROOM,
			.port_in = packets[i].port_in};
		memcpy(burst[i].data, packets[i].bytes, packets[i].size);
	}
	memcpy(before, m->pipeline.counters, sizeof(before));
	pipeline_burst(&m->pipeline, burst, n, m->now_us);
	modes_take_samples(m);
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
	uint64_t n_unsent = n - n_sent, n_drops = drops_since(m, before, &reason);
	uint64_t n_taken = m->pipeline.counters[KARMALB_COUNTER_PROBES_ANSWERED] -
			   before[KARMALB_COUNTER_PROBES_ANSWERED];

	/* An answer to a probe is taken in, with an RST sent or without. */
	if (n_unsent < n_drops || n_unsent > n_drops + n_taken)
		abort();
	return reason;
}

void
modes_send(struct modes *m, uint8_t port_in, const uint8_t *bytes, unsigned size,
	struct modes_result *result)
{
	result->reason = run_burst(m, &(struct modes_packet){port_in, bytes, size}, 1, result);
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
		due_us = pipeline_tick(&m->pipeline, m->now_us);
		modes_take_samples(m);
	}
}
