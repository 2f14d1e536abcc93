/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of what is wanted: made, taken into force, told.  Reloads: intent_reload.c. */
#include "intent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "config.h"
#include "config_edit.h"
#include "edit.h"
#include "err.h"
#include "history.h"
#include "intent_inside.h"
#include "log.h"
#include "plan.h"

/* A change on its way. */
struct change {
	struct intent_author author;
	unsigned n_changes;
	char *text; /* its lines */
	char what[];
};

struct drain {
	struct drain *next;
	struct intent *intent;
	struct event *timer;
	char mirror[2 * KARMALB_NAME_MAX]; /* service.mirror */
};

static void
on_done(void *arg, const struct balance_outcome *outcome);
static void
change_free(struct change *c);

struct intent *
intent_create(const struct intent_options *options)
{
	struct intent *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return NULL;
	i->options = *options;
	i->file = config_copy(options->file);
	i->confirm = evtimer_new(options->base, intent_on_unconfirmed, i);
	if (i->file != NULL && i->confirm != NULL)
		return i;
	intent_stop(i);
	intent_free(i);
	return NULL;
}

void
intent_stop(struct intent *i)
{
	if (i == NULL)
		return;
	if (i->confirm != NULL)
		event_free(i->confirm);
	i->confirm = NULL;
	while (i->drains != NULL) {
		struct drain *d = i->drains;

		i->drains = d->next;
		event_free(d->timer);
		free(d);
	}
}

void
intent_free(struct intent *i)
{
	if (i == NULL)
		return;
	config_free(i->file);
	config_free(i->back.config);
	config_free(i->back.file);
	free(i);
}

const struct config *
intent_file(const struct intent *i)
{
	return i->file;
}

