/* SPDX-License-Identifier: BSD-3-Clause */
/* What text and JSON must not say differently.  Pure. */
#include "render.h"

#include "settings.h"
#include "status.h"

const char *
render_setting(const struct status_service *service, const char *name, char *text, size_t size)
{
	const struct setting *setting = setting_find(SETTING_SCOPE_SERVICE, name);

	return setting != NULL ? setting_format(setting, &service->settings, text, size) : "";
}

/* First the workers' reasons, then, port by port, what was lost before a worker saw it. */
bool
render_drop_at(const struct status *status, unsigned i, struct render_drop *drop)
{
	static const struct {
		const char *name, *help;
	} rows[] = {
#define X(member, name, help) {#name, help},
		KARMALB_WORKER_COUNTERS(X)
#undef X
	};
	const unsigned n_drops = KARMALB_COUNTER_DROP_LAST - KARMALB_COUNTER_DROP_FIRST + 1;

	if (i < n_drops) {
		unsigned counter = KARMALB_COUNTER_DROP_FIRST + i;

		*drop = (struct render_drop){
			.name = rows[counter].name, .help = rows[counter].help, .counter = counter};
		for (unsigned w = 0; w < status->n_workers; w++)
			drop->total += status->workers[w].counters[counter];
		return true;
	}
	i -= n_drops;
	if (i / 2 >= status->n_ports)
		return false;
	const struct karmalb_port_status *port = &status->ports[i / 2];

	*drop = (struct render_drop){.port = port->name};
	if (i % 2 == 0) {
		drop->name = "rx_missed";
		drop->help = "lost by the device before a worker saw them";
		drop->total = port->rx_missed;
	} else {
		drop->name = "guard_drops";
		drop->help = "ours, but missed by the steering program; kept from the kernel";
		drop->total = port->guard_drops;
	}
	return true;
}

const char *
render_next_hop(unsigned next_hop)
{
	switch (next_hop) {
	case KARMALB_NEXT_HOP_RESOLVED:
		return "resolved";
	case KARMALB_NEXT_HOP_FAILED:
		return "failed";
	}
	return "unknown";
}
