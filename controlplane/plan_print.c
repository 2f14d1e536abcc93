/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan for a person, and as statements that do the same.  Pure. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "plan.h"
#include "plan_inside.h"

void
plan_print_listens(const struct config_service *s, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < s->n_listens; i++)
		fprintf(out, "%s%s", i > 0 ? ", " : "",
			units_format_endpoint(&s->listens[i], text, sizeof(text)));
}

static void
print_values(const struct plan_change *c, FILE *out)
{
	char was[SETTING_TEXT_MAX], is[SETTING_TEXT_MAX];

	setting_format(c->setting, c->base_was, was, sizeof(was));
	setting_format(c->setting, c->base, is, sizeof(is));
	fprintf(out, "%s %s -> %s", c->setting->name, was, is);
}

static void
print_program(const struct plan_change *c, FILE *out)
{
	fprintf(out, "%s: ", c->title);
	if (c->setting != NULL)
		print_values(c, out);
	else
		fputs("changed", out);
	if (c->kind == PLAN_CONTROLPLANE)
		return;
	fprintf(out, " (not in force before karmalb-%.*s is restarted)",
		c->title[0] == 'd' ? 9 : 12, c->title);
}

static void
print_service(const struct plan_change *c, FILE *out)
{
	const struct config_service *s = c->kind == PLAN_DROP_SERVICE ? c->service_was : c->service;

	fprintf(out, "service %s: %s (listens at ", s->name,
		c->kind == PLAN_DROP_SERVICE ? "dropped" : "added");
	plan_print_listens(s, out);
	fprintf(out, "; %u mirror%s)", s->n_mirrors, s->n_mirrors == 1 ? "" : "s");
}

void
plan_print_state(const struct config_mirror *m, FILE *out)
{
	uint64_t end_us = config_drain_end_us(m);
	char text[UNITS_TEXT_MAX];

	fputs(settings_mirror_state_name(m->state), out);
	if (end_us != 0)
		fprintf(out, " until %s", units_format_time(end_us, text, sizeof(text)));
}

static bool
is_state(const struct plan_change *c)
{
	return strcmp(c->setting->name, "state") == 0;
}

static void
print_mirror_setting(const struct plan_change *c, FILE *out)
{
	if (!is_state(c)) {
		print_values(c, out);
		return;
	}
	fputs("state ", out);
	plan_print_state(c->mirror_was, out);
	fputs(" -> ", out);
	plan_print_state(c->mirror, out);
}

static void
print_mirror(const struct plan_change *c, FILE *out)
{
	const struct config_mirror *m = c->kind == PLAN_DROP_MIRROR ? c->mirror_was : c->mirror;
	char text[UNITS_TEXT_MAX];

	fprintf(out, "mirror %s.%s: ", c->service->name, m->name);
	if (c->kind == PLAN_MIRROR_SETTING)
		print_mirror_setting(c, out);
	else
		fprintf(out, "%s (%s, weight %llu)",
			c->kind == PLAN_DROP_MIRROR ? "dropped" : "added",
			units_format_host(&m->address, m->port, text, sizeof(text)),
			(unsigned long long)m->weight);
}

/* Whose a value is may change and the value not. */
static void
print_own(const struct plan_change *c, FILE *out)
{
	bool was_own = (c->service_was->own & setting_bit(c->setting)) != 0;
	char was[SETTING_TEXT_MAX], is[SETTING_TEXT_MAX];

	setting_format(c->setting, c->base_was, was, sizeof(was));
	setting_format(c->setting, c->base, is, sizeof(is));
	fprintf(out, "service %s: %s %s", c->service->name, c->setting->name, was);
	if (strcmp(was, is) != 0)
		fprintf(out, " -> %s", is);
	else if (c->is_own && !was_own)
		fputs(" (the service's own from now on)", out);
	if (!c->is_own)
		fputs(" (as in defaults from now on)", out);
}

