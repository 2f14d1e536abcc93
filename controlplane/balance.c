/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the loop closes: balance_tick().  Everything else here only calls it when there is news:
 * messages from the data plane, outcomes of pings, changes of settings, or the time for which the
 * last tick set the timer.
 */
#include "balance.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "config.h"
#include "dplink.h"
#include "err.h"
#include "log.h"
#include "model.h"
#include "observe.h"
#include "pending.h"
#include "ping.h"
#include "shares.h"
#include "status.h"
#include "transaction.h"

#define TICK_MAX_US KARMALB_SECOND /* rates want to be sampled that often */

/* What a ping's outcome is about. */
struct pinger {
	struct balance *balance;
	struct model_mirror *mirror;
	struct ping *ping;
};

struct balance {
	struct event_base *base;
	struct model *model;
	struct dplink *link;
	struct event *timer;
	struct pending_list pending;
	struct transaction *sent; /* the newest on this link; NULL: none */
	unsigned n_pingers;
	struct pinger *pingers; /* of all services' mirrors */
};

/* ---- the loop ---- */

/* Sends the model if it differs from what the data plane was last told.  -ENOMEM: the next tick
 * tries again. */
static int
announce(struct balance *b)
{
	struct model_dataplane *d = &b->model->dataplane;
	struct transaction *t;

	if (!d->is_synced)
		return 0;
	t = transaction_build(b->model, d->epoch_sent + 1);
	if (t == NULL)
		return -ENOMEM;
	if (b->sent != NULL && transaction_equal(b->sent, t)) {
		free(t);
		return 0;
	}
	dplink_send(b->link, t);
	free(b->sent);
	b->sent = t;
	d->epoch_sent = t->epoch;
	return 0;
}

/* From evidence and karma to shares, for one service. */
static void
decide(struct balance *b, struct model_service *s, uint64_t now_us)
{
	shares_judge(s, now_us);
	shares_reweight(s, &b->model->dataplane, now_us);
	shares_spread(s);
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		const struct model_mirror *m = &s->mirrors[i];
		struct health_evidence e;

		observe_evidence(s, m, &e);
		ping_observe(m->pinger,
			e.last_error_us > e.last_success_us ? e.last_error_us : e.last_success_us,
			m->health.state == MIRROR_DEAD);
	}
}

static uint64_t
earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

static void
set_timer(struct balance *b, uint64_t now_us)
{
	const struct model *model = b->model;
	uint64_t wake_us = earlier(now_us + TICK_MAX_US, pending_wake_us(&b->pending));
	uint64_t wait_us;

	for (unsigned i = 0; i < model->n_services; i++)
		wake_us = earlier(wake_us, shares_wake_us(&model->services[i], &model->dataplane));
	wait_us = wake_us > now_us ? wake_us - now_us : 0;
	event_add(b->timer, &(struct timeval){.tv_sec = (time_t)(wait_us / KARMALB_SECOND),
				    .tv_usec = (suseconds_t)(wait_us % KARMALB_SECOND)});
}

/* Observations in, decisions out.  Cheap when there is nothing new: a pass over the mirrors. */
static void
balance_tick(struct balance *b, uint64_t now_us)
{
	model_sample_rates(b->model, now_us);
	for (unsigned i = 0; i < b->model->n_services; i++)
		decide(b, &b->model->services[i], now_us);
	if (announce(b) < 0)
		log_error("out of memory: shares not announced");
	pending_expire(&b->pending, now_us);
	set_timer(b, now_us);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct balance *b = arg;

	(void)fd;
	(void)what;
	pending_deliver(&b->pending);
	balance_tick(b, karmalb_now_us());
}

/* ---- news from the data plane ---- */

static void
on_welcome(struct balance *b, const void *message)
{
	const struct karmalb_welcome *m = message;
	uint64_t now_us = karmalb_now_us();

	log_info("data plane connected: instance %016llx, up %.1f s, epoch %u in force, %u slots",
		(unsigned long long)m->instance,
		now_us > m->started_us ? (double)(now_us - m->started_us) / KARMALB_SECOND : 0.0,
		m->epoch, m->n_slots);
	observe_welcome(b->model, m, now_us);
}

static void
on_slot(struct balance *b, const void *message)
{
	observe_slot(b->model, message);
}

static void
on_slot_totals(struct balance *b, const void *message)
{
	observe_totals(b->model, message);
}

static void
on_worker_totals(struct balance *b, const void *message)
{
	observe_worker(b->model, message);
}

static void
on_port_status(struct balance *b, const void *message)
{
	observe_port(b->model, message);
}

static void
on_applied(struct balance *b, const void *message)
{
	const struct karmalb_applied *m = message;

	observe_applied(b->model, m);
	if (m->error != 0)
		log_error("data plane did not take epoch %u: %s", m->epoch,
			m->sentence[0] != '\0' ? m->sentence : strerror(-m->error));
	pending_applied(&b->pending, m);
}

static const struct {
	uint16_t message;
	void (*handle)(struct balance *b, const void *message);
} handlers[] = {
	{KARMALB_MESSAGE_SLOT_TOTALS, on_slot_totals},
	{KARMALB_MESSAGE_WORKER_TOTALS, on_worker_totals},
	{KARMALB_MESSAGE_PORT_STATUS, on_port_status},
	{KARMALB_MESSAGE_APPLIED, on_applied},
	{KARMALB_MESSAGE_SLOT, on_slot},
	{KARMALB_MESSAGE_WELCOME, on_welcome},
};

static void
on_message(void *arg, const struct karmalb_header *message)
{
	for (unsigned i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if (handlers[i].message == message->message)
			handlers[i].handle(arg, message);
	}
}

