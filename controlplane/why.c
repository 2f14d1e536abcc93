/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences of the WHY column. */
#include "why.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shares_inside.h"
#include "strategy.h"

static char *
latency_text(double us, char *text, size_t size)
{
	if (us < 1000)
		snprintf(text, size, "%.2f ms", us / 1000);
	else if (us < 1000 * 1000)
		snprintf(text, size, "%.1f ms", us / 1000);
	else
		snprintf(text, size, "%.2f s", us / 1000 / 1000);
	return text;
}

/* Raised by the floor, or kept there: nobody's share falls below it. */
static bool
is_at_floor(const struct model_service *s, const struct model_mirror *m)
{
	double floor = fmin(s->settings.karma_floor, m->configured / 2);

	return s->settings.karma_rule == KARMA_RULE_DAMPED && floor > 0 &&
	       m->step.share_after <= floor * 1.0001;
}

static void
why_up(const struct model_service *s, const struct model_mirror *m, char *text, size_t size)
{
	bool is_documented = s->settings.karma_rule == KARMA_RULE_DOCUMENTED;
	char own[32], median[32], gain[32] = "";

	if (s->settings.karma_gain == SETTING_WORD && !is_documented)
		snprintf(gain, sizeof(gain), ", gain %.2f", s->gain);
	if (!m->step.has_block)
		snprintf(text, size, "no period with answers is over yet");
	else if (m->step.latency_us == 0)
		snprintf(text, size, "no answers last period, %s",
			is_documented ? "keeps its share" : "drifts to its configured share");
	else
		snprintf(text, size, "%s against the pool's %s median%s%s",
			latency_text(m->step.latency_us, own, sizeof(own)),
			latency_text(m->step.median_us, median, sizeof(median)),
			is_at_floor(s, m) ? ", held at the floor" : "", gain);
}

/* The window's queries of a mirror that noerrors looked at. */
static void
why_avoided(const struct model_mirror *m, char *text, size_t size)
{
	const struct strategy_counts *c = &m->counts;
	double whole = c->criticals + c->warnings + c->successes;

	snprintf(text, size,
		"avoided: %.0f errors, %.0f warnings in %.0f queries, others have fewer",
		c->criticals, c->warnings, whole);
}

static void
why_trial(const struct model_mirror *m, char *text, size_t size)
{
	const char *reason = "no query known of it";

	if (m->health.state == MIRROR_TRIAL)
		reason = m->health.evidence;
	else if (m->was_avoided)
		reason = "its errors are a while ago";
	snprintf(text, size, "%s, on trial at %.3g %%", reason, 100 * m->share);
}

char *
why_share(const struct model_service *service, const struct model_mirror *mirror, char *text,
	size_t size)
{
	const struct health *h = &mirror->health;
	const struct strategy *strategy = strategy_at(service->settings.ha_strategy);
	bool is_blind = !strategy->uses_health && mirror->role != STRATEGY_OUT;

	if (mirror->conf.state == SETTINGS_MIRROR_DRAIN)
		snprintf(text, size, "drained by an operator: no new connections");
	else if (mirror->conf.state == SETTINGS_MIRROR_MAINTENANCE)
		snprintf(text, size, "in maintenance: no new connections, no pings");
	else if (is_blind && h->state == MIRROR_UP)
		snprintf(text, size, "by configured weight");
	else if (is_blind)
		snprintf(text, size, "by configured weight, though %s", h->evidence);
	else if (h->state == MIRROR_DEAD && mirror->role == STRATEGY_OUT && mirror->share > 0)
		snprintf(text, size, "least bad of the dead: %s", h->evidence);
	else if (h->state == MIRROR_DEAD && mirror->role == STRATEGY_OUT)
		snprintf(text, size, "%s", h->evidence);
	else if (mirror->role == STRATEGY_AVOIDED)
		why_avoided(mirror, text, size);
	else if (h->state == MIRROR_DEAD)
		snprintf(text, size, "kept in by max_dead_pct = %g, though %s",
			service->settings.max_dead_pct, h->evidence);
	else if (h->state == MIRROR_TRIAL || mirror->role == STRATEGY_TRIAL)
		why_trial(mirror, text, size);
	else
		why_up(service, mirror, text, size);
	if (mirror->ramp_since_us != 0 && mirror->role == STRATEGY_REGULAR && strategy->uses_karma)
		snprintf(text + strlen(text), size - strlen(text),
			"; slow start, %u %% of its share",
			(unsigned)(100 * mirror->ramp_step / SHARES_RAMP_STEPS));
	return text;
}
