/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes the loop: observations from the data plane and from pings change health and karma; health,
 * karma and settings make shares; shares go down to the data plane.  Owns the model, the link and
 * the pings.  Everything here runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/clock.h>
#include <karmalb/limits.h>

#include "settings.h"

struct balance;
struct config;
struct epochs;
struct err;
struct event_base;
struct inquiry_author;
struct karmalb_question;
struct pinger_author;
struct status;

/* Copies what it needs of 'config'.  'run_dir' holds dataplane.sock.  Begins to connect and to
 * ping as soon as the loop runs.  Returns NULL when out of memory. */
struct balance *
balance_create(struct event_base *base, const struct config *config, const char *run_dir);

/* The data plane goes on with what it has.  Pending changes are answered BALANCE_LATER.  Takes
 * NULL. */
void
balance_free(struct balance *b);

/* The data plane has what we want it to have. */
bool
balance_is_in_force(const struct balance *b);

/* What renderers need, see status.h; the caller frees it.  NULL when out of memory. */
struct status *
balance_status(const struct balance *b);

/* What is in force, or on its way there.  Valid until the next change. */
const struct config *
balance_config(const struct balance *b);

enum balance_result {
	BALANCE_IN_FORCE,  /* every worker has it */
	BALANCE_UNCHANGED, /* it had that value already */
	BALANCE_LATER,     /* accepted; no data plane now, so the next one is asked */
	BALANCE_TIMED_OUT, /* accepted and sent, but not confirmed within BALANCE_CHANGE_TIMEOUT_US
			    */
	BALANCE_REFUSED,   /* the data plane could not, so all is as before: 'sentence' */
};

#define BALANCE_CHANGE_TIMEOUT_US (2 * KARMALB_SECOND)

/* How a change ended; valid during the callback only. */
struct balance_outcome {
	enum balance_result result;
	uint32_t epoch;   /* that it came, or comes, into force with; 0: none */
	uint32_t took_us; /* from balance_change() until every worker had it */
	char service[KARMALB_NAME_MAX];
	struct setting_change change;        /* setting, old_text, new_text */
	char sentence[KARMALB_SENTENCE_MAX]; /* for a person: "in force after 4 ms" */
};

/* Who waits for a change; the rest is for balance_change(): SET SERVICE service name = value. */
struct balance_request {
	const char *service, *name, *value; /* not needed after the call; likewise: */
	const char *what;                   /* for log and history: "user id 0: DROP SERVICE web" */
	bool is_of_services; /* for balance_apply(): the data plane may have to hear of it */
	void (*done)(void *arg, const struct balance_outcome *outcome);
	void *arg;
	/*
	 * NULL, or called once when it is certain whether the change stays, which may be within the
	 * call and after 'done' has said BALANCE_TIMED_OUT or BALANCE_LATER.  'why' NULL: it stays.
	 * Otherwise the data plane has turned it down, or one before it that it stands on, and said
	 * why; what was before is in force again, or is as soon as the callback has returned.
	 * Changes that are taken back together are told so the newest first.
	 */
	void (*ended)(void *arg, const char *why);
	void *ended_arg;
};

/*
 * Validates the change and takes it into the model: karma, health and shares of the mirrors stay.
 * Returns 0, and 'done' is called exactly once, from the loop, never before this returns.  Or
 * returns -ENOENT (no such service), -EINVAL (name or value) or -ENOMEM with a sentence, and
 * nothing has changed.
 */
int
balance_change(struct balance *b, const struct balance_request *request, struct err *err);

/*
 * Takes another configuration into force, as a whole; see model_apply() for what stays.  'wanted'
 * has been checked, and is balance's from then on if 0 is returned.  'done' as above, with neither
 * service nor change in the outcome.  -ENOMEM: nothing has changed.
 */
int
balance_apply(struct balance *b, const struct config *wanted, const struct balance_request *request,
	struct err *err);

/* Whoever asked is gone: no 'done' with this 'arg' any more.  The changes themselves stand. */
void
balance_forget(struct balance *b, const void *arg);

/* Asks the data plane; see inquiries_ask().  -ENOTCONN: there is none, or not all of it is known
 * yet. */
int
balance_ask(struct balance *b, struct karmalb_question *question, uint64_t timeout_us,
	const struct inquiry_author *author);

/* Pings a mirror now; see pingers_check().  -ENOENT: there is no such mirror, or no longer. */
int
balance_ping(struct balance *b, const char *service, const char *mirror, uint64_t limit_us,
	const struct pinger_author *author);

/* The shares announced of late. */
const struct epochs *
balance_epochs(const struct balance *b);