char *
intent_plan_text(const struct plan *plan)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (unsigned k = 0; out != NULL && k < plan->n_changes; k++) {
		plan_print_change(plan, k, out);
		fputc('\n', out);
	}
	if (out == NULL || fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* What is to be told in the end; NULL when out of memory. */
static struct change *
change_create(struct intent *i, const struct config *wanted, const struct intent_author *a)
{
	size_t size = strlen(a->what) + 1;
	struct change *c = calloc(1, sizeof(*c) + size);
	struct plan plan;

	if (c == NULL || plan_make(&plan, balance_config(i->options.balance), wanted) < 0) {
		free(c);
		return NULL;
	}
	c->author = *a;
	c->n_changes = plan.n_changes;
	memcpy(c->what, a->what, size);
	c->text = intent_plan_text(&plan);
	plan_fini(&plan);
	if (c->text != NULL)
		return c;
	change_free(c);
	return NULL;
}

static void
change_free(struct change *c)
{
	free(c->text);
	free(c);
}

int
intent_change(struct intent *i, struct config *wanted, const struct intent_author *author,
	struct err *err)
{
	struct balance_request request = {
		.done = on_done, .ended = author->ended, .ended_arg = author->ended_arg};
	struct change *c;
	int rc = config_edit_check(wanted, err);

	if (rc < 0) {
		config_free(wanted);
		return rc;
	}
	c = change_create(i, wanted, author);
	request.arg = c;
	/* What takes a restart is told, but not in force. */
	if (c == NULL || config_edit_programs(wanted, balance_config(i->options.balance)) < 0) {
		err_set(err, "out of memory");
		rc = -ENOMEM;
	} else {
		rc = balance_apply(i->options.balance, wanted, &request, err);
	}
	if (rc < 0) {
		config_free(wanted);
		if (c != NULL)
			change_free(c);
	}
	return rc;
}

/* A line for each change in log and history: who, what, old -> new, when.  One that found all as it
 * was wanted was accepted, too. */
static void
audit(const struct change *c, const struct balance_outcome *outcome)
{
	const char *line = c->text;

	if (c->n_changes == 0) {
		log_info("audit: %s: nothing to change", c->what);
		history_add(HISTORY_STATEMENT, "%s: nothing to change", c->what);
		return;
	}
	do {
		int length = (int)strcspn(line, "\n");

		log_info("audit: %s: %.*s (%s)", c->what, length, line, outcome->sentence);
		history_add(HISTORY_STATEMENT, "%.100s: %.*s (%s)", c->what, length, line,
			outcome->sentence);
		line += length + (line[length] == '\n');
	} while (line[0] != '\0');
}

static void
on_done(void *arg, const struct balance_outcome *outcome)
{
	struct change *c = arg;
	struct intent_outcome told = {
		.result = outcome->result,
		.n_changes = c->n_changes,
		.took_us = outcome->took_us,
		.changes = c->text,
		.sentence = outcome->sentence,
	};

	audit(c, outcome);
	if (c->author.done != NULL)
		c->author.done(c->author.arg, &told);
	change_free(c);
}

/* ---- saving ---- */

int
intent_save(struct intent *i, unsigned *n, struct err *err)
{
	struct plan plan;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int rc = -ENOMEM;

	*n = 0;
	err_set(err, "out of memory");
	if (out == NULL)
		return -ENOMEM;
	if (plan_make(&plan, i->file, balance_config(i->options.balance)) == 0) {
		fputs("# Written by SAVE CONFIG, applied after the configuration file.\n", out);
		plan_print_statements(&plan, out);
		rc = fclose(out) == 0 ? state_file_write(i->options.state_path, text, err)
				      : -ENOMEM;
		plan_fini(&plan);
	} else {
		fclose(out);
	}
	for (const char *c = text; rc == 0 && *c != '\0'; c++)
		*n += *c == '\n';
	*n -= *n > 0; /* the remark */
	free(text);
	return rc;
}

/* ---- drains that end ---- */

static void
forget_drain(struct drain *drain)
{
	struct drain **at = &drain->intent->drains;

	while (*at != drain)
		at = &(*at)->next;
	*at = drain->next;
	event_free(drain->timer);
	free(drain);
}

/* Into maintenance, unless somebody has decided otherwise meanwhile. */
static void
on_drained(evutil_socket_t fd, short what, void *arg)
{
	struct drain *drain = arg;
	struct intent *i = drain->intent;
	const struct config *config = balance_config(i->options.balance);
	const struct config_value value = {"state", "maintenance"};
	const struct intent_author author = {.what = "the drain's time is over"};
	char service[KARMALB_NAME_MAX];
	struct config *wanted;
	struct err err;
	const char *mirror = edit_split(config, drain->mirror, service, &err);

	(void)fd;
	(void)what;
	if (mirror != NULL &&
		config_edit_find_mirror(config_edit_find(config, service, &err), mirror, &err)
				->state == SETTINGS_MIRROR_DRAIN) {
		wanted = config_copy(config);
		if (wanted == NULL ||
			config_edit_mirror(wanted, service, mirror, &value, &err) < 0 ||
			intent_change(i, wanted, &author, &err) < 0)
			log_error("out of memory: mirror %s stays in drain", drain->mirror);
	}
	forget_drain(drain);
}

void
intent_end_drain(struct intent *i, const char *mirror, uint64_t after_us)
{
	struct drain *d = calloc(1, sizeof(*d));
	struct timeval after = {.tv_sec = (time_t)(after_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(after_us % KARMALB_SECOND)};

	for (struct drain *old = i->drains, *next; old != NULL; old = next) {
		next = old->next;
		if (strcmp(old->mirror, mirror) == 0)
			forget_drain(old);
	}
	if (after_us == 0 || d == NULL) {
		free(d);
		return;
	}
	d->intent = i;
	snprintf(d->mirror, sizeof(d->mirror), "%s", mirror);
	d->timer = evtimer_new(i->options.base, on_drained, d);
	if (d->timer == NULL) {
		free(d);
		log_error("out of memory: the drain of %s does not end by itself", mirror);
		return;
	}
	d->next = i->drains;
	i->drains = d;
	event_add(d->timer, &after);
}
