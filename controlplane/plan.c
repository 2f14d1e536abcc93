/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing two configurations, and taking the one to the other.  How a plan reads: plan_print.c.
 * Pure. */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_edit.h"

static bool
add(struct plan *plan, struct plan_change change);
static bool
compare_programs(struct plan *plan);
static bool
find_gone(struct plan *plan);
static bool
compare_defaults(struct plan *plan);
static bool
find_come(struct plan *plan);

int
plan_make(struct plan *plan, const struct config *from, const struct config *to)
{
	*plan = (struct plan){.from = from, .to = to};
	if (compare_programs(plan) && find_gone(plan) && compare_defaults(plan) && find_come(plan))
		return 0;
	plan_fini(plan);
	return -ENOMEM;
}

void
plan_fini(struct plan *plan)
{
	free(plan->changes);
	*plan = (struct plan){0};
}

static bool
add(struct plan *plan, struct plan_change change)
{
	struct plan_change *changes =
		reallocarray(plan->changes, plan->n_changes + 1, sizeof(*changes));

	if (changes == NULL)
		return false;
	plan->changes = changes;
	changes[plan->n_changes++] = change;
	plan->n_restarts += change.kind == PLAN_PROGRAM;
	return true;
}

/* ---- comparing ---- */

static const struct config_service *
find_service(const struct config *config, const struct config_service *like, unsigned hint)
{
	if (hint < config->n_services && strcmp(config->services[hint].name, like->name) == 0)
		return &config->services[hint];
	for (unsigned i = 0; i < config->n_services; i++) {
		if (strcmp(config->services[i].name, like->name) == 0)
			return &config->services[i];
	}
	return NULL;
}

static bool
is_same_mirror(const struct config_mirror *a, const struct config_mirror *b)
{
	return a->port == b->port && memcmp(&a->address, &b->address, sizeof(a->address)) == 0;
}

static const struct config_mirror *
find_mirror(const struct config_service *service, const struct config_mirror *like, unsigned hint)
{
	if (hint < service->n_mirrors && is_same_mirror(&service->mirrors[hint], like))
		return &service->mirrors[hint];
	for (unsigned i = 0; i < service->n_mirrors; i++) {
		if (is_same_mirror(&service->mirrors[i], like))
			return &service->mirrors[i];
	}
	return NULL;
}

static bool
is_equal(const struct setting *s, const void *a, const void *b)
{
	char text_a[SETTING_TEXT_MAX], text_b[SETTING_TEXT_MAX];

	return strcmp(setting_format(s, a, text_a, sizeof(text_a)),
		       setting_format(s, b, text_b, sizeof(text_b))) == 0;
}

/* Adds 'change' for each setting of the scope that differs. */
static bool
compare_settings(struct plan *plan, enum setting_scope scope, struct plan_change change)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != scope || s->type > SETTING_CPUS ||
			is_equal(s, change.base_was, change.base))
			continue;
		change.setting = s;
		if (scope == SETTING_SCOPE_CONTROLPLANE)
			change.kind = s->is_live ? PLAN_CONTROLPLANE : PLAN_PROGRAM;
		if (!add(plan, change))
			return false;
	}
	return true;
}

/* All settings of a scope, of two structs of it. */
static bool
is_same_group(enum setting_scope scope, const void *a, const void *b)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope == scope && s->type <= SETTING_CPUS && !is_equal(s, a, b))
			return false;
	}
	return true;
}

static bool
is_same_ports(const struct config_dataplane *a, const struct config_dataplane *b)
{
	bool is_same = a->n_ports == b->n_ports;

	for (unsigned i = 0; is_same && i < a->n_ports; i++)
		is_same = is_same_group(SETTING_SCOPE_PORT, &a->ports[i], &b->ports[i]);
	return is_same;
}

static bool
is_same_neighbours(const struct config_dataplane *a, const struct config_dataplane *b)
{
	bool is_same = a->n_neighbours == b->n_neighbours;

	for (unsigned i = 0; is_same && i < a->n_neighbours; i++)
		is_same = is_same_group(
			SETTING_SCOPE_NEIGHBOUR, &a->neighbours[i], &b->neighbours[i]);
	return is_same;
}

