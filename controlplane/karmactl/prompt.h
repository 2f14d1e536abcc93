/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl's prompt: a line at a time with editing, history and completion. */
#pragma once

#include "run.h"

/* Until "quit", "exit" or Ctrl-D; a statement that fails does not end it.  Returns RUN_DONE. */
enum run_status
prompt_run(struct client *client, enum client_form form);
