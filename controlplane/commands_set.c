/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements that change something: through balance, answered when it is in force.  Every one
 * accepted leaves an audit line.  Loop's thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "change_words.h"
#include "commands_call.h"
#include "config.h"
#include "config_edit.h"
#include "err.h"
#include "history.h"
#include "intent.h"
#include "log.h"

/* A change that is not in force yet. */
struct pending {
	struct command_request request;
	const struct commands *commands;
	const struct render *render;
};

static int
change(const struct command_call *call, const char *name, const char *value);
static void
on_done(void *arg, const struct balance_outcome *outcome);

/* What a configuration says about the setting that was changed. */
struct said {
	char text[SETTING_TEXT_MAX];
	bool is_so; /* as it is now, and of this service itself */
};
static void
look_up(const struct config *config, const struct balance_outcome *outcome, struct said *said);
/* "service web: dead_after 4 -> 5" */
static void
format_line(const struct balance_outcome *outcome, char *line, size_t size);
static void
audit(const struct command_request *request, const char *line, const char *sentence);

int
command_set_service(const struct command_call *call)
{
	return change(call, statement_argument(call->statement, "setting"),
		statement_argument(call->statement, "value"));
}

int
command_strategy(const struct command_call *call)
{
	return change(call, "ha_strategy", statement_argument(call->statement, "strategy"));
}

static int
change(const struct command_call *call, const char *name, const char *value)
{
	const char *service = statement_argument(call->statement, "service");
	struct pending *pending;
	struct err err;
	int rc;

	if (config_edit_find(balance_config(call->commands->balance), service, &err) == NULL)
		return command_refuse_service(call, service);
	pending = malloc(sizeof(*pending));
	if (pending == NULL)
		return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	*pending = (struct pending){
		.request = *call->request, .commands = call->commands, .render = call->render};
	char what[300];
	struct balance_request request = {.service = service,
		.name = name,
		.value = value,
		.what = command_what(call, what, sizeof(what)),
		.done = on_done,
		.arg = pending};

	rc = balance_change(call->commands->balance, &request, &err);
	if (rc == 0)
		return COMMAND_LATER;
	free(pending);
	return command_refuse(
		call, rc == -ENOMEM ? COMMAND_NOT_NOW : COMMAND_WRONG, "%s", err.sentence);
}

static void
on_done(void *arg, const struct balance_outcome *outcome)
{
	struct pending *pending = arg;
	const struct config *file = intent_file(pending->commands->intent);
	const struct config *start = intent_saved(pending->commands->intent);
	struct said in_file, at_start;
	char line[2 * SETTING_TEXT_MAX + 2 * KARMALB_NAME_MAX];
	const struct setting_change *change = &outcome->change;
	const struct change_words words = {
		.action = change->is_changed || change->is_pinned ? "changed" : "unchanged",
		.kind = "service",
		.name = (char *)outcome->service,
		.setting = change->setting->name,
		.old_text = (char *)change->old_text,
		.new_text = (char *)change->new_text,
		.sentence = line,
	};
	struct render_change rendered = {
		.service = outcome->service,
		.setting = outcome->change.setting->name,
		.old_text = outcome->change.old_text,
		.new_text = outcome->change.new_text,
		.is_pinned = outcome->change.is_pinned,
		.file_text = in_file.text,
		.start_text = at_start.text,
		.is_in_force =
			outcome->result == BALANCE_IN_FORCE || outcome->result == BALANCE_UNCHANGED,
		.epoch = outcome->epoch,
		.words = &words,
		.took_ms = outcome->took_us / (double)KARMALB_MILLISECOND,
		.sentence = outcome->sentence,
	};
	enum command_result result = command_result_of(outcome->result);
	struct command_body body;

	format_line(outcome, line, sizeof(line));
	look_up(file, outcome, &in_file);
	look_up(start != NULL ? start : file, outcome, &at_start);
	rendered.is_in_file = in_file.is_so;
	rendered.is_saved = at_start.is_so;
	audit(&pending->request, line, outcome->sentence);
	if (command_body_open(&body) != NULL) {
		if (result == COMMAND_NOT_NOW)
			pending->render->error(body.out, outcome->sentence);
		else
			pending->render->change(body.out, &rendered);
	}
	command_answer(&pending->request, (int)result, &body);
	free(pending);
}

static void
look_up(const struct config *config, const struct balance_outcome *outcome, struct said *said)
{
	const struct setting *setting = outcome->change.setting;

	*said = (struct said){.text = "nothing of this service"};
	for (unsigned i = 0; i < config->n_services; i++) {
		const struct config_service *s = &config->services[i];

		if (strcmp(s->name, outcome->service) != 0)
			continue;
		setting_format(setting, &s->settings, said->text, sizeof(said->text));
		said->is_so = (s->own & setting_bit(setting)) != 0 &&
			      strcmp(said->text, outcome->change.new_text) == 0;
	}
}

static void
format_line(const struct balance_outcome *outcome, char *line, size_t size)
{
	const struct setting_change *change = &outcome->change;
	bool has_new = change->is_changed || !change->is_pinned;

	snprintf(line, size, "service %s: %s %s%s%s", outcome->service, change->setting->name,
		change->old_text, has_new ? " -> " : "",
		has_new ? change->new_text : " (the service's own from now on)");
}

static void
audit(const struct command_request *request, const char *line, const char *sentence)
{
	log_info("audit: user id %u: %s (%s)", request->uid, line, sentence);
	history_add(HISTORY_STATEMENT, "user id %u: %s (%s)", request->uid, line, sentence);
}
