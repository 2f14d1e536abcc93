/* SPDX-License-Identifier: BSD-3-Clause */
/* RELOAD and SIGHUP: the file anew, what was saved after it, and the way back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "err.h"
#include "history.h"
#include "intent_inside.h"
#include "log.h"
#include "plan.h"

/* Keeps how a reload went, for status and history, and logs it. */
static void
note(struct intent *i, bool is_ok, const char *who, const char *sentence)
{
	struct status_reload *r = &i->reload;

	r->at_unix_us = karmalb_unix_now_us();
	r->is_ok = is_ok;
	r->n_ok += is_ok;
	r->n_failed += !is_ok;
	snprintf(r->sentence, sizeof(r->sentence), "%.250s", sentence);
	history_add(HISTORY_RELOAD, "%s: %s", who, sentence);
	log_write(is_ok ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "%s: %s", who, sentence);
}

void
intent_reload_result(const struct intent *i, struct status_reload *result)
{
	uint64_t now_us = karmalb_now_us();

	*result = i->reload;
	if (i->back.config != NULL && i->back.until_us > now_us)
		result->confirm_left_us = i->back.until_us - now_us;
}

struct status *
intent_status(const struct intent *i)
{
	struct status *status = balance_status(i->options.balance);

	if (status != NULL)
		intent_reload_result(i, &status->reload);
	return status;
}

void
intent_said_fini(struct intent_said *said)
{
	free(said->line);
	free(said->lines);
	*said = (struct intent_said){NULL, NULL};
}

