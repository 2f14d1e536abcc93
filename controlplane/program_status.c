/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs themselves: link, snapshot, workers, ports.  Mirrors have statements of their own.
 * Pure. */
#include "program_status.h"

#include <inttypes.h>
#include <stdio.h>

#include <karmalb/clock.h>

#include "pairs.h"
#include "status.h"

#define PREFIX_MAX 64

static void
add_dataplane(struct pairs *pairs, const struct status *status);
static void
add_totals(struct pairs *pairs, const struct status *status);
static void
add_worker(struct pairs *pairs, const struct karmalb_worker_totals *worker);
static void
add_port(struct pairs *pairs, const struct karmalb_port_status *port);
static double
seconds_since(const struct status *status, uint64_t at_us);

void
program_status(struct pairs *pairs, const struct status *status)
{
	unsigned n_mirrors = 0, n_up = 0;

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *service = &status->services[i];

		n_mirrors += service->n_mirrors;
		for (unsigned j = 0; j < service->n_mirrors; j++)
			n_up += service->mirrors[j].state == MIRROR_UP;
	}
	pairs_add_text(pairs, "", "version", KARMALB_VERSION);
	pairs_add_number(pairs, "", "uptime_seconds", seconds_since(status, status->started_us), 1);
	pairs_add_count(pairs, "", "services", status->n_services);
	pairs_add_count(pairs, "", "mirrors", n_mirrors);
	pairs_add_count(pairs, "", "mirrors_up", n_up);
	add_dataplane(pairs, status);
	add_totals(pairs, status);
	for (unsigned i = 0; i < status->n_workers; i++)
		add_worker(pairs, &status->workers[i]);
	for (unsigned i = 0; i < status->n_ports; i++)
		add_port(pairs, &status->ports[i]);
}

static double
seconds_since(const struct status *status, uint64_t at_us)
{
	return (double)(status->now_us - at_us) / (double)KARMALB_SECOND;
}

static void
add_dataplane(struct pairs *pairs, const struct status *status)
{
	const struct status_dataplane *d = &status->dataplane;
	char instance[20];

	snprintf(instance, sizeof(instance), "%016" PRIx64, d->instance);
	pairs_add_text(pairs, "dataplane_", "connected", d->is_connected ? "yes" : "no");
	pairs_add_number(pairs, "dataplane_",
		d->is_connected ? "connected_seconds" : "disconnected_seconds",
		seconds_since(status, d->since_us), 1);
	pairs_add_text(pairs, "dataplane_", "socket", d->path);
	if (d->started_us > 0) {
		pairs_add_text(pairs, "dataplane_", "instance", instance);
		pairs_add_number(pairs, "dataplane_", "uptime_seconds",
			seconds_since(status, d->started_us), 1);
	} else {
		pairs_add_none(pairs, "dataplane_", "instance");
		pairs_add_none(pairs, "dataplane_", "uptime_seconds");
	}
	pairs_add_text(pairs, "dataplane_", "message", d->sentence);
	pairs_add_count(pairs, "", "epoch_sent", d->epoch_sent);
	pairs_add_count(pairs, "", "epoch_in_force", d->epoch_in_force);
	pairs_add_count(pairs, "", "changes_waiting", d->n_waiting);
	pairs_add_count(pairs, "", "sources", d->n_sources);
	pairs_add_count(pairs, "", "flows_max", d->max_flows);
	pairs_add_count(pairs, "", "half_open_max", d->max_half_open);
}

static void
add_counters(struct pairs *pairs, const char *prefix, const uint64_t *counters)
{
	static const char *const names[] = {
#define X(member, name, help) #name,
		KARMALB_WORKER_COUNTERS(X)
#undef X
	};
	uint64_t dropped = 0;

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++) {
		if (i >= KARMALB_COUNTER_DROP_FIRST && i <= KARMALB_COUNTER_DROP_LAST)
			dropped += counters[i];
		else
			pairs_add_count(pairs, prefix, names[i], counters[i]);
	}
	pairs_add_count(pairs, prefix, "dropped", dropped);
}

static void
add_totals(struct pairs *pairs, const struct status *status)
{
	struct karmalb_worker_totals sum = {.worker = 0};

	for (unsigned i = 0; i < status->n_workers; i++) {
		sum.n_flows += status->workers[i].n_flows;
		sum.n_half_open += status->workers[i].n_half_open;
		sum.n_unanswered += status->workers[i].n_unanswered;
		for (unsigned j = 0; j < KARMALB_N_COUNTERS; j++)
			sum.counters[j] += status->workers[i].counters[j];
	}
	pairs_add_count(pairs, "", "flows", sum.n_flows);
	pairs_add_count(pairs, "", "half_open", sum.n_half_open);
	pairs_add_count(pairs, "", "unanswered", sum.n_unanswered);
	pairs_add_count(pairs, "", "workers", status->n_workers);
	add_counters(pairs, "", sum.counters);
}

static void
add_worker(struct pairs *pairs, const struct karmalb_worker_totals *worker)
{
	char prefix[PREFIX_MAX];

	snprintf(prefix, sizeof(prefix), "worker_%u_", worker->worker);
	pairs_add_count(pairs, prefix, "flows", worker->n_flows);
	pairs_add_count(pairs, prefix, "half_open", worker->n_half_open);
	pairs_add_count(pairs, prefix, "unanswered", worker->n_unanswered);
	pairs_add_number(
		pairs, prefix, "busy_seconds", (double)worker->busy_us / (double)KARMALB_SECOND, 3);
	add_counters(pairs, prefix, worker->counters);
}

static void
add_port(struct pairs *pairs, const struct karmalb_port_status *port)
{
	char prefix[PREFIX_MAX];

	snprintf(prefix, sizeof(prefix), "port_%u_", port->port);
	pairs_add_text(pairs, prefix, "name", port->name);
	pairs_add_text(pairs, prefix, "device", port->device);
	pairs_add_text(pairs, prefix, "link", port->is_up ? "up" : "down");
	pairs_add_count(pairs, prefix, "link_losses", port->link_losses);
	pairs_add_text(pairs, prefix, "zero_copy", port->is_zero_copy ? "yes" : "no");
	pairs_add_count(pairs, prefix, "mtu", port->mtu);
	pairs_add_count(pairs, prefix, "steered", port->steered);
	pairs_add_count(pairs, prefix, "passed", port->passed);
	pairs_add_count(pairs, prefix, "rx_missed", port->rx_missed);
	pairs_add_count(pairs, prefix, "guard_drops", port->guard_drops);
}
