/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: fake_controlplane RUN_DIR [connected|alone|dark [CONTROL_GROUP]]
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
#include "config_edit.h"
#include "control_socket.h"
#include "err.h"
#include "fake_status.h"
#include "intent.h"
#include "status.h"

struct balance {
	struct event_base *base;
	const struct config *config;
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
	/* Nobody turns it down any more. */
	if (change->request.ended != NULL)
		change->request.ended(change->request.ended_arg, NULL);
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
	change->outcome.epoch = change->outcome.change.is_changed ? 43 : 0;
	change->outcome.took_us = 4000;
	strcpy(change->outcome.service, service->name);
	strcpy(change->outcome.sentence, "in force after 4 ms");
	/* As the real one when the data plane does not confirm. */
	if (service->settings.dead_after == 999) {
		change->outcome.result = BALANCE_TIMED_OUT;
		strcpy(change->outcome.sentence, "taken, but not confirmed within 2 s");
	}
	event_base_once(b->base, -1, EV_TIMEOUT, on_time, change, &delay);
	return 0;
}

const struct config *
balance_config(const struct balance *b)
{
	return b->config;
}

int
balance_apply(struct balance *b, const struct config *wanted, const struct balance_request *request,
	struct err *err)
{
	struct timeval delay = {.tv_usec = 4000};
	struct change *change = calloc(1, sizeof(*change));

	(void)err;
	if (change == NULL)
		abort();
	config_free(b->config);
	b->config = wanted;
	change->request = *request;
	change->outcome.result = BALANCE_IN_FORCE;
	change->outcome.epoch = 43;
	change->outcome.took_us = 4000;
	strcpy(change->outcome.sentence, "in force after 4 ms");
	event_base_once(b->base, -1, EV_TIMEOUT, on_time, change, &delay);
	return 0;
}

int
balance_ask(struct balance *b, struct karmalb_question *question, uint64_t timeout_us,
	const struct inquiry_author *author)
{
	(void)b;
	(void)timeout_us;
	return fake_ask(question, author);
}

int
balance_ping(struct balance *b, const char *service, const char *mirror, uint64_t limit_us,
	const struct pinger_author *author)
{
	(void)b;
	(void)service;
	(void)limit_us;
	return fake_ping(mirror, author);
}

const struct epochs *
balance_epochs(const struct balance *b)
{
	(void)b;
	return fake_epochs();
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static uint64_t
fake_own(const struct service_settings *service, const struct service_settings *defaults)
{
	char text[SETTING_TEXT_MAX], usual[SETTING_TEXT_MAX];
	uint64_t own = 0;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != SETTING_SCOPE_SERVICE || s->type > SETTING_CPUS)
			continue;
		setting_format(s, service, text, sizeof(text));
		setting_format(s, defaults, usual, sizeof(usual));
		if (strcmp(text, usual) != 0)
			own |= setting_bit(s);
	}
	return own;
}

/* What "the file says": the settings and mirrors as they are before any change. */
static const struct config *
fake_config(const char *control_group)
{
	static struct config_service services[2];
	static struct config_mirror mirrors[2][8];
	static struct config_port port;
	static struct units_cidr source;
	struct err err;
	static struct config config = {.version = 1, .n_services = 2, .services = services};
	const struct status *status = fake_status();

	settings_set_defaults(SETTING_SCOPE_DATAPLANE, &config.dataplane);
	settings_set_defaults(SETTING_SCOPE_PORT, &port);
	strcpy(port.name, "outside");
	strcpy(port.device, "af_xdp:eth1");
	config.dataplane.n_ports = 1;
	config.dataplane.ports = &port;
	units_parse_cidr("10.99.0.240/28", &source, &err);
	config.dataplane.n_sources = 1;
	config.dataplane.sources = &source;
	settings_set_defaults(SETTING_SCOPE_CONTROLPLANE, &config.controlplane);
	snprintf(config.controlplane.control_group, sizeof(config.controlplane.control_group), "%s",
		control_group);
	settings_set_defaults(SETTING_SCOPE_SERVICE, &config.defaults);
	for (unsigned i = 0; i < 2; i++) {
		const struct status_service *from = &status->services[i];

		strcpy(services[i].name, from->name);
		services[i].settings = from->settings;
		/* What the service says itself; the rest is as in 'defaults'. */
		services[i].own = fake_own(&from->settings, &config.defaults);
		services[i].n_listens = from->n_listens;
		services[i].listens = from->listens;
		services[i].n_mirrors = from->n_mirrors;
		services[i].mirrors = mirrors[i];
		for (unsigned k = 0; k < from->n_mirrors && k < 8; k++) {
			settings_set_defaults(SETTING_SCOPE_MIRROR, &mirrors[i][k]);
			strcpy(mirrors[i][k].name, from->mirrors[k].name);
			mirrors[i][k].address = from->mirrors[k].address.address;
		}
	}
	return &config;
}

int
main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	const struct config *config = fake_config(argc > 3 ? argv[3] : "");
	struct balance balance = {.base = base, .config = config_copy(config)};
	struct intent *intent = intent_create(&(struct intent_options){
		.base = base,
		.balance = &balance,
		.config_path = "/nowhere/karmalb.conf",
		.state_path = "/nowhere/saved.statements",
		.file = config,
	});
	struct commands *commands = commands_create(&balance, intent);
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	const struct control_options options = {
		.run = commands_run, .settings = commands_settings, .arg = commands};
	struct control_socket *control;
	struct err err;

	setenv("TZ", "UTC0", 1);
	fake_questions_open(base);
	signal(SIGPIPE, SIG_IGN);
	event_add(term, NULL);
	fake_is_dark = argc > 2 && strcmp(argv[2], "dark") == 0;
	if (argc > 2 && strcmp(argv[2], "alone") == 0) {
		fake_status()->dataplane.is_connected = false;
		strcpy(fake_status()->dataplane.sentence, "connection refused");
	}
	control = control_socket_open(argc > 1 ? argv[1] : ".", &config->controlplane, &err);
	if (control != NULL && control_socket_serve(control, base, &options, &err) == 0) {
		puts("ready");
		fflush(stdout);
		event_base_dispatch(base);
	} else {
		fprintf(stderr, "%s\n", err.sentence);
	}
	fake_questions_close();
	intent_stop(intent);
	commands_free(commands);
	intent_free(intent);
	config_free(balance.config);
	control_socket_close(control);
	event_free(term);
	event_base_free(base);
	return control != NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
