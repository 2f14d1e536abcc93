/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file as one constant value: loaded whole and validated whole, or not at all.
 * It knows nothing of what runs; a running service starts as a copy of what stands here.  Any
 * number of values may exist at a time (a reload holds two); nothing here is shared or locked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

#include "err.h"
#include "settings.h"
#include "units.h"

#define CONFIG_PATH_DEFAULT "/etc/karmalb/karmalb.conf"
#define CONFIG_SIZE_MAX     (4 * 1024 * 1024) /* bytes of a file */
#define CONFIG_ERRORS_MAX   10

#define CONFIG_SOURCE_LINE_MAX 120

enum config_idle {
	CONFIG_IDLE_SLEEP,
	CONFIG_IDLE_SPIN,
};

enum config_rx_checksum {
	CONFIG_RX_CHECKSUM_AUTO,
	CONFIG_RX_CHECKSUM_WIRE,
	CONFIG_RX_CHECKSUM_PARTIAL,
};

enum config_default_route {
	CONFIG_DEFAULT_ROUTE_REFUSE,
	CONFIG_DEFAULT_ROUTE_TAKE,
};

enum config_reply_via {
	CONFIG_REPLY_VIA_LEARNED,
	CONFIG_REPLY_VIA_ROUTE,
};

struct config_port {
	char name[KARMALB_NAME_MAX];
	char device[KARMALB_DEVICE_MAX]; /* "af_xdp:eth1" */
	unsigned rx_checksum;            /* enum config_rx_checksum */
	unsigned reply_via;              /* enum config_reply_via */
	unsigned default_route;          /* enum config_default_route */
};

/* Who is behind a port without a kernel interface. */
struct config_neighbour {
	char address[KARMALB_NAME_MAX]; /* in its normal text, or "default" */
	char mac[KARMALB_NAME_MAX];     /* "02:00:00:00:00:01" */
	char port[KARMALB_NAME_MAX];    /* empty: the one that has no kernel interface */
};

/* For 'karmalb-controlplane --dataplane-arguments'; the control plane itself needs none of it. */
struct config_dataplane {
	struct units_cpus workers;
	unsigned idle; /* enum config_idle */
	uint64_t idle_spin_us;
	uint64_t huge_pages_size; /* 0: do without */
	uint64_t max_flows;
	uint64_t max_half_open; /* <= max_flows */
	bool assign;
	unsigned n_ports;   /* >= 1 */
	unsigned n_sources; /* >= 1 */
	unsigned n_neighbours;
	const struct config_port *ports;
	const struct config_neighbour *neighbours;
	const struct units_cidr *sources; /* together at most KARMALB_SOURCES_MAX addresses */
};

struct config_controlplane {
	char local_name[KARMALB_NAME_MAX];    /* empty: the host's name */
	char control_group[KARMALB_NAME_MAX]; /* members may read over control.sock */
	char admin_group[KARMALB_NAME_MAX];   /* members may change as well */
	char metrics[KARMALB_NAME_MAX];       /* "127.0.0.1:9464"; empty: off */
};

struct config_mirror {
	char name[KARMALB_NAME_MAX]; /* unique in its service */
	struct karmalb_address address;
	uint64_t weight; /* 1 .. 1000 */
	unsigned state;  /* enum settings_mirror_state */
	uint16_t port;   /* host order; 0: the port of each listen */
	/* Read by config_drain_end_us().  A file cannot say it, only statements can. */
	uint64_t drain_until_us;
};

/* When a drain ends in maintenance, by the wall clock, us since 1970; 0: it does not, or it is
 * none.
 */
static inline uint64_t
config_drain_end_us(const struct config_mirror *m)
{
	return m->state == SETTINGS_MIRROR_DRAIN ? m->drain_until_us : 0;
}

struct config_service {
	char name[KARMALB_NAME_MAX]; /* unique */
	struct service_settings settings;
	uint64_t own;       /* setting_bit() of the settings it does not take from 'defaults' */
	unsigned n_listens; /* >= 1 */
	unsigned n_mirrors; /* 1 .. KARMALB_MIRRORS_MAX */
	const struct karmalb_endpoint *listens; /* unique over all services */
	const struct config_mirror *mirrors;
};

struct config {
	uint64_t version; /* of the file's form: 1 */
	struct config_dataplane dataplane;
	struct config_controlplane controlplane;
	struct service_settings defaults;
	/* Listens of all services together: at most KARMALB_SERVICES_MAX; listens times mirrors,
	 * summed over services: at most KARMALB_SLOTS_MAX. */
	unsigned n_services;
	const struct config_service *services;
};

/* What is wrong with a file, by rising lines. */
struct config_errors {
	unsigned n_errors;
	unsigned n_more; /* found, but not kept */
	struct err errors[CONFIG_ERRORS_MAX];
	/* The line of the file itself where its form is wrong, cut at the end; else empty. */
	char source_lines[CONFIG_ERRORS_MAX][CONFIG_SOURCE_LINE_MAX];
};

/* Reads and validates a file.  Returns NULL with at least one error when it is not good, unreadable
 * or absent.  The value belongs to the caller until config_free(). */
const struct config *
config_load(const char *path, struct config_errors *errors);

/* The same from memory; 'name' stands for the file in errors. */
const struct config *
config_parse(const char *name, const char *text, size_t size, struct config_errors *errors);

/* Frees everything that the value holds.  Takes NULL. */
void
config_free(const struct config *config);

/* The endpoint of a mirror behind one of its service's listens: its own port, or the listen's. */
struct karmalb_endpoint
config_mirror_endpoint(const struct config_mirror *mirror, const struct karmalb_endpoint *listen);

/* Prints the normal form: a configuration file that says every setting, and which of them are
 * defaults.  It parses to the same value and prints the same again. */
void
config_print(const struct config *config, FILE *out);

/* Writes the errors, one a line, each of a wrong form with its source line below. */
void
config_errors_print(const struct config_errors *errors, FILE *out);

/* The same on one line and without source lines: "error; error". */
void
config_errors_print_line(const struct config_errors *errors, FILE *out);

/* --check and --dataplane-arguments: print to stdout, errors to stderr; return an exit status. */
int
config_check_command(const char *path);
int
config_arguments_command(const char *path);
