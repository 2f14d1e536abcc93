/* SPDX-License-Identifier: BSD-3-Clause */
/* From messages and pings into the model.  No I/O, no clock, no decisions. */
#include "observe.h"

#include <stdio.h>
#include <string.h>

static struct model_slot *
find_slot(struct model_service *services, unsigned n_services, const struct karmalb_slot *message,
	struct model_mirror **mirror);
static struct model_slot *
find_dropped_slot(struct model *model, const struct karmalb_slot *message);
static void
forget_slot(struct model_slot *slot);
static void
note_row(struct model_slot *slot, const struct karmalb_slot_totals *totals);

static void
forget_slots(struct model_service *s)
{
	for (unsigned k = 0; k < s->n_mirrors; k++) {
		struct model_mirror *m = &s->mirrors[k];

		for (unsigned l = 0; l < s->n_listens; l++)
			forget_slot(&m->slots[l]);
		memset(&m->rate, 0, sizeof(m->rate));
	}
}

static void
forget_instance(struct model *model)
{
	memset(model->owners, 0, sizeof(model->owners));
	for (unsigned i = 0; i < model->n_services; i++)
		forget_slots(&model->services[i]);
	for (unsigned i = 0; i < model->n_dropped; i++)
		forget_slots(&model->dropped[i]);
}

void
observe_welcome(struct model *model, const struct karmalb_welcome *welcome, uint64_t now_us)
{
	struct model_dataplane *d = &model->dataplane;

	if (welcome->instance != d->welcome.instance)
		forget_instance(model);
	d->welcome = *welcome;
	d->is_connected = true;
	d->is_synced = false;
	d->n_pairs_missing = welcome->n_slots;
	d->since_us = now_us;
	d->epoch_in_force = welcome->epoch;
	if (welcome->epoch > d->epoch_sent)
		d->epoch_sent = welcome->epoch;
	d->epoch_answered = d->epoch_sent;
	d->n_workers = 0;
	d->n_ports = 0;
	memset(d->sentence, 0, sizeof(d->sentence));
}

static void
take_slot(struct model *model, struct model_slot *slot, const struct karmalb_slot *message)
{
	if (!slot->is_known || slot->number != message->slot) {
		forget_slot(slot);
		slot->is_known = true;
		slot->is_new = model->dataplane.is_synced;
		slot->number = message->slot;
	}
	slot->next_hop = message->next_hop;
	slot->is_selected = message->is_selected != 0;
	slot->share_in_force = message->share;
}

void
observe_slot(struct model *model, const struct karmalb_slot *message)
{
	struct model_slot_owner *owner = &model->owners[message->slot];
	struct model_mirror *mirror = NULL;
	struct model_slot *slot = find_slot(model->services, model->n_services, message, &mirror);

	if (owner->slot != slot) {
		if (owner->slot != NULL) /* the number has passed to someone else */
			forget_slot(owner->slot);
		*owner = (struct model_slot_owner){mirror, slot};
	}
	if (slot != NULL && slot->is_known && slot->number != message->slot)
		memset(&model->owners[slot->number], 0, sizeof(*owner));
	/* A mirror that may come back is known by then, but nobody's until then. */
	if (slot == NULL)
		slot = find_dropped_slot(model, message);
	if (slot != NULL)
		take_slot(model, slot, message);
}

void
observe_totals(struct model *model, const struct karmalb_slot_totals *totals)
{
	struct model_slot_owner *owner = &model->owners[totals->slot];
	struct model_slot *slot = owner->slot;

	if (model->dataplane.n_pairs_missing > 0)
		model->dataplane.n_pairs_missing--;
	if (slot == NULL)
		return;
	if (slot->has_totals)
		karma_add(&owner->mirror->karma, &slot->totals, totals);
	else if (slot->is_new)
		karma_add(&owner->mirror->karma, NULL, totals);
	note_row(slot, totals);
	slot->totals = *totals;
	slot->has_totals = true;
}

bool
observe_synced(struct model *model, uint64_t now_us)
{
	struct model_dataplane *d = &model->dataplane;

	if (!d->is_connected || d->is_synced || d->n_pairs_missing > 0)
		return false;
	d->is_synced = true;
	d->synced_us = now_us;
	return true;
}

void
observe_applied(struct model *model, const struct karmalb_applied *applied)
{
	struct model_dataplane *d = &model->dataplane;

	d->epoch_answered = applied->epoch;
	if (applied->error == 0)
		d->epoch_in_force = applied->epoch;
	snprintf(d->sentence, sizeof(d->sentence), "%s", applied->sentence);
	if (applied->error != 0 && d->sentence[0] == '\0')
		snprintf(d->sentence, sizeof(d->sentence), "epoch %u not in force: %s",
			applied->epoch, strerror(-applied->error));
}

void
observe_worker(struct model *model, const struct karmalb_worker_totals *totals)
{
	struct model_dataplane *d = &model->dataplane;

	d->workers[totals->worker] = *totals;
	if (totals->worker >= d->n_workers)
		d->n_workers = totals->worker + 1u;
}

