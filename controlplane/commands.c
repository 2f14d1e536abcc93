/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a statement's text to its handler and back to an answer.  Runs on the loop's thread; never
 * waits: what takes time answers later.
 */
#include "commands.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "balance.h"
#include "commands_call.h"
#include "config.h"
#include "err.h"
#include "nearest.h"
#include "status.h"

struct command {
	bool is_change;
	int (*run)(const struct command_call *call);
};

#define READ   false
#define CHANGE true
#define EDIT   true
static const struct command table[] = {
#define X(name, kind, syntax, help, example) {kind, command_##name},
	COMMANDS(X)
#undef X
};
#undef READ
#undef CHANGE
#undef EDIT

static const char *const syntaxes[] = {
#define X(name, kind, syntax, help, example) syntax,
	COMMANDS(X)
#undef X
};
#define N_COMMANDS (sizeof(table) / sizeof(table[0]))

const struct config_controlplane *
commands_settings(void *commands)
{
	const struct commands *c = commands;

	return &balance_config(c->balance)->controlplane;
}

static const struct render *
render_of(const struct command_request *request);
static int
run(struct command_call *call);

struct commands *
commands_create(struct balance *balance, struct intent *intent)
{
	struct commands *c = calloc(1, sizeof(*c));

	if (c != NULL)
		*c = (struct commands){.balance = balance, .intent = intent};
	return c;
}

void
commands_free(struct commands *c)
{
	free(c);
}

void
commands_run(void *commands, const struct command_request *request)
{
	struct command_body body;
	struct command_call call = {
		.commands = commands,
		.request = request,
		.render = render_of(request),
		.out = command_body_open(&body),
	};
	int result = call.out != NULL ? run(&call) : COMMAND_NOT_NOW;

	if (result != COMMAND_LATER) {
		command_answer(request, result, &body);
		return;
	}
	fclose(body.out);
	free(body.text);
}

static const struct render *
render_of(const struct command_request *request)
{
	return request->is_json ? &render_json : request->is_tsv ? &render_tsv : &render_text;
}

/* A copy of everything, which statements that change something do without. */
static int
run_with_status(struct command_call *call, const struct command *command)
{
	struct status *status = balance_status(call->commands->balance);
	int result;

	call->status = status;
	result = status != NULL ? command->run(call)
				: command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	status_free(status);
	return result;
}

static int
dispatch(struct command_call *call, struct statement *statement)
{
	struct err err;
	int row;

	if (statement_read(statement, call->request->text, call->request->size, &err) < 0)
		return command_refuse(call, COMMAND_WRONG, "%s", err.sentence);
	row = statement_match(statement, syntaxes, N_COMMANDS, &err);
	if (row < 0)
		return command_refuse(call, COMMAND_WRONG, "%s", err.sentence);
	if (table[row].is_change && !call->request->may_change)
		return command_refuse(call, COMMAND_DENIED,
			"user id %u may look but not change anything: that takes root or the group "
			"%s",
			call->request->uid, commands_settings(call->commands)->admin_group);
	return table[row].is_change ? table[row].run(call) : run_with_status(call, &table[row]);
}

static int
run(struct command_call *call)
{
	struct statement *statement = malloc(sizeof(*statement));
	int result;

	call->statement = statement;
	if (statement == NULL)
		result = command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	else
		result = dispatch(call, statement);
	free(statement);
	return result;
}

const char *
command_what(const struct command_call *call, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "user id %u:", call->request->uid);

	for (unsigned i = 0; i < call->statement->n_tokens && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, " %s", call->statement->tokens[i].text);
	return text;
}

enum command_result
command_result_of(enum balance_result result)
{
	switch (result) {
	case BALANCE_REFUSED:
		return COMMAND_NOT_NOW;
	case BALANCE_TIMED_OUT:
	case BALANCE_LATER:
		return COMMAND_UNCONFIRMED;
	case BALANCE_IN_FORCE:
	case BALANCE_UNCHANGED:
		break;
	}
	return COMMAND_DONE;
}

