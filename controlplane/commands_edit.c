/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements that change what is wanted, all through intent.h, and answered when the change is
 * in force.  Loop's thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "change_words.h"
#include "commands_call.h"
#include "config.h"
#include "config_edit.h"
#include "edit.h"
#include "err.h"
#include "history.h"
#include "intent.h"
#include "log.h"
#include "plan.h"
#include "units.h"

#define CONFIRM_MAX_US (24 * 60 * KARMALB_MINUTE)

/* Somebody who waits for a change. */
struct waiting {
	struct command_request request;
	const struct render *render;
	const char *note;        /* what to know of a change: "Not saved" */
	const char *note_anyway; /* and whether or not there was one */
	char *left_out;          /* of what was saved; NULL: nothing */
};

static void
on_done(void *arg, const struct intent_outcome *outcome);

static struct waiting *
wait_for(const struct command_call *call, const char *note)
{
	struct waiting *w = malloc(sizeof(*w));

	if (w != NULL)
		*w = (struct waiting){*call->request, call->render, note, "", NULL};
	return w;
}

static int
refuse(const struct command_call *call, int rc, const char *sentence)
{
	return command_refuse(
		call, rc == -ENOMEM ? COMMAND_NOT_NOW : COMMAND_WRONG, "%s", sentence);
}

/* Whether the next start has all of 'wanted'. */
static const char *
note_on_start(struct intent *intent, const struct config *wanted)
{
	const struct config *start = intent_saved(intent);
	bool is_so = false;
	struct plan plan;

	if (start != NULL && plan_make(&plan, start, wanted) == 0) {
		is_so = plan.n_changes == plan.n_restarts;
		plan_fini(&plan);
	}
	return is_so ? ". The next start has all of it so, too"
		     : ". Not saved (SAVE CONFIG keeps it)";
}

/* Takes 'wanted' into force; the answer comes when it is. */
static int
change(const struct command_call *call, struct config *wanted)
{
	char what[300];
	struct err err;
	struct waiting *w = wait_for(call, note_on_start(call->commands->intent, wanted));
	const struct intent_author author = {
		.what = command_what(call, what, sizeof(what)), .done = on_done, .arg = w};
	int rc;

	if (w == NULL) {
		config_free(wanted);
		return refuse(call, -ENOMEM, "out of memory");
	}
	rc = intent_change(call->commands->intent, wanted, &author, &err);
	if (rc == 0)
		return COMMAND_LATER;
	free(w);
	return refuse(call, rc, err.sentence);
}

static int
run_edit(const struct command_call *call, int (*run)(struct edit *e, struct err *err))
{
	struct edit e = {
		.config = config_copy(balance_config(call->commands->balance)),
		.file = intent_file(call->commands->intent),
		.statement = call->statement,
		.now_unix_us = karmalb_unix_now_us(),
	};
	struct err err;
	int rc;

	if (e.config == NULL)
		return refuse(call, -ENOMEM, "out of memory");
	rc = run(&e, &err);
	if (rc < 0) {
		config_free(e.config);
		return refuse(call, rc, err.sentence);
	}
	return change(call, e.config);
}

