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

static uint64_t
unix_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * KARMALB_SECOND + (uint64_t)ts.tv_nsec / 1000;
}

void
intent_note(struct intent *i, bool is_ok, const char *who, const char *sentence)
{
	struct intent_reload_result *r = &i->reload;

	r->at_unix_us = unix_now_us();
	r->is_ok = is_ok;
	r->n_ok += is_ok;
	r->n_failed += !is_ok;
	snprintf(r->sentence, sizeof(r->sentence), "%.250s", sentence);
	history_add(HISTORY_RELOAD, "%s: %s", who, sentence);
	log_write(is_ok ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "%s: %s", who, sentence);
}

void
intent_reload_result(const struct intent *i, struct intent_reload_result *result)
{
	uint64_t now_us = karmalb_now_us();

	*result = i->reload;
	if (i->back.config != NULL && i->back.until_us > now_us)
		result->confirm_left_us = i->back.until_us - now_us;
}

/* All that is wrong with the file as text; to be freed. */
static char *
errors_text(const struct config_errors *errors)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	config_errors_print(errors, out);
	fclose(out);
	return text;
}

/* What the file says, and with what was saved; both NULL when that fails. */
struct loaded {
	const struct config *file;
	struct config *wanted;
	struct state_report saved;
};

static int
load(struct intent *i, struct loaded *l, char **text, struct err *err)
{
	struct config_errors errors;
	int rc;

	err_set(err, "out of memory");
	l->file = config_load(i->options.config_path, &errors);
	if (l->file == NULL) {
		*text = errors_text(&errors);
		err_set(err, "%s", errors.errors[0].sentence);
		return -EINVAL;
	}
	l->wanted = config_copy(l->file);
	if (l->wanted == NULL)
		rc = -ENOMEM;
	else
		rc = state_file_apply(i->options.state_path, &l->wanted, l->file, &l->saved, err);
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

static int
take(struct intent *i, struct loaded *l, uint64_t within_us, const struct intent_author *author,
	struct err *err)
{
	char sentence[800];
	int rc = 0;

	if (within_us > 0)
		rc = keep_back(i, within_us);
	if (rc == 0)
		rc = intent_change(i, l->wanted, author, err);
	else
		config_free(l->wanted);
	if (rc < 0) {
		forget_back(i);
		config_free(l->file);
		return rc;
	}
	config_free(i->file);
	i->file = l->file;
	snprintf(sentence, sizeof(sentence), "read %s, then %u saved statement%s%s%s",
		i->options.config_path, l->saved.n_applied, l->saved.n_applied == 1 ? "" : "s",
		l->saved.n_refused > 0 ? "; left out: " : "", l->saved.first_refused);
	intent_note(i, true, author->what, sentence);
	return 0;
}

int
intent_reload(struct intent *i, uint64_t within_us, const struct intent_author *author, char **text)
{
	struct loaded l = {0};
	char sentence[ERR_TEXT_MAX];
	struct err err;
	int rc;

	*text = NULL;
	if (i->back.config != NULL) {
		err_set(&err, "the last reload still waits for CONFIRM RELOAD");
		rc = -EINVAL;
	} else {
		rc = load(i, &l, text, &err);
		if (rc == 0)
			rc = take(i, &l, within_us, author, &err);
	}
	if (rc == 0)
		return 0;
	snprintf(sentence, sizeof(sentence), "refused, nothing has changed: %s",
		*text != NULL ? *text : err.sentence);
	intent_note(i, false, author->what, sentence);
	if (*text == NULL)
		*text = strdup(err.sentence);
	return rc;
}

int
intent_confirm(struct intent *i, struct err *err)
{
	if (i->back.config == NULL)
		return err_set(err, "no reload waits to be confirmed");
	forget_back(i);
	history_add(HISTORY_RELOAD, "the reload was confirmed");
	return 0;
}

void
intent_on_unconfirmed(evutil_socket_t fd, short what, void *arg)
{
	const struct intent_author author = {.what = "reload not confirmed in time, back again"};
	struct intent *i = arg;
	struct config *wanted = (struct config *)(uintptr_t)i->back.config;
	struct err err;

	(void)fd;
	(void)what;
	i->back.config = NULL;
	if (intent_change(i, wanted, &author, &err) < 0) {
		log_error("reload not confirmed in time, but it stays: %s", err.sentence);
		forget_back(i);
		return;
	}
	config_free(i->file);
	i->file = i->back.file;
	i->back.file = NULL;
	intent_note(i, false, author.what, "nobody confirmed it");
}
