/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists in one BPF program's maps: services, VIPs, sources.  Both programs have the same, so
 * both are filled by the same calls.  Control thread only.
 */
#pragma once

#include <stdint.h>

#include "err.h"
#include "steer_map.h"

struct port_intent;

/* Descriptors, owned; -1: not open. */
struct steer_maps {
	int services;
	int vips;
	int sources;
	int counters;
};

#define STEER_MAPS_CLOSED ((struct steer_maps){-1, -1, -1, -1})

/* Opens the maps of a loaded program.  0, or a negative errno and a sentence. */
int
steer_maps_open(struct steer_maps *maps, uint32_t program_id, struct err *err);

/* Closed ones are fine. */
void
steer_maps_close(struct steer_maps *maps);

/* Adds what 'intent' has and the maps lack. */
int
steer_maps_add(const struct steer_maps *maps, const struct port_intent *intent, struct err *err);

/* Removes what 'intent' lacks. */
int
steer_maps_remove_others(
	const struct steer_maps *maps, const struct port_intent *intent, struct err *err);

/* Adds everything that 'from' has. */
int
steer_maps_copy(const struct steer_maps *to, const struct steer_maps *from, struct err *err);

/* Summed over CPUs. */
uint64_t
steer_maps_count(const struct steer_maps *maps, enum steer_counter counter);
