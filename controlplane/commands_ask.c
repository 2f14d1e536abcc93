/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of statements that ask the data plane. */
#include "commands_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "balance.h"
#include "commands_call.h"
#include "status.h"

struct asking *
asking_create(const struct command_call *call)
{
	struct asking *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		command_refuse(call, COMMAND_NOT_NOW, "out of memory");
		return NULL;
	}
	a->request = *call->request;
	a->commands = call->commands;
	a->render = call->render;
	a->status = balance_status(call->commands->balance);
	if (a->status != NULL)
		return a;
	free(a);
	command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	return NULL;
}

void
asking_free(struct asking *a)
{
	table_fini(&a->table);
	status_free(a->status);
	free(a);
}

int
asking_refuse(const struct command_call *call, int rc)
{
	if (rc == -ENOTCONN)
		return command_refuse(call, COMMAND_NOT_NOW,
			"the data plane is not connected, and only it knows");
	if (rc == -EBUSY)
		return command_refuse(
			call, COMMAND_NOT_NOW, "too many questions at a time; try again");
	return command_refuse(call, COMMAND_NOT_NOW, "out of memory");
}

static void
answer_sentence(struct asking *a, const char *sentence)
{
	struct command_body body;

	if (command_body_open(&body) != NULL)
		a->render->error(body.out, sentence);
	command_answer(&a->request, COMMAND_NOT_NOW, &body);
}

bool
asking_failed(struct asking *a, const struct karmalb_question *part)
{
	const struct karmalb_answered *m = (const struct karmalb_answered *)part;

	if (part == NULL)
		answer_sentence(a, ASKING_UNANSWERED);
	else if (m->error == -EBUSY)
		answer_sentence(a, "the data plane has too many questions at a time; try again");
	else if (m->error != 0)
		answer_sentence(a, strerror(-m->error));
	else
		return false;
	return true;
}

void
asking_answer_table(struct asking *a)
{
	struct command_body body;

	if (a->table.is_incomplete) {
		answer_sentence(a, "out of memory");
		return;
	}
	if (command_body_open(&body) != NULL)
		a->render->table(body.out, &a->table);
	command_answer(&a->request, COMMAND_DONE, &body);
}

bool
asking_slots(const struct command_call *call, const struct status *status, const char *name,
	uint64_t slots[KARMALB_SLOT_WORDS])
{
	bool is_found = name == NULL;

	memset(slots, name == NULL ? 0xff : 0, KARMALB_SLOT_WORDS * sizeof(slots[0]));
	for (unsigned i = 0; name != NULL && i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];

		for (unsigned k = 0; k < s->n_mirrors * s->n_listens; k++) {
			const struct status_mirror *m = &s->mirrors[k / s->n_listens];
			uint16_t slot = s->slots[k];

			if (!command_is_meant(name, s, m))
				continue;
			is_found = true;
			if (slot != STATUS_SLOT_NONE)
				slots[slot / 64] |= UINT64_C(1) << slot % 64;
		}
	}
	if (!is_found)
		command_refuse_mirror(call, name);
	return is_found;
}

const char *
asking_mirror_name(const struct status *status, uint16_t slot, char *text, size_t size)
{
	unsigned mirror;
	const struct status_service *s = status_find_slot(status, slot, &mirror, NULL);

	if (s == NULL)
		return "-";
	snprintf(text, size, "%s.%s", s->name, s->mirrors[mirror].name);
	return text;
}

const char *
asking_state_name(unsigned state)
{
	static const char *const names[KARMALB_N_FLOW_STATES] = {
		[KARMALB_FLOW_SYN_SENT] = "syn sent",
		[KARMALB_FLOW_SYN_ACKED] = "syn acked",
		[KARMALB_FLOW_ESTABLISHED] = "established",
		[KARMALB_FLOW_CLOSING] = "closing",
		[KARMALB_FLOW_RESTING] = "resting",
		[KARMALB_FLOW_DATAGRAM] = "datagram",
	};

	return names[state];
}
