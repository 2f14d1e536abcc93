/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "status.h"

#define NOW_US      (1000 * KARMALB_SECOND)
#define NOW_UNIX_US (1700000000 * KARMALB_SECOND + 250 * KARMALB_MILLISECOND)

static struct status status;
static struct status_service services[2];
static struct status_mirror web_mirrors[4], search_mirrors[2];
static struct karmalb_endpoint web_listens[1], search_listens[2];
static uint16_t web_slots[4] = {0, 1, 2, 3}, search_slots[4] = {4, 5, 6, STATUS_SLOT_NONE};
static struct karmalb_endpoint web_endpoints[4], search_endpoints[4];
static struct karmalb_worker_totals workers[2];
static struct karmalb_port_status ports[1];

struct karmalb_endpoint
fake_endpoint(const char *address, uint16_t port)
{
	struct in_addr v4;

	inet_pton(AF_INET, address, &v4);
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(v4.s_addr),
		.port_be = htons(port),
		.protocol = 6,
	};
}

/* 'n' answered queries of 'mean_us', and one connect timeout for each hundred. */
static struct karma_counts
counts(uint64_t n, uint64_t mean_us)
{
	return (struct karma_counts){
		.outcomes = {[KARMALB_OUTCOME_SUCCEEDED_QUERIES] = n,
			[KARMALB_OUTCOME_CONNECT_TIMEOUTS] = n / 100},
		.opened = n + n / 100,
		.connect = {.count = n, .sum_us = n * 105, .max_us = 950},
		.query = {.count = n, .sum_us = n * mean_us, .max_us = 4 * mean_us},
	};
}

static struct status_mirror
mirror(const char *name, struct karmalb_endpoint address, double share, uint64_t mean_us)
{
	struct status_mirror m = {
		.address = address,
		.share = share,
		.configured_share = 0.25,
		.connections_per_s = 412 * share,
		.has_answers = true,
		.n_answers = 1000,
		.answer_mean_us = (double)mean_us,
		.answer_p99_us = (double)mean_us * 1.08,
		.last_query_us = NOW_US - 120 * KARMALB_MILLISECOND,
		.last_answer_us = NOW_US - 120 * KARMALB_MILLISECOND,
		.is_pinged = true,
		.ping_us = 135,
		.next_hop = KARMALB_NEXT_HOP_RESOLVED,
		.n_open = 3,
		.karma = {.has_block = true,
			.block = 199,
			.queries = 1000,
			.answer_mean_us = (double)mean_us,
			.share_before = 0.25,
			.share_after = share},
		.life = counts(4121, mean_us),
		.reports = {counts(90, mean_us), counts(520, mean_us), counts(1600, mean_us)},
	};

	snprintf(m.name, sizeof(m.name), "%s", name);
	return m;
}

/* The current block, just begun, and two that are over; the older one had failures. */
static void
fill_blocks(struct status_mirror *m, uint64_t mean_us)
{
	static const unsigned n[] = {0, 40, 210};

	m->n_blocks = 3;
	m->last_ping_us = NOW_US - 800 * KARMALB_MILLISECOND;
	for (unsigned i = 0; i < m->n_blocks; i++)
		m->blocks[i] = (struct status_block){
			.number = 200 - i,
			.began_us = NOW_US - 2100 * KARMALB_MILLISECOND - 5 * i * KARMALB_SECOND,
			.counts = counts(n[i], mean_us),
			.connect_mean_us = 105,
			.answer_mean_us = (double)mean_us,
			.answer_p99_us = 2 * (double)mean_us,
			.failed = n[i] / 100,
		};
}

static void
fill_web(struct status_service *s)
{
	*s = (struct status_service){
		.name = "web",
		.n_listens = 1,
		.n_mirrors = 4,
		.listens = web_listens,
		.mirrors = web_mirrors,
		.slots = web_slots,
		.endpoints = web_endpoints,
		.period = 200,
		.period_offset_us = 2100 * KARMALB_MILLISECOND,
		.has_gain = true,
		.karma_gain = 0.4,
		.reweighted_at_unix_us = NOW_UNIX_US - 2100 * KARMALB_MILLISECOND,
		.next_reweight_unix_us = NOW_UNIX_US + 2900 * KARMALB_MILLISECOND,
		.connections_per_s = 412,
		.total = 16484,
		.failed = 41,
	};
	settings_set_defaults(SETTING_SCOPE_SERVICE, &s->settings);
	s->settings.ha_strategy = 1;
	s->settings.karma_rule = KARMA_RULE_DOCUMENTED;
	s->settings.ha_period_karma_s = 5;
	web_listens[0] = fake_endpoint("10.99.0.10", 80);
	web_mirrors[0] = mirror("m1", fake_endpoint("10.99.1.11", 80), 0.15, 10123);
	web_mirrors[1] = mirror("m2", fake_endpoint("10.99.1.12", 80), 0.30, 5094);
	web_mirrors[2] = mirror("m3", fake_endpoint("10.99.1.13", 80), 1 / 18.0, 30080);
	web_mirrors[3] = mirror("m4", fake_endpoint("10.99.1.14", 80), 0, 750);
	web_mirrors[3].state = MIRROR_DEAD;
	web_mirrors[3].errors = 41;
	web_mirrors[3].errors_in_row = 4;
	web_mirrors[3].last_query_us = NOW_US - 20 * KARMALB_MILLISECOND;
	web_mirrors[3].pings_failed = 2;
	web_mirrors[3].next_hop = KARMALB_NEXT_HOP_FAILED;
	for (unsigned i = 0; i < 4; i++)
		web_endpoints[i] = web_mirrors[i].address;
	/* Nothing that is shown may steer a terminal. */
	for (unsigned i = 0; i < 3; i++)
		fill_blocks(&web_mirrors[i], 10000 + 1000 * i);
	strcpy(web_mirrors[3].why, "dead: 4 connects refused in 9 ms \033[31m");
}

