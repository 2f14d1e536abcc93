/* SPDX-License-Identifier: BSD-3-Clause */
/* From states, karma and slow start to a strategy's view of a service, and back to its mirrors. */
#include <stdio.h>
#include <string.h>

#include "history.h"
#include "observe.h"
#include "shares.h"
#include "shares_inside.h"
#include "weight.h"

static struct strategy_mirror
view_mirror(const struct model_service *s, const struct model_mirror *m, uint64_t now_us);
static bool
settle(struct model_service *s, struct model_mirror *m, const struct strategy_share *decided,
	uint64_t now_us);

static struct strategy_view
view_settings(const struct service_settings *st)
{
	return (struct strategy_view){
		.trial_share = strategy_trial_share(st->karma_floor),
		.tolerance = st->noerrors_tolerance_pct / 100,
		.max_dead = st->max_dead_pct / 100,
		.max_avoided = st->max_avoided_pct / 100,
		.is_dead_skipped = st->roundrobin_skip_dead,
	};
}

bool
shares_spread(struct model_service *service, uint64_t now_us)
{
	struct strategy_mirror mirrors[KARMALB_MIRRORS_MAX];
	struct strategy_share shares[KARMALB_MIRRORS_MAX];
	struct strategy_view view = view_settings(&service->settings);
	bool is_changed = false;

	/* Strategies see only those that an operator lets take part. */
	view.mirrors = mirrors;
	for (unsigned i = 0; i < service->n_mirrors; i++) {
		const struct model_mirror *m = &service->mirrors[i];

		if (m->conf.state == SETTINGS_MIRROR_ACTIVE)
			mirrors[view.n_mirrors++] = view_mirror(service, m, now_us);
	}
	strategy_at(service->settings.ha_strategy)->shares(&view, shares);
	for (unsigned i = 0, n = 0; i < service->n_mirrors; i++) {
		struct model_mirror *m = &service->mirrors[i];
		struct strategy_share none = {0, STRATEGY_OUT};
		bool is_active = m->conf.state == SETTINGS_MIRROR_ACTIVE;

		m->counts = is_active ? mirrors[n].counts : (struct strategy_counts){0};
		is_changed |= settle(service, m, is_active ? &shares[n++] : &none, now_us);
	}
	return is_changed;
}

static uint64_t
ramp_step(const struct model_service *s, const struct model_mirror *m, uint64_t now_us)
{
	uint64_t whole_us = s->settings.slow_start_ms * KARMALB_MILLISECOND;
	uint64_t since_us = now_us - m->ramp_since_us;

	if (m->was_avoided && whole_us > 0)
		return 1; /* where it begins, should it be let back now */
	if (m->ramp_since_us == 0 || since_us >= whole_us)
		return SHARES_RAMP_STEPS;
	return 1 + since_us * SHARES_RAMP_STEPS / whole_us;
}

uint64_t
shares_ramp_due_us(const struct model_service *service, const struct model_mirror *mirror)
{
	uint64_t whole_us = service->settings.slow_start_ms * KARMALB_MILLISECOND;

	if (mirror->ramp_since_us == 0 || mirror->role == STRATEGY_AVOIDED ||
		mirror->conf.state != SETTINGS_MIRROR_ACTIVE)
		return UINT64_MAX;
	return mirror->ramp_since_us + mirror->ramp_step * whole_us / SHARES_RAMP_STEPS;
}

/* What noerrors compares: over the present window. */
static struct strategy_counts
count(const struct model_service *s, const struct model_mirror *m, uint64_t now_us)
{
	double outcomes[KARMALB_N_OUTCOMES];
	struct strategy_counts c = {0};
	double succeeded, warnings;

	if (s->settings.karma_window == KARMA_WINDOW_SMOOTH) {
		karma_smooth(&m->karma, now_us, outcomes);
	} else {
		struct karma_counts report;

		karma_report(&m->karma, now_us, 1, &report);
		for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
			outcomes[i] = (double)report.outcomes[i];
	}
	succeeded = outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES];
	warnings = outcomes[KARMALB_OUTCOME_WARNINGS];
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		c.criticals += observe_is_failure(i) ? outcomes[i] : 0;
	/* An answer with a warning is counted as answered too. */
	c.warnings = warnings;
	c.successes = succeeded > warnings ? succeeded - warnings : 0;
	return c;
}

static struct strategy_mirror
view_mirror(const struct model_service *s, const struct model_mirror *m, uint64_t now_us)
{
	struct health_evidence e;

	observe_evidence(s, m, &e);
	return (struct strategy_mirror){
		.configured = m->configured,
		.weight = weight_share(m->x, m->configured),
		.ramp = (double)ramp_step(s, m, now_us) / SHARES_RAMP_STEPS,
		.failures = health_failures(&e),
		.state = m->health.state,
		.is_joining = m->is_joining,
		.is_answering = model_is_pinged(s) && m->ping.answered_us > m->ping.failed_us,
		.was_avoided = m->was_avoided,
		.counts = count(s, m, now_us),
	};
}

static void
tell(const struct model_service *s, struct model_mirror *m, uint64_t now_us, bool is_avoided)
{
	const struct strategy_counts *c = &m->counts;
	const char *word = is_avoided ? "avoided" : "no longer avoided";
	char text[HISTORY_TEXT_MAX];

	snprintf(text, sizeof(text),
		"mirror %s/%s: %s (%.0f errors, %.0f warnings, %.0f other answers)", s->name,
		m->conf.name, word, c->criticals, c->warnings, c->successes);
	log_limited(&m->log_limit, now_us, LOG_LEVEL_INFO, "%s", text);
	history_add(HISTORY_MIRROR, "%s", text);
}

/* Takes over what was decided of a mirror.  Returns true when its share differs from before. */
static bool
settle(struct model_service *s, struct model_mirror *m, const struct strategy_share *decided,
	uint64_t now_us)
{
	bool is_changed = m->share != decided->share;

	m->share = decided->share;
	m->role = decided->role;
	m->ramp_step = ramp_step(s, m, now_us);
	if (m->ramp_since_us != 0 && m->ramp_step == SHARES_RAMP_STEPS) {
		m->ramp_since_us = 0;
		m->is_joining = false;
	}
	if (m->role == STRATEGY_AVOIDED && !m->was_avoided) {
		m->was_avoided = true;
		tell(s, m, now_us, true);
	} else if (m->role == STRATEGY_REGULAR && m->was_avoided) {
		m->was_avoided = false;
		m->ramp_since_us = now_us;
		m->is_joining = true;
		tell(s, m, now_us, false);
	}
	if (m->was_avoided)
		m->ramp_since_us = 0; /* it begins when the mirror is let back */
	return is_changed;
}