static void
print_setting(const struct plan *plan, const struct plan_change *c, FILE *out)
{
	unsigned n_followers = 0;

	if (c->kind == PLAN_SETTING) {
		print_own(c, out);
		return;
	}
	for (unsigned i = 0; i < plan->to->n_services; i++)
		n_followers += (plan->to->services[i].own & setting_bit(c->setting)) == 0;
	fputs("defaults: ", out);
	print_values(c, out);
	fprintf(out, " (%u of %u services have no value of their own)", n_followers,
		plan->to->n_services);
}

void
plan_print_change(const struct plan *plan, unsigned index, FILE *out)
{
	const struct plan_change *c = &plan->changes[index];

	switch (c->kind) {
	case PLAN_PROGRAM:
	case PLAN_CONTROLPLANE:
		print_program(c, out);
		return;
	case PLAN_DROP_SERVICE:
	case PLAN_ADD_SERVICE:
		print_service(c, out);
		return;
	case PLAN_DROP_MIRROR:
	case PLAN_ADD_MIRROR:
	case PLAN_MIRROR_SETTING:
		print_mirror(c, out);
		return;
	case PLAN_LISTENS:
		fprintf(out, "service %s: listen ", c->service->name);
		plan_print_listens(c->service_was, out);
		fputs(" -> ", out);
		plan_print_listens(c->service, out);
		return;
	case PLAN_DEFAULT:
	case PLAN_SETTING:
		print_setting(plan, c, out);
		return;
	}
}

/* ---- statements ---- */

#define CREATE_LISTENS_MAX 16 /* said in CREATE SERVICE itself */

/* No statement gives a mirror another name: it is dropped, and added as what it is then. */
static bool
is_renamed(const struct plan_change *c)
{
	return c->kind == PLAN_MIRROR_SETTING && strcmp(c->mirror->name, c->mirror_was->name) != 0;
}

static bool
is_name(const struct plan_change *c)
{
	return strcmp(c->setting->name, "name") == 0;
}

/* The end of a statement that sets a mirror's state, with when that ends. */
static void
say_until(const struct config_mirror *m, FILE *out)
{
	uint64_t end_us = config_drain_end_us(m);
	char text[UNITS_TEXT_MAX];

	if (end_us != 0)
		fprintf(out, " UNTIL '%s'", units_format_time(end_us, text, sizeof(text)));
	fputs(";\n", out);
}

static void
say_state(const char *service, const struct config_mirror *m, FILE *out)
{
	if (m->state == SETTINGS_MIRROR_ACTIVE)
		return;
	fprintf(out, "SET MIRROR %s.%s STATE = %s", service, m->name,
		settings_mirror_state_name(m->state));
	say_until(m, out);
}

static void
say_add_mirror(const char *service, const struct config_mirror *m, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	fprintf(out, "ALTER SERVICE %s ADD MIRROR %s '%s' WEIGHT %llu;\n", service, m->name,
		units_format_host(&m->address, m->port, text, sizeof(text)),
		(unsigned long long)m->weight);
	say_state(service, m, out);
}

/* The first 'n'. */
static void
say_listens(const struct config_service *s, unsigned n, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s'%s'", i > 0 ? ", " : "",
			units_format_endpoint(&s->listens[i], text, sizeof(text)));
}

/* In quotes; one in it stands twice. */
static void
say_value(const struct setting *setting, const void *base, FILE *out)
{
	char text[SETTING_TEXT_MAX];

	fputc('\'', out);
	for (const char *c = setting_format(setting, base, text, sizeof(text)); *c != '\0'; c++)
		fprintf(out, *c == '\'' ? "''" : "%c", *c);
	fputc('\'', out);
}

static void
say_setting(const char *service, const struct setting *setting, const void *base, FILE *out)
{
	fprintf(out, "SET SERVICE %s %s = ", service, setting->name);
	say_value(setting, base, out);
	fputs(";\n", out);
}