/* New: nothing asked of it yet, one mirror shared with web. */
static void
fill_search(struct status_service *s)
{
	*s = (struct status_service){
		.name = "search",
		.n_listens = 2,
		.n_mirrors = 2,
		.listens = search_listens,
		.mirrors = search_mirrors,
		.slots = search_slots,
		.endpoints = search_endpoints,
		.period = 16,
		.period_offset_us = 40 * KARMALB_SECOND,
	};
	settings_set_defaults(SETTING_SCOPE_SERVICE, &s->settings);
	search_listens[0] = fake_endpoint("192.0.2.10", 9312);
	search_listens[1] = fake_endpoint("192.0.2.10", 9306);
	search_mirrors[0] = mirror("shared", fake_endpoint("10.99.1.11", 80), 0.5, 250);
	search_mirrors[1] = (struct status_mirror){.name = "idle",
		.address = fake_endpoint("10.99.1.22", 9312),
		.share = 0.5,
		.configured_share = 0.5,
		.state = MIRROR_TRIAL};
	/* The former has a port of its own, the latter those of the listens. */
	search_endpoints[0] = search_endpoints[1] = search_mirrors[0].address;
	search_endpoints[2] = search_mirrors[1].address;
	search_endpoints[3] = fake_endpoint("10.99.1.22", 9306);
}

static void
fill_dataplane(void)
{
	status.dataplane = (struct status_dataplane){
		.is_connected = true,
		.since_us = NOW_US - 90 * KARMALB_SECOND,
		.instance = 0x1234abcd5678ef00,
		.started_us = NOW_US - 120 * KARMALB_SECOND,
		.epoch_sent = 42,
		.epoch_in_force = 42,
		.max_flows = 1000000,
		.max_half_open = 65536,
		.n_sources = 16,
		.path = "/run/karmalb/dataplane.sock",
	};
	for (unsigned w = 0; w < 2; w++) {
		workers[w] = (struct karmalb_worker_totals){.worker = (uint16_t)w,
			.busy_us = 12345678,
			.n_flows = 100 + w,
			.n_half_open = w};
		for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
			workers[w].counters[i] = i % 3 == 0 ? 0 : i * (w + 1);
		workers[w].counters[KARMALB_COUNTER_RX_PACKETS] = UINT64_MAX / 4;
	}
	ports[0] = (struct karmalb_port_status){.name = "front",
		.device = "af_xdp:eth1",
		.is_up = 1,
		.mtu = 1500,
		.guard_drops = 3,
		.rx_missed = 17,
		.steered = 123456,
		.passed = 789};
}

struct status *
fake_status(void)
{
	if (status.now_us > 0)
		return &status;
	fill_web(&services[0]);
	fill_search(&services[1]);
	fill_dataplane();
	status.now_us = NOW_US;
	status.now_unix_us = NOW_UNIX_US;
	status.started_us = NOW_US - 3600 * KARMALB_SECOND / 10;
	status.n_services = 2;
	status.services = services;
	status.n_workers = 2;
	status.workers = workers;
	status.n_ports = 1;
	status.ports = ports;
	return &status;
}

static void *
copy(const void *from, size_t n, size_t size)
{
	void *to = malloc(n * size);

	if (to == NULL)
		abort();
	return memcpy(to, from, n * size);
}

struct status *
fake_status_take(void)
{
	const struct status *from = fake_status();
	struct status *to = copy(from, 1, sizeof(*from));

	to->services = copy(from->services, from->n_services, sizeof(*from->services));
	for (unsigned i = 0; i < from->n_services; i++) {
		struct status_service *s = &to->services[i];

		s->listens = copy(s->listens, s->n_listens, sizeof(*s->listens));
		s->mirrors = copy(s->mirrors, s->n_mirrors, sizeof(*s->mirrors));
		s->slots = copy(s->slots, s->n_mirrors * s->n_listens, sizeof(*s->slots));
		s->endpoints =
			copy(s->endpoints, s->n_mirrors * s->n_listens, sizeof(*s->endpoints));
	}
	to->workers = copy(from->workers, from->n_workers, sizeof(*from->workers));
	to->ports = copy(from->ports, from->n_ports, sizeof(*from->ports));
	return to;
}
