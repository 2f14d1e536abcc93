/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions to the data plane that wait for their answers.  Each ends once: with ANSWERED, or with
 * nothing because the data plane went away or the time was up.  Loop's thread only.
 */
#pragma once

#include <stdint.h>

#include <karmalb/wire.h>

struct dplink;
struct event_base;
struct inquiries;

#define INQUIRIES_MAX 512 /* at a time */

/* NULL when out of memory. */
struct inquiries *
inquiries_create(struct event_base *base);

/* Ends all that wait.  Takes NULL. */
void
inquiries_free(struct inquiries *q);

struct inquiry_author {
	/* Each FLOW, CHECKED and at last ANSWERED; NULL instead: it ends without an answer. */
	void (*part)(void *arg, const struct karmalb_question *part);
	void *arg;
};

/* Sends 'question', its header and number filled in here.  0, and 'part' is called from the loop,
 * not before this returns; -EBUSY, -ENOMEM, or -ENOTCONN: there is no link. */
int
inquiries_ask(struct inquiries *q, struct dplink *link, struct karmalb_question *question,
	uint64_t timeout_us, const struct inquiry_author *author);

/* A part came up. */
void
inquiries_part(struct inquiries *q, const struct karmalb_question *part);

/* The link is gone, and all that was asked with it. */
void
inquiries_lost(struct inquiries *q);
