/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control loop without I/O, for tests: the one service "web" with four mirrors, messages go
 * into the model by hand, the clock is moved by hand, and what is announced is looked at.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/clock.h>

#include "model.h"

#define S  KARMALB_SECOND
#define MS KARMALB_MILLISECOND

#define LOOP_PERIOD_US   (10 * S)
#define LOOP_N_MIRRORS   4
#define LOOP_N_LISTENS   2
#define LOOP_FIRST_BLOCK 1000

struct loop {
	struct config_mirror mirror_confs[LOOP_N_MIRRORS];
	struct karmalb_endpoint listens[LOOP_N_LISTENS];
	struct config_service service_conf; /* may be changed before loop_begin() */
	struct config config;
	struct model *model;
	struct model_service *web;
	uint64_t now_us;
	/* What the data plane has counted, per mirror and listen. */
	struct karmalb_slot_totals totals[LOOP_N_MIRRORS][LOOP_N_LISTENS];
};

extern struct loop loop;
extern const double loop_equal[LOOP_N_MIRRORS]; /* shares at the start */
extern const double loop_w1[LOOP_N_MIRRORS]; /* after one period of loop_answer_like_the_seed() */

/* Check's fixture: nodeads with the documented rule, the clock at the first block's begin. */
void
loop_set_up(void);
void
loop_tear_down(void);

/* Makes the model, with the first 'n_listens' listens. */
void
loop_begin(unsigned n_listens);

/* For ha_strategy. */
unsigned
loop_strategy_index(const char *name);

/* The number of a slot; it is not the mirror's. */
uint16_t
loop_number_of(unsigned mirror, unsigned listen);

/* When a block, counted from the first, has run for 'offset_us'. */
uint64_t
loop_block_at(unsigned block, uint64_t offset_us);

/* A data plane that has these shares in force; NULL: it has no snapshot and knows no slot yet. */
void
loop_connect_to(uint64_t instance, uint32_t epoch, const double *shares);

/* SLOT_TOTALS as they are in loop.totals. */
void
loop_send_totals(unsigned mirror, unsigned listen);
void
loop_answer(unsigned mirror, unsigned listen, unsigned n, uint64_t latency_us);
void
loop_query_fails(unsigned mirror, unsigned listen, enum karmalb_outcome kind);
/* 'n' answers of each mirror's first listen, in 10, 5, 30 and 3 ms. */
void
loop_answer_like_the_seed(unsigned n);

/* Moves the clock and lets the loop decide; returns whether there was a re-weighting. */
bool
loop_decide_at(uint64_t at_us);

/* The same in a test of Check's, and nothing may be due before the clock has moved on. */
bool
loop_tick_at(uint64_t at_us);

void
loop_assert_shares(const double *expected);
