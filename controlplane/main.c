/* SPDX-License-Identifier: BSD-3-Clause */
/* karmalb-controlplane: what is made at start, in order, and unmade at the end in reverse. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands.h"
#include "config.h"
#include "config_edit.h"
#include "control_socket.h"
#include "err.h"
#include "intent.h"
#include "log.h"
#include "metrics.h"
#include "options.h"

/* How long at start to wait for a data plane before anybody may ask us about it. */
#define START_WAIT_US (300 * KARMALB_MILLISECOND)

/* Everything that lives as long as the program runs. */
struct program {
	const struct config *config;
	struct event_base *base;
	struct event *on_sigterm, *on_sigint, *on_sigusr1, *on_sigusr2;
	struct balance *balance;
	struct metrics *metrics; /* NULL: off */
	bool is_ending;
	char state_path[OPTIONS_STATE_DIR_MAX + sizeof("/" STATE_FILE_NAME)];
	struct event *on_sighup;
	struct intent *intent;
	struct commands *commands;
	struct control_socket *control;
};

static void
on_signal(evutil_socket_t number, short what, void *arg)
{
	struct program *p = arg;

	(void)what;
	log_info("ending on signal %d; the data plane goes on", (int)number);
	p->is_ending = true;
	event_base_loopbreak(p->base);
}

static void
on_log_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	(void)arg;
	log_warning("log level: now %s", log_change_level(number == SIGUSR1));
}

/* As RELOAD, answered in the log. */
static void
on_sighup(evutil_socket_t number, short what, void *arg)
{
	static const struct intent_author author = {.what = "reload (SIGHUP)"};
	struct program *p = arg;
	struct intent_said said;

	(void)number;
	(void)what;
	intent_reload(p->intent, 0, &author, &said);
	intent_said_fini(&said);
}

/* Timers to the microsecond, for block borders are compared with the same clock. */
static struct event_base *
make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (config == NULL)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static struct event *
watch_signal(struct program *p, int number, event_callback_fn callback)
{
	struct event *event = evsignal_new(p->base, number, callback, p);

	if (event != NULL)
		event_add(event, NULL);
	return event;
}

/*
 * Where people and programs ask: run_dir/control.sock.  Taken before anything else is touched, for
 * who has it is the one control plane of this run directory.
 */
static int
open_control(struct program *p, const struct options *options)
{
	struct err err;

	p->control = control_socket_open(options->run_dir, &p->config->controlplane, &err);
	if (p->control == NULL)
		log_error("%s", err.sentence);
	return p->control != NULL ? 0 : -1;
}

static int
serve_control(struct program *p)
{
	const struct control_options control = {
		.run = commands_run, .settings = commands_settings, .arg = p->commands};
	struct err err;
	int rc = control_socket_serve(p->control, p->base, &control, &err);

	if (rc < 0)
		log_error("%s", err.sentence);
	return rc;
}

static void
program_fini(struct program *p)
{
	metrics_close(p->metrics);
	intent_stop(p->intent);
	balance_free(p->balance); /* answers who waits for a change, so before the socket goes */
	control_socket_close(p->control);
	commands_free(p->commands);
	intent_free(p->intent);
	if (p->on_sighup != NULL)
		event_free(p->on_sighup);
	if (p->on_sigusr2 != NULL)
		event_free(p->on_sigusr2);
	if (p->on_sigusr1 != NULL)
		event_free(p->on_sigusr1);
	if (p->on_sigint != NULL)
		event_free(p->on_sigint);
	if (p->on_sigterm != NULL)
		event_free(p->on_sigterm);
	if (p->base != NULL)
		event_base_free(p->base);
	config_free(p->config);
}

/* A balancer without metrics balances; one that does not start over them does not. */
static void
open_metrics(struct program *p)
{
	const char *address = p->config->controlplane.metrics;
	struct err err;

	if (address[0] == '\0')
		return;
	p->metrics = metrics_open(p->base, p->intent, address, &err);
	if (p->metrics == NULL)
		log_error("metrics are off: %s", err.sentence);
	else
		log_info("metrics at http://%s/metrics", address);
}

/* A new control plane begins from the shares in force.  Whoever asks first is to see those, not
 * what we believed before we knew. */
