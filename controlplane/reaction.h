/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long it takes from the last failure of a mirror that died until no worker gives it a
 * connection: measured for each death, logged and kept in the history.  Loop's thread only.
 */
#pragma once

#include <stdint.h>

struct karmalb_applied;
struct model;
struct model_mirror;

/* A mirror has just been called dead; 'failed_us': its last failure, of a query or a ping. */
void
reaction_died(struct model_mirror *mirror, uint64_t failed_us);

/* All decisions so far are on their way with 'epoch'; 0: they made no difference. */
void
reaction_sent(struct model *model, uint32_t epoch);

void
reaction_applied(struct model *model, const struct karmalb_applied *applied);
