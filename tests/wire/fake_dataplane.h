/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane's end of dataplane.sock, played by a test, with the control plane as a process of
 * its own on the other side.  What it sends is read with the data plane's own decoder (intent.h).
 * Every function fails the test when what it promises does not happen in time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <karmalb/wire.h>

#include "intent.h"

struct fake {
	char dir[64];   /* run directory, configuration and log of the control plane */
	char more[120]; /* lines of the configuration besides services */
	int listener;
	int fd; /* -1: no control plane connected */
	pid_t pid;
	uint32_t epoch;      /* the newest committed */
	bool was_superseded; /* a transaction was given up for a newer one */
	bool is_on_loopback; /* mirrors are, which a real data plane would not take */
	struct intent_draft draft;
};

/* Starts listening, and the control plane with these lines as 'services' of its configuration. */
void
fake_start(struct fake *f, const char *services);
/* Writes its configuration anew; it does not know yet. */
void
fake_configure(const struct fake *f, const char *services);
/* Ends the control plane with SIGTERM; it must end well. */
void
fake_stop(struct fake *f);
/* Kills it with SIGKILL, or starts it (again). */
void
fake_kill(struct fake *f);
void
fake_run(struct fake *f);

/* Accepts the control plane and reads its HELLO. */
void
fake_accept(struct fake *f, unsigned limit_ms);
void
fake_close(struct fake *f);

/* Sends a message as it is; fills in its header if header.size is 0. */
void
fake_send(struct fake *f, uint16_t message, void *bytes);
void
fake_send_raw(struct fake *f, const void *bytes, size_t size);
/* WELCOME; 'memory' rides along unless -1. */
void
fake_welcome(struct fake *f, uint64_t instance, uint32_t epoch, unsigned n_slots, int memory);
/* APPLIED, all well, for the newest epoch; with a SLOT for each of its mirrors before, numbered
 * from 0 in order. */
void
fake_apply(struct fake *f, const struct intent *intent);

/* APPLIED with an error and this sentence. */
void
fake_refuse(struct fake *f, const struct intent *intent, int error, const char *sentence);

/* The next whole transaction, to be freed by intent_free(); NULL after 'limit_ms' without. */
struct intent *
fake_next_intent(struct fake *f, unsigned limit_ms);
/* The same, but one must come. */
struct intent *
fake_expect_intent(struct fake *f, unsigned limit_ms);
/* A CHECK_SLOT must come; answered at once with this result (enum karmalb_check_result). */
void
fake_answer_check(struct fake *f, unsigned result, unsigned limit_ms);
/* The control plane closes the link. */
void
fake_expect_closed(struct fake *f, unsigned limit_ms);

/* How often 'text' stands in the control plane's log. */
unsigned
fake_count_in_log(const struct fake *f, const char *text);
