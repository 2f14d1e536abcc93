/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine that puts intent in force.  Control thread; never waits. */
#include "apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "address.h"
#include "endpoint_text.h"
#include "instance.h"
#include "intent.h"
#include "log.h"
#include "options.h"
#include "roster.h"

#define RESOLVE_WAIT_US (300 * KARMALB_MILLISECOND)
#define STEP_SOON_US    KARMALB_MILLISECOND

enum apply_state {
	APPLY_IDLE,      /* nothing rises */
	APPLY_RESOLVING, /* 'rising' waits for its next hops */
	APPLY_PUBLISHED, /* 'rising' waits for the last worker */
};

struct apply {
	struct instance *instance;
	struct apply_events events;
	enum apply_state state;
	uint64_t resolve_until_us;
	struct intent *waiting;       /* committed, its turn has not come */
	struct roster_plan *rising;   /* on its way into force */
	struct roster_plan *in_force; /* NULL: none yet */
	bool is_rebuild_due;          /* the network changed since the last snapshot */
	bool is_serve_due;            /* steering may differ from what is in force */
	uint64_t serve_again_us;      /* when to try that again */
	struct roster roster;
};

static void
begin_waiting(struct apply *a, uint64_t now_us);
static bool
has_resolved(const struct apply *a, uint64_t now_us);
static void
publish_rising(struct apply *a, uint64_t now_us);
static void
finish_rising(struct apply *a);
static bool
serve_in_force(struct apply *a, struct err *err);
static bool
rebuild(struct apply *a);
static void
report(struct apply *a, uint32_t epoch, int error, const struct err *err);

int
apply_open(struct apply **apply, struct instance *instance, const struct apply_events *events,
	struct err *err)
{
	struct apply *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return err_set(err, -ENOMEM, "no memory for the mirrors' roster");
	a->instance = instance;
	a->events = *events;
	a->roster.instance = instance;
	a->roster.limit = (struct log_limit){.interval_us = 10 * KARMALB_SECOND, .burst = 20};
	*apply = a;
	return 0;
}

void
apply_close(struct apply *a)
{
	if (a == NULL)
		return;
	intent_free(a->waiting);
	roster_plan_free(a->rising);
	roster_plan_free(a->in_force);
	free(a);
}

void
apply_commit(struct apply *a, struct intent *intent)
{
	struct err err;

	if (a->waiting != NULL) {
		err_set(&err, 0, "gave way to epoch %u before its turn came", intent->epoch);
		report(a, a->waiting->epoch, -ECANCELED, &err);
		intent_free(a->waiting);
	}
	a->waiting = intent;
}

void
apply_network_changed(struct apply *a)
{
	a->is_rebuild_due = true;
}

uint64_t
apply_step(struct apply *a, uint64_t now_us)
{
	if (a->is_rebuild_due && roster_refresh(&a->roster, now_us))
		a->events.slots_changed(a->events.context);
	if (a->state == APPLY_IDLE && a->waiting != NULL)
		begin_waiting(a, now_us);
	if (a->state == APPLY_RESOLVING && has_resolved(a, now_us))
		publish_rising(a, now_us);
	if (a->state == APPLY_PUBLISHED && snapshots_settle(&a->instance->snapshots))
		finish_rising(a);
	if (a->state == APPLY_IDLE && a->is_serve_due && now_us >= a->serve_again_us)
		serve_in_force(a, NULL);
	roster_tick(&a->roster, a->rising, now_us);

	bool is_busy = a->is_rebuild_due && !rebuild(a);

	if (a->state == APPLY_PUBLISHED || is_busy || (a->state == APPLY_IDLE && a->waiting))
		return now_us + STEP_SOON_US;
	return a->state == APPLY_RESOLVING ? a->resolve_until_us : now_us + KARMALB_SECOND;
}

uint32_t
apply_epoch(const struct apply *a)
{
	return a->in_force ? a->in_force->intent->epoch : 0;
}

bool
apply_is_idle(const struct apply *a)
{
	return a->state == APPLY_IDLE && a->waiting == NULL;
}

uint32_t
apply_newest_epoch(const struct apply *a)
{
	if (a->waiting != NULL)
		return a->waiting->epoch;
	return a->rising ? a->rising->intent->epoch : apply_epoch(a);
}