static void
on_drained(void *arg)
{
	struct balance *b = arg;
	struct model_dataplane *d = &b->model->dataplane;
	uint64_t now_us = karmalb_now_us();

	if (observe_synced(b->model, now_us)) {
		if (!d->was_synced && d->welcome.epoch != 0)
			shares_adopt(b->model, now_us);
		d->was_synced = true;
	}
	balance_tick(b, now_us);
}

static void
on_closed(void *arg, const char *why)
{
	struct balance *b = arg;

	observe_closed(b->model, why, karmalb_now_us());
	pending_lost(&b->pending);
	free(b->sent);
	b->sent = NULL;
	set_timer(b, karmalb_now_us());
}

static const struct dplink_events link_events = {
	.message = on_message,
	.drained = on_drained,
	.closed = on_closed,
};

/* ---- pings ---- */

static void
on_ping(void *arg, const struct ping_result *result)
{
	struct pinger *pinger = arg;
	uint64_t now_us = karmalb_now_us();

	if (result->is_answered)
		observe_ping_answered(pinger->mirror, result->took_us, now_us);
	else
		observe_ping_failed(pinger->mirror, result->failure, now_us);
	balance_tick(pinger->balance, now_us);
}

/* Whom and how often to ping, after the settings. */
static void
set_pingers(struct model_service *s)
{
	bool is_pinged = s->settings.ping != PING_NONE;
	uint64_t interval_us =
		is_pinged ? s->settings.ha_ping_interval_ms * KARMALB_MILLISECOND : 0;

	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct model_mirror *m = &s->mirrors[i];
		struct karmalb_endpoint to = m->slots[0].address;

		if (s->settings.ping_port != 0)
			to.port_be = htons((uint16_t)s->settings.ping_port);
		ping_set(m->pinger, &to, interval_us);
	}
}

static int
create_pingers(struct balance *b)
{
	for (unsigned i = 0; i < b->model->n_services; i++)
		b->n_pingers += b->model->services[i].n_mirrors;
	b->pingers = calloc(b->n_pingers + 1, sizeof(b->pingers[0]));
	if (b->pingers == NULL)
		return -ENOMEM;

	struct pinger *p = b->pingers;

	for (unsigned i = 0; i < b->model->n_services; i++) {
		struct model_service *s = &b->model->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++, p++) {
			*p = (struct pinger){b, &s->mirrors[k], ping_create(b->base, on_ping, p)};
			if (p->ping == NULL)
				return -ENOMEM;
			s->mirrors[k].pinger = p->ping;
		}
		set_pingers(s);
	}
	return 0;
}

/* ---- life ---- */

struct balance *
balance_create(struct event_base *base, const struct config *config, const char *run_dir)
{
	struct balance *b = calloc(1, sizeof(*b));
	char *path;

	if (b == NULL)
		return NULL;
	b->base = base;
	b->model = model_create(config, karmalb_now_us());
	b->timer = evtimer_new(base, on_timer, b);
	if (b->model == NULL || b->timer == NULL || create_pingers(b) < 0)
		goto fail;
	path = b->model->dataplane.path;
	snprintf(path, sizeof(b->model->dataplane.path), "%s/%s", run_dir, DPLINK_SOCKET_NAME);
	b->link = dplink_create(base, path, &link_events, b);
	if (b->link == NULL)
		goto fail;
	set_timer(b, karmalb_now_us());
	return b;
fail:
	balance_free(b);
	return NULL;
}

void
balance_free(struct balance *b)
{
	if (b == NULL)
		return;
	pending_lost(&b->pending);
	pending_deliver(&b->pending);
	dplink_free(b->link);
	for (unsigned i = 0; b->pingers != NULL && i < b->n_pingers; i++)
		ping_free(b->pingers[i].ping);
	free(b->pingers);
	if (b->timer != NULL)
		event_free(b->timer);
	free(b->sent);
	model_free(b->model);
	free(b);
}

/* ---- changes ---- */

int
balance_change(struct balance *b, const struct balance_request *request, struct err *err)
{
	struct model_service *s = model_find_service(b->model, request->service);
	const struct model_dataplane *d = &b->model->dataplane;
	struct balance_outcome outcome = {0};
	struct service_settings wanted;
	uint64_t now_us = karmalb_now_us();
	struct pending *p;

	if (s == NULL) {
		err_set(err, "there is no service '%s'", request->service);
		return -ENOENT;
	}
	wanted = s->settings;
	if (settings_set(&wanted, request->name, request->value, &outcome.change, err) < 0)
		return -EINVAL;
	snprintf(outcome.service, sizeof(outcome.service), "%s", s->name);
	p = pending_add(&b->pending, request, &outcome, now_us);
	if (p == NULL) {
		err_set(err, "out of memory");
		return -ENOMEM;
	}
	model_set_settings(s, &wanted, now_us);
	set_pingers(s);
	balance_tick(b, now_us);
	if (!outcome.change.is_changed)
		pending_settle(p, BALANCE_UNCHANGED);
	else if (!d->is_synced)
		pending_settle(p, BALANCE_LATER);
	else if (d->epoch_answered == d->epoch_sent) /* nothing of it concerns the data plane */
		pending_settle(p, BALANCE_IN_FORCE);
	else
		pending_await(p, d->epoch_sent);
	set_timer(b, now_us);
	return 0;
}

void
balance_forget(struct balance *b, const void *arg)
{
	pending_forget(&b->pending, arg);
}

bool
balance_is_in_force(const struct balance *b)
{
	const struct model_dataplane *d = &b->model->dataplane;

	return d->is_synced && b->sent != NULL && d->epoch_in_force == d->epoch_sent;
}

struct status *
balance_status(const struct balance *b)
{
	return status_take(b->model, karmalb_now_us());
}
