/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes what the workers observed into the totals.  Control thread. */
#pragma once

#include <stdint.h>

struct instance;

/* Empties the workers' sample rings into the totals; returns how many samples there were. */
unsigned
collect_samples(struct instance *inst, uint64_t now_us);

/*
 * Collects samples, then sums the workers' counters of slots 0 .. n_slots - 1 into the totals, so
 * that each row's stamp holds for both.
 */
void
collect_counters(struct instance *inst, unsigned n_slots);

/* The same for urgent slots only. */
void
collect_urgent(struct instance *inst, unsigned n_slots);
