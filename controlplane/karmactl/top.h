/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl top: SHOW MIRRORS, again every second. */
#pragma once

#include <stdbool.h>

#include "run.h"

struct client;

struct top {
	const char *service; /* NULL: all */
	unsigned count;      /* tables to show; 0: until it is ended */
	bool is_json;
};

/* On a terminal one table in place, elsewhere one after the other.  A control plane that is gone
 * for a while is waited for, but there must be one at first. */
enum run_status
top_run(struct client *client, const struct top *top);
