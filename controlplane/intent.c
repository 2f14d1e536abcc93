/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of what is wanted: made, taken into force, told.  Reloads: intent_reload.c. */
#include "intent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "change_words.h"
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
	bool is_of_services; /* some of them */
	struct change_words *words;
	char what[];
};

/* Until it is certain whether a change stays. */
struct ending {
	struct intent *intent;
	void (*ended)(void *arg, const char *why); /* NULL: nobody else wants to know */
	void *arg;
};

#define DRAIN_LOOK_US  KARMALB_MINUTE /* at most, for the wall clock may be set */
#define DRAIN_RETRY_US KARMALB_SECOND

static void
on_ended(void *arg, const char *why);
static void
arm_drain_end(struct intent *i, uint64_t wait_us);
static uint64_t
drain_wait_us(const struct intent *i);
static void
on_drain_end(evutil_socket_t fd, short what, void *arg);
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
	i->drain_end = evtimer_new(options->base, on_drain_end, i);
	if (i->file != NULL && i->confirm != NULL && i->drain_end != NULL) {
		arm_drain_end(i, drain_wait_us(i));
		return i;
	}
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
	if (i->drain_end != NULL)
		event_free(i->drain_end);
	i->drain_end = NULL;
}

void
intent_free(struct intent *i)
{
	if (i == NULL)
		return;
	config_free(i->file);
	config_free(i->saved);
	config_free(i->back.config);
	config_free(i->back.file);
	free(i);
}

const struct config *
intent_file(const struct intent *i)
{
	return i->file;
}

void
intent_forget_saved(struct intent *i)
{
	config_free(i->saved);
	i->saved = NULL;
}

const struct config *
intent_saved(struct intent *i)
{
	struct config *saved;
	struct err err;

	if (i->saved != NULL)
		return i->saved;
	saved = config_copy(i->file);
	if (saved != NULL &&
		state_file_apply(i->options.state_path, &saved, i->file, NULL, &err) < 0) {
		config_free(saved);
		return NULL;
	}
	i->saved = saved;
	return saved;
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
	for (unsigned k = 0; k < plan.n_changes; k++)
		c->is_of_services |= plan.changes[k].kind != PLAN_PROGRAM &&
				     plan.changes[k].kind != PLAN_CONTROLPLANE;
	memcpy(c->what, a->what, size);
	c->words = plan_words(&plan);
	plan_fini(&plan);
	if (c->words != NULL)
		return c;
	change_free(c);
	return NULL;
}

static void
change_free(struct change *c)
{
	change_words_free(c->words, c->n_changes);
	free(c);
}

int
intent_change(struct intent *i, struct config *wanted, const struct intent_author *author,
	struct err *err)
{
	struct balance_request request = {.what = author->what, .done = on_done, .ended = on_ended};
	struct ending *ending;
	struct change *c;
	int rc = config_edit_check(wanted, err);

	if (rc < 0) {
		config_free(wanted);
		return rc;
	}
	c = change_create(i, wanted, author);
	ending = malloc(sizeof(*ending));
	request.arg = c;
	request.ended_arg = ending;
	/* What takes a restart is told, but not in force. */
	if (c == NULL || ending == NULL ||
		config_edit_programs(wanted, balance_config(i->options.balance)) < 0) {
		err_set(err, "out of memory");
		rc = -ENOMEM;
	} else {
		request.is_of_services = c->is_of_services;
		*ending = (struct ending){i, author->ended, author->ended_arg};
		rc = balance_apply(i->options.balance, wanted, &request, err);
	}
	if (rc < 0) {
		config_free(wanted);
		free(ending);
		if (c != NULL)
			change_free(c);
		return rc;
	}
	arm_drain_end(i, drain_wait_us(i));
	return 0;
}

/* What was taken back may have been the end of a drain, or have ended one. */
static void
on_ended(void *arg, const char *why)
{
	struct ending *e = arg;

	if (e->ended != NULL)
		e->ended(e->arg, why);
	if (why != NULL)
		arm_drain_end(e->intent, DRAIN_RETRY_US);
	free(e);
}

