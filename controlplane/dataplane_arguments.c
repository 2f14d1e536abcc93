/* SPDX-License-Identifier: BSD-3-Clause */
/* The 'dataplane' group as the arguments of karmalb-dataplane, whose options.c reads them. */
#include "dataplane_arguments.h"

#include <inttypes.h>

#include "config.h"

/* One value in the setting's normal text, which the options take as it is. */
static void
print_setting(const struct config_dataplane *d, const char *option, const char *name, FILE *out)
{
	const struct setting *s = setting_find(SETTING_SCOPE_DATAPLANE, name);
	char text[SETTING_TEXT_MAX];

	fprintf(out, "--%s=%s\n", option, setting_format(s, d, text, sizeof(text)));
}

static void
print_port(const struct config_port *port, FILE *out)
{
	char rx_checksum[SETTING_TEXT_MAX], reply_via[SETTING_TEXT_MAX];

	setting_format(setting_find(SETTING_SCOPE_PORT, "rx_checksum"), port, rx_checksum,
		sizeof(rx_checksum));
	setting_format(
		setting_find(SETTING_SCOPE_PORT, "reply_via"), port, reply_via, sizeof(reply_via));
	fprintf(out, "--port=%s=%s,rx_checksum=%s,reply_via=%s%s\n", port->name, port->device,
		rx_checksum, reply_via,
		port->default_route == CONFIG_DEFAULT_ROUTE_TAKE ? ",default_route=take" : "");
}

static void
print_neighbour(const struct config_neighbour *neighbour, FILE *out)
{
	fprintf(out, "--neighbour=%s=%s%s%s\n", neighbour->address, neighbour->mac,
		neighbour->port[0] != '\0' ? ",port=" : "", neighbour->port);
}

void
dataplane_arguments_print(const struct config_dataplane *dataplane, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < dataplane->n_ports; i++)
		print_port(&dataplane->ports[i], out);
	for (unsigned i = 0; i < dataplane->n_neighbours; i++)
		print_neighbour(&dataplane->neighbours[i], out);
	for (unsigned i = 0; i < dataplane->n_sources; i++)
		fprintf(out, "--source=%s\n",
			units_format_cidr(&dataplane->sources[i], text, sizeof(text)));
	print_setting(dataplane, "workers", "workers", out);
	print_setting(dataplane, "idle", "idle", out);
	print_setting(dataplane, "idle-spin-us", "idle_spin_us", out);
	print_setting(dataplane, "huge-pages", "huge_pages", out);
	print_setting(dataplane, "max-flows", "max_flows", out);
	print_setting(dataplane, "max-half-open", "max_half_open", out);
	fprintf(out, "--assign=%s\n", dataplane->assign ? "yes" : "no");
}
