/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one door for everything that changes what is wanted: reloads and statements.  A configuration
 * is made and checked as a whole, compared with what is in force, and taken into force by balance;
 * whoever asked hears what was, what is, and when every worker had it.  What the data plane turns
 * down is taken back.  Loop's thread only.
 *
 * A drain that has an end is ended by it: maintenance from then on.
 *
 * What is in force is the operator's file, then what SAVE CONFIG kept, then statements since.  A
 * reload begins anew with the first two.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "balance.h"
#include "state_file.h"
#include "status.h"

struct change_words;
struct config;
struct err;
struct event_base;
struct intent;

struct intent_options {
	struct event_base *base;
	struct balance *balance;
	const char *config_path, *state_path; /* must outlive it */
	const struct config *file;            /* what stands in the former; copied */
	/* Whether the rest of the program can be as a file says; NULL: it can.  0, or a negative
	 * errno with a sentence. */
	int (*check)(const struct config *wanted, struct err *err);
};

/* NULL when out of memory. */
struct intent *
intent_create(const struct intent_options *options);

/* Before balance_free(): no way back and no drain ends from then on.  Takes NULL. */
void
intent_stop(struct intent *i);
/* After it, since that answers whoever still waits.  Takes NULL. */
void
intent_free(struct intent *i);

/* What the operator's file says, as last read with success.  Valid until the next reload. */
const struct config *
intent_file(const struct intent *i);

/* What the next start would begin with: that file, then what SAVE CONFIG kept.  Made once, for
 * lines that no longer fit the file take their time; valid until the next reload or SAVE CONFIG.
 * NULL: what was kept cannot be read, or out of memory. */
const struct config *
intent_saved(struct intent *i);

/* How a change ended; valid during the callback only. */
struct intent_outcome {
	enum balance_result result;
	unsigned n_changes;
	uint32_t took_us;
	uint32_t epoch; /* that it came, or comes, into force with; 0: none */
	const struct change_words *changes;
	const char *sentence; /* "in force after 4 ms" */
};

/* Who wants a change. */
struct intent_author {
	const char *what; /* for log and history: "user id 0: DROP SERVICE web" */
	void (*done)(void *arg, const struct intent_outcome *outcome); /* NULL: nobody waits */
	void *arg;
	void (*ended)(void *arg, const char *why); /* as balance_request has it */
	void *ended_arg;
};

/* Takes 'wanted', which becomes intent's in any case, into force once it has been checked.  0, and
 * 'done' is called once, from the loop; or a negative errno with a sentence, and nothing changed.
 */
int
intent_change(struct intent *i, struct config *wanted, const struct intent_author *author,
	struct err *err);

/* What there is to say of a reload beside how it ended; NULL: nothing. */
struct intent_said {
	char *line;  /* refused: all that is wrong; taken: what was left out of what was saved */
	char *lines; /* refused: all that is wrong with the file, for eyes */
};

/* Frees what it holds. */
void
intent_said_fini(struct intent_said *said);

/*
 * Reads the file and what was saved anew.  'within_us' > 0: back again by itself unless
 * intent_confirm() comes before; not where nothing changes.  0 or a negative errno as above.
 */
int
intent_reload(struct intent *i, uint64_t within_us, const struct intent_author *author,
	struct intent_said *said);

/* -EINVAL with a sentence: no reload waits for that. */
int
intent_confirm(struct intent *i, struct err *err);

/* Keeps what is in force otherwise than the file says; '*n' statements. */
int
intent_save(struct intent *i, unsigned *n, struct err *err);

/* How the last reload went. */
void
intent_reload_result(const struct intent *i, struct status_reload *result);

/* balance_status() with how the last reload went. */
struct status *
intent_status(const struct intent *i);
