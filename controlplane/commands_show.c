/* SPDX-License-Identifier: BSD-3-Clause */
/* The statements that only look.  Loop's thread. */
#include <karmalb/clock.h>

#include "agent_status.h"
#include "commands_call.h"
#include "intent.h"
#include "nearest.h"
#include "pairs.h"
#include "program_status.h"
#include "status.h"
#include "units.h"

static void
add_reload(struct pairs *pairs, const struct intent *intent);
static int
answer_pairs(const struct command_call *call, struct pairs *pairs);
static int
refuse_agent(const struct command_call *call, const char *name);

int
command_show_services(const struct command_call *call)
{
	call->render->services(call->out, call->status);
	return COMMAND_DONE;
}

int
command_show_mirrors(const struct command_call *call)
{
	const char *name = statement_argument(call->statement, "service");
	const struct status_service *only = NULL;

	if (name != NULL) {
		only = status_find_service(call->status, name);
		if (only == NULL)
			return command_refuse_service(call, name);
	}
	call->render->mirrors(call->out, call->status, only);
	return COMMAND_DONE;
}

int
command_show_agents(const struct command_call *call)
{
	struct pairs pairs;

	pairs_init(&pairs, "Key", "Value", statement_argument(call->statement, "pattern"));
	agent_status_all(&pairs, call->status);
	return answer_pairs(call, &pairs);
}

/* A service is tried first, as Manticore tries a table before a host. */
int
command_show_agent(const struct command_call *call)
{
	const char *name = statement_argument(call->statement, "service");
	const struct status_service *service = status_find_service(call->status, name);
	struct pairs pairs;

	pairs_init(
		&pairs, "Variable_name", "Value", statement_argument(call->statement, "pattern"));
	if (service != NULL)
		agent_status_service(&pairs, service);
	else if (!agent_status_one(&pairs, call->status, name))
		return refuse_agent(call, name);
	return answer_pairs(call, &pairs);
}

int
command_show_drops(const struct command_call *call)
{
	call->render->drops(call->out, call->status);
	return COMMAND_DONE;
}

int
command_show_status(const struct command_call *call)
{
	struct pairs pairs;

	pairs_init(&pairs, "Counter", "Value", statement_argument(call->statement, "pattern"));
	program_status(&pairs, call->status);
	add_reload(&pairs, call->commands->intent);
	agent_status_life(&pairs, call->status);
	return answer_pairs(call, &pairs);
}

/* How the last reload went. */
static void
add_reload(struct pairs *pairs, const struct intent *intent)
{
	struct status_reload r;

	intent_reload_result(intent, &r);
	pairs_add_text(pairs, "reload_", "last",
		r.at_unix_us == 0 ? "none"
		: r.is_ok         ? "ok"
				  : "failed");
	if (r.at_unix_us != 0) {
		pairs_add_number(pairs, "reload_", "unix_seconds", (double)r.at_unix_us / 1e6, 3);
		pairs_add_number(pairs, "reload_", "took_seconds", (double)r.took_us / 1e6, 3);
	} else {
		pairs_add_none(pairs, "reload_", "unix_seconds");
		pairs_add_none(pairs, "reload_", "took_seconds");
	}
	pairs_add_text(pairs, "reload_", "message", r.sentence);
	pairs_add_count(pairs, "", "reloads_ok", r.n_ok);
	pairs_add_count(pairs, "", "reloads_failed", r.n_failed);
	pairs_add_number(pairs, "reload_", "confirm_left_seconds",
		(double)r.confirm_left_us / (double)KARMALB_SECOND, 1);
}

/* Frees the pairs. */
static int
answer_pairs(const struct command_call *call, struct pairs *pairs)
{
	int result = COMMAND_DONE;

	if (pairs->is_incomplete)
		result = command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	else
		call->render->pairs(call->out, pairs);
	pairs_free(pairs);
	return result;
}

static int
refuse_agent(const struct command_call *call, const char *name)
{
	char host[UNITS_TEXT_MAX], meant[UNITS_TEXT_MAX] = "";
	struct nearest nearest = nearest_to(name);

	for (unsigned i = 0; i < call->status->n_services; i++)
		nearest_offer(&nearest, call->status->services[i].name);
	if (nearest.name != NULL)
		snprintf(meant, sizeof(meant), "%s", nearest.name);
	for (unsigned i = 0; agent_status_host(call->status, i, host, sizeof(host)); i++) {
		unsigned distance = nearest.distance;

		nearest_offer(&nearest, host);
		if (nearest.distance < distance)
			snprintf(meant, sizeof(meant), "%s", host);
	}
	if (meant[0] != '\0')
		return command_refuse(call, COMMAND_WRONG,
			"\"%.64s\" is neither a service nor a mirror's host:port; did you mean %s?",
			name, meant);
	return command_refuse(call, COMMAND_WRONG,
		"\"%.64s\" is neither a service nor a mirror's host:port; SHOW MIRRORS and SHOW "
		"SERVICES list them",
		name);
}