#define EDIT_OF_READ(name)
#define EDIT_OF_CHANGE(name)
#define EDIT_OF_EDIT(name)                                  \
	int command_##name(const struct command_call *call) \
	{                                                   \
		return run_edit(call, edit_##name);         \
	}
#define X(name, kind, syntax, help, example) EDIT_OF_##kind(name)
COMMANDS(X)
#undef X

/* After RELOAD CONFIRM. */
static const char *
note_on_confirm(const struct intent *intent)
{
	struct status_reload reload;

	intent_reload_result(intent, &reload);
	return reload.confirm_left_us > 0 ? ". Back again in time unless CONFIRM RELOAD comes"
					  : ". Nothing waits for CONFIRM RELOAD";
}

int
command_reload(const struct command_call *call)
{
	const char *within = statement_argument(call->statement, "duration");
	char what[300];
	struct intent_said said;
	uint64_t within_us = 0;
	struct err err;
	struct waiting *w;
	struct intent_author author = {
		.what = command_what(call, what, sizeof(what)), .done = on_done};
	int rc;

	if (within != NULL && units_parse_duration(within, KARMALB_SECOND, &within_us, &err) < 0)
		return command_refuse(call, COMMAND_WRONG, "WITHIN: %s", err.sentence);
	if (within != NULL && (within_us == 0 || within_us > CONFIRM_MAX_US))
		return command_refuse(
			call, COMMAND_WRONG, "WITHIN: expected more than 0, at most 1d");
	w = wait_for(call, "");
	if (w == NULL)
		return refuse(call, -ENOMEM, "out of memory");
	author.arg = w;
	rc = intent_reload(call->commands->intent, within_us, &author, &said);
	if (rc == 0) {
		w->note_anyway = within != NULL ? note_on_confirm(call->commands->intent) : "";
		w->left_out = said.line;
		return COMMAND_LATER;
	}
	free(w);
	if (call->request->is_json || said.lines == NULL)
		rc = refuse(call, rc, said.line != NULL ? said.line : "out of memory");
	else
		fprintf(call->out, "%snothing has changed\n", said.lines);
	intent_said_fini(&said);
	return rc < 0 ? COMMAND_WRONG : rc;
}

/* A result that needs no waiting. */
static int
answer(const struct command_call *call, const char *sentence)
{
	struct render_result result = {.sentence = sentence};

	call->render->result(call->out, &result);
	return COMMAND_DONE;
}

int
command_confirm_reload(const struct command_call *call)
{
	struct err err;

	if (intent_confirm(call->commands->intent, &err) < 0)
		return refuse(call, -EINVAL, err.sentence);
	log_info("audit: user id %u: CONFIRM RELOAD", call->request->uid);
	history_add(
		HISTORY_RELOAD, "user id %u: CONFIRM RELOAD: the reload stays", call->request->uid);
	return answer(call, "confirmed: the reload stays in force");
}

int
command_save_config(const struct command_call *call)
{
	char sentence[120];
	struct err err;
	unsigned n;

	if (intent_save(call->commands->intent, &n, &err) < 0)
		return refuse(call, -ENOMEM, err.sentence);
	log_info("audit: user id %u: SAVE CONFIG, %u statements", call->request->uid, n);
	history_add(
		HISTORY_STATEMENT, "user id %u: SAVE CONFIG, %u statements", call->request->uid, n);
	snprintf(sentence, sizeof(sentence),
		"%u statement%s saved, applied after the configuration file from now on", n,
		n == 1 ? "" : "s");
	return answer(call, sentence);
}

int
command_show_diff(const struct command_call *call)
{
	unsigned n_waiting = call->status->dataplane.n_waiting;
	struct change_words *words;
	struct plan plan;
	char sentence[150];

	if (plan_make(&plan, intent_file(call->commands->intent),
		    balance_config(call->commands->balance)) < 0)
		return refuse(call, -ENOMEM, "out of memory");
	words = plan_words(&plan);
	if (words == NULL) {
		plan_fini(&plan);
		return refuse(call, -ENOMEM, "out of memory");
	}
	snprintf(sentence, sizeof(sentence),
		plan.n_changes == 0 ? "In force is what the configuration file says"
				    : "%u difference%s from the configuration file",
		plan.n_changes, plan.n_changes == 1 ? "" : "s");
	if (n_waiting > 0)
		snprintf(sentence + strlen(sentence), sizeof(sentence) - strlen(sentence),
			", %u change%s for the data plane to take %s", n_waiting,
			n_waiting == 1 ? " waits" : "s wait", n_waiting == 1 ? "it" : "them");
	call->render->result(call->out,
		&(struct render_result){
			.changes = words, .n_changes = plan.n_changes, .sentence = sentence});
	change_words_free(words, plan.n_changes);
	plan_fini(&plan);
	return COMMAND_DONE;
}

static void
tell(const struct waiting *w, const struct intent_outcome *outcome, char *sentence, size_t size)
{
	size_t n;

	if (outcome->n_changes == 0)
		n = (size_t)snprintf(
			sentence, size, "Nothing to change: it is so already%s", w->note_anyway);
	else
		n = (size_t)snprintf(sentence, size, "%u change%s: %s%s%s", outcome->n_changes,
			outcome->n_changes == 1 ? "" : "s", outcome->sentence, w->note,
			w->note_anyway);
	if (w->left_out != NULL && n < size)
		snprintf(sentence + n, size - n, ". L%s", w->left_out + 1);
}

static void
on_done(void *arg, const struct intent_outcome *outcome)
{
	struct waiting *w = arg;
	enum command_result ended = command_result_of(outcome->result);
	char sentence[1200];
	struct render_result result = {
		.changes = outcome->changes,
		.n_changes = outcome->n_changes,
		.has_force = true,
		.epoch = outcome->epoch,
		.is_in_force =
			outcome->result == BALANCE_IN_FORCE || outcome->result == BALANCE_UNCHANGED,
		.took_ms = outcome->took_us / (double)KARMALB_MILLISECOND,
		.sentence = sentence,
	};
	struct command_body body;

	tell(w, outcome, sentence, sizeof(sentence));
	if (command_body_open(&body) != NULL) {
		if (ended == COMMAND_NOT_NOW)
			w->render->error(body.out, outcome->sentence);
		else
			w->render->result(body.out, &result);
	}
	command_answer(&w->request, (int)ended, &body);
	free(w->left_out);
	free(w);
}