static bool
is_same_sources(const struct config_dataplane *a, const struct config_dataplane *b)
{
	char text_a[UNITS_TEXT_MAX], text_b[UNITS_TEXT_MAX];

	if (a->n_sources != b->n_sources)
		return false;
	for (unsigned i = 0; i < a->n_sources; i++) {
		if (strcmp(units_format_cidr(&a->sources[i], text_a, sizeof(text_a)),
			    units_format_cidr(&b->sources[i], text_b, sizeof(text_b))) != 0)
			return false;
	}
	return true;
}

static bool
compare_programs(struct plan *plan)
{
	const struct config_dataplane *was = &plan->from->dataplane, *is = &plan->to->dataplane;
	struct plan_change dataplane = {
		.kind = PLAN_PROGRAM, .title = "dataplane", .base_was = was, .base = is};
	struct plan_change controlplane = {.kind = PLAN_PROGRAM,
		.title = "controlplane",
		.base_was = &plan->from->controlplane,
		.base = &plan->to->controlplane};

	return compare_settings(plan, SETTING_SCOPE_DATAPLANE, dataplane) &&
	       (is_same_ports(was, is) ||
		       add(plan, (struct plan_change){PLAN_PROGRAM, .title = "dataplane.ports"})) &&
	       (is_same_neighbours(was, is) ||
		       add(plan, (struct plan_change){PLAN_PROGRAM,
					 .title = "dataplane.neighbours"})) &&
	       (is_same_sources(was, is) || add(plan, (struct plan_change){PLAN_PROGRAM,
							      .title = "dataplane.sources"})) &&
	       compare_settings(plan, SETTING_SCOPE_CONTROLPLANE, controlplane);
}

static bool
find_gone_mirrors(
	struct plan *plan, const struct config_service *was, const struct config_service *is)
{
	for (unsigned i = 0; i < was->n_mirrors; i++) {
		if (find_mirror(is, &was->mirrors[i], i) == NULL &&
			!add(plan, (struct plan_change){PLAN_DROP_MIRROR, .service = is,
					   .service_was = was, .mirror_was = &was->mirrors[i]}))
			return false;
	}
	return true;
}

static bool
find_gone(struct plan *plan)
{
	const struct config *from = plan->from, *to = plan->to;

	for (unsigned i = 0; i < from->n_services; i++) {
		const struct config_service *was = &from->services[i];
		const struct config_service *is = find_service(to, was, i);

		if (is == NULL &&
			!add(plan, (struct plan_change){PLAN_DROP_SERVICE, .service_was = was}))
			return false;
		if (is != NULL && !find_gone_mirrors(plan, was, is))
			return false;
	}
	return true;
}

static bool
compare_defaults(struct plan *plan)
{
	return compare_settings(plan, SETTING_SCOPE_SERVICE,
		(struct plan_change){.kind = PLAN_DEFAULT,
			.base_was = &plan->from->defaults,
			.base = &plan->to->defaults});
}

static bool
compare_listens(
	struct plan *plan, const struct config_service *was, const struct config_service *is)
{
	bool is_same = was->n_listens == is->n_listens;

	for (unsigned i = 0; is_same && i < is->n_listens; i++)
		is_same = karmalb_endpoint_equal(&was->listens[i], &is->listens[i]);
	return is_same ||
	       add(plan, (struct plan_change){PLAN_LISTENS, .service = is, .service_was = was});
}

/* Own values, and settings that became the service's own or ceased to be. */
static bool
compare_own(struct plan *plan, const struct config_service *was, const struct config_service *is)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != SETTING_SCOPE_SERVICE || s->type > SETTING_CPUS)
			continue;
		bool was_own = was->own & setting_bit(s), is_own = is->own & setting_bit(s);

		if (was_own == is_own && (!is_own || is_equal(s, &was->settings, &is->settings)))
			continue;
		if (!add(plan, (struct plan_change){PLAN_SETTING, .service = is, .service_was = was,
				       .setting = s, .base = &is->settings,
				       .base_was = &was->settings, .is_own = is_own}))
			return false;
	}
	return true;
}

/* When a drain ends is no setting of the table, but part of what the state is. */
static bool
compare_drain(struct plan *plan, struct plan_change change)
{
	const struct config_mirror *is = change.mirror, *was = change.mirror_was;

	if (is->state != SETTINGS_MIRROR_DRAIN || was->state != SETTINGS_MIRROR_DRAIN ||
		is->drain_until_us == was->drain_until_us)
		return true;
	change.setting = setting_find(SETTING_SCOPE_MIRROR, "state");
	return add(plan, change);
}

