/* SPDX-License-Identifier: BSD-3-Clause */
/* What the handlers of statements share; only commands*.c include it. */
#pragma once

#include <stdio.h>

#include "balance.h"
#include "command_list.h"
#include "command_request.h"
#include "render.h"
#include "statement.h"

struct intent;
struct status;
struct status_mirror;
struct status_service;

struct commands {
	struct balance *balance;
	struct intent *intent;
};

/* One statement on its way; gone when its handler has returned. */
struct command_call {
	struct commands *commands;
	const struct command_request *request;
	const struct statement *statement;
	const struct render *render;
	const struct status *status; /* taken for this statement; NULL: it changes something */
	FILE *out;                   /* the answer */
};

/* Returned by a handler that has seen to it that the request is answered later. */
#define COMMAND_LATER (-1)

/* One a row of COMMANDS: writes to call->out and returns an enum command_result, or COMMAND_LATER.
 */
#define X(name, kind, syntax, help, example) int command_##name(const struct command_call *call);
COMMANDS(X)
#undef X

/* What is told of a change that ended so.  COMMAND_NOT_NOW: it was turned down, and the sentence is
 * all there is to say. */
enum command_result
command_result_of(enum balance_result result);

/* Who wants what: "user id 0: DROP SERVICE web".  Returns 'text'. */
const char *
command_what(const struct command_call *call, char *text, size_t size);

/* Answers with a sentence instead; returns 'result'. */
int
command_refuse(const struct command_call *call, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Refuses a name that no service has, naming those there are. */
int
command_refuse_service(const struct command_call *call, const char *name);

/* Likewise one that is neither "web.m1" nor "web". */
int
command_refuse_mirror(const struct command_call *call, const char *name);

/* Whether 'name' is "web" or "web.m1" of this mirror; NULL means all. */
bool
command_is_meant(const char *name, const struct status_service *s, const struct status_mirror *m);

/* An answer into memory, given out and freed by command_answer().  NULL: out of memory. */
struct command_body {
	char *text;
	size_t size;
	FILE *out;
};
FILE *
command_body_open(struct command_body *body);
void
command_answer(const struct command_request *request, int result, struct command_body *body);
