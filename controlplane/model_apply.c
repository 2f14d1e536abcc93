/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another configuration for a model that is at work.  First everything new is made beside the old,
 * which may fail; then the old state moves over, which cannot.  A service whose listens and mirrors
 * are as before is not touched but for its settings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "model.h"
#include "model_service.h"

/* A service to be. */
struct draft {
	struct model_service *old;  /* NULL: it is new */
	struct model_service fresh; /* without mirrors: the old one will do as it is */
};

static int
prepare(struct draft *draft, struct model *model, const struct config_service *conf,
	uint64_t now_us);
static void
settle(struct model *model, struct draft *draft, const struct config_service *conf,
	uint64_t now_us);
static void
drop(struct model *model, struct model_service *s);
static void
own_slots(struct model *model);

int
model_apply(struct model *model, const struct config *config, uint64_t now_us)
{
	struct draft *drafts = calloc(config->n_services + 1, sizeof(*drafts));
	struct model_service *services = calloc(config->n_services + 1, sizeof(*services));
	struct model_service *dropped = realloc(
		model->dropped, (model->n_dropped + model->n_services + 1) * sizeof(*dropped));
	unsigned n = 0;

	if (dropped != NULL)
		model->dropped = dropped; /* room for all that may go now */
	if (drafts == NULL || services == NULL || dropped == NULL)
		goto fail;
	for (; n < config->n_services; n++) {
		if (prepare(&drafts[n], model, &config->services[n], now_us) < 0)
			goto fail;
	}
	for (unsigned i = 0; i < n; i++) {
		settle(model, &drafts[i], &config->services[i], now_us);
		services[i] = drafts[i].fresh;
		if (drafts[i].old != NULL)
			memset(drafts[i].old, 0, sizeof(*drafts[i].old));
	}
	for (unsigned i = 0; i < model->n_services; i++) {
		if (model->services[i].mirrors != NULL) /* nobody took it over */
			drop(model, &model->services[i]);
	}
	free(model->services);
	model->services = services;
	model->n_services = n;
	own_slots(model);
	free(drafts);
	return 0;
fail:
	for (unsigned i = 0; i <= n && drafts != NULL; i++)
		model_service_fini(&drafts[i].fresh);
	free(services);
	free(drafts);
	return -ENOMEM;
}

void
model_forget_dropped(struct model *model)
{
	for (unsigned i = 0; i < model->n_dropped; i++)
		model_service_fini(&model->dropped[i]);
	free(model->dropped);
	model->dropped = NULL;
	model->n_dropped = 0;
}

static bool
has_same_shape(const struct model_service *s, const struct config_service *conf)
{
	if (s->n_listens != conf->n_listens || s->n_mirrors != conf->n_mirrors)
		return false;
	for (unsigned i = 0; i < s->n_listens; i++) {
		if (!karmalb_endpoint_equal(&s->listens[i], &conf->listens[i]))
			return false;
	}
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		if (!model_is_mirror(&s->mirrors[i], &conf->mirrors[i]))
			return false;
	}
	return true;
}

/* A service called otherwise now: the data plane names no slot anew that it goes on with. */
static void
copy_slots(struct model_service *to, const struct model_service *from)
{
	for (unsigned i = 0; i < to->n_listens * from->n_listens; i++) {
		unsigned l = i / from->n_listens, k = i % from->n_listens;

		if (!karmalb_endpoint_equal(&to->listens[l], &from->listens[k]))
			continue;
		for (unsigned m = 0; m < to->n_mirrors * from->n_mirrors; m++) {
			struct model_slot *slot = &to->mirrors[m / from->n_mirrors].slots[l];
			struct model_slot *old = &from->mirrors[m % from->n_mirrors].slots[k];

			if (karmalb_endpoint_equal(&slot->address, &old->address))
				*slot = *old;
		}
	}
}

static int
prepare(struct draft *draft, struct model *model, const struct config_service *conf,
	uint64_t now_us)
{
	draft->old = model_find_service(model, conf->name);
	if (draft->old != NULL && has_same_shape(draft->old, conf))
		return 0;
	if (model_service_init(&draft->fresh, conf, now_us) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < model->n_services; i++)
		copy_slots(&draft->fresh, &model->services[i]);
	return 0;
}

/* What was observed of a slot goes on; its address may be another only with another listen. */
static void
move_slots(struct model_mirror *to, const struct model_service *s, const struct model_mirror *from,
	const struct model_service *old)
{
	for (unsigned i = 0; i < s->n_listens; i++) {
		for (unsigned k = 0; k < old->n_listens; k++) {
			if (karmalb_endpoint_equal(&s->listens[i], &old->listens[k]) &&
				from->slots[k].is_known)
				to->slots[i] = from->slots[k];
		}
	}
}

static void
move_mirror(struct model_mirror *to, const struct model_service *s, struct model_mirror *from,
	const struct model_service *old)
{
	struct model_mirror fresh = *to;

	move_slots(&fresh, s, from, old);
	*to = *from;
	to->slots = fresh.slots;
	from->pinger = NULL;
}

