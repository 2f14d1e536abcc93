/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only shows when settings are seen together: names and endpoints given twice, loops, totals.
 * Every setting for itself is right by now.  Loops here are bounded by limits.h.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_errors.h"
#include "config_reader.h"
#include "units.h"

/* The line of something in the file, by libconfig's path: "services.[1].mirrors.[0]". */
static unsigned
line_at(const struct config_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static unsigned
line_at(const struct config_reader *r, const char *format, ...)
{
	char path[80];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	const config_setting_t *node = config_lookup(&r->tree, path);

	return node != NULL ? config_setting_source_line(node) : 0;
}

/* ", in line 7"; nothing for what is in no file. */
static const char *
in_line(char *text, size_t size, unsigned line)
{
	text[0] = '\0';
	if (line > 0)
		snprintf(text, size, ", in line %u", line);
	return text;
}

#define complain(r, line, ...) config_errors_add((r)->errors, (r)->file, line, __VA_ARGS__)

static void
check_flows(struct config_reader *r)
{
	const struct config_dataplane *d = &r->config->dataplane;

	if (d->max_half_open > d->max_flows)
		complain(r, line_at(r, "dataplane.max_half_open"),
			"max_half_open = %llu: expected at most max_flows, which is %llu",
			(unsigned long long)d->max_half_open, (unsigned long long)d->max_flows);
}

static void
check_ports(struct config_reader *r)
{
	const struct config_dataplane *d = &r->config->dataplane;

	for (unsigned i = 0; i < d->n_ports; i++) {
		for (unsigned j = 0; j < i; j++) {
			const struct config_port *a = &d->ports[j], *b = &d->ports[i];

			if (strcmp(a->name, b->name) == 0)
				complain(r, line_at(r, "dataplane.ports.[%u]", i),
					"name = \"%s\": line %u has a port of this name", b->name,
					line_at(r, "dataplane.ports.[%u]", j));
			if (strcmp(a->device, b->device) == 0)
				complain(r, line_at(r, "dataplane.ports.[%u]", i),
					"device = \"%s\": port \"%s\" of line %u is this device",
					b->device, a->name, line_at(r, "dataplane.ports.[%u]", j));
		}
	}
}

/* Ports that the kernel does not know are told by their device, as the data plane does. */
static bool
has_interface(const struct config_port *port)
{
	return strncmp(port->device, "af_xdp:", strlen("af_xdp:")) == 0;
}

/* The port that a neighbour is behind, or NULL when that has been complained of. */
static const struct config_port *
port_of(struct config_reader *r, const struct config_neighbour *neighbour, unsigned line)
{
	const struct config_dataplane *d = &r->config->dataplane;
	const struct config_port *found = NULL;

	for (unsigned i = 0; i < d->n_ports; i++) {
		const struct config_port *port = &d->ports[i];

		if (neighbour->port[0] != '\0' ? strcmp(port->name, neighbour->port) != 0
					       : has_interface(port))
			continue;
		if (found != NULL && neighbour->port[0] == '\0') {
			complain(r, line,
				"neighbours: \"%s\" may be behind \"%s\" or \"%s\", expected "
				"port = \"...\"",
				neighbour->address, found->name, port->name);
			return NULL;
		}
		found = port;
	}
	if (found == NULL && neighbour->port[0] != '\0')
		complain(r, line, "neighbours: there is no port \"%s\"", neighbour->port);
	else if (found == NULL)
		complain(r, line,
			"neighbours: all ports have a kernel interface, and the kernel's neighbours");
	else if (has_interface(found))
		complain(r, line,
			"neighbours: port \"%s\" has a kernel interface; tell the kernel: ip neigh "
			"replace %s lladdr %s nud permanent dev %s",
			found->name, neighbour->address, neighbour->mac,
			found->device + strlen("af_xdp:"));
	else
		return found;
	return NULL;
}

static void
check_neighbours(struct config_reader *r)
{
	const struct config_dataplane *d = &r->config->dataplane;
	bool has_default[KARMALB_PORTS_MAX] = {false};

	for (unsigned i = 0; i < d->n_neighbours; i++) {
		const struct config_neighbour *n = &d->neighbours[i];
		unsigned line = line_at(r, "dataplane.neighbours.[%u]", i);
		const struct config_port *port = port_of(r, n, line);
		bool is_default = strcmp(n->address, "default") == 0;
		bool is_again = is_default && port != NULL && has_default[port - d->ports];

		for (unsigned j = 0; j < i && !is_default; j++)
			is_again |= strcmp(d->neighbours[j].address, n->address) == 0;
		if (is_again)
			complain(r, line, "neighbours: \"%s\" stands twice", n->address);
		if (is_default && port != NULL)
			has_default[port - d->ports] = true;
	}
	for (unsigned i = 0; i < d->n_ports; i++) {
		if (d->ports[i].reply_via == CONFIG_REPLY_VIA_ROUTE &&
			!has_interface(&d->ports[i]) && !has_default[i])
			complain(r, line_at(r, "dataplane.ports.[%u]", i),
				"reply_via = \"route\": port \"%s\" has no kernel interface, expected "
				"the neighbour \"default\" for it",
				d->ports[i].name);
	}
}

static void
check_sources(struct config_reader *r)
{
	const struct config_dataplane *d = &r->config->dataplane;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	uint64_t n = 0;

	for (unsigned i = 0; i < d->n_sources; i++) {
		const struct units_cidr *source = &d->sources[i];
		unsigned line = line_at(r, "dataplane.sources.[%u]", i);

		n += units_cidr_count(source);
		for (unsigned j = 0; j < i; j++) {
			if (!units_cidr_holds(source, &d->sources[j].first) &&
				!units_cidr_holds(&d->sources[j], &source->first))
				continue;
			complain(r, line, "sources = \"%s\": overlaps with \"%s\"",
				units_format_cidr(source, a, sizeof(a)),
				units_format_cidr(&d->sources[j], b, sizeof(b)));
		}
	}
	if (n > KARMALB_SOURCES_MAX)
		complain(r, line_at(r, "dataplane.sources"),
			"sources are %llu addresses, expected at most %u", (unsigned long long)n,
			KARMALB_SOURCES_MAX);
}

static bool
is_source(const struct config_reader *r, const struct karmalb_address *address)
{
	const struct config_dataplane *d = &r->config->dataplane;

	for (unsigned i = 0; i < d->n_sources; i++) {
		if (units_cidr_holds(&d->sources[i], address))
			return true;
	}
	return false;
}

/* The service that listens at an address, on whatever port; NULL: none. */
static const struct config_service *
service_at(const struct config_reader *r, const struct karmalb_address *address)
{
	for (unsigned i = 0; i < r->config->n_services; i++) {
		const struct config_service *s = &r->config->services[i];

		for (unsigned j = 0; j < s->n_listens; j++) {
			if (karmalb_address_equal(&s->listens[j].address, address))
				return s;
		}
	}
	return NULL;
}

/* Whether a listen stands earlier in the file, in this service or in one before it. */
static void
check_listen_is_new(struct config_reader *r, unsigned i_service, unsigned i_listen)
{
	const struct karmalb_endpoint *listen = &r->config->services[i_service].listens[i_listen];
	char text[UNITS_TEXT_MAX], where[32];

	for (unsigned i = 0; i <= i_service; i++) {
		const struct config_service *s = &r->config->services[i];
		unsigned n = i == i_service ? i_listen : s->n_listens;

		for (unsigned j = 0; j < n; j++) {
			if (!karmalb_endpoint_equal(&s->listens[j], listen))
				continue;
			complain(r, line_at(r, "services.[%u].listen.[%u]", i_service, i_listen),
				"listen = \"%s\": service \"%s\" listens there already%s",
				units_format_endpoint(listen, text, sizeof(text)), s->name,
				in_line(where, sizeof(where),
					line_at(r, "services.[%u].listen.[%u]", i, j)));
			return;
		}
	}
}

static bool
has_source_like(const struct config_reader *r, const struct karmalb_address *address)
{
	const struct config_dataplane *d = &r->config->dataplane;
	bool is_v4 = karmalb_address_is_v4(address);

	for (unsigned i = 0; i < d->n_sources; i++) {
		if (karmalb_address_is_v4(&d->sources[i].first) == is_v4)
			return true;
	}
	return d->n_sources == 0; /* that has been said */
}

static void
check_listens(struct config_reader *r, unsigned i_service)
{
	const struct config_service *s = &r->config->services[i_service];
	char text[UNITS_TEXT_MAX];

	for (unsigned j = 0; j < s->n_listens; j++) {
		check_listen_is_new(r, i_service, j);
		if (is_source(r, &s->listens[j].address))
			complain(r, line_at(r, "services.[%u].listen.[%u]", i_service, j),
				"listen = \"%s\": the address is one of dataplane.sources, which "
				"serve nothing else",
				units_format_endpoint(&s->listens[j], text, sizeof(text)));
		if (!has_source_like(r, &s->listens[j].address))
			complain(r, line_at(r, "services.[%u].listen.[%u]", i_service, j),
				"listen = \"%s\": dataplane.sources has no %s address to reach its "
				"mirrors from",
				units_format_endpoint(&s->listens[j], text, sizeof(text)),
				karmalb_address_is_v4(&s->listens[j].address) ? "IPv4" : "IPv6");
	}
}

/* Whether two mirrors of a service are one and the same behind any of its listens. */
static bool
is_same_mirror(const struct config_service *s, const struct config_mirror *a,
	const struct config_mirror *b)
{
	for (unsigned i = 0; i < s->n_listens; i++) {
		struct karmalb_endpoint to_a = config_mirror_endpoint(a, &s->listens[i]);
		struct karmalb_endpoint to_b = config_mirror_endpoint(b, &s->listens[i]);

		if (karmalb_endpoint_equal(&to_a, &to_b))
			return true;
	}
	return false;
}

static void
check_mirror_address(struct config_reader *r, unsigned line, const struct config_mirror *mirror)
{
	const struct config_service *service = service_at(r, &mirror->address);
	char text[UNITS_TEXT_MAX];

	units_format_host(&mirror->address, mirror->port, text, sizeof(text));
	if (service != NULL)
		complain(r, line,
			"address = \"%s\": service \"%s\" listens there, so that packets would go "
			"in a circle",
			text, service->name);
	if (is_source(r, &mirror->address))
		complain(r, line,
			"address = \"%s\": is one of dataplane.sources, which serve nothing else",
			text);
}

/* Packets keep their version on their way to a mirror. */
static void
check_mirror_family(struct config_reader *r, unsigned line, const struct config_service *s,
	const struct config_mirror *mirror)
{
	char text[UNITS_TEXT_MAX], listen[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < s->n_listens; i++) {
		if (karmalb_address_is_v4(&s->listens[i].address) ==
			karmalb_address_is_v4(&mirror->address))
			continue;
		complain(r, line,
			"address = \"%s\": its service listens at \"%s\", and IPv4 in front of IPv6 "
			"or the reverse is not available in this version",
			units_format_host(&mirror->address, mirror->port, text, sizeof(text)),
			units_format_endpoint(&s->listens[i], listen, sizeof(listen)));
		return;
	}
}

static void
check_mirrors(struct config_reader *r, unsigned i_service)
{
	const struct config_service *s = &r->config->services[i_service];
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < s->n_mirrors; i++) {
		const struct config_mirror *m = &s->mirrors[i];
		unsigned line = line_at(r, "services.[%u].mirrors.[%u]", i_service, i);

		check_mirror_address(r, line, m);
		check_mirror_family(r, line, s, m);
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(m->name, s->mirrors[j].name) == 0)
				complain(r, line,
					"name = \"%s\": service \"%s\" has a mirror of this name",
					m->name, s->name);
			else if (is_same_mirror(s, m, &s->mirrors[j]))
				complain(r, line, "address = \"%s\": mirror \"%s\" is the same",
					units_format_host(&m->address, m->port, text, sizeof(text)),
					s->mirrors[j].name);
		}
	}
}

