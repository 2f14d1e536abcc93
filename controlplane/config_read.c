/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From libconfig's tree to the value: the file's groups in their order, and what has a form of its
 * own: lists, addresses, networks.  Each setting is checked for itself; config_check.c sees them
 * together.
 */
#include <arpa/inet.h>
#include <string.h>

#include "config.h"
#include "config_errors.h"
#include "config_group.h"
#include "config_reader.h"

/* A list of the file; without a node, and without elements, when it is absent or of the wrong
 * shape, which has been said by then. */
struct list {
	config_setting_t *node;
	unsigned n;
};

static struct list
list_of(config_setting_t *parent, const char *name)
{
	config_setting_t *node = config_setting_get_member(parent, name);

	if (node == NULL || !(config_setting_is_list(node) || config_setting_is_array(node)))
		return (struct list){0};
	return (struct list){.node = node, .n = (unsigned)config_setting_length(node)};
}

/* Memory for what the elements become; NULL: there are none, or too many, and that has been said.
 */
static void *
take_elements(struct config_reader *r, struct list list, unsigned max, size_t size)
{
	if (list.node == NULL)
		return NULL;
	if (list.n >= 1 && list.n <= max)
		return config_reader_take(r, list.n, size);
	config_complain(r, list.node, "%s: found %u elements, expected 1 to %u",
		config_setting_name(list.node), list.n, max);
	return NULL;
}

/* An element of a list of groups; NULL: it is none, and that has been said. */
static config_setting_t *
group_at(struct config_reader *r, struct list list, unsigned index)
{
	config_setting_t *node = config_setting_get_elem(list.node, index);

	if (config_setting_is_group(node))
		return node;
	config_complain(r, node, "%s: element %u is not a group, expected ( { ... }, { ... } )",
		config_setting_name(list.node), index + 1);
	return NULL;
}

/* An element of a list of strings, likewise. */
static const char *
string_at(struct config_reader *r, struct list list, unsigned index)
{
	config_setting_t *node = config_setting_get_elem(list.node, index);
	const char *text = config_setting_get_string(node);

	if (text == NULL)
		config_complain(r, node, "%s: element %u is not a string, expected [ \"...\" ]",
			config_setting_name(list.node), index + 1);
	return text;
}

/* Puts "name = text: " before a sentence about a text, and takes it in. */
static void
refuse_text(
	struct config_reader *r, const config_setting_t *node, const char *name, struct err *err)
{
	char quoted[SETTING_QUOTED_MAX];

	setting_quote(config_setting_get_string(node), quoted, sizeof(quoted));
	err_prefix(err, "%s = %s: ", name, quoted);
	config_errors_take(r->errors, r->file, (unsigned)config_setting_source_line(node), err);
}

static void
read_ports(struct config_reader *r, config_setting_t *group)
{
	struct config_dataplane *d = &r->config->dataplane;
	struct list list = list_of(group, "ports");
	struct config_port *ports = take_elements(r, list, KARMALB_PORTS_MAX, sizeof(*ports));

	for (unsigned i = 0; ports != NULL && i < list.n; i++) {
		config_setting_t *node = group_at(r, list, i);
		struct config_place place = {
			.title = "in a port",
			.parts = {{SETTING_SCOPE_PORT, &ports[i]}},
			.n_parts = 1,
		};

		settings_set_defaults(SETTING_SCOPE_PORT, &ports[i]);
		if (node != NULL)
			config_read_group(r, node, &place);
	}
	d->ports = ports;
	d->n_ports = ports != NULL ? list.n : 0;
}

/* An address in its normal text, or "default". */
static void
read_neighbour_address(
	struct config_reader *r, config_setting_t *node, struct config_neighbour *neighbour)
{
	const config_setting_t *text = config_setting_get_member(node, "address");
	struct karmalb_address address;
	struct err err;

	if (strcmp(neighbour->address, "default") == 0 || neighbour->address[0] == '\0')
		return;
	if (units_parse_address(neighbour->address, &address, &err) != 0 ||
		config_check_host(&address, &err) != 0)
		refuse_text(r, text, "address", &err);
	else
		units_format_address(&address, neighbour->address, sizeof(neighbour->address));
}

