/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line.  Runs once, before anything else; prints only when asked for help. */
#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "config.h"
#include "err.h"

enum {
	OPTION_RUN_DIR = 256, /* beyond any short option */
	OPTION_STATE_DIR,
	OPTION_CHECK,
	OPTION_ARGUMENTS,
	OPTION_LOG_LEVEL,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{"run-dir", required_argument, NULL, OPTION_RUN_DIR},
	{"state-dir", required_argument, NULL, OPTION_STATE_DIR},
	{"check", no_argument, NULL, OPTION_CHECK},
	{"dataplane-arguments", no_argument, NULL, OPTION_ARGUMENTS},
	{"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
	{"help", no_argument, NULL, OPTION_HELP},
	{"version", no_argument, NULL, OPTION_VERSION},
	{NULL, 0, NULL, 0},
};

static int
set_action(struct options *o, enum options_action action, struct err *err)
{
	if (o->action != OPTIONS_RUN && o->action != action)
		return err_set(err, "expected at most one of --check, --dataplane-arguments, "
				    "--help and --version");
	o->action = action;
	return 0;
}

static int
set_run_dir(struct options *o, const char *path, struct err *err)
{
	if (path[0] != '/')
		return err_set(err, "--run-dir %s: expected an absolute path", path);
	if (strlen(path) > OPTIONS_RUN_DIR_MAX)
		return err_set(
			err, "--run-dir %s: expected at most %d bytes", path, OPTIONS_RUN_DIR_MAX);
	o->run_dir = path;
	return 0;
}

static int
set_state_dir(struct options *o, const char *path, struct err *err)
{
	if (path[0] != '/' || strlen(path) > OPTIONS_STATE_DIR_MAX)
		return err_set(err,
			"--state-dir %.100s: expected an absolute path of at most %d bytes", path,
			OPTIONS_STATE_DIR_MAX);
	o->state_dir = path;
	return 0;
}

static int
set_log_level(struct options *o, const char *name, struct err *err)
{
	if (!log_level_find(name, &o->log_level))
		return err_set(err, "--log-level %s: expected error, warning, info or debug", name);
	return 0;
}

static int
take_option(struct options *o, int option, const char *given, struct err *err)
{
	switch (option) {
	case OPTION_RUN_DIR:
		return set_run_dir(o, optarg, err);
	case OPTION_STATE_DIR:
		return set_state_dir(o, optarg, err);
	case OPTION_CHECK:
		return set_action(o, OPTIONS_CHECK, err);
	case OPTION_ARGUMENTS:
		return set_action(o, OPTIONS_DATAPLANE_ARGUMENTS, err);
	case OPTION_LOG_LEVEL:
		return set_log_level(o, optarg, err);
	case OPTION_HELP:
		return set_action(o, OPTIONS_HELP, err);
	case OPTION_VERSION:
		return set_action(o, OPTIONS_VERSION, err);
	case ':':
		return err_set(err, "%s needs a value, see --help", given);
	case '?':
		if (optopt > UCHAR_MAX)
			return err_set(err, "%s takes no value, see --help", given);
		/* fall through */
	default:
		return err_set(err, "%s is not an option, see --help", given);
	}
}

int
options_parse(int argc, char **argv, struct options *options, struct err *err)
{
	struct options o = {
		.action = OPTIONS_RUN,
		.log_level = LOG_LEVEL_INFO,
		.run_dir = OPTIONS_RUN_DIR_DEFAULT,
		.state_dir = OPTIONS_STATE_DIR_DEFAULT,
		.config_path = CONFIG_PATH_DEFAULT,
	};
	int option;

	opterr = 0;
	optind = 0; /* glibc: begin anew, even after an earlier parse */
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		/* Where the option takes no value, or is unknown, it is what was just passed. */
		if (take_option(&o, option, argv[optind - 1], err) != 0)
			return -EINVAL;
	}
	if (argc - optind > 1)
		return err_set(err, "%s: expected one configuration file only", argv[optind + 1]);
	if (optind < argc)
		o.config_path = argv[optind];
	*options = o;
	return 0;
}

void
options_print_help(FILE *out)
{
	fprintf(out,
		"usage: karmalb-controlplane [OPTION...] [FILE]\n"
		"\n"
		"Decides what karmalb-dataplane forwards where.  FILE is the configuration, by\n"
		"default %s.\n"
		"\n"
		"  --check                say whether FILE is good, and what all its settings are,\n"
		"                         then exit\n"
		"  --dataplane-arguments  print the arguments of karmalb-dataplane that FILE asks\n"
		"                         for, one a line, then exit\n"
		"  --run-dir DIR          where the sockets are (default: %s)\n"
		"  --state-dir DIR        where SAVE CONFIG keeps what statements changed\n"
		"                         (default: %s)\n"
		"  --log-level LEVEL      error, warning, info or debug (default: info)\n"
		"  --help, --version      print this, or the version, then exit\n",
		CONFIG_PATH_DEFAULT, OPTIONS_RUN_DIR_DEFAULT, OPTIONS_STATE_DIR_DEFAULT);
}

void
options_print_version(FILE *out)
{
	fprintf(out, "karmalb-controlplane %s\n", KARMALB_VERSION);
}
