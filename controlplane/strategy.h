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

struct strategy_mirror {
	double configured; /* share, > 0; all mirrors together 1 */
	double weight;     /* configured * e^x: the share that karma gives, up to a constant */
	uint32_t failures; /* in a row, health_failures() */
	enum mirror_state state;
};

/* A service as a strategy sees it. */
struct strategy_view {
	unsigned n_mirrors; /* 0 .. KARMALB_MIRRORS_MAX */
	const struct strategy_mirror *mirrors;
	double trial_share; /* of a mirror on trial */
};

struct strategy {
	const char *name;
	const char *help; /* one line, no full stop */
	uint8_t selector; /* enum karmalb_selector: what a worker does with the shares */
	bool uses_health; /* false: dead mirrors get their share all the same */
	bool uses_karma;  /* shares are re-weighted every period */
	/* Fills shares[0 .. n_mirrors - 1], 0 .. 1, together 1 unless there is no mirror. */
	void (*shares)(const struct strategy_view *view, double *shares);
};

/* In the order of the values of ha_strategy; ends with a row whose name is NULL. */
extern const struct strategy strategies[];

/* 'ha_strategy' as in struct service_settings. */
const struct strategy *
strategy_at(unsigned ha_strategy);

/* A trial's share under a floor of 'karma_floor': small, but never below what any mirror has. */
double
strategy_trial_share(double karma_floor);