/* Likewise; one that a single host can have. */
static void
read_mac(struct config_reader *r, config_setting_t *node, struct config_neighbour *neighbour)
{
	unsigned m[6] = {0};
	int size = 0;

	if (neighbour->mac[0] == '\0')
		return;
	if (sscanf(neighbour->mac, "%2x:%2x:%2x:%2x:%2x:%2x%n", &m[0], &m[1], &m[2], &m[3], &m[4],
		    &m[5], &size) != 6 ||
		size != 17 || neighbour->mac[size] != '\0' || (m[0] & 1) != 0 ||
		(m[0] | m[1] | m[2] | m[3] | m[4] | m[5]) == 0)
		config_complain(r, config_setting_get_member(node, "mac"),
			"mac = \"%s\": expected the MAC address of a host as in "
			"\"02:00:00:00:00:01\"",
			neighbour->mac);
	else
		snprintf(neighbour->mac, sizeof(neighbour->mac), "%02x:%02x:%02x:%02x:%02x:%02x",
			m[0], m[1], m[2], m[3], m[4], m[5]);
}

static void
read_neighbours(struct config_reader *r, config_setting_t *group)
{
	struct config_dataplane *d = &r->config->dataplane;
	struct list list = list_of(group, "neighbours");
	struct config_neighbour *neighbours =
		take_elements(r, list, KARMALB_NEIGHBOURS_MAX, sizeof(*neighbours));

	for (unsigned i = 0; neighbours != NULL && i < list.n; i++) {
		config_setting_t *node = group_at(r, list, i);
		struct config_place place = {
			.title = "in a neighbour",
			.parts = {{SETTING_SCOPE_NEIGHBOUR, &neighbours[i]}},
			.n_parts = 1,
		};

		settings_set_defaults(SETTING_SCOPE_NEIGHBOUR, &neighbours[i]);
		if (node == NULL)
			continue;
		config_read_group(r, node, &place);
		read_neighbour_address(r, node, &neighbours[i]);
		read_mac(r, node, &neighbours[i]);
	}
	d->neighbours = neighbours;
	d->n_neighbours = neighbours != NULL ? list.n : 0;
}

static void
read_sources(struct config_reader *r, config_setting_t *group)
{
	struct config_dataplane *d = &r->config->dataplane;
	struct list list = list_of(group, "sources");
	struct units_cidr *sources = take_elements(r, list, KARMALB_SOURCES_MAX, sizeof(*sources));
	struct err err;

	for (unsigned i = 0; sources != NULL && i < list.n; i++) {
		const char *text = string_at(r, list, i);

		if (text != NULL && (units_parse_cidr(text, &sources[i], &err) != 0 ||
					    config_check_host(&sources[i].first, &err) != 0))
			refuse_text(r, config_setting_get_elem(list.node, i), "sources", &err);
	}
	d->sources = sources;
	d->n_sources = sources != NULL ? list.n : 0;
}

static void
read_dataplane(struct config_reader *r, config_setting_t *group)
{
	struct config_dataplane *d = &r->config->dataplane;
	struct config_place place = {
		.title = "in dataplane",
		.parts = {{SETTING_SCOPE_DATAPLANE, d}},
		.n_parts = 1,
	};

	settings_set_defaults(SETTING_SCOPE_DATAPLANE, d);
	config_read_group(r, group, &place);
	/* A default must not be what refuses a small max_flows. */
	if (config_setting_get_member(group, "max_half_open") == NULL &&
		d->max_half_open > d->max_flows)
		d->max_half_open = d->max_flows;
	read_ports(r, group);
	read_neighbours(r, group);
	read_sources(r, group);
}

static void
read_address(struct config_reader *r, config_setting_t *group, struct config_mirror *mirror)
{
	config_setting_t *node = config_setting_get_member(group, "address");
	const char *text = node != NULL ? config_setting_get_string(node) : NULL;
	struct err err;

	if (text == NULL) {
		if (node != NULL && !config_setting_is_aggregate(node))
			config_complain(r, node, "address: expected it in quotes: \"10.0.0.11\"");
		return;
	}
	if (units_parse_host(text, &mirror->address, &mirror->port, &err) != 0 ||
		config_check_host(&mirror->address, &err) != 0)
		refuse_text(r, node, "address", &err);
}

