/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control plane's questions (wire.h) to one worker that holds some flows in all modes, for the
 * fuzz target intent.  A book is kept of them: an answer that is not one to what was asked, and a
 * question that stays without one, aborts.
 *
 * What a question has in 'request' says what happens after it, and is replaced by its number:
 *
 *   bits 0-2   messages that the link takes
 *   bit 3      questions_step() is called
 *   bits 4-7   if not 0: the worker runs its errands, with room for that many frames less one
 *   bits 8-15  milliseconds that pass before
 */
#pragma once

/* Writes into the message.  0, or negative when it is refused. */
int
asker_ask(void *message);

/* Whoever asked is gone. */
void
asker_leave(void);

/* All is read and done: every question must have its answer.  Begins anew. */
void
asker_finish(void);
