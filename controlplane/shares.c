/* SPDX-License-Identifier: BSD-3-Clause */
/* The decisions of the control loop, each on one service. */
#include "shares.h"

#include <stdio.h>
#include <string.h>

#include "history.h"
#include "observe.h"
#include "reaction.h"
#include "shares_inside.h"
#include "strategy.h"
#include "weight.h"

static void
adopt_service(struct model_service *s, uint64_t now_us);
static void
adopt_mirror(struct model_service *s, struct model_mirror *m, uint64_t now_us);
static bool
is_observed_whole(const struct model_service *s, const struct model_dataplane *d, uint64_t block);
static bool
reweight_from(struct model_service *s, uint64_t block, uint64_t now_us);

void
shares_adopt(struct model *model, uint64_t now_us)
{
	for (unsigned i = 0; i < model->n_services; i++)
		adopt_service(&model->services[i], now_us);
}

static struct health_rule
health_rule_of(const struct model_service *s)
{
	const struct service_settings *st = &s->settings;
	bool is_pinged = model_is_pinged(s);

	return (struct health_rule){
		.dead_after = (uint32_t)st->dead_after,
		.is_pinged = is_pinged,
		.wait_us = is_pinged ? st->ha_ping_interval_ms * KARMALB_MILLISECOND
				     : st->ha_period_karma_s * KARMALB_SECOND,
		.trial_us = model_is_one_way(s) ? st->ha_period_karma_s * KARMALB_SECOND : 0,
	};
}

static uint64_t
later(uint64_t a_us, uint64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

void
shares_judge(struct model_service *service, uint64_t now_us)
{
	struct health_rule rule = health_rule_of(service);

	for (unsigned i = 0; i < service->n_mirrors; i++) {
		struct model_mirror *m = &service->mirrors[i];
		enum mirror_state before = m->health.state;
		struct health_evidence e;

		if (m->conf.state == SETTINGS_MIRROR_MAINTENANCE)
			continue;
		observe_evidence(service, m, &e);
		if (!health_update(&m->health, &e, &rule, now_us))
			continue;
		m->ramp_since_us = m->health.state == MIRROR_UP ? now_us : 0;
		if (m->health.state == MIRROR_DEAD)
			reaction_died(m, later(e.last_error_us, e.ping_failed_us));
		log_limited(&m->log_limit, now_us,
			m->health.state == MIRROR_DEAD ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
			"mirror %s/%s: %s -> %s (%s)", service->name, m->conf.name,
			mirror_state_name(before), mirror_state_name(m->health.state),
			m->health.evidence);
		history_add(HISTORY_MIRROR, "mirror %s/%s: %s -> %s (%s)", service->name,
			m->conf.name, mirror_state_name(before), mirror_state_name(m->health.state),
			m->health.evidence);
	}
}

bool
shares_reweight(
	struct model_service *service, const struct model_dataplane *dataplane, uint64_t now_us)
{
	uint64_t current = karma_block_number(service->period_us, now_us);
	bool is_over = current > service->block;

	service->block = current;
	return is_over && strategy_at(service->settings.ha_strategy)->uses_karma &&
	       is_observed_whole(service, dataplane, current - 1) &&
	       reweight_from(service, current - 1, now_us);
}

uint64_t
shares_reweight_due_us(const struct model_service *service, const struct model_dataplane *dataplane)
{
	uint64_t block = service->block;

	if (!dataplane->is_synced || !strategy_at(service->settings.ha_strategy)->uses_karma)
		return UINT64_MAX;
	if (!is_observed_whole(service, dataplane, block))
		block++;
	return (block + 1) * service->period_us;
}

static uint64_t
earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

uint64_t
shares_wake_us(const struct model_service *service, const struct model_dataplane *dataplane)
{
	struct health_rule rule = health_rule_of(service);
	uint64_t wake_us = shares_reweight_due_us(service, dataplane);

	for (unsigned i = 0; i < service->n_mirrors; i++) {
		const struct model_mirror *m = &service->mirrors[i];
		struct health_evidence e;

		wake_us = earlier(wake_us, shares_ramp_due_us(service, m));
		if (m->health.state == MIRROR_UP || m->conf.state == SETTINGS_MIRROR_MAINTENANCE)
			continue;
		observe_evidence(service, m, &e);
		wake_us = earlier(wake_us, health_wake_us(&m->health, &e, &rule));
	}
	return wake_us;
}

/* ---- taking over ---- */

/* Whether the snapshot in force knew the mirror; its share there, alike in all its slots. */
static bool
share_in_force(const struct model_service *s, const struct model_mirror *m, double *share)
{
	for (unsigned i = 0; i < s->n_listens; i++) {
		if (m->slots[i].is_known && m->slots[i].is_selected) {
			*share = m->slots[i].share_in_force;
			return true;
		}
	}
	return false;
}

static void
adopt_service(struct model_service *s, uint64_t now_us)
{
	double shares = 0, configured = 0, share;

	for (unsigned i = 0; i < s->n_mirrors; i++) {
		if (share_in_force(s, &s->mirrors[i], &share) && share > 0) {
			shares += share;
			configured += s->mirrors[i].configured;
		}
	}
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct model_mirror *m = &s->mirrors[i];

		if (!share_in_force(s, m, &share))
			continue;
		if (share > 0) /* x = 0 stays what the others have on average */
			m->x = weight_x(share / shares * configured, m->configured);
		else
			adopt_mirror(s, m, now_us);
	}
}

