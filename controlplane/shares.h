/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides on the model: from evidence to states, from karma to x, from both to shares.  No I/O but
 * the log lines of changed states, and no clock.  Loop's thread only.
 *
 * A share travels through three hands: weight.h moves x once a period, health.h says who takes
 * part, strategy.h makes shares of the two.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

/*
 * Once, when a data plane with a snapshot was found at start: takes over the shares in force, so
 * that the first announcement says the same again.  A mirror in the snapshot with share 0 was out
 * of service: it will begin from its configured share, but on trial unless it is dead.  One that
 * the snapshot does not know begins as configured.
 */
void
shares_adopt(struct model *model, uint64_t now_us);

/* Brings the states of a service's mirrors up to date and logs what changed. */
void
shares_judge(struct model_service *service, uint64_t now_us);

/*
 * At the end of a block that was observed whole, re-weights from it; else, and under a strategy
 * that does not use karma, does nothing.  Spreads anew; returns true when it re-weighted.  Call it
 * at least once a period.
 */
bool
shares_reweight(
	struct model_service *service, const struct model_dataplane *dataplane, uint64_t now_us);

/* Runs the strategy.  Returns true when a share differs from before. */
bool
shares_spread(struct model_service *service, uint64_t now_us);

/* When the next re-weighting is due while all goes on as it does; UINT64_MAX: none. */
uint64_t
shares_reweight_due_us(
	const struct model_service *service, const struct model_dataplane *dataplane);

/* When any of the above has something to do without news from outside. */
uint64_t
shares_wake_us(const struct model_service *service, const struct model_dataplane *dataplane);
