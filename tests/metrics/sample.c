/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the metrics of a made-up status in which every family has a sample. */
#include <stdio.h>
#include <string.h>

#include "render_prometheus.h"
#include "status.h"

static struct karmalb_endpoint
endpoint(uint32_t v4, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(__builtin_bswap32(v4)),
		.port_be = __builtin_bswap16(port),
		.protocol = 6,
	};
}

static void
fill_mirror(struct status_mirror *m, unsigned number)
{
	snprintf(m->name, sizeof(m->name), "m%u", number);
	m->address = endpoint(0x0a000000 + 10 + number, 80);
	m->state = number == 2 ? MIRROR_DEAD : MIRROR_UP;
	m->share = number == 2 ? 0 : 1;
	m->configured_share = 0.5;
	m->errors_in_row = number == 2 ? 4 : 0;
	m->ping_us = number == 2 ? 0 : 1500;
	m->next_hop = KARMALB_NEXT_HOP_RESOLVED;
	m->n_open = 3;
	m->n_waiting = 2;
	m->source_ports = 40;
	m->source_ports_left = 64512 - 40;
	m->life.opened = 1000 * number;
	m->life.outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] = 990;
	m->life.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] = 4;
	m->traffic = (struct status_traffic){
		.to_mirror_packets = 5000,
		.to_mirror_bytes = 400000,
		.to_client_packets = 4000,
		.to_client_bytes = 6000000,
		.connect = {.sum_us = 60000, .buckets = {[0] = 900, [1] = 100}},
		.query = {.sum_us = 9000000,
			.buckets = {[5] = 1, [7] = 980, [8] = 8, [STATUS_HISTOGRAM_EDGES] = 1}},
	};
}

int
main(void)
{
	static struct status_mirror mirrors[2];
	static struct status_service service = {.name = "web", .n_mirrors = 2, .mirrors = mirrors};
	static struct karmalb_worker_totals worker = {
		.busy_us = 2500000, .n_flows = 70, .n_half_open = 1};
	static struct karmalb_port_status port = {.name = "front",
		.device = "af_xdp:eth1",
		.is_up = 1,
		.mtu = 1500,
		.steered = 9001,
		.passed = 17,
		.rx_packets = 9000,
		.rx_bytes = 900000,
		.tx_packets = 9001,
		.tx_bytes = 900100};
	struct status status = {
		.now_us = 100000000,
		.now_unix_us = 1700000100000000,
		.started_us = 1000000,
		.dataplane = {.is_connected = true,
			.started_us = 500000,
			.epoch_sent = 7,
			.epoch_in_force = 7,
			.max_flows = 1000000,
			.max_half_open = 65536,
			.n_sources = 16},
		.reload = {.at_unix_us = 1700000050000000,
			.is_ok = true,
			.n_ok = 2,
			.took_us = 12345},
		.n_services = 1,
		.n_workers = 1,
		.n_ports = 1,
		.services = &service,
		.workers = &worker,
		.ports = &port,
	};

	settings_set_defaults(SETTING_SCOPE_SERVICE, &service.settings);
	service.reweighted_at_unix_us = 1700000090000000;
	service.has_gain = true;
	service.karma_gain = 0.25;
	service.total = 3000;
	service.failed = 8;
	service.n_open = 6;
	service.n_waiting = 4;
	for (unsigned i = 0; i < 2; i++)
		fill_mirror(&mirrors[i], i + 1);
	memcpy(service.outcomes, mirrors[0].life.outcomes, sizeof(service.outcomes));
	service.traffic = mirrors[0].traffic;
	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		worker.counters[i] = i;
	render_prometheus(stdout, &status);
	return 0;
}
