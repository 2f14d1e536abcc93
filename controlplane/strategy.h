/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The strategies: each turns what is known of a service's mirrors into the shares that its selector
 * draws by.  One const table; help, completion and validation read its rows.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/limits.h>
#include <karmalb/wire.h>

#include "health.h"

#define STRATEGY_TRIAL_SHARE_MIN 0.01

/* How queries ended over the window that error rates are compared in.  Whole numbers, or parts of
 * them where the window fades. */
struct strategy_counts {
	double criticals; /* failures of any kind */
	double warnings;  /* answers that carried one */
	double successes; /* answers without */
};

struct strategy_mirror {
	double configured; /* share, > 0; all mirrors together 1 */
	double weight;     /* configured * e^x: the share that karma gives, up to a constant */
	double ramp;       /* 0 .. 1: the part of it that slow start lets it have already */
	uint32_t failures; /* in a row, health_failures() */
	enum mirror_state state;
	bool is_joining;   /* on trial or on its ramp, and nobody counted on it before */
	bool is_answering; /* its last ping was answered */
	bool was_avoided;  /* by the former decision, strategy_role AVOIDED or what came of it */
	struct strategy_counts counts;
};

/* A service as a strategy sees it. */
struct strategy_view {
	unsigned n_mirrors; /* 0 .. KARMALB_MIRRORS_MAX */
	const struct strategy_mirror *mirrors;
	double trial_share;   /* of a mirror on trial */
	double tolerance;     /* rates of errors and warnings up to it count as none; 0 .. 1 */
	double max_dead;      /* at most this part of the mirrors goes without for being dead */
	double max_avoided;   /* and for erring more than others */
	bool is_dead_skipped; /* by strategies that do not look at health else */
};

/* What a decision makes of a mirror. */
enum strategy_role {
	STRATEGY_REGULAR,
	STRATEGY_TRIAL,   /* a small share, to see what it does */
	STRATEGY_AVOIDED, /* alive, but it errs more than others */
	STRATEGY_OUT,     /* dead */
};

struct strategy_share {
	double share; /* 0 .. 1 */
	enum strategy_role role;
};

struct strategy {
	const char *name;
	const char *help; /* one line, no full stop */
	uint8_t selector; /* enum karmalb_selector: what a worker does with the shares */
	bool uses_health; /* false: dead mirrors get their share all the same */
	bool uses_karma;  /* shares are re-weighted every period */
	/* Fills shares[0 .. n_mirrors - 1], together 1 unless there is no mirror. */
	void (*shares)(const struct strategy_view *view, struct strategy_share *shares);
};

/* In the order of the values of ha_strategy; ends with a row whose name is NULL. */
extern const struct strategy strategies[];

/* 'ha_strategy' as in struct service_settings. */
const struct strategy *
strategy_at(unsigned ha_strategy);

/* A trial's share under a floor of 'karma_floor': small, but never below what any mirror has. */
double
strategy_trial_share(double karma_floor);