/* A line for each change in log and history: who, what, old -> new, when.  One that found all as it
 * was wanted was accepted, too. */
static void
audit(const struct change *c, const struct balance_outcome *outcome)
{
	if (c->n_changes == 0) {
		log_info("audit: %s: nothing to change", c->what);
		history_add(HISTORY_STATEMENT, "%s: nothing to change", c->what);
		return;
	}
	for (unsigned k = 0; k < c->n_changes; k++) {
		const char *line = c->words[k].sentence;

		log_info("audit: %s: %s (%s)", c->what, line, outcome->sentence);
		history_add(HISTORY_STATEMENT, "%.100s: %s (%s)", c->what, line, outcome->sentence);
	}
}

static void
on_done(void *arg, const struct balance_outcome *outcome)
{
	struct change *c = arg;
	struct intent_outcome told = {
		.result = c->n_changes == 0 && outcome->result == BALANCE_LATER ? BALANCE_UNCHANGED
										: outcome->result,
		.n_changes = c->n_changes,
		.took_us = outcome->took_us,
		.epoch = outcome->epoch,
		.changes = c->words,
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
		intent_forget_saved(i);
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

/* The first drain that has an end; UINT64_MAX: none. */
static uint64_t
next_drain_end_us(const struct config *config)
{
	uint64_t next_us = UINT64_MAX;

	for (unsigned i = 0; i < config->n_services; i++) {
		const struct config_service *s = &config->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			uint64_t end_us = config_drain_end_us(&s->mirrors[k]);

			if (end_us != 0 && end_us < next_us)
				next_us = end_us;
		}
	}
	return next_us;
}

/* Until on_drain_end() has something to do; UINT64_MAX: it has nothing. */
static uint64_t
drain_wait_us(const struct intent *i)
{
	uint64_t end_us = next_drain_end_us(balance_config(i->options.balance));
	uint64_t now_us = karmalb_unix_now_us();

	if (end_us == UINT64_MAX)
		return UINT64_MAX;
	if (end_us <= now_us)
		return 0;
	return end_us - now_us < DRAIN_LOOK_US ? end_us - now_us : DRAIN_LOOK_US;
}

static void
arm_drain_end(struct intent *i, uint64_t wait_us)
{
	struct timeval wait = {.tv_sec = (time_t)(wait_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(wait_us % KARMALB_SECOND)};

	if (i->drain_end == NULL)
		return;
	if (wait_us == UINT64_MAX)
		event_del(i->drain_end);
	else
		event_add(i->drain_end, &wait);
}

/* Puts mirrors whose drain is over into maintenance; how many, or a negative errno. */
static int
end_drains(struct config *wanted, uint64_t now_us, struct err *err)
{
	const struct config_value maintenance = {"state", "maintenance"};
	int n = 0;

	for (unsigned i = 0; i < wanted->n_services; i++) {
		const struct config_service *s = &wanted->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			const struct config_mirror *m = &s->mirrors[k];
			uint64_t end_us = config_drain_end_us(m);

			if (end_us == 0 || end_us > now_us)
				continue;
			if (config_edit_mirror(wanted, s->name, m->name, &maintenance, err) < 0)
				return -EINVAL;
			n++;
		}
	}
	return n;
}

/* What is in force decides, so whatever was decided meanwhile holds. */
static void
on_drain_end(evutil_socket_t fd, short what, void *arg)
{
	const struct intent_author author = {.what = "the drain's time is over"};
	struct intent *i = arg;
	struct config *wanted = config_copy(balance_config(i->options.balance));
	struct err err;
	int rc = -ENOMEM;

	(void)fd;
	(void)what;
	err_set(&err, "out of memory");
	if (wanted != NULL)
		rc = end_drains(wanted, karmalb_unix_now_us(), &err);
	if (rc > 0) {
		rc = intent_change(i, wanted, &author, &err); /* and looks for the next one */
	} else {
		config_free(wanted);
		arm_drain_end(i, drain_wait_us(i));
	}
	if (rc < 0) {
		log_error("a drain whose time is over goes on: %s", err.sentence);
		arm_drain_end(i, DRAIN_RETRY_US);
	}
}
