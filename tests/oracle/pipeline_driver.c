/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline that packets are told to, for an oracle in another language.  Reads lines, answers
 * each with one line:
 *
 *   packet PORT HEX   ->  send PORT HEX | drop NAME
 *   pass MICROSECONDS ->  ok                         time goes by, with ticks
 *   partial PORT      ->  ok                         the port's checksums may be unfinished
 *   check NUMBER      ->  ok                         reply_check of all services
 *   counts            ->  JSON: counters, and each slot's outcomes and figures
 *
 * Services 10.0.0.1 and 2001:db8::1, port 80 TCP and 53 UDP; each has the mirrors 10.1.0.1 and .2,
 * resp. 2001:db8:1::1 and ::2, port 8080 and 5353; sources 10.2.0.1 and 2001:db8:2::1; port 0 leads
 * to the clients, port 1 to the mirrors.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "lookup.h"
#include "pick.h"
#include "pipeline.h"
#include "vlan.h"

#define N_SERVICES 4
#define N_MIRRORS  2
#define N_SLOTS    (N_SERVICES * N_MIRRORS)
#define FRAME_MAX  4096
#define START_US   UINT64_C(5000000000)

static const char *const counter_names[] = {
#define X(member, name, help) #name,
	KARMALB_WORKER_COUNTERS(X)
#undef X
};
static const char *const outcome_names[] = {
#define X(member, name, help) #name,
	KARMALB_OUTCOMES(X)
#undef X
};

static struct tables tables;
static struct table_alias columns[N_SLOTS];
static struct table_slot slots[N_SLOTS] __attribute__((aligned(64)));
static struct slot_counters slot_counters[KARMALB_SLOTS_MAX];
static struct sample samples[PIPELINE_SAMPLES_MAX];
static struct flow_table flows;
static struct pipeline pipeline;
static uint64_t now_us = START_US;
static uint64_t n_of_kind[4];

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
add_service(unsigned i, struct karmalb_endpoint listen, const char *mirrors, uint16_t mirror_port)
{
	struct pick_share shares[N_MIRRORS];

	for (unsigned k = 0; k < N_MIRRORS; k++) {
		unsigned slot = i * N_MIRRORS + k;
		char address[64];

		snprintf(address, sizeof(address), "%s%u", mirrors, k + 1);
		shares[k] = (struct pick_share){.share = 0.5, .slot = (uint16_t)slot};
		slots[slot] = (struct table_slot){
			.listen = listen,
			.address = endpoint(address, mirror_port, listen.protocol),
			.next_hop_mac = {6, 0, 0, 0, (uint8_t)i, (uint8_t)k},
			.next_hop_port = 1,
			.has_next_hop = true,
			.connect_timeout_ms = 1000,
			.query_timeout_ms = 3000,
			.idle_timeout_ms = 60000,
		};
	}
	tables.services[i] = (struct table_service){
		.listen = listen,
		.first_column = i * N_MIRRORS,
		.n_columns = pick_build(&columns[i * N_MIRRORS], shares, N_MIRRORS),
	};
}

static void
set_up(void)
{
	tables.n_services = N_SERVICES;
	tables.n_slots = N_SLOTS;
	tables.n_sources = 2;
	tables.n_ports = 2;
	tables.epoch = 1;
	tables.columns = columns;
	tables.slots = slots;
	tables.sources[0] = endpoint("10.2.0.1", 0, 0).address;
	tables.sources[1] = endpoint("2001:db8:2::1", 0, 0).address;
	for (unsigned i = 0; i < 2; i++)
		tables.ports[i] =
			(struct table_port){.mac = {2, 0, 0, 0, 0, (uint8_t)i}, .is_up = true};
	add_service(0, endpoint("10.0.0.1", 80, IPPROTO_TCP), "10.1.0.", 8080);
	add_service(1, endpoint("10.0.0.1", 53, IPPROTO_UDP), "10.1.0.", 5353);
	add_service(2, endpoint("2001:db8::1", 80, IPPROTO_TCP), "2001:db8:1::", 8080);
	add_service(3, endpoint("2001:db8::1", 53, IPPROTO_UDP), "2001:db8:1::", 5353);
	if (lookup_build(&tables) != 0)
		abort();
	struct flow_conf conf = {
		.n_workers = 1,
		.max_flows = 5000,
		.max_half_open = 2000,
		.sources = tables.sources,
		.n_sources = 2,
		.hash_key = {1, 2, 3, 4},
	};
	size_t size = flow_region_size(&conf);
	void *region = aligned_alloc(64, size);

	memset(region, 0, size);
	flow_table_open(&flows, flow_region_init(region, &conf), 0);
	pipeline = (struct pipeline){
		.tables = &tables,
		.flows = &flows,
		.slots = slot_counters,
		.random = 1,
		.samples = samples,
	};
}

