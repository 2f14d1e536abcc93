/* SPDX-License-Identifier: BSD-3-Clause */
/* What statements that ask the data plane share; only commands_*.c include it.  Loop's thread. */
#pragma once

#include <stdint.h>

#include <karmalb/wire.h>

#include "command_request.h"
#include "table.h"

struct command_call;
struct commands;
struct render;
struct status;

#define COMMANDS_ASK_US (4 * KARMALB_SECOND) /* before a client gives up */

/* A statement whose answer waits for the data plane's. */
struct asking {
	struct command_request request;
	struct commands *commands;
	const struct render *render;
	struct status *status; /* taken when it was asked: names; owned */
	struct table table;    /* of the answer, as it grows */
};

/* NULL when out of memory, and the call is refused. */
struct asking *
asking_create(const struct command_call *call);

/* Frees it; the answer has been given. */
void
asking_free(struct asking *a);

/* Refuses because balance_ask() returned 'rc'; returns the command's result. */
int
asking_refuse(const struct command_call *call, int rc);

/* Why there is no 'part'. */
#define ASKING_UNANSWERED "the data plane did not answer in time, or has gone"

/* Answers the request with a sentence: 'part' is no good end.  False: it is one. */
bool
asking_failed(struct asking *a, const struct karmalb_question *part);

/* Answers the request with the table. */
void
asking_answer_table(struct asking *a);

/* The slots of "service", "service.mirror", or all (NULL) into a set.  False: there are none of
 * that name, and the call is refused. */
bool
asking_slots(const struct command_call *call, const struct status *status, const char *name,
	uint64_t slots[KARMALB_SLOT_WORDS]);

/* "web.m1" of a slot, or "-" if it is none of ours any more. */
const char *
asking_mirror_name(const struct status *status, uint16_t slot, char *text, size_t size);

/* "established" */
const char *
asking_state_name(unsigned state);
