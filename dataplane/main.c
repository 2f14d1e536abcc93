/* SPDX-License-Identifier: BSD-3-Clause */
/* karmalb-dataplane: start in order, serve, stop in reverse order. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "address.h"
#include "control.h"
#include "endpoint_text.h"
#include "instance.h"
#include "log.h"
#include "options.h"

/*
 * Only the control thread is to see the signals that are for us: blocked here, before there are
 * other threads to inherit it, and unblocked in control_run().
 */
static void
signals_init(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGHUP, SIG_IGN); /* there is no file to read again */
	signal(SIGPIPE, SIG_IGN);
}

/* Sources are given as networks, whose last address may well be that of the wire's, too. */
static void
leave_out_broadcasts(struct options *o)
{
	unsigned n = 0;

	for (unsigned i = 0; i < o->n_sources; i++) {
		char text[ADDRESS_TEXT_MAX];

		if (address_is_broadcast(&o->sources[i]))
			log_warning("source %s is left out: it is the first or last address of an "
				    "interface's network",
				address_text(&o->sources[i], text));
		else
			o->sources[n++] = o->sources[i];
	}
	o->n_sources = n;
}

static int
serve(const struct options *o, struct err *err)
{
	static struct instance instance;
	struct control *control = NULL;
	int rc = control_open(&control, o->run_dir, err);

	if (rc < 0)
		return rc;
	rc = instance_start(&instance, o, err);
	if (rc == 0) {
		log_info("ready: %s/dataplane.sock", o->run_dir);
		rc = control_run(control, &instance, err);
		instance_stop(&instance);
	}
	control_close(control);
	return rc;
}

int
main(int argc, char **argv)
{
	static struct options options;
	struct err err = {0};

	if (options_parse(&options, argc, argv, &err) < 0) {
		fprintf(stderr, "karmalb-dataplane: %s\n", err.text);
		return 2;
	}
	if (options.action == OPTIONS_SHOW_HELP) {
		options_print_help();
		return EXIT_SUCCESS;
	}
	if (options.action == OPTIONS_SHOW_VERSION) {
		puts("karmalb-dataplane " KARMALB_VERSION);
		return EXIT_SUCCESS;
	}
	signals_init();
	log_info("karmalb-dataplane " KARMALB_VERSION " starts");
	leave_out_broadcasts(&options);
	if (options.n_sources == 0) {
		log_error("no source is left; expected addresses of hosts");
		return EXIT_FAILURE;
	}
	if (serve(&options, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
