/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers the control plane's questions: which flows there are, which one a packet would take, end
 * these flows, does this mirror answer a SYN.  Flows are read beside the workers at work, a slice
 * at a turn, with flow_copy(): no worker waits or does anything for it.  What only a worker can do
 * goes into its errands.  Control thread only; never waits.
 */
#pragma once

#include <stdint.h>

#include <karmalb/wire.h>

#include "err.h"

#define QUESTIONS_MAX     16   /* unanswered, checks not counted; more are answered -EBUSY */
#define QUESTIONS_RECORDS 4096 /* looked at in one turn */
/* Answers of -EBUSY and the like that wait for room on the link; who asks for more has to read. */
#define QUESTIONS_TURNED_DOWN_MAX 1024

struct instance;
struct link;
struct questions;

/* NULL when out of memory.  Both outlive it. */
struct questions *
questions_create(struct instance *instance, struct link *link);

/* NULL is fine.  What workers were ordered to do, they do. */
void
questions_free(struct questions *q);

/*
 * A question came.  0, or -EPROTO with a sentence when a field is out of range, or when somebody
 * asks and asks and reads no answer.
 */
int
questions_take(struct questions *q, const struct karmalb_header *message, struct err *err);

/* Whoever asked is gone. */
void
questions_forget(struct questions *q);

/* Does a piece and sends what is to be sent.  Returns when to call again: UINT64_MAX: when there is
 * a question, or room on the link. */
uint64_t
questions_step(struct questions *q, uint64_t now_us);
