/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, finding and changing services and mirrors; memory is taken at start and then only held.
 */
#include "model.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "model_service.h"

/* Once the data plane has been silent for that long, nothing happened since its last word. */
#define RATE_SILENCE_US (300 * KARMALB_MILLISECOND)

static int
mirror_init(struct model_mirror *m, const struct config_mirror *conf, const struct model_service *s,
	uint64_t now_us);

struct model *
model_create(const struct config *config, uint64_t now_us)
{
	struct model *model = calloc(1, sizeof(*model));

	if (model == NULL)
		return NULL;
	model->started_us = now_us;
	model->dataplane.since_us = now_us;
	model->services = calloc(config->n_services + 1, sizeof(model->services[0]));
	if (model->services == NULL)
		goto fail;
	for (unsigned i = 0; i < config->n_services; i++) {
		model->n_services++;
		if (model_service_init(&model->services[i], &config->services[i], now_us) < 0)
			goto fail;
	}
	return model;
fail:
	model_free(model);
	return NULL;
}

void
model_free(struct model *model)
{
	if (model == NULL)
		return;
	model_forget_dropped(model);
	for (unsigned i = 0; i < model->n_services; i++)
		model_service_fini(&model->services[i]);
	free(model->services);
	free(model);
}

struct model_service *
model_find_service(struct model *model, const char *name)
{
	for (unsigned i = 0; i < model->n_services; i++) {
		if (strcmp(model->services[i].name, name) == 0)
			return &model->services[i];
	}
	return NULL;
}

static void
begin_period(struct model_service *s, uint64_t period_us, uint64_t now_us)
{
	s->period_us = period_us;
	s->period_since_us = now_us;
	s->block = karma_block_number(period_us, now_us);
	for (unsigned i = 0; i < s->n_mirrors; i++)
		karma_init(&s->mirrors[i].karma, period_us);
}

void
model_set_settings(
	struct model_service *service, const struct service_settings *wanted, uint64_t now_us)
{
	uint64_t period_us = wanted->ha_period_karma_s * KARMALB_SECOND;

	service->settings = *wanted;
	if (period_us != service->period_us)
		begin_period(service, period_us, now_us);
}

bool
model_is_pinged(const struct model_service *service)
{
	const struct service_settings *st = &service->settings;

	if (st->ping == PING_NONE || st->ha_ping_interval_ms == 0)
		return false;
	for (unsigned i = 0; i < service->n_listens; i++)
		if (service->listens[i].protocol == IPPROTO_TCP)
			return true;
	return st->ping_port != 0;
}

bool
model_is_one_way(const struct model_service *service)
{
	for (unsigned i = 0; i < service->n_listens; i++)
		if (service->listens[i].protocol != IPPROTO_UDP)
			return false;
	return !service->settings.udp_answers;
}

uint64_t
model_opened(const struct model_service *service, const struct model_mirror *mirror)
{
	uint64_t opened = 0;

	for (unsigned i = 0; i < service->n_listens; i++)
		opened += mirror->slots[i].totals.opened;
	return opened;
}

/* The moment for which the mirror's counters hold. */
static uint64_t
counted_at_us(
	const struct model_service *service, const struct model_mirror *mirror, uint64_t now_us)
{
	uint64_t stamp_us = 0;

	for (unsigned i = 0; i < service->n_listens; i++) {
		if (mirror->slots[i].totals.stamp_us > stamp_us)
			stamp_us = mirror->slots[i].totals.stamp_us;
	}
	return now_us > stamp_us + RATE_SILENCE_US ? now_us : stamp_us;
}

static void
rate_sample(const struct model_service *service, struct model_mirror *mirror, uint64_t now_us)
{
	struct model_rate *r = &mirror->rate;
	uint64_t opened = model_opened(service, mirror);
	uint64_t at_us = counted_at_us(service, mirror, now_us);

	if (opened < r->opened[1]) /* another instance */
		memset(r, 0, sizeof(*r));
	if (r->at_us[1] != 0 && at_us < r->at_us[1] + KARMALB_SECOND)
		return;
	r->at_us[0] = r->at_us[1];
	r->opened[0] = r->opened[1];
	r->at_us[1] = at_us;
	r->opened[1] = opened;
}

void
model_sample_rates(struct model *model, uint64_t now_us)
{
	for (unsigned i = 0; i < model->n_services; i++) {
		struct model_service *s = &model->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++)
			rate_sample(s, &s->mirrors[k], now_us);
	}
}

double
model_rate(const struct model_service *service, const struct model_mirror *mirror, uint64_t now_us)
{
	const struct model_rate *r = &mirror->rate;
	uint64_t opened = model_opened(service, mirror);
	uint64_t at_us = counted_at_us(service, mirror, now_us);
	unsigned from = r->at_us[0] != 0 ? 0 : 1;

	if (r->at_us[from] == 0 || at_us <= r->at_us[from] || opened < r->opened[from])
		return 0;
	return (double)(opened - r->opened[from]) * KARMALB_SECOND /
	       (double)(at_us - r->at_us[from]);
}

int
model_service_init(struct model_service *s, const struct config_service *conf, uint64_t now_us)
{
	uint64_t weights = 0;

	snprintf(s->name, sizeof(s->name), "%s", conf->name);
	s->settings = conf->settings;
	s->n_listens = conf->n_listens;
	s->listens = calloc(conf->n_listens + 1, sizeof(s->listens[0]));
	s->mirrors = calloc(conf->n_mirrors + 1, sizeof(s->mirrors[0]));
	if (s->listens == NULL || s->mirrors == NULL)
		return -1;
	memcpy(s->listens, conf->listens, conf->n_listens * sizeof(s->listens[0]));
	for (unsigned i = 0; i < conf->n_mirrors; i++) {
		s->n_mirrors++;
		if (mirror_init(&s->mirrors[i], &conf->mirrors[i], s, now_us) < 0)
			return -1;
		weights += conf->mirrors[i].weight;
	}
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct model_mirror *m = &s->mirrors[i];

		m->configured = (double)m->conf.weight / (double)weights;
		m->share = m->configured;
	}
	begin_period(s, conf->settings.ha_period_karma_s * KARMALB_SECOND, now_us);
	return 0;
}

static int
mirror_init(struct model_mirror *m, const struct config_mirror *conf, const struct model_service *s,
	uint64_t now_us)
{
	m->conf = *conf;
	m->slots = calloc(s->n_listens + 1, sizeof(m->slots[0]));
	if (m->slots == NULL)
		return -1;
	for (unsigned i = 0; i < s->n_listens; i++)
		m->slots[i].address = config_mirror_endpoint(conf, &s->listens[i]);
	m->log_limit = (struct log_limit){.interval_us = KARMALB_MINUTE, .burst = 10};
	health_init(&m->health, MIRROR_UP, now_us);
	return 0;
}

void
model_service_fini(struct model_service *s)
{
	for (unsigned i = 0; i < s->n_mirrors; i++)
		free(s->mirrors[i].slots);
	free(s->mirrors);
	free(s->listens);
}

bool
model_is_mirror(const struct model_mirror *mirror, const struct config_mirror *conf)
{
	return mirror->conf.port == conf->port &&
	       memcmp(&mirror->conf.address, &conf->address, sizeof(conf->address)) == 0;
}

void
model_try_mirror(struct model_mirror *mirror, const char *evidence, uint64_t now_us)
{
	health_init(&mirror->health, MIRROR_TRIAL, now_us);
	snprintf(mirror->health.evidence, sizeof(mirror->health.evidence), "%s", evidence);
}
