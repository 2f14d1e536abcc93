/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes: taken into force, answered, and taken back when the data plane turns them down. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balance_inside.h"
#include "config.h"
#include "config_edit.h"
#include "err.h"
#include "history.h"
#include "log.h"
#include "model.h"
#include "observe.h"
#include "pingers.h"
#include "reaction.h"

void
balance_forget_dropped(struct balance *b)
{
	if (undo_is_empty(&b->undo))
		model_forget_dropped(b->model);
}

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

/* Whether the data plane must say yes to a change.  One that needs nothing of it still stands on
 * those that do; while there is none nobody knows what a service's change needs. */
static bool
is_to_be_answered(const struct balance *b, const struct balance_request *request,
	const struct balance_outcome *outcome, uint32_t epoch_before)
{
	const struct model_dataplane *d = &b->model->dataplane;

	if (!undo_is_empty(&b->undo) || d->epoch_sent != epoch_before)
		return true;
	return !d->is_synced && (request->is_of_services || outcome->change.is_changed);
}

/* Data planes may be away for long, and programs may send statements. */
static void
bound_undo(struct balance *b)
{
	if (b->undo.n < UNDO_MAX)
		return;
	undo_forget(&b->undo);
	balance_forget_dropped(b);
	log_warning("%u changes wait for the data plane: they stay whatever the data plane says",
		UNDO_MAX);
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
	if (is_to_be_answered(b, request, outcome, epoch_before)) {
		uint32_t epoch = d->is_synced ? d->epoch_sent : d->epoch_sent + 1;

		bound_undo(b);
		pending_await(p, epoch);
		undo_add(&b->undo, u, before, epoch);
		if (!d->is_synced)
			pending_lost(&b->pending);
	} else {
		pending_settle(p, outcome->change.setting != NULL && !outcome->change.is_changed
					  ? BALANCE_UNCHANGED
					  : BALANCE_IN_FORCE);
		undo_settle(u, before);
	}
	balance_forget_dropped(b);
	balance_set_timer(b, karmalb_now_us());
	return 0;
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

/* ---- how they end ---- */

/* The data plane has turned an epoch down: back to before the oldest change that hangs on it. */
static void
go_back(struct balance *b, const struct karmalb_applied *applied, const char *why)
{
	const char *what = undo_refused(&b->undo, applied->epoch);
	const struct config *before, *refused;
	char sentence[300];

	if (what == NULL)
		return;
	snprintf(sentence, sizeof(sentence),
		"what the data plane turned down is taken back: %.180s", what);
	if (b->undo.n > 1)
		snprintf(sentence + strlen(sentence), sizeof(sentence) - strlen(sentence),
			" (and %u after it)", b->undo.n - 1);
	before = undo_refuse(&b->undo, applied->epoch, why);
	pending_taken_back(&b->pending, why);
	if (take(b, before, &refused) < 0) {
		log_error("out of memory: what the data plane turned down stays");
		config_free(before);
		return;
	}
	config_free(refused);
	balance_forget_dropped(b);
	log_warning("%s", sentence);
	history_add(HISTORY_DATAPLANE, "%s", sentence);
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

void
balance_on_applied(struct balance *b, const void *message)
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
		balance_forget_dropped(b);
		return;
	}
	log_error("data plane did not take epoch %u: %s", m->epoch, why);
	history_add(HISTORY_DATAPLANE, "data plane did not take epoch %u: %s", m->epoch, why);
	go_back(b, m, why);
}