static bool
compare_mirrors(
	struct plan *plan, const struct config_service *was, const struct config_service *is)
{
	for (unsigned i = 0; i < is->n_mirrors; i++) {
		const struct config_mirror *m = &is->mirrors[i];
		const struct config_mirror *m_was = find_mirror(was, m, i);
		struct plan_change change = {
			.kind = m_was != NULL ? PLAN_MIRROR_SETTING : PLAN_ADD_MIRROR,
			.service = is,
			.service_was = was,
			.mirror = m,
			.mirror_was = m_was,
			.base = m,
			.base_was = m_was,
		};

		if (m_was != NULL ? !compare_settings(plan, SETTING_SCOPE_MIRROR, change) ||
					    !compare_drain(plan, change)
				  : !add(plan, change))
			return false;
	}
	return true;
}

static bool
find_come(struct plan *plan)
{
	const struct config *from = plan->from, *to = plan->to;

	for (unsigned i = 0; i < to->n_services; i++) {
		const struct config_service *is = &to->services[i];
		const struct config_service *was = find_service(from, is, i);

		if (was == NULL) {
			if (!add(plan, (struct plan_change){PLAN_ADD_SERVICE, .service = is}))
				return false;
			continue;
		}
		if (!compare_listens(plan, was, is) || !compare_own(plan, was, is) ||
			!compare_mirrors(plan, was, is))
			return false;
	}
	return true;
}

/* ---- applying ---- */

/* By address, for its name may be changing in this very plan. */
static int
apply_mirror_setting(const struct plan_change *c, struct config *config, struct err *err)
{
	const struct config_service *s = config_edit_find(config, c->service->name, err);
	struct config_mirror *m =
		s != NULL ? (void *)(uintptr_t)find_mirror(s, c->mirror, 0) : NULL;
	char text[SETTING_TEXT_MAX];

	if (m == NULL)
		return -ENOENT;
	if (strcmp(c->setting->name, "state") == 0)
		m->drain_until_us = c->mirror->drain_until_us;
	return setting_parse(
		c->setting, m, setting_format(c->setting, c->base, text, sizeof(text)), err);
}

static int
apply_setting(const struct plan_change *c, struct config *config, struct err *err)
{
	struct setting_change unused;
	char text[SETTING_TEXT_MAX];

	setting_format(c->setting, c->base, text, sizeof(text));
	if (c->kind == PLAN_DEFAULT)
		return config_edit_default(config, c->setting->name, text, &unused, err);
	if (!c->is_own)
		return config_edit_inherit(config, c->service->name, c->setting->name, err);
	return config_edit_setting(config, c->service->name, c->setting->name, text, &unused, err);
}

static int
apply_controlplane(const struct plan_change *c, struct config *config, struct err *err)
{
	char text[SETTING_TEXT_MAX];

	return setting_parse(c->setting, &config->controlplane,
		setting_format(c->setting, c->base, text, sizeof(text)), err);
}

static int
apply_change(const struct plan_change *c, struct config *config, struct err *err)
{
	switch (c->kind) {
	case PLAN_PROGRAM:
		return 0;
	case PLAN_CONTROLPLANE:
		return apply_controlplane(c, config, err);
	case PLAN_DROP_SERVICE:
		return config_edit_drop(config, c->service_was->name, err);
	case PLAN_DROP_MIRROR:
		return config_edit_drop_mirror(
			config, c->service_was->name, c->mirror_was->name, err);
	case PLAN_ADD_SERVICE:
		return config_edit_add(config, c->service, err);
	case PLAN_LISTENS:
		return config_edit_listens(
			config, c->service->name, c->service->listens, c->service->n_listens, err);
	case PLAN_DEFAULT:
	case PLAN_SETTING:
		return apply_setting(c, config, err);
	case PLAN_MIRROR_SETTING:
		return apply_mirror_setting(c, config, err);
	case PLAN_ADD_MIRROR:
		return config_edit_add_mirror(config, c->service->name, c->mirror, err);
	}
	return 0;
}

int
plan_apply(const struct plan *plan, struct config *config, struct err *err)
{
	for (unsigned i = 0; i < plan->n_changes; i++) {
		int rc = apply_change(&plan->changes[i], config, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}
