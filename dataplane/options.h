/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of karmalb-dataplane as a checked value.  Pure but for --arguments, which reads
 * a file.  The data plane reads no configuration file: karmalb-controlplane prints these arguments
 * from it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

#include "err.h"
#include "ports.h"

#define OPTIONS_RUN_DIR_MAX 80 /* leaves room for a file name in sun_path's 108 bytes */

enum options_action {
	OPTIONS_RUN,
	OPTIONS_SHOW_HELP,
	OPTIONS_SHOW_VERSION,
};

struct options {
	enum options_action action;
	char run_dir[OPTIONS_RUN_DIR_MAX];
	struct port_conf ports[KARMALB_PORTS_MAX];
	unsigned n_ports; /* at least 1 when action is OPTIONS_RUN */
	struct karmalb_address sources[KARMALB_SOURCES_MAX];
	unsigned n_sources; /* at least 1 when action is OPTIONS_RUN */
	struct static_neighbour neighbours[KARMALB_NEIGHBOURS_MAX];
	unsigned n_neighbours;
	uint16_t worker_cpus[KARMALB_WORKERS_MAX];
	unsigned n_workers;
	bool is_sleeping; /* idle workers sleep; else they spin */
	uint32_t idle_spin_us;
	uint64_t huge_pages_size; /* bytes of huge pages to use; 0: do without */
	uint64_t max_flows;       /* all workers together */
	uint64_t max_half_open;   /* all workers together */
	bool assign;              /* put VIPs and sources on the ports' interfaces */
};

/*
 * Parses 'argv' (argv[0] is skipped).  0, or -EINVAL (or what reading the --arguments file yielded)
 * with a sentence in 'err'.  What is not given has the default that --help names.
 */
int
options_parse(struct options *o, int argc, char **argv, struct err *err);

/* Prints each option with its unit and default to stdout. */
void
options_print_help(void);
