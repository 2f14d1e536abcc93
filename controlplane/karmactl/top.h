/* SPDX-License-Identifier: BSD-3-Clause */
/* karmactl top: SHOW MIRRORS, again every second. */
#pragma once

#include "run.h"

struct top {
	const char *service; /* NULL: all */
	unsigned count;      /* tables to show; 0: until it is ended */
	enum client_form form;
};

/* On a terminal one table in place, elsewhere one after the other.  A control plane that is gone
 * for a while is waited for, but there must be one at first. */
enum run_status
top_run(struct client *client, const struct top *top);