/* All that is wrong with the file as text; to be freed. */
static char *
errors_text(const struct config_errors *errors, void (*print)(const struct config_errors *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	print(errors, out);
	fclose(out);
	return text;
}

/* What the file says, and with what was saved; both NULL when that fails. */
struct loaded {
	uint64_t began_us;
	const struct config *file;
	struct config *wanted;
	struct state_report saved;
};

static int
load(struct intent *i, struct loaded *l, struct intent_said *said, struct err *err)
{
	struct config_errors errors;
	int rc;

	err_set(err, "out of memory");
	l->file = config_load(i->options.config_path, &errors);
	if (l->file == NULL) {
		said->line = errors_text(&errors, config_errors_print_line);
		said->lines = errors_text(&errors, config_errors_print);
		err_set(err, "%s", errors.errors[0].sentence);
		return -EINVAL;
	}
	l->wanted = config_copy(l->file);
	if (l->wanted == NULL)
		rc = -ENOMEM;
	else
		rc = state_file_apply(i->options.state_path, &l->wanted, l->file, &l->saved, err);
	if (rc == 0 && i->options.check != NULL)
		rc = i->options.check(l->wanted, err);
	if (rc == 0)
		return 0;
	config_free(l->file);
	config_free(l->wanted);
	return rc;
}

static void
forget_back(struct intent *i)
{
	config_free(i->back.config);
	config_free(i->back.file);
	i->back.config = i->back.file = NULL;
	if (i->confirm != NULL)
		event_del(i->confirm);
}

/* So that what is in force now can come back; 0 or -ENOMEM. */
static int
keep_back(struct intent *i, uint64_t within_us)
{
	struct timeval within = {.tv_sec = (time_t)(within_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(within_us % KARMALB_SECOND)};

	i->back.config = config_copy(balance_config(i->options.balance));
	i->back.file = config_copy(i->file);
	if (i->back.config == NULL || i->back.file == NULL) {
		forget_back(i);
		return -ENOMEM;
	}
	i->back.until_us = karmalb_now_us() + within_us;
	event_add(i->confirm, &within);
	return 0;
}

/* ---- files that come into force ---- */

/* "left out of what was saved: ...", to be freed; NULL: nothing, or out of memory. */
static char *
left_out_text(const struct state_report *saved)
{
	char *text = NULL, more[40] = "";

	if (saved->n_refused > 1)
		snprintf(more, sizeof(more), " (and %u more)", saved->n_refused - 1);
	if (saved->n_refused > 0 &&
		asprintf(&text, "left out of what was saved: %s%s", saved->first_refused, more) < 0)
		return NULL;
	return text;
}

/* A file taken into force, or gone back to, until it is certain that it stays. */
struct turn {
	struct intent *intent;
	const struct config *before; /* the file until then */
	bool is_reload, awaits_confirm;
	uint64_t began_us;
	char *who, *sentence;
};

static void
turn_free(struct turn *t)
{
	free(t->who);
	free(t->sentence);
	free(t);
}

/* Called by balance. */
static void
on_ended(void *arg, const char *why)
{
	struct turn *t = arg;
	struct intent *i = t->intent;
	char sentence[400];

	if (why == NULL) {
		config_free(t->before);
		note(i, t->is_reload, t->who, t->sentence);
	} else {
		config_free(i->file);
		i->file = t->before;
		intent_forget_saved(i);
		if (t->awaits_confirm)
			forget_back(i);
		snprintf(sentence, sizeof(sentence), "%s: %s",
			t->is_reload ? "turned down by the data plane, all is as before"
				     : "the way back was turned down, the reload stays",
			why);
		note(i, false, t->who, sentence);
	}
	i->reload.took_us = karmalb_now_us() - t->began_us;
	turn_free(t);
}

/* Takes 'wanted' into force, and 'file' for what it is compared with; both are taken in any case.
 * 'turn' says what to tell; the rest of it is filled in here. */
static int
turn_to(struct intent *i, struct config *wanted, const struct config *file,
	const struct intent_author *author, const struct turn *turn, struct err *err)
{
	struct intent_author a = *author;
	struct turn *t = calloc(1, sizeof(*t));
	int rc;

	err_set(err, "out of memory");
	if (t != NULL) {
		*t = *turn;
		t->who = strdup(author->what);
		t->sentence = strdup(turn->sentence);
	}
	if (t == NULL || t->who == NULL || t->sentence == NULL) {
		config_free(wanted);
		config_free(file);
		if (t != NULL)
			turn_free(t);
		return -ENOMEM;
	}
	t->intent = i;
	t->before = i->file;
	i->file = file;
	intent_forget_saved(i);
	a.ended = on_ended;
	a.ended_arg = t;
	rc = intent_change(i, wanted, &a, err);
	if (rc < 0) {
		i->file = t->before;
		intent_forget_saved(i);
		config_free(file);
		turn_free(t);
	}
	return rc;
}

/* Whether 'wanted' is in force otherwise than what is now; true when that cannot be said. */
static bool
is_another(struct intent *i, const struct config *wanted)
{
	struct plan plan;
	bool is_another;

	if (plan_make(&plan, balance_config(i->options.balance), wanted) < 0)
		return true;
	is_another = plan.n_changes > plan.n_restarts;
	plan_fini(&plan);
	return is_another;
}

/* With 0, '*said' is what was left out. */
static int
take(struct intent *i, struct loaded *l, uint64_t within_us, const struct intent_author *author,
	char **said, struct err *err)
{
	char sentence[800], *left_out;
	const struct turn turn = {
		.is_reload = true,
		.awaits_confirm = within_us > 0,
		.began_us = l->began_us,
		.sentence = sentence,
	};
	int rc;

	if (within_us > 0 && keep_back(i, within_us) < 0) {
		config_free(l->wanted);
		config_free(l->file);
		return -ENOMEM;
	}
	left_out = left_out_text(&l->saved);
	snprintf(sentence, sizeof(sentence), "read %s, then %u saved statement%s%s%s",
		i->options.config_path, l->saved.n_applied, l->saved.n_applied == 1 ? "" : "s",
		left_out != NULL ? "; " : "", left_out != NULL ? left_out : "");
	rc = turn_to(i, l->wanted, l->file, author, &turn, err);
	if (rc == 0) {
		*said = left_out;
		return 0;
	}
	free(left_out);
	if (within_us > 0)
		forget_back(i);
	return rc;
}

int
intent_reload(struct intent *i, uint64_t within_us, const struct intent_author *author,
	struct intent_said *said)
{
	struct loaded l = {.began_us = karmalb_now_us()};
	char sentence[ERR_TEXT_MAX];
	struct err err;
	int rc;

	*said = (struct intent_said){NULL, NULL};
	if (i->back.config != NULL) {
		err_set(&err, "the last reload still waits for CONFIRM RELOAD");
		rc = -EINVAL;
	} else {
		rc = load(i, &l, said, &err);
		if (rc == 0 && !is_another(i, l.wanted))
			within_us = 0;
		if (rc == 0)
			rc = take(i, &l, within_us, author, &said->line, &err);
	}
	if (rc == 0)
		return 0;
	snprintf(sentence, sizeof(sentence), "refused, nothing has changed: %s",
		said->line != NULL ? said->line : err.sentence);
	note(i, false, author->what, sentence);
	i->reload.took_us = karmalb_now_us() - l.began_us;
	if (said->line == NULL)
		said->line = strdup(err.sentence);
	return rc;
}

int
intent_confirm(struct intent *i, struct err *err)
{
	if (i->back.config == NULL)
		return err_set(err, "no reload waits to be confirmed");
	forget_back(i);
	return 0;
}

void
intent_on_unconfirmed(evutil_socket_t fd, short what, void *arg)
{
	const struct intent_author author = {.what = "reload not confirmed in time, back again"};
	char sentence[] = "nobody confirmed it";
	const struct turn turn = {.began_us = karmalb_now_us(), .sentence = sentence};
	struct intent *i = arg;
	struct config *wanted = (struct config *)(uintptr_t)i->back.config;
	const struct config *file = i->back.file;
	struct err err;

	(void)fd;
	(void)what;
	i->back.config = i->back.file = NULL;
	if (turn_to(i, wanted, file, &author, &turn, &err) < 0)
		log_error("reload not confirmed in time, but it stays: %s", err.sentence);
}