bool
apply_slot(const struct apply *a, uint16_t slot, struct karmalb_slot *message)
{
	const struct roster_entry *e = &a->roster.entries[slot];

	if (!e->is_alive)
		return false;
	*message = (struct karmalb_slot){
		.header = {KARMALB_MESSAGE_SLOT, KARMALB_PROTOCOL_VERSION, sizeof(*message)},
		.listen = a->roster.slots[slot].listen,
		.address = a->roster.slots[slot].address,
		.slot = slot,
		.next_hop = e->next_hop,
		.is_selected = e->is_selected,
		.epoch = apply_epoch(a),
		.share = e->share,
	};
	return true;
}

unsigned
apply_n_slots(const struct apply *a)
{
	return a->roster.n_slots;
}

static void
report(struct apply *a, uint32_t epoch, int error, const struct err *err)
{
	struct karmalb_applied m = {
		.header = {KARMALB_MESSAGE_APPLIED, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.epoch = epoch,
		.error = error,
		.applied_us = karmalb_now_us(),
	};

	memcpy(m.sentence, err->text, sizeof(m.sentence));
	if (error != 0 && error != -ECANCELED)
		log_warning("epoch %u is not applied, %u stays in force: %s", epoch, apply_epoch(a),
			err->text);
	a->events.done(a->events.context, &m);
}

/* Steers, guards and assigns what is listened on in either of two plans; each may be NULL. */
static int
serve(struct apply *a, const struct roster_plan *one, const struct roster_plan *two,
	struct err *err)
{
	struct karmalb_endpoint services[KARMALB_SERVICES_MAX];
	struct port_intent intent = {
		.services = services,
		.sources = a->instance->options->sources,
		.n_sources = a->instance->options->n_sources,
	};

	for (unsigned i = 0; one != NULL && i < one->intent->n_services; i++)
		services[intent.n_services++] = one->intent->services[i].listen;
	/* Where both together are too many, what is about to go goes a moment early. */
	for (unsigned i = 0; two != NULL && i < two->intent->n_services; i++) {
		const struct karmalb_endpoint *listen = &two->intent->services[i].listen;

		if (one != NULL && intent_has_listen(one->intent, listen))
			continue;
		if (intent.n_services < KARMALB_SERVICES_MAX)
			services[intent.n_services++] = *listen;
	}
	return ports_serve(&a->instance->ports, &intent, err);
}

static int
compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct karmalb_address));
}

/* Whether the kernel itself would use one of our sources towards 'mirror'. */
static int
check_mirror(const struct apply *a, const struct karmalb_address *mirror, struct err *err)
{
	const struct options *o = a->instance->options;
	char source_text[ADDRESS_TEXT_MAX], mirror_text[ADDRESS_TEXT_MAX];
	struct karmalb_address used;

	if (!address_towards(mirror, &used))
		return 0;
	for (unsigned i = 0; i < o->n_sources; i++)
		if (karmalb_address_equal(&used, &o->sources[i]))
			return err_set(err, -EADDRINUSE,
				"source %s is the address that this host itself uses towards "
				"mirror %s; a source must serve nothing else",
				address_text(&used, source_text),
				address_text(mirror, mirror_text));
	return 0;
}

/* Asks the kernel once for each distinct mirror, for that is what takes the time. */
static int
check_mirrors(const struct apply *a, const struct intent *in, struct err *err)
{
	struct karmalb_address *mirrors = calloc(in->n_mirrors + 1u, sizeof(*mirrors));
	int rc = 0;

	if (mirrors == NULL)
		return err_set(err, -ENOMEM, "no memory to check mirrors");
	for (unsigned i = 0; i < in->n_mirrors; i++)
		mirrors[i] = in->mirrors[i].address.address;
	qsort(mirrors, in->n_mirrors, sizeof(*mirrors), compare_addresses);
	for (unsigned i = 0; rc == 0 && i < in->n_mirrors; i++)
		if (i == 0 || !karmalb_address_equal(&mirrors[i], &mirrors[i - 1]))
			rc = check_mirror(a, &mirrors[i], err);
	free(mirrors);
	return rc;
}

static void
begin_waiting(struct apply *a, uint64_t now_us)
{
	const struct options *o = a->instance->options;
	struct intent *in = a->waiting;
	bool is_known = a->in_force != NULL && intent_has_same_mirrors(in, a->in_force->intent);
	struct err err = {0};

	a->waiting = NULL;
	int rc = intent_check(in, o->sources, o->n_sources, &err);

	if (rc == 0 && !is_known)
		rc = check_mirrors(a, in, &err);
	if (rc == 0)
		rc = roster_plan(&a->roster, in, &a->rising, &err);
	if (rc < 0) {
		report(a, in->epoch, rc, &err);
		intent_free(in);
		return;
	}
	roster_refresh(&a->roster, now_us);
	a->state = APPLY_RESOLVING;
	/* Next hops that were asked for long ago are not waited for again at each new share. */
	a->resolve_until_us = is_known ? now_us : now_us + RESOLVE_WAIT_US;
}

