/* SPDX-License-Identifier: BSD-3-Clause */
/* What asks for CHECK SERVICE and what tells of it share; only commands_check*.c include it. Loop's
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "commands_ask.h"
#include "ping_dialogue.h"

struct status_service;

/* How the ping of a mirror ended. */
enum check_ping_state {
	CHECK_PING_WANTED, /* not over yet */
	CHECK_PING_ANSWERED,
	CHECK_PING_FAILED,
	CHECK_PING_NONE,     /* there is none to this mirror */
	CHECK_PING_NOT_SENT, /* no time left, no memory, or the mirror is gone */
	CHECK_N_PING_STATES,
};

struct checking;
struct check_item;

struct check_ping {
	struct checking *checking;
	const struct status_service *service;
	unsigned mirror;          /* index into service->mirrors */
	struct check_item *items; /* service->n_listens of them */
	enum check_ping_state state;
	uint64_t took_us;
	char failure[PING_FAILURE_MAX]; /* in words, of one that failed */
};

/* A mirror behind a listen, hence a row of the answer. */
struct check_item {
	struct checking *checking;
	const struct status_service *service;
	const struct check_ping *ping; /* of its mirror */
	unsigned index;                /* into service->slots */
	bool is_over;                  /* as far as the SYN is concerned */
	bool has_result;
	struct karmalb_checked result;
};

struct checking {
	struct asking *asking;
	const struct status_service *only; /* of asking->status; NULL: all services */
	bool has_begun;                    /* somebody was asked, or nobody could be */
	unsigned next, next_ping;          /* item and ping to be asked about */
	unsigned n_out, n_pings_out;       /* on their way */
	unsigned n_rows, n_told;
	unsigned n_results[KARMALB_N_CHECK_RESULTS];
	unsigned n_unanswered;
	uint64_t until_us;
	unsigned n_items, n_pings;
	struct check_item *items; /* one for each of the services' slots */
	struct check_ping *pings; /* one for each mirror */
};

/* Some listen is TCP, and only those are rows. */
bool
checking_is_by_tcp(const struct status_service *s);

/* Whether a mirror behind a listen is a row at all. */
bool
checking_has_row(const struct check_item *item);

void
checking_free(struct checking *c);

/* Of the answer, without rows. */
void
checking_open_table(struct checking *c);

/* The row of a mirror of which all is known: a line, if somebody reads along. */
void
checking_tell(struct check_item *item);

/* Answers, and frees it. */
void
checking_answer(struct checking *c);
