/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control plane wants, as a value: one transaction BEGIN..COMMIT, collected message by
 * message and checked whole before anything acts on it.  Pure; control thread only.
 *
 * Two kinds of wrong are told apart.  A message that breaks the protocol (out of order, a number or
 * a field out of the range that wire.h names) is a peer gone wrong: intent_draft_*() refuse it, the
 * caller closes the link.  A well-formed whole that cannot be put in force (a loop, a listen twice)
 * comes from a person: intent_check() answers with a sentence for APPLIED, the link stays.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

struct err;

struct intent_service {
	struct karmalb_endpoint listen;
	uint32_t connect_timeout_ms;
	uint32_t query_timeout_ms;
	uint32_t idle_timeout_ms;
	uint16_t first_mirror; /* into intent.mirrors */
	uint16_t n_mirrors;
	uint8_t selector;    /* enum karmalb_selector */
	uint8_t reply_check; /* enum karmalb_reply_check */
	bool is_one_way;
	char name[KARMALB_NAME_MAX];
};

struct intent_mirror {
	struct karmalb_endpoint address;
	double share;
	char name[KARMALB_NAME_MAX];
};

/* About 420 kB: lives on the heap.  Immutable once committed. */
struct intent {
	uint32_t epoch;
	uint16_t n_services;
	uint16_t n_mirrors;
	struct intent_service services[KARMALB_SERVICES_MAX];
	struct intent_mirror mirrors[KARMALB_SLOTS_MAX];
};

/* A transaction on its way.  A zeroed draft is a valid, closed one. */
struct intent_draft {
	struct intent *intent; /* owned; NULL: no transaction open */
	uint32_t services_due; /* SERVICE messages still to come */
	uint32_t mirrors_due;  /* MIRROR messages still to come for the newest service */
};

/*
 * Opens a transaction and forgets what an unfinished one had brought.  'last_epoch' is the newest
 * ever committed.  Like the three below: 0, or -EPROTO, -ENOSPC or -ENOMEM with a sentence.
 */
int
intent_draft_begin(struct intent_draft *d, const struct karmalb_begin *message, uint32_t last_epoch,
	struct err *err);

int
intent_draft_service(
	struct intent_draft *d, const struct karmalb_service *message, struct err *err);

int
intent_draft_mirror(struct intent_draft *d, const struct karmalb_mirror *message, struct err *err);

/* Closes the transaction; on 0 the caller owns '*intent' (intent_free()). */
int
intent_draft_commit(struct intent_draft *d, const struct karmalb_commit *message,
	struct intent **intent, struct err *err);

/* Forgets an open transaction; for a link that closed. */
void
intent_draft_abort(struct intent_draft *d);

/*
 * Whether the whole can be put in force beside our own 'sources': a service's listen and mirrors of
 * one version of IP, of which there is a source, every listen once, every mirror of a service once,
 * no listen and no mirror that is a source, no mirror that is a listen (a loop), shares that do not
 * vanish in the sum.  0, or -EINVAL or -EPROTONOSUPPORT with a sentence that names service and
 * mirror.
 */
int
intent_check(const struct intent *intent, const struct karmalb_address *sources, unsigned n_sources,
	struct err *err);

bool
intent_has_listen(const struct intent *intent, const struct karmalb_endpoint *listen);

/* Every listen of 'part' is one of 'whole', too. */
bool
intent_is_part_of(const struct intent *part, const struct intent *whole);

/* The same services with the same mirrors in the same order: only shares and the like differ. */
bool
intent_has_same_mirrors(const struct intent *a, const struct intent *b);

/* NULL is fine. */
void
intent_free(struct intent *intent);