/* One that was out of service. */
static void
adopt_mirror(struct model_service *s, struct model_mirror *m, uint64_t now_us)
{
	struct health_evidence e;

	observe_evidence(s, m, &e);
	if (health_failures(&e) >= s->settings.dead_after)
		return; /* shares_judge() will find it dead and say why */
	health_init(&m->health, MIRROR_TRIAL, now_us);
	snprintf(m->health.evidence, sizeof(m->health.evidence), "found out of service at start");
}

/* ---- re-weighting ---- */

static bool
is_observed_whole(const struct model_service *s, const struct model_dataplane *d, uint64_t block)
{
	uint64_t began_us = block * s->period_us;

	return d->is_synced && began_us >= d->synced_us && began_us >= s->period_since_us;
}

static struct weight_rule
weight_rule_of(const struct model_service *s)
{
	bool is_tuned = s->settings.karma_gain == SETTING_WORD;
	double gain_before = s->is_tuned ? s->gain : WEIGHT_GAIN_MAX;

	if (s->settings.karma_rule == KARMA_RULE_DOCUMENTED)
		return weight_rule_documented;
	return (struct weight_rule){
		.gain = is_tuned ? gain_before : s->settings.karma_gain,
		.forget = s->settings.karma_forget,
		.floor = s->settings.karma_floor,
		.step_max = s->n_reweights > 0 ? WEIGHT_STEP_MAX : 0,
		.trusted_samples = is_tuned ? WEIGHT_TRUSTED_SAMPLES : 0,
		.is_waiting_counted = true,
	};
}

static struct weight_mirror
weigh_mirror(const struct model_service *s, const struct model_mirror *m, uint64_t block,
	uint64_t now_us)
{
	const struct karma_block *b = karma_block(&m->karma, block);
	struct weight_mirror w = {
		.configured = m->configured,
		.is_in_pool =
			m->health.state == MIRROR_UP && m->conf.state == SETTINGS_MIRROR_ACTIVE,
		.x = m->x,
		.moved = m->moved,
		.pulled = m->pulled,
		.n_answers = b != NULL ? b->counts.query.count : 0,
		.answers_us = b != NULL ? b->counts.query.sum_us : 0,
	};

	for (unsigned i = 0; i < s->n_listens; i++) {
		const struct karmalb_slot_totals *t = &m->slots[i].totals;
		uint64_t since_us = now_us > t->stamp_us ? now_us - t->stamp_us : 0;

		w.n_waiting += t->n_waiting;
		w.waiting_us += t->waiting_age_us + t->n_waiting * since_us;
	}
	return w;
}

static bool
reweight_from(struct model_service *s, uint64_t block, uint64_t now_us)
{
	struct weight_mirror pool[KARMALB_MIRRORS_MAX];
	struct weight_rule rule = weight_rule_of(s);
	double median_us;

	for (unsigned i = 0; i < s->n_mirrors; i++)
		pool[i] = weigh_mirror(s, &s->mirrors[i], block, now_us);
	if (rule.trusted_samples > 0)
		rule.gain = weight_tuned_gain(&rule, pool, s->n_mirrors);
	median_us = weight_step(&rule, pool, s->n_mirrors);
	if (median_us == 0)
		return false; /* nobody answered anything: nothing to learn */
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct model_mirror *m = &s->mirrors[i];

		m->step = (struct model_step){
			.has_block = true,
			.block = block,
			.queries = pool[i].n_answers,
			.mean_us = pool[i].n_answers > 0
					   ? (double)pool[i].answers_us / (double)pool[i].n_answers
					   : 0,
			.latency_us = pool[i].latency_us,
			.median_us = median_us,
			.share_before = m->share,
		};
		m->x = pool[i].x;
		m->moved = pool[i].moved;
		m->pulled = pool[i].pulled;
	}
	s->gain = rule.gain;
	s->is_tuned = rule.trusted_samples > 0;
	s->n_reweights++;
	s->reweighted_us = now_us;
	shares_spread(s, now_us);
	for (unsigned i = 0; i < s->n_mirrors; i++)
		s->mirrors[i].step.share_after = s->mirrors[i].share;
	return true;
}