static void
read_mirrors(struct config_reader *r, config_setting_t *group, struct config_service *service)
{
	struct list list = list_of(group, "mirrors");
	struct config_mirror *mirrors =
		take_elements(r, list, KARMALB_MIRRORS_MAX, sizeof(*mirrors));

	for (unsigned i = 0; mirrors != NULL && i < list.n; i++) {
		config_setting_t *node = group_at(r, list, i);
		struct config_place place = {
			.title = "in a mirror",
			.parts = {{SETTING_SCOPE_MIRROR, &mirrors[i]}},
			.n_parts = 1,
		};

		settings_set_defaults(SETTING_SCOPE_MIRROR, &mirrors[i]);
		if (node == NULL)
			continue;
		config_read_group(r, node, &place);
		read_address(r, node, &mirrors[i]);
	}
	service->mirrors = mirrors;
	service->n_mirrors = mirrors != NULL ? list.n : 0;
}

static void
read_listens(struct config_reader *r, config_setting_t *group, struct config_service *service)
{
	struct list list = list_of(group, "listen");
	struct karmalb_endpoint *listens =
		take_elements(r, list, KARMALB_SERVICES_MAX, sizeof(*listens));
	struct err err;

	for (unsigned i = 0; listens != NULL && i < list.n; i++) {
		const char *text = string_at(r, list, i);

		if (text != NULL && (units_parse_endpoint(text, &listens[i], &err) != 0 ||
					    config_check_host(&listens[i].address, &err) != 0))
			refuse_text(r, config_setting_get_elem(list.node, i), "listen", &err);
	}
	service->listens = listens;
	service->n_listens = listens != NULL ? list.n : 0;
}

/* Which settings stand in the service itself. */
static uint64_t
own_settings(const config_setting_t *group)
{
	uint64_t own = 0;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope == SETTING_SCOPE_SERVICE &&
			config_setting_get_member(group, s->name) != NULL)
			own |= setting_bit(s);
	}
	return own;
}

static void
read_service(struct config_reader *r, config_setting_t *group, struct config_service *service)
{
	struct config_place place = {
		.title = "in a service",
		.parts = {{SETTING_SCOPE_SERVICE_ONLY, service},
			{SETTING_SCOPE_SERVICE, &service->settings}},
		.n_parts = 2,
	};

	service->settings = r->config->defaults;
	config_read_group(r, group, &place);
	service->own = own_settings(group);
	read_listens(r, group, service);
	read_mirrors(r, group, service);
}

static void
read_services(struct config_reader *r, config_setting_t *root)
{
	struct list list = list_of(root, "services");
	struct config_service *services;

	if (list.n == 0)
		return; /* nothing is balanced yet, and that is fine */
	services = take_elements(r, list, KARMALB_SERVICES_MAX, sizeof(*services));
	for (unsigned i = 0; services != NULL && i < list.n; i++) {
		config_setting_t *node = group_at(r, list, i);

		if (node != NULL)
			read_service(r, node, &services[i]);
	}
	r->config->services = services;
	r->config->n_services = services != NULL ? list.n : 0;
}

/* One of the groups of the top level that has one scope of its own. */
static void
read_plain_group(struct config_reader *r, const char *name, enum setting_scope scope, void *base)
{
	char title[32];
	config_setting_t *group = config_setting_get_member(config_root_setting(&r->tree), name);
	struct config_place place = {
		.title = title,
		.parts = {{scope, base}},
		.n_parts = 1,
	};

	snprintf(title, sizeof(title), "in %s", name);
	settings_set_defaults(scope, base);
	if (group != NULL && config_setting_is_group(group))
		config_read_group(r, group, &place);
}

void
config_reader_fill(struct config_reader *r)
{
	config_setting_t *root = config_root_setting(&r->tree);
	config_setting_t *dataplane = config_setting_get_member(root, "dataplane");
	struct config_place place = {
		.title = "at the top level",
		.parts = {{SETTING_SCOPE_FILE, r->config}},
		.n_parts = 1,
	};

	config_read_group(r, root, &place);
	if (dataplane != NULL && config_setting_is_group(dataplane))
		read_dataplane(r, dataplane);
	read_plain_group(r, "controlplane", SETTING_SCOPE_CONTROLPLANE, &r->config->controlplane);
	read_plain_group(r, "defaults", SETTING_SCOPE_SERVICE, &r->config->defaults);
	read_services(r, root);
}
