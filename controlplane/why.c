/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences of the WHY column. */
#include "why.h"

#include <math.h>
#include <stdio.h>

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
	char own[32], median[32];

	if (!m->step.has_block)
		snprintf(text, size, "no period with answers is over yet");
	else if (m->step.latency_us == 0)
		snprintf(text, size, "no answers last period, %s",
			is_documented ? "keeps its share" : "drifts to its configured share");
	else
		snprintf(text, size, "%s against the pool's %s median%s",
			latency_text(m->step.latency_us, own, sizeof(own)),
			latency_text(m->step.median_us, median, sizeof(median)),
			is_at_floor(s, m) ? ", held at the floor" : "");
}

char *
why_share(const struct model_service *service, const struct model_mirror *mirror, char *text,
	size_t size)
{
	const struct health *h = &mirror->health;
	const struct strategy *strategy = strategy_at(service->settings.ha_strategy);

	if (mirror->conf.state == SETTINGS_MIRROR_DRAIN)
		snprintf(text, size, "drained by an operator: no new connections");
	else if (mirror->conf.state == SETTINGS_MIRROR_MAINTENANCE)
		snprintf(text, size, "in maintenance: no new connections, no pings");
	else if (!strategy->uses_health && h->state == MIRROR_UP)
		snprintf(text, size, "by configured weight");
	else if (!strategy->uses_health)
		snprintf(text, size, "by configured weight, though %s", h->evidence);
	else if (h->state == MIRROR_DEAD && mirror->share > 0)
		snprintf(text, size, "least bad of the dead: %s", h->evidence);
	else if (h->state == MIRROR_DEAD)
		snprintf(text, size, "%s", h->evidence);
	else if (h->state == MIRROR_TRIAL)
		snprintf(text, size, "%s, on trial at %.3g %%", h->evidence, 100 * mirror->share);
	else
		why_up(service, mirror, text, size);
	return text;
}