/* One that comes to a pool at work shows first what it can do. */
static void
begin_mirror(struct model_mirror *m, const struct model_service *old, uint64_t now_us)
{
	karma_init(&m->karma, old->period_us);
	if (old->n_reweights > 0) {
		model_try_mirror(m, "new in the service", now_us);
		m->is_joining = true;
	}
}

static struct model_mirror *
find_mirror(struct model_service *s, const struct config_mirror *conf)
{
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		if (model_is_mirror(&s->mirrors[i], conf))
			return &s->mirrors[i];
	}
	return NULL;
}

/* The newest one of that name; NULL: none. */
static struct model_service *
find_dropped(struct model *model, const char *name)
{
	for (unsigned i = model->n_dropped; i > 0; i--) {
		if (strcmp(model->dropped[i - 1].name, name) == 0)
			return &model->dropped[i - 1];
	}
	return NULL;
}

/* A mirror that is not in 'old' but was before, in '*in'; NULL: none.  The newest comes first:
 * older ones are as they were then. */
static struct model_mirror *
find_dropped_mirror(struct model *model, const struct model_service *old,
	const struct config_mirror *conf, struct model_service **in)
{
	struct model_mirror *m = NULL;

	for (unsigned i = model->n_dropped; m == NULL && i > 0; i--) {
		*in = &model->dropped[i - 1];
		if (strcmp((*in)->name, old->name) == 0)
			m = find_mirror(*in, conf);
	}
	return m;
}

/* The fresh service takes over what the old one knows. */
static void
take_over(struct model *model, struct model_service *fresh, struct model_service *old,
	uint64_t now_us)
{
	for (unsigned i = 0; i < fresh->n_mirrors; i++) {
		struct model_mirror *m = &fresh->mirrors[i];
		struct model_service *in = old;
		struct model_mirror *from = find_mirror(old, &m->conf);

		if (from == NULL)
			from = find_dropped_mirror(model, old, &m->conf, &in);
		if (from == NULL)
			begin_mirror(m, old, now_us);
		else
			move_mirror(m, fresh, from, in);
		if (from != NULL && in->period_us != old->period_us)
			karma_init(&m->karma, old->period_us);
	}
	fresh->settings = old->settings;
	fresh->period_us = old->period_us;
	fresh->period_since_us = old->period_since_us;
	fresh->block = old->block;
	fresh->reweighted_us = old->reweighted_us;
	fresh->n_reweights = old->n_reweights;
	fresh->gain = old->gain;
	fresh->is_tuned = old->is_tuned;
}

/* Kept, for it may come back; the caller has no part in it any more. */
static void
drop(struct model *model, struct model_service *s)
{
	for (unsigned i = 0; i < s->n_mirrors; i++)
		s->mirrors[i].pinger = NULL;
	model->dropped[model->n_dropped++] = *s;
}

/* What the operator wants of each mirror: name, weight, state. */
static void
set_mirrors(struct model_service *s, const struct config_service *conf, uint64_t now_us)
{
	uint64_t weights = 0;

	for (unsigned i = 0; i < s->n_mirrors; i++)
		weights += conf->mirrors[i].weight;
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct model_mirror *m = &s->mirrors[i];
		bool was_away = m->conf.state == SETTINGS_MIRROR_MAINTENANCE;
		bool was_drained = m->conf.state == SETTINGS_MIRROR_DRAIN;

		m->conf = conf->mirrors[i];
		m->configured = (double)m->conf.weight / (double)weights;
		if (was_away && m->conf.state != SETTINGS_MIRROR_MAINTENANCE) {
			memset(&m->ping, 0, sizeof(m->ping));
			model_try_mirror(m, "back from maintenance", now_us);
			m->is_joining = true;
		}
		if (was_drained && m->conf.state == SETTINGS_MIRROR_ACTIVE) {
			m->ramp_since_us = now_us;
			m->is_joining = true;
		}
	}
}

static void
settle(struct model *model, struct draft *draft, const struct config_service *conf, uint64_t now_us)
{
	struct model_service *old =
		draft->old != NULL ? draft->old : find_dropped(model, conf->name);

	if (draft->fresh.mirrors == NULL)
		draft->fresh = *old;
	else if (old != NULL)
		take_over(model, &draft->fresh, old, now_us);
	if (draft->old != NULL && draft->fresh.mirrors != old->mirrors)
		drop(model, old);
	set_mirrors(&draft->fresh, conf, now_us);
	model_set_settings(&draft->fresh, &conf->settings, now_us);
}

/* Slots and mirrors may have moved in memory, and gone. */
static void
own_slots(struct model *model)
{
	memset(model->owners, 0, sizeof(model->owners));
	for (unsigned i = 0; i < model->n_services; i++) {
		struct model_service *s = &model->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			for (unsigned l = 0; l < s->n_listens; l++) {
				struct model_slot *slot = &s->mirrors[k].slots[l];

				if (slot->is_known)
					model->owners[slot->number] =
						(struct model_slot_owner){&s->mirrors[k], slot};
			}
		}
	}
}