static void
take_samples(void)
{
	for (unsigned i = 0; i < pipeline.n_samples; i++)
		n_of_kind[samples[i].kind]++;
	pipeline.n_samples = 0;
}

static void
tell_drop(const uint64_t *before)
{
	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
		if (pipeline.counters[i] == before[i])
			continue;
		printf("drop %s\n", counter_names[i]);
		return;
	}
	puts("drop without a reason");
}

static void
run_packet(unsigned port, const char *hex)
{
	static uint8_t bytes[VLAN_HEADROOM + FRAME_MAX];
	uint64_t before[KARMALB_N_COUNTERS];
	unsigned size = 0;

	for (unsigned value; size < FRAME_MAX && sscanf(&hex[2 * size], "%2x", &value) == 1; size++)
		bytes[VLAN_HEADROOM + size] = (uint8_t)value;
	struct pipeline_packet packet = {.data = bytes + VLAN_HEADROOM,
		.size = (uint16_t)size,
		.headroom = VLAN_HEADROOM,
		.port_in = (uint8_t)port};

	memcpy(before, pipeline.counters, sizeof(before));
	pipeline_burst(&pipeline, &packet, 1, now_us);
	take_samples();
	if (packet.verdict != PIPELINE_SEND) {
		tell_drop(before);
		return;
	}
	printf("send %u ", packet.port_out);
	for (unsigned i = 0; i < packet.size_out; i++)
		printf("%02x", packet.data[i]);
	putchar('\n');
}

static void
pass(uint64_t us)
{
	for (uint64_t end_us = now_us + us; now_us < end_us;) {
		now_us += end_us - now_us < 1000 ? end_us - now_us : 1000;
		pipeline_tick(&pipeline, now_us);
		take_samples();
	}
	puts("ok");
}

static void
tell_counts(void)
{
	printf("{\"connect_samples\": %lu, \"query_samples\": %lu, \"greetings\": %lu, \"counters\": {",
		n_of_kind[SAMPLE_CONNECT], n_of_kind[SAMPLE_QUERY], n_of_kind[SAMPLE_GREETING]);
	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		printf("%s\"%s\": %lu", i > 0 ? ", " : "", counter_names[i], pipeline.counters[i]);
	printf("}, \"slots\": [");
	for (unsigned i = 0; i < N_SLOTS; i++) {
		const struct slot_counters *s = &slot_counters[i];

		printf("%s{\"opened\": %lu, \"closed\": %lu, \"n_waiting\": %lu", i > 0 ? ", " : "",
			s->opened, s->closed, s->n_waiting);
		for (unsigned k = 0; k < KARMALB_N_OUTCOMES; k++)
			printf(", \"%s\": %lu", outcome_names[k], s->outcomes[k]);
		putchar('}');
	}
	puts("]}");
}

int
main(void)
{
	static char line[2 * FRAME_MAX + 64];

	set_up();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		unsigned port;
		int at;

		if (sscanf(line, "packet %u %n", &port, &at) == 1 && port < 2)
			run_packet(port, &line[at]);
		else if (strncmp(line, "pass ", 5) == 0)
			pass(strtoull(&line[5], NULL, 10));
		else if (sscanf(line, "check %u", &port) == 1 && port < KARMALB_N_REPLY_CHECKS) {
			for (unsigned i = 0; i < N_SLOTS; i++)
				slots[i].reply_check = (uint8_t)port;
			puts("ok");
		} else if (sscanf(line, "partial %u", &port) == 1 && port < 2) {
			tables.ports[port].is_partial_checksum = true;
			puts("ok");
		} else if (strncmp(line, "counts", 6) == 0)
			tell_counts();
		else
			return 1;
		fflush(stdout);
	}
	return 0;
}