int
command_refuse(const struct command_call *call, int result, const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	call->render->error(call->out, sentence);
	return result;
}

int
command_refuse_service(const struct command_call *call, const char *name)
{
	const struct config *config = balance_config(call->commands->balance);
	struct nearest nearest = nearest_to(name);
	char known[600] = "";
	size_t n = 0;

	for (unsigned i = 0; i < config->n_services; i++) {
		nearest_offer(&nearest, config->services[i].name);
		if (n + KARMALB_NAME_MAX + 8 < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
				i == 0 ? "" : ", ", config->services[i].name);
	}
	if (config->n_services == 0)
		return command_refuse(call, COMMAND_WRONG, "there are no services");
	if (nearest.name != NULL)
		return command_refuse(call, COMMAND_WRONG,
			"there is no service \"%.64s\"; did you mean %s? There are: %s", name,
			nearest.name, known);
	return command_refuse(
		call, COMMAND_WRONG, "there is no service \"%.64s\"; there are: %s", name, known);
}

/* 'name' begins with a service's: its mirrors are what there is. */
static int
refuse_mirror_of(const struct command_call *call, const struct config_service *s, const char *name)
{
	struct nearest nearest = nearest_to(name);
	char known[600] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->n_mirrors; i++) {
		nearest_offer(&nearest, s->mirrors[i].name);
		if (n + KARMALB_NAME_MAX + 8 < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
				i == 0 ? "" : ", ", s->mirrors[i].name);
	}
	return command_refuse(call, COMMAND_WRONG,
		"service %s has no mirror \"%.64s\"%s%s%s It has: %s", s->name, name,
		nearest.name != NULL ? "; did you mean " : ".",
		nearest.name != NULL ? nearest.name : "", nearest.name != NULL ? "?" : "", known);
}

int
command_refuse_mirror(const struct command_call *call, const char *name)
{
	const struct config *config = balance_config(call->commands->balance);
	struct nearest nearest = nearest_to(name);
	char meant[2 * KARMALB_NAME_MAX] = "";

	for (unsigned i = 0; i < config->n_services; i++) {
		const struct config_service *s = &config->services[i];
		size_t length = strlen(s->name);

		if (strncmp(name, s->name, length) == 0 && name[length] == '.')
			return refuse_mirror_of(call, s, name + length + 1);
		for (unsigned k = 0; k < s->n_mirrors; k++) {
			char full[2 * KARMALB_NAME_MAX];
			unsigned distance = nearest.distance;

			snprintf(full, sizeof(full), "%s.%s", s->name, s->mirrors[k].name);
			nearest_offer(&nearest, full);
			if (nearest.distance < distance)
				strcpy(meant, full);
		}
	}
	if (meant[0] == '\0')
		return command_refuse_service(call, name);
	return command_refuse(
		call, COMMAND_WRONG, "there is no mirror \"%.64s\"; did you mean %s?", name, meant);
}

bool
command_is_meant(const char *name, const struct status_service *s, const struct status_mirror *m)
{
	char full[2 * KARMALB_NAME_MAX];

	snprintf(full, sizeof(full), "%s.%s", s->name, m->name);
	return name == NULL || strcmp(name, s->name) == 0 || strcmp(name, full) == 0;
}

FILE *
command_body_open(struct command_body *body)
{
	*body = (struct command_body){.text = NULL};
	body->out = open_memstream(&body->text, &body->size);
	return body->out;
}

void
command_answer(const struct command_request *request, int result, struct command_body *body)
{
	static const char no_memory[] = "out of memory\n";
	bool is_complete = body->out != NULL && fclose(body->out) == 0;

	if (is_complete)
		request->answer(request->arg, (enum command_result)result, body->text, body->size);
	else
		request->answer(request->arg, COMMAND_NOT_NOW, no_memory, sizeof(no_memory) - 1);
	free(body->text);
}
