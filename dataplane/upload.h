/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is due upwards.  Each thing that may be sent has a mark; marks are set when it changed and
 * cleared when it was sent, with the newest values at that moment.  So a control plane that does
 * not read costs nothing but its own freshness, and a new one gets everything by setting all marks.
 * Control thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

struct apply;
struct instance;
struct link;
struct upload;

/* NULL when out of memory.  All outlive it. */
struct upload *
upload_create(struct instance *instance, const struct apply *apply, struct link *link);

/* NULL is fine. */
void
upload_free(struct upload *u);

/* A control plane said HELLO: WELCOME, every slot with its totals, and all else are due. */
void
upload_begin(struct upload *u);

/* It is gone: nothing is due. */
void
upload_end(struct upload *u);

/* Between upload_begin() and upload_end(). */
bool
upload_is_begun(const struct upload *u);

/* Slots that differ from what was sent are due. */
void
upload_note_slots(struct upload *u);

/*
 * An APPLIED is due.  False: too many went unread, the control plane does not do its part.
 */
bool
upload_note_applied(struct upload *u, const struct karmalb_applied *applied);

/* Totals of slots that changed are due; with 'urgent', of those that are urgent only. */
void
upload_note_totals(struct upload *u, bool urgent);

/* Reads workers' counters and ports' states; those that changed are due. */
void
upload_note_counters(struct upload *u);

/* Sends what is due until nothing is or the control plane does not take more. */
void
upload_flush(struct upload *u);
