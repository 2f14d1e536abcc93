/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes into the model what came from outside: the data plane's messages (already checked) and the
 * outcome of pings.  Decides nothing.  Loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

/* A link was made.  Another instance than before: its totals begin anew, and so do ours. */
void
observe_welcome(struct model *model, const struct karmalb_welcome *welcome, uint64_t now_us);

void
observe_slot(struct model *model, const struct karmalb_slot *slot);

/* Files the difference to the totals before under karma. */
void
observe_totals(struct model *model, const struct karmalb_slot_totals *totals);

/* Returns true once after each welcome, when all that it promised has come in: from 'now_us' on
 * observation is complete. */
bool
observe_synced(struct model *model, uint64_t now_us);

/* The answer to a transaction. */
void
observe_applied(struct model *model, const struct karmalb_applied *applied);

void
observe_worker(struct model *model, const struct karmalb_worker_totals *totals);
/* What its link did: "up -> down", or NULL: nothing.  One never seen before counts as up until
 * then; a loss too short to be seen is told by its count. */
const char *
observe_port(struct model *model, const struct karmalb_port_status *port);

/* The link is gone; 'why' is for a person. */
void
observe_closed(struct model *model, const char *why, uint64_t now_us);

void
observe_ping_answered(struct model_mirror *mirror, uint64_t took_us, uint64_t now_us);
/* 'failure' in words: "connection refused". */
void
observe_ping_failed(struct model_mirror *mirror, const char *failure, uint64_t now_us);

/* Whether an outcome (enum karmalb_outcome) counts as a failure. */
bool
observe_is_failure(unsigned outcome);

/* All that is known about a mirror's health; points into the mirror. */
void
observe_evidence(const struct model_service *service, const struct model_mirror *mirror,
	struct health_evidence *evidence);
