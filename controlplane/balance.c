/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the loop closes: balance_tick().  Everything else here only calls it when there is news:
 * messages from the data plane, outcomes of pings, changes of settings, or the time for which the
 * last tick set the timer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "balance_inside.h"
#include "config.h"
#include "config_edit.h"
#include "dplink.h"
#include "history.h"
#include "inquiry.h"
#include "log.h"
#include "model.h"
#include "observe.h"
#include "ping.h"
#include "pingers.h"
#include "reaction.h"
#include "shares.h"
#include "status.h"
#include "transaction.h"

#define TICK_MAX_US KARMALB_SECOND /* rates want to be sampled that often */

/* ---- the loop ---- */

/* Sends the model if it differs from what the data plane was last told.  -ENOMEM: the next tick
 * tries again. */
static int
announce(struct balance *b)
{
	struct model_dataplane *d = &b->model->dataplane;
	struct transaction *t;

	if (!d->is_synced) {
		reaction_sent(b->model, 0);
		return 0;
	}
	t = transaction_build(b->model, d->epoch_sent + 1);
	if (t == NULL)
		return -ENOMEM;
	if (b->sent != NULL && transaction_equal(b->sent, t)) {
		free(t);
		reaction_sent(b->model, 0);
		return 0;
	}
	dplink_send(b->link, t);
	epochs_add(&b->epochs, t);
	reaction_sent(b->model, t->epoch);
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
	shares_spread(s, now_us);
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		const struct model_mirror *m = &s->mirrors[i];
		struct health_evidence e;

		observe_evidence(s, m, &e);
		pinger_observe(m->pinger,
			e.last_error_us > e.last_success_us ? e.last_error_us : e.last_success_us,
			m->health.state == MIRROR_DEAD);
	}
}

static uint64_t
earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

void
balance_set_timer(struct balance *b, uint64_t now_us)
{
	const struct model *model = b->model;
	uint64_t wake_us = earlier(now_us + TICK_MAX_US, pending_wake_us(&b->pending));
	uint64_t wait_us;

	for (unsigned i = 0; i < model->n_services; i++)
		wake_us = earlier(wake_us, shares_wake_us(&model->services[i], &model->dataplane));
	wait_us = wake_us > now_us && !b->is_judging_due ? wake_us - now_us : 0;
	event_add(b->timer, &(struct timeval){.tv_sec = (time_t)(wait_us / KARMALB_SECOND),
				    .tv_usec = (suseconds_t)(wait_us % KARMALB_SECOND)});
}

void
balance_tick(struct balance *b, uint64_t now_us)
{
	b->is_judging_due = false;
	model_sample_rates(b->model, now_us);
	for (unsigned i = 0; i < b->model->n_services; i++)
		decide(b, &b->model->services[i], now_us);
	if (announce(b) < 0)
		log_error("out of memory: shares not announced");
	pending_expire(&b->pending, now_us);
	balance_set_timer(b, now_us);
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
	history_add(HISTORY_DATAPLANE, "data plane connected: instance %016llx, epoch %u in force",
		(unsigned long long)m->instance, m->epoch);
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
	const struct karmalb_port_status *m = message;
	const char *change = observe_port(b->model, m);

	if (change == NULL)
		return;
	log_write(m->is_up ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "port %s (%s): %s", m->name,
		m->device, change);
	history_add(HISTORY_PORT, "port %s (%s): %s", m->name, m->device, change);
}

static void
on_part(struct balance *b, const void *message)
{
	inquiries_part(b->inquiries, message);
}

