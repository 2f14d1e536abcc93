/* SPDX-License-Identifier: BSD-3-Clause */
/* From a mirror's last failure to the snapshot without it. */
#include "reaction.h"

#include "history.h"
#include "log.h"
#include "model.h"

void
reaction_died(struct model_mirror *mirror, uint64_t failed_us)
{
	mirror->reaction = (struct model_reaction){.failed_us = failed_us};
}

void
reaction_sent(struct model *model, uint32_t epoch)
{
	for (unsigned i = 0; i < model->n_services; i++) {
		for (unsigned k = 0; k < model->services[i].n_mirrors; k++) {
			struct model_reaction *r = &model->services[i].mirrors[k].reaction;

			if (epoch == 0 && r->epoch == 0)
				r->failed_us = 0;
			else if (r->failed_us != 0 && r->epoch == 0)
				r->epoch = epoch;
		}
	}
}

static void
tell(const struct model_service *s, struct model_mirror *m, uint64_t applied_us)
{
	double ms = applied_us > m->reaction.failed_us
			    ? (double)(applied_us - m->reaction.failed_us) / KARMALB_MILLISECOND
			    : 0;

	log_limited(&m->log_limit, applied_us, LOG_LEVEL_INFO,
		"mirror %s/%s: no new connections, %.1f ms after its last failure", s->name,
		m->conf.name, ms);
	history_add(HISTORY_MIRROR,
		"mirror %s/%s: no new connections, %.1f ms after its last failure", s->name,
		m->conf.name, ms);
}

void
reaction_applied(struct model *model, const struct karmalb_applied *applied)
{
	if (applied->error != 0)
		return;
	for (unsigned i = 0; i < model->n_services; i++) {
		struct model_service *s = &model->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			struct model_mirror *m = &s->mirrors[k];

			if (m->reaction.epoch == 0 || applied->epoch < m->reaction.epoch)
				continue;
			if (m->share == 0)
				tell(s, m, applied->applied_us);
			m->reaction = (struct model_reaction){0};
		}
	}
}
