/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of karmalb-controlplane as one value.  Pure but for getopt's own state. */
#pragma once

#include <stdio.h>

#include "log.h"

struct err;

#define OPTIONS_RUN_DIR_DEFAULT   "/run/karmalb"
#define OPTIONS_STATE_DIR_DEFAULT "/var/lib/karmalb"
#define OPTIONS_STATE_DIR_MAX     1000
#define OPTIONS_RUN_DIR_MAX       79 /* leaves room for a file name in the 108 bytes of sun_path */

enum options_action {
	OPTIONS_RUN,
	OPTIONS_CHECK,               /* config_check_command(config_path) */
	OPTIONS_DATAPLANE_ARGUMENTS, /* config_arguments_command(config_path) */
	OPTIONS_HELP,                /* options_print_help() */
	OPTIONS_VERSION,             /* options_print_version() */
};

struct options {
	enum options_action action;
	enum log_level log_level;
	const char *run_dir;     /* holds dataplane.sock and control.sock */
	const char *state_dir;   /* holds what SAVE CONFIG keeps */
	const char *config_path; /* points into argv, or CONFIG_PATH_DEFAULT */
};

/* Returns 0, or -EINVAL with a sentence.  Reorders argv. */
int
options_parse(int argc, char **argv, struct options *options, struct err *err);

void
options_print_help(FILE *out);
void
options_print_version(FILE *out);
