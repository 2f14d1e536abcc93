/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements and what they do: reads the text, checks the right to change, answers from one copy of
 * the status, or asks balance for the change and answers when it is in force.  Knows no sockets and
 * no HTTP.  Loop's thread only.
 */
#pragma once

#include "command_request.h"

struct balance;
struct commands;
struct config_controlplane;
struct intent;

/* Both must live as long as statements are run: 'balance' to ask, 'intent' to change.  Returns NULL
 * when out of memory. */
struct commands *
commands_create(struct balance *balance, struct intent *intent);

/* Call it after balance_free(), which answers whoever still waits for a change.  Takes NULL. */
void
commands_free(struct commands *c);

/* 'commands' is the struct commands.  Answers 'request' now or later, once. */
void
commands_run(void *commands, const struct command_request *request);

/* What is in force of the settings that concern whoever asks; 'commands' as above. */
const struct config_controlplane *
commands_settings(void *commands);
