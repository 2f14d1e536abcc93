/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live data plane for the tests: no NIC, no huge pages, one ring device that nobody fills, a
 * run directory of its own under /tmp.  Test process's thread only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	char run_dir[32];
	char socket[64]; /* path of dataplane.sock */
	char log[64];    /* path of what it said */
};

/* Makes the run directory; starts nothing. */
void
process_prepare(struct process *p);

/* Starts the program named by $KARMALB_DATAPLANE; true when its socket answers within 20 s. */
bool
process_start(struct process *p);

/* Starts it where it is expected to give up; its exit status, or -1 if it went on for 20 s. */
int
process_run(struct process *p);

bool
process_is_alive(const struct process *p);

/* Sends 'signal' and waits for the end; the exit status, or -1 after a signal's death. */
int
process_end(struct process *p, int signal);

/* Whether the log has 'words'. */
bool
process_said(const struct process *p, const char *words);

/* Removes the run directory. */
void
process_forget(struct process *p);
