/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the loop closes: balance_tick().  Everything else here only calls it when there is news:
 * messages from the data plane, outcomes of pings, changes of settings, or the time for which the
 * last tick set the timer.
 */
#include "balance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "config.h"
#include "config_edit.h"
#include "dplink.h"
#include "epochs.h"
#include "err.h"
#include "history.h"
#include "inquiry.h"
#include "log.h"
#include "model.h"
#include "observe.h"
#include "pending.h"
#include "ping.h"
#include "pingers.h"
#include "reaction.h"
#include "shares.h"
#include "status.h"
#include "transaction.h"
#include "undo.h"

#define TICK_MAX_US KARMALB_SECOND /* rates want to be sampled that often */

struct balance {
	struct event_base *base;
	struct model *model;
	const struct config *config; /* what the model was made from */
	struct undo_list undo;       /* changes that the data plane has not answered */
	struct dplink *link;
	struct event *timer;
	struct pending_list pending;
	struct transaction *sent; /* the newest on this link; NULL: none; of 'epochs' */
	struct epochs epochs;
	struct inquiries *inquiries;
	struct pingers *pingers;
};

static void
balance_tick(struct balance *b, uint64_t now_us);
static void
go_back(struct balance *b, const struct karmalb_applied *applied, const char *why);

/* What was dropped is kept as long as a change may be taken back. */
static void
forget_dropped(struct balance *b)
{
	if (undo_is_empty(&b->undo))
		model_forget_dropped(b->model);
}

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

/* Those who were told that nobody knew look here. */
static void
tell_late(struct balance *b, const struct karmalb_applied *applied)
{
	uint64_t took_us;

	if (!pending_came_late(&b->pending, applied, &took_us))
		return;
	log_info("what was not confirmed in time is in force after %.1f s",
		(double)took_us / KARMALB_SECOND);
	history_add(HISTORY_DATAPLANE, "what was not confirmed in time is in force after %.1f s",
		(double)took_us / KARMALB_SECOND);
}

static void
on_applied(struct balance *b, const void *message)
{
	const struct karmalb_applied *m = message;
	const char *why = m->sentence[0] != '\0' ? m->sentence : strerror(-m->error);

	/* Gave way to a newer epoch, whose answer will decide. */
	if (m->error == -ECANCELED)
		return;
	observe_applied(b->model, m);
	reaction_applied(b->model, m);
	pending_applied(&b->pending, m);
	if (m->error == 0) {
		tell_late(b, m);
		epochs_note(&b->epochs, m->epoch, m->applied_us);
		undo_accept(&b->undo, m->epoch);
		forget_dropped(b);
		return;
	}
	log_error("data plane did not take epoch %u: %s", m->epoch, why);
	history_add(HISTORY_DATAPLANE, "data plane did not take epoch %u: %s", m->epoch, why);
	go_back(b, m, why);
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
	{KARMALB_MESSAGE_APPLIED, on_applied},
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
	undo_forget(&b->undo); /* another data plane is asked anew */
	forget_dropped(b);
	inquiries_lost(b->inquiries);
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
on_ping(void *arg, struct model_mirror *mirror, const struct ping_result *result)
{
	uint64_t now_us = karmalb_now_us();

	if (result->is_answered)
		observe_ping_answered(mirror, result->took_us, now_us);
	else
		observe_ping_failed(mirror, result->failure, now_us);
	balance_tick(arg, now_us);
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

/* ---- changes ---- */

/* Makes the model what 'wanted' says; what it was made from is 'before' then, the caller's.  0, or
 * -ENOMEM and nothing has changed. */
static int
take(struct balance *b, const struct config *wanted, const struct config **before)
{
	uint64_t now_us = karmalb_now_us();

	if (model_apply(b->model, wanted, now_us) < 0)
		return -ENOMEM;
	if (pingers_set(b->pingers, b->model) < 0)
		log_error("out of memory: some mirrors are not pinged");
	*before = b->config;
	b->config = wanted;
	balance_tick(b, now_us);
	return 0;
}

/* How a change ends for which the data plane is not asked. */
static enum balance_result
result_at_once(const struct balance *b, const struct balance_outcome *outcome)
{
	if (outcome->change.setting != NULL && !outcome->change.is_changed)
		return BALANCE_UNCHANGED;
	return b->model->dataplane.is_synced ? BALANCE_IN_FORCE : BALANCE_LATER;
}

/* Takes a change over whose 'outcome' is known but for its end; 'wanted' is ours if 0 is returned.
 * -ENOMEM: nothing has changed. */
static int
apply(struct balance *b, const struct config *wanted, const struct balance_request *request,
	const struct balance_outcome *outcome)
{
	struct model_dataplane *d = &b->model->dataplane;
	uint32_t epoch_before = d->epoch_sent;
	struct undo *u = undo_create(request);
	struct pending *p = pending_add(&b->pending, request, outcome, karmalb_now_us());
	const struct config *before = NULL;

	if (u == NULL || p == NULL || take(b, wanted, &before) < 0) {
		undo_drop(u);
		pending_drop(&b->pending, p);
		return -ENOMEM;
	}
	/* One that needs nothing of the data plane still stands on those that do. */
	if (d->is_synced && (d->epoch_sent != epoch_before || !undo_is_empty(&b->undo))) {
		pending_await(p, d->epoch_sent);
		undo_add(&b->undo, u, before, d->epoch_sent);
	} else {
		pending_settle(p, result_at_once(b, outcome));
		undo_settle(u, before);
	}
	forget_dropped(b);
	set_timer(b, karmalb_now_us());
	return 0;
}

/* The data plane has turned an epoch down: back to before the oldest change that hangs on it. */
static void
go_back(struct balance *b, const struct karmalb_applied *applied, const char *why)
{
	const struct config *before = undo_refuse(&b->undo, applied->epoch, why);
	const struct config *refused;

	if (before == NULL)
		return;
	pending_taken_back(&b->pending, why);
	if (take(b, before, &refused) < 0) {
		log_error("out of memory: what the data plane turned down stays");
		config_free(before);
		return;
	}
	config_free(refused);
	forget_dropped(b);
	log_warning("what the data plane turned down is taken back");
	history_add(HISTORY_DATAPLANE, "what the data plane turned down is taken back");
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
	const struct balance_outcome outcome = {0};

	err_set(err, "out of memory");
	return apply(b, wanted, request, &outcome);
}

int
balance_change(struct balance *b, const struct balance_request *request, struct err *err)
{
	struct config *wanted = config_copy(b->config);
	struct balance_outcome outcome = {0};
	int rc = -ENOMEM;

	err_set(err, "out of memory");
	if (wanted != NULL)
		rc = config_edit_setting(wanted, request->service, request->name, request->value,
			&outcome.change, err);
	if (rc == 0) {
		snprintf(outcome.service, sizeof(outcome.service), "%s", request->service);
		rc = apply(b, wanted, request, &outcome);
	}
	if (rc < 0)
		config_free(wanted);
	return rc;
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