static void
wait_for_dataplane(struct program *p)
{
	uint64_t end_us = karmalb_now_us() + START_WAIT_US;

	while (!p->is_ending && !balance_is_in_force(p->balance) && karmalb_now_us() < end_us)
		event_base_loop(p->base, EVLOOP_ONCE); /* dplink wakes it at least once a second */
}

/* The file, and what was saved after it; NULL when out of memory. */
static struct config *
with_saved(struct program *p)
{
	struct config *config = config_copy(p->config);
	struct state_report report;
	struct err err;

	if (config == NULL)
		return NULL;
	if (state_file_apply(p->state_path, &config, p->config, &report, &err) < 0)
		log_error("what was saved is left out: %s", err.sentence);
	else if (report.n_applied + report.n_refused > 0)
		log_info("%u saved statements applied, %u left out", report.n_applied,
			report.n_refused);
	return config;
}

/* What decides, what changes, what answers.  0 or -1 when out of memory. */
static int
create_rooms(struct program *p, const struct options *options)
{
	struct config *config;

	snprintf(p->state_path, sizeof(p->state_path), "%s/" STATE_FILE_NAME, options->state_dir);
	config = with_saved(p);
	if (config == NULL)
		return -1;
	p->balance = balance_create(p->base, config, options->run_dir);
	config_free(config);
	if (p->balance == NULL)
		return -1;
	p->intent = intent_create(&(struct intent_options){
		.base = p->base,
		.balance = p->balance,
		.config_path = options->config_path,
		.state_path = p->state_path,
		.file = p->config,
		.check = control_socket_check,
	});
	if (p->intent == NULL)
		return -1;
	p->commands = commands_create(p->balance, p->intent);
	return p->commands != NULL ? 0 : -1;
}

/* On failure the reason is logged and what was made is left for program_fini(). */
static int
program_init(struct program *p, const struct options *options)
{
	struct config_errors errors;

	p->config = config_load(options->config_path, &errors);
	if (p->config == NULL) {
		config_errors_print(&errors, stderr);
		return -1;
	}
	if (open_control(p, options) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	p->base = make_base();
	if (p->base == NULL)
		goto no_memory;
	p->on_sigterm = watch_signal(p, SIGTERM, on_signal);
	p->on_sigint = watch_signal(p, SIGINT, on_signal);
	p->on_sigusr1 = watch_signal(p, SIGUSR1, on_log_signal);
	p->on_sigusr2 = watch_signal(p, SIGUSR2, on_log_signal);
	p->on_sighup = watch_signal(p, SIGHUP, on_sighup);
	if (create_rooms(p, options) < 0)
		goto no_memory;
	if (p->on_sigterm == NULL || p->on_sigint == NULL || p->on_sigusr1 == NULL ||
		p->on_sigusr2 == NULL || p->on_sighup == NULL)
		goto no_memory;
	wait_for_dataplane(p);
	open_metrics(p);
	return serve_control(p);
no_memory:
	log_error("out of memory at start");
	return -1;
}

static int
run(const struct options *options)
{
	struct program p = {0};
	int error = program_init(&p, options);

	if (error == 0 && !p.is_ending) {
		log_info("karmalb-controlplane " KARMALB_VERSION " runs %u service%s of %s",
			p.config->n_services, p.config->n_services == 1 ? "" : "s",
			options->config_path);
		error = event_base_dispatch(p.base);
	}
	program_fini(&p);
	return error < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	struct options options;
	struct err err;

	if (options_parse(argc, argv, &options, &err) < 0) {
		fprintf(stderr, "karmalb-controlplane: %s\n", err.sentence);
		return EXIT_FAILURE;
	}
	log_set_level(options.log_level);
	switch (options.action) {
	case OPTIONS_RUN:
		return run(&options);
	case OPTIONS_CHECK:
		return config_check_command(options.config_path);
	case OPTIONS_DATAPLANE_ARGUMENTS:
		return config_arguments_command(options.config_path);
	case OPTIONS_HELP:
		options_print_help(stdout);
		return EXIT_SUCCESS;
	case OPTIONS_VERSION:
		options_print_version(stdout);
		return EXIT_SUCCESS;
	}
	return EXIT_FAILURE;
}