static void
say_alter_listens(const struct config_service *s, FILE *out)
{
	fprintf(out, "ALTER SERVICE %s LISTEN ", s->name);
	say_listens(s, s->n_listens, out);
	fputs(";\n", out);
}

/* A statement has only so many words: with its first mirror, for a service has at least one, and
 * with few of its endpoints; all else follows. */
static void
say_add_service(const struct config_service *s, FILE *out)
{
	const struct config_mirror *first = &s->mirrors[0];
	bool has_few = s->n_listens <= CREATE_LISTENS_MAX;
	char text[UNITS_TEXT_MAX];

	fprintf(out, "CREATE SERVICE %s LISTEN ", s->name);
	say_listens(s, has_few ? s->n_listens : 1, out);
	fprintf(out, " MIRRORS (%s '%s' WEIGHT %llu);\n", first->name,
		units_format_host(&first->address, first->port, text, sizeof(text)),
		(unsigned long long)first->weight);
	if (!has_few)
		say_alter_listens(s, out);
	for (const struct setting *setting = settings; setting->name != NULL; setting++) {
		if (setting->scope == SETTING_SCOPE_SERVICE && setting->type <= SETTING_CPUS &&
			(s->own & setting_bit(setting)) != 0)
			say_setting(s->name, setting, &s->settings, out);
	}
	say_state(s->name, first, out);
	for (unsigned i = 1; i < s->n_mirrors; i++)
		say_add_mirror(s->name, &s->mirrors[i], out);
}

static void
say_mirror_setting(const struct plan_change *c, FILE *out)
{
	if (is_renamed(c)) {
		if (is_name(c))
			say_add_mirror(c->service->name, c->mirror, out);
		return; /* weight and state are said with it */
	}
	fprintf(out, "SET MIRROR %s.%s %s = ", c->service->name, c->mirror->name, c->setting->name);
	say_value(c->setting, c->base, out);
	if (is_state(c))
		say_until(c->mirror, out);
	else
		fputs(";\n", out);
}

/* What goes; names are free again after it. */
static void
say_drop(const struct plan_change *c, FILE *out)
{
	if (c->kind == PLAN_DROP_SERVICE)
		fprintf(out, "DROP SERVICE %s;\n", c->service_was->name);
	if (c->kind == PLAN_DROP_MIRROR || (is_renamed(c) && is_name(c)))
		fprintf(out, "ALTER SERVICE %s DROP MIRROR %s;\n", c->service_was->name,
			c->mirror_was->name);
}

static void
say_change(const struct plan_change *c, FILE *out)
{
	switch (c->kind) {
	case PLAN_PROGRAM:
	case PLAN_CONTROLPLANE:
	case PLAN_DROP_SERVICE:
	case PLAN_DROP_MIRROR:
		return;
	case PLAN_DEFAULT:
		fprintf(out, "SET GLOBAL %s = ", c->setting->name);
		say_value(c->setting, c->base, out);
		fputs(";\n", out);
		return;
	case PLAN_ADD_SERVICE:
		say_add_service(c->service, out);
		return;
	case PLAN_LISTENS:
		say_alter_listens(c->service, out);
		return;
	case PLAN_SETTING:
		if (c->is_own)
			say_setting(c->service->name, c->setting, c->base, out);
		else
			fprintf(out, "ALTER SERVICE %s DEFAULT %s;\n", c->service->name,
				c->setting->name);
		return;
	case PLAN_MIRROR_SETTING:
		say_mirror_setting(c, out);
		return;
	case PLAN_ADD_MIRROR:
		say_add_mirror(c->service->name, c->mirror, out);
		return;
	}
}

void
plan_print_statements(const struct plan *plan, FILE *out)
{
	for (unsigned i = 0; i < plan->n_changes; i++)
		say_drop(&plan->changes[i], out);
	for (unsigned i = 0; i < plan->n_changes; i++)
		say_change(&plan->changes[i], out);
}