/*
 * Or not, but what rises is waited for long enough.  A newer intent is not kept back by it: that
 * one may take a dead mirror out, and a next hop that comes to be known later makes a snapshot
 * anyway.
 */
static bool
has_resolved(const struct apply *a, uint64_t now_us)
{
	return now_us >= a->resolve_until_us || (a->waiting != NULL && a->in_force != NULL) ||
	       !roster_is_resolving(&a->roster, a->rising);
}

/*
 * Steers for what is in force alone; nothing is before the first intent, and then only the sources
 * are ours.  False: not yet, to be tried again in a second.
 */
static bool
serve_in_force(struct apply *a, struct err *err)
{
	a->is_serve_due = serve(a, a->in_force, NULL, err) < 0;
	a->serve_again_us = karmalb_now_us() + KARMALB_SECOND;
	return !a->is_serve_due;
}

static void
give_up_rising(struct apply *a, int error, const struct err *err)
{
	report(a, a->rising->intent->epoch, error, err);
	if (a->is_serve_due)
		serve_in_force(a, NULL);
	roster_plan_free(a->rising);
	a->rising = NULL;
	a->state = APPLY_IDLE;
}

static void
publish_rising(struct apply *a, uint64_t now_us)
{
	struct err err = {0};
	struct tables *t;
	int rc = 0;

	if (a->in_force == NULL || a->is_serve_due ||
		!intent_is_part_of(a->rising->intent, a->in_force->intent)) {
		a->is_serve_due = true;
		rc = serve(a, a->rising, a->in_force, &err);
	}
	if (rc < 0) {
		give_up_rising(a, rc, &err);
		return;
	}
	roster_refresh(&a->roster, now_us);
	t = roster_build(&a->roster, a->rising, &err);
	if (t == NULL) {
		give_up_rising(a, -ENOMEM, &err);
		return;
	}
	if (snapshots_publish(&a->instance->snapshots, t) < 0) {
		tables_free(t); /* too many old ones wait for a worker; on the next step again */
		a->resolve_until_us = now_us + STEP_SOON_US;
		return;
	}
	instance_wake_workers(a->instance);
	a->is_serve_due = false; /* not before: giving up must take the steering back */
	a->is_rebuild_due = false;
	a->state = APPLY_PUBLISHED;
}

static void
log_in_force(const struct apply *a)
{
	const struct intent *now = a->rising->intent;

	if (a->in_force != NULL && intent_has_same_mirrors(now, a->in_force->intent))
		return;
	log_info("epoch %u -> %u: %u services with %u mirrors -> %u with %u", apply_epoch(a),
		now->epoch, a->in_force ? a->in_force->intent->n_services : 0,
		a->in_force ? a->in_force->intent->n_mirrors : 0, now->n_services, now->n_mirrors);
}

static void
finish_rising(struct apply *a)
{
	struct err err = {0};

	/* No worker forwards for what was removed any more: now the kernel may have it. */
	if (a->in_force != NULL && !intent_is_part_of(a->in_force->intent, a->rising->intent))
		a->is_serve_due = true;
	log_in_force(a);
	roster_plan_free(a->in_force);
	a->in_force = a->rising;
	a->rising = NULL;
	a->state = APPLY_IDLE;
	roster_select(&a->roster, a->in_force);
	a->events.slots_changed(a->events.context);
	if (!a->is_serve_due || serve_in_force(a, &err))
		roster_why_unreachable(&a->roster, a->in_force, &err);
	report(a, apply_epoch(a), 0, &err);
}

/* A snapshot of what is in force, with the network as it is now.  False: try again later. */
static bool
rebuild(struct apply *a)
{
	struct err err;

	if (a->state == APPLY_PUBLISHED)
		return false; /* its turn comes when the workers have taken the risen one */
	if (a->in_force == NULL) {
		a->is_rebuild_due = false; /* whatever rises is built with it */
		return true;
	}
	struct tables *t = roster_build(&a->roster, a->in_force, &err);

	if (t == NULL || snapshots_publish(&a->instance->snapshots, t) < 0) {
		tables_free(t);
		return false;
	}
	instance_wake_workers(a->instance);
	a->is_rebuild_due = false;
	return true;
}
