/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan in fields, for programs; the sentences are plan_print.c's.  Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change_words.h"
#include "config.h"
#include "plan.h"
#include "plan_inside.h"

static const char *
action_of(const struct plan_change *c)
{
	switch (c->kind) {
	case PLAN_ADD_SERVICE:
	case PLAN_ADD_MIRROR:
		return "added";
	case PLAN_DROP_SERVICE:
	case PLAN_DROP_MIRROR:
		return "dropped";
	default:
		return "changed";
	}
}

static const char *
kind_of(const struct plan_change *c)
{
	switch (c->kind) {
	case PLAN_PROGRAM:
	case PLAN_CONTROLPLANE:
		return c->title[0] == 'd' ? "dataplane" : "controlplane";
	case PLAN_DEFAULT:
		return "defaults";
	case PLAN_DROP_MIRROR:
	case PLAN_ADD_MIRROR:
	case PLAN_MIRROR_SETTING:
		return "mirror";
	default:
		return "service";
	}
}

/* The key; of the data plane's lists, what stands behind its name. */
static const char *
setting_of(const struct plan_change *c)
{
	const char *point = c->title != NULL ? strchr(c->title, '.') : NULL;

	if (c->setting != NULL)
		return c->setting->name;
	if (c->kind == PLAN_LISTENS)
		return "listen";
	return point != NULL ? point + 1 : NULL;
}

static void
print_name(const struct plan_change *c, FILE *out)
{
	const struct config_service *s = c->service != NULL ? c->service : c->service_was;
	const struct config_mirror *m = c->mirror != NULL ? c->mirror : c->mirror_was;

	fputs(s->name, out);
	if (m != NULL)
		fprintf(out, ".%s", m->name);
}

/* One side: 'is_new' or what was. */
static void
print_side(const struct plan_change *c, bool is_new, FILE *out)
{
	const struct config_service *s = is_new ? c->service : c->service_was;
	const struct config_mirror *m = is_new ? c->mirror : c->mirror_was;
	char text[SETTING_TEXT_MAX];

	if (c->kind == PLAN_MIRROR_SETTING && strcmp(c->setting->name, "state") == 0)
		plan_print_state(m, out);
	else if (c->setting != NULL)
		fputs(setting_format(
			      c->setting, is_new ? c->base : c->base_was, text, sizeof(text)),
			out);
	else if (c->kind == PLAN_ADD_MIRROR || c->kind == PLAN_DROP_MIRROR)
		fputs(units_format_host(&m->address, m->port, text, sizeof(text)), out);
	else
		plan_print_listens(s, out);
}

/* Whether there is something to say of that side. */
static bool
has_side(const struct plan_change *c, bool is_new)
{
	if (c->setting == NULL && (c->kind == PLAN_PROGRAM || c->kind == PLAN_CONTROLPLANE))
		return false;
	return strcmp(action_of(c), is_new ? "dropped" : "added") != 0;
}

/* What a text is made from. */
struct piece {
	FILE *out;
	char *text;
	size_t size;
};

static FILE *
open_piece(struct piece *p)
{
	*p = (struct piece){.text = NULL};
	p->out = open_memstream(&p->text, &p->size);
	return p->out;
}

/* NULL: out of memory. */
static char *
close_piece(struct piece *p)
{
	if (p->out != NULL && fclose(p->out) == 0)
		return p->text;
	free(p->text);
	return NULL;
}

/* False: out of memory. */
static bool
fill(const struct plan *plan, unsigned index, struct change_words *words)
{
	const struct plan_change *c = &plan->changes[index];
	bool has_name = c->service != NULL || c->service_was != NULL;
	struct piece p;

	*words = (struct change_words){
		.action = action_of(c), .kind = kind_of(c), .setting = setting_of(c)};
	if (has_name && open_piece(&p) != NULL) {
		print_name(c, p.out);
		words->name = close_piece(&p);
	}
	if (has_side(c, false) && open_piece(&p) != NULL) {
		print_side(c, false, p.out);
		words->old_text = close_piece(&p);
	}
	if (has_side(c, true) && open_piece(&p) != NULL) {
		print_side(c, true, p.out);
		words->new_text = close_piece(&p);
	}
	if (open_piece(&p) != NULL) {
		plan_print_change(plan, index, p.out);
		words->sentence = close_piece(&p);
	}
	return words->sentence != NULL && (words->name != NULL) == has_name &&
	       (words->old_text != NULL) == has_side(c, false) &&
	       (words->new_text != NULL) == has_side(c, true);
}

struct change_words *
plan_words(const struct plan *plan)
{
	struct change_words *list = calloc(plan->n_changes + 1, sizeof(*list));

	for (unsigned i = 0; list != NULL && i < plan->n_changes; i++) {
		if (fill(plan, i, &list[i]))
			continue;
		change_words_free(list, plan->n_changes);
		return NULL;
	}
	return list;
}