static void
check_metrics(struct config_reader *r)
{
	const char *metrics = r->config->controlplane.metrics;
	struct karmalb_address address;
	struct err err;
	uint16_t port = 0;

	if (metrics[0] == '\0')
		return;
	if (units_parse_host(metrics, &address, &port, &err) == 0 && port == 0)
		err_set(&err, "expected a port as well, such as \"%s:9464\"", metrics);
	if (port == 0)
		complain(r, line_at(r, "controlplane.metrics"), "metrics = \"%s\": %s", metrics,
			err.sentence);
}

/* What must fit into one snapshot of the data plane. */
static void
check_totals(struct config_reader *r)
{
	unsigned n_listens = 0, n_slots = 0;

	for (unsigned i = 0; i < r->config->n_services; i++) {
		const struct config_service *s = &r->config->services[i];

		n_listens += s->n_listens;
		n_slots += s->n_listens * s->n_mirrors;
	}
	if (n_listens > KARMALB_SERVICES_MAX)
		complain(r, line_at(r, "services"),
			"services listen at %u endpoints together, expected at most %u", n_listens,
			KARMALB_SERVICES_MAX);
	if (n_slots > KARMALB_SLOTS_MAX)
		complain(r, line_at(r, "services"),
			"mirrors times listens of their services are %u together, expected at most "
			"%u",
			n_slots, KARMALB_SLOTS_MAX);
}

void
config_reader_check(struct config_reader *r)
{
	const struct config *c = r->config;

	check_flows(r);
	check_ports(r);
	check_neighbours(r);
	check_sources(r);
	check_metrics(r);
	check_totals(r);
	for (unsigned i = 0; i < c->n_services; i++) {
		for (unsigned j = 0; j < i; j++) {
			if (strcmp(c->services[i].name, c->services[j].name) == 0)
				complain(r, line_at(r, "services.[%u]", i),
					"name = \"%s\": line %u has a service of this name",
					c->services[i].name, line_at(r, "services.[%u]", j));
		}
		check_listens(r, i);
		check_mirrors(r, i);
	}
}

int
config_check_host(const struct karmalb_address *address, struct err *err)
{
	static const uint8_t zeros[15];
	bool is_v4 = karmalb_address_is_v4(address);
	unsigned first = address->bytes[is_v4 ? 12 : 0];

	if (is_v4 ? first == 0 || first >= 224
		  : first == 0xff ||
				(memcmp(address->bytes, zeros, 15) == 0 && address->bytes[15] <= 1))
		return err_set(err, "expected the address of one host");
	return 0;
}
