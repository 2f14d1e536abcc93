/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: fake_controlplane RUN_DIR [connected|alone [GROUP]]
 *
 * The real socket, statements and renderers over a status made by hand and a balance that takes 4
 * ms for a change.  Prints "ready" once it listens; ends at SIGTERM.  For tests only.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands.h"
#include "config.h"
#include "control_socket.h"
#include "err.h"
#include "fake_status.h"
#include "status.h"

struct balance {
	struct event_base *base;
};

/* A change on its way. */
struct change {
	struct balance_request request;
	struct balance_outcome outcome;
};

struct status *
balance_status(const struct balance *b)
{
	(void)b;
	return fake_status_take();
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct change *change = arg;

	(void)fd;
	(void)what;
	change->request.done(change->request.arg, &change->outcome);
	free(change);
}

int
balance_change(struct balance *b, const struct balance_request *request, struct err *err)
{
	struct timeval delay = {.tv_usec = 4000};
	struct status *status = fake_status();
	struct status_service *service = NULL;
	struct change *change;

	for (unsigned i = 0; i < status->n_services; i++)
		if (strcmp(status->services[i].name, request->service) == 0)
			service = &status->services[i];
	if (service == NULL)
		return -ENOENT;
	change = calloc(1, sizeof(*change));
	if (change == NULL)
		abort();
	if (settings_set(&service->settings, request->name, request->value, &change->outcome.change,
		    err) < 0) {
		free(change);
		return -EINVAL;
	}
	change->request = *request;
	change->outcome.result =
		change->outcome.change.is_changed ? BALANCE_IN_FORCE : BALANCE_UNCHANGED;
	change->outcome.took_us = 4000;
	strcpy(change->outcome.service, service->name);
	strcpy(change->outcome.sentence, "in force after 4 ms");
	/* As the real one when the data plane does not confirm. */
	if (service->settings.dead_after == 999) {
		change->outcome.result = BALANCE_TIMED_OUT;
		strcpy(change->outcome.sentence, "accepted, but not confirmed within 2 s");
	}
	event_base_once(b->base, -1, EV_TIMEOUT, on_time, change, &delay);
	return 0;
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static struct config_service configured[2];

/* What "the file says": the settings as they are before any change. */
static const struct config *
fake_config(void)
{
	static struct config config = {.n_services = 2, .services = configured};
	const struct status *status = fake_status();

	for (unsigned i = 0; i < 2; i++) {
		strcpy(configured[i].name, status->services[i].name);
		configured[i].settings = status->services[i].settings;
	}
	return &config;
}

int
main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct balance balance = {.base = base};
	struct commands *commands = commands_create(&balance, fake_config());
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	struct control_options options = {.run_dir = argc > 1 ? argv[1] : ".",
		.group = argc > 3 ? argv[3] : "",
		.run = commands_run,
		.arg = commands};
	struct control_socket *control;
	struct err err;

	signal(SIGPIPE, SIG_IGN);
	event_add(term, NULL);
	if (argc > 2 && strcmp(argv[2], "alone") == 0) {
		fake_status()->dataplane.is_connected = false;
		strcpy(fake_status()->dataplane.sentence, "connection refused");
	}
	control = control_socket_open(base, &options, &err);
	if (control == NULL) {
		fprintf(stderr, "%s\n", err.sentence);
		return EXIT_FAILURE;
	}
	puts("ready");
	fflush(stdout);
	event_base_dispatch(base);
	commands_free(commands);
	control_socket_close(control);
	event_free(term);
	event_base_free(base);
	return EXIT_SUCCESS;
}