static const struct {
	uint16_t message;
	void (*handle)(struct balance *b, const void *message);
} handlers[] = {
	{KARMALB_MESSAGE_SLOT_TOTALS, on_slot_totals},
	{KARMALB_MESSAGE_WORKER_TOTALS, on_worker_totals},
	{KARMALB_MESSAGE_PORT_STATUS, on_port_status},
	{KARMALB_MESSAGE_APPLIED, balance_on_applied},
	{KARMALB_MESSAGE_SLOT, on_slot},
	{KARMALB_MESSAGE_WELCOME, on_welcome},
	{KARMALB_MESSAGE_FLOW, on_part},
	{KARMALB_MESSAGE_CHECKED, on_part},
	{KARMALB_MESSAGE_ANSWERED, on_part},
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

	if (b->model->dataplane.is_connected)
		history_add(HISTORY_DATAPLANE, "data plane lost: %s", why);
	observe_closed(b->model, why, karmalb_now_us());
	pending_lost(&b->pending);
	inquiries_lost(b->inquiries);
	b->sent = NULL;
	balance_set_timer(b, karmalb_now_us());
}

static const struct dplink_events link_events = {
	.message = on_message,
	.drained = on_drained,
	.closed = on_closed,
};

/* ---- pings ---- */

/* Many may end at once, all of a network that is lost: they are judged together, in the next turn
 * of the loop, for a look at all mirrors after each would keep everybody waiting for seconds. */
static void
on_ping(void *arg, struct model_mirror *mirror, const struct ping_result *result)
{
	struct balance *b = arg;
	uint64_t now_us = karmalb_now_us();

	if (result->is_answered)
		observe_ping_answered(mirror, result->took_us, now_us);
	else
		observe_ping_failed(mirror, result->failure, now_us);
	/* Once: to add an event that is due puts it off to the next turn, and so on for ever. */
	if (!b->is_judging_due)
		event_add(b->timer, &(struct timeval){0});
	b->is_judging_due = true;
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
	b->config = config_copy(config);
	b->model = model_create(config, karmalb_now_us());
	b->timer = evtimer_new(base, on_timer, b);
	b->inquiries = inquiries_create(base);
	b->pingers = pingers_create(base, on_ping, b);
	if (b->config == NULL || b->model == NULL || b->timer == NULL || b->pingers == NULL ||
		b->inquiries == NULL || pingers_set(b->pingers, b->model) < 0)
		goto fail;
	path = b->model->dataplane.path;
	snprintf(path, sizeof(b->model->dataplane.path), "%s/%s", run_dir, DPLINK_SOCKET_NAME);
	b->link = dplink_create(base, path, &link_events, b);
	if (b->link == NULL)
		goto fail;
	balance_set_timer(b, karmalb_now_us());
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
	inquiries_free(b->inquiries);
	dplink_free(b->link);
	pingers_free(b->pingers);
	if (b->timer != NULL)
		event_free(b->timer);
	undo_forget(&b->undo);
	epochs_fini(&b->epochs);
	model_free(b->model);
	config_free(b->config);
	free(b);
}

/* ---- what is in force ---- */

const struct config *
balance_config(const struct balance *b)
{
	return b->config;
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
	struct status *status = status_take(b->model, karmalb_now_us());

	if (status != NULL)
		status->dataplane.n_waiting = b->undo.n;
	return status;
}

int
balance_ask(struct balance *b, struct karmalb_question *question, uint64_t timeout_us,
	const struct inquiry_author *author)
{
	if (!b->model->dataplane.is_synced)
		return -ENOTCONN;
	return inquiries_ask(b->inquiries, b->link, question, timeout_us, author);
}

int
balance_ping(struct balance *b, const char *service, const char *mirror, uint64_t limit_us,
	const struct pinger_author *author)
{
	const struct model_service *s = model_find_service(b->model, service);

	for (unsigned i = 0; s != NULL && i < s->n_mirrors; i++) {
		if (strcmp(s->mirrors[i].conf.name, mirror) == 0)
			return pingers_check(b->pingers, s, &s->mirrors[i], limit_us, author);
	}
	return -ENOENT;
}

const struct epochs *
balance_epochs(const struct balance *b)
{
	return &b->epochs;
}