const char *
observe_port(struct model *model, const struct karmalb_port_status *port)
{
	struct model_dataplane *d = &model->dataplane;
	struct karmalb_port_status *known = &d->ports[port->port]; /* kept over a reconnect */
	bool is_known = strcmp(known->name, port->name) == 0;
	bool was_up = !is_known || known->is_up;
	bool was_lost = is_known && port->link_losses > known->link_losses;

	*known = *port;
	if (port->port >= d->n_ports)
		d->n_ports = port->port + 1u;
	if (was_up && port->is_up)
		return was_lost ? "up -> down -> up" : NULL;
	if (!was_up && !port->is_up)
		return NULL;
	return port->is_up ? "down -> up" : "up -> down";
}

void
observe_closed(struct model *model, const char *why, uint64_t now_us)
{
	struct model_dataplane *d = &model->dataplane;

	if (d->is_connected)
		d->since_us = now_us;
	d->is_connected = false;
	d->is_synced = false;
	snprintf(d->sentence, sizeof(d->sentence), "%s", why);
}

void
observe_ping_answered(struct model_mirror *mirror, uint64_t took_us, uint64_t now_us)
{
	mirror->ping.n_failed = 0;
	mirror->ping.answered_us = now_us;
	mirror->ping.took_us = took_us;
}

void
observe_ping_failed(struct model_mirror *mirror, const char *failure, uint64_t now_us)
{
	mirror->ping.n_failed++;
	mirror->ping.failed_us = now_us;
	snprintf(mirror->ping.failure, sizeof(mirror->ping.failure), "%s", failure);
}

bool
observe_is_failure(unsigned outcome)
{
	return outcome != KARMALB_OUTCOME_WARNINGS && outcome != KARMALB_OUTCOME_SUCCEEDED_QUERIES;
}

/* The row of errors by kind; left out where an answer in between makes the kinds uncertain. */
static void
tell_row(const struct model_slot *slot, struct health_evidence *evidence)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++) {
		uint64_t n =
			observe_is_failure(i) ? slot->totals.outcomes[i] - slot->row_base[i] : 0;

		evidence->row[i] = (uint32_t)n;
		sum += n;
	}
	if (sum != slot->totals.errors_in_row)
		memset(evidence->row, 0, sizeof(evidence->row));
}

void
observe_evidence(const struct model_service *service, const struct model_mirror *mirror,
	struct health_evidence *evidence)
{
	struct health_evidence e = {
		.pings_failed = mirror->ping.n_failed,
		.ping_failed_us = mirror->ping.failed_us,
		.ping_answered_us = mirror->ping.answered_us,
		.ping_failure = mirror->ping.failure[0] != '\0' ? mirror->ping.failure : NULL,
	};

	for (unsigned i = 0; i < service->n_listens; i++) {
		const struct model_slot *slot = &mirror->slots[i];
		const struct karmalb_slot_totals *t = &slot->totals;

		if (t->errors_in_row > e.errors_in_row) {
			e.errors_in_row = t->errors_in_row;
			e.row_began_us = t->row_began_us;
			e.row_ended_us = t->last_error_us;
			e.is_row_answered = t->last_success_us > t->last_error_us;
			e.last_error = t->last_error;
			tell_row(slot, &e);
		}
		if (t->last_error_us > e.last_error_us)
			e.last_error_us = t->last_error_us;
		if (t->last_success_us > e.last_success_us)
			e.last_success_us = t->last_success_us;
	}
	*evidence = e;
}

/* The slot of theirs that the message names, or NULL. */
static struct model_slot *
find_slot(struct model_service *services, unsigned n_services, const struct karmalb_slot *message,
	struct model_mirror **mirror)
{
	for (unsigned i = 0; i < n_services; i++) {
		struct model_service *s = &services[i];

		for (unsigned l = 0; l < s->n_listens; l++) {
			if (!karmalb_endpoint_equal(&s->listens[l], &message->listen))
				continue;
			for (unsigned k = 0; k < s->n_mirrors; k++) {
				*mirror = &s->mirrors[k];
				if (karmalb_endpoint_equal(
					    &(*mirror)->slots[l].address, &message->address))
					return &(*mirror)->slots[l];
			}
		}
	}
	*mirror = NULL;
	return NULL;
}

/* As whoever takes a mirror back looks for it: the newest first. */
static struct model_slot *
find_dropped_slot(struct model *model, const struct karmalb_slot *message)
{
	struct model_slot *slot = NULL;
	struct model_mirror *unused;

	for (unsigned i = model->n_dropped; slot == NULL && i > 0; i--)
		slot = find_slot(&model->dropped[i - 1], 1, message, &unused);
	return slot;
}

/* Everything but the configured address. */
static void
forget_slot(struct model_slot *slot)
{
	struct karmalb_endpoint address = slot->address;

	memset(slot, 0, sizeof(*slot));
	slot->address = address;
}

/* Keeps the outcomes as they were before the present row of errors began. */
static void
note_row(struct model_slot *slot, const struct karmalb_slot_totals *totals)
{
	if (totals->errors_in_row == 0)
		memcpy(slot->row_base, totals->outcomes, sizeof(slot->row_base));
	else if (totals->row_began_us != slot->totals.row_began_us)
		memcpy(slot->row_base, slot->totals.outcomes, sizeof(slot->row_base));
}
