/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that decide on shares, and tell why, have in common. */
#pragma once

#include <stdint.h>

/* A slow start moves in so many steps, each of which is a snapshot for the data plane. */
#define SHARES_RAMP_STEPS 10

struct model_mirror;
struct model_service;

/* When the mirror's slow start takes its next step; UINT64_MAX: it is on no ramp. */
uint64_t
shares_ramp_due_us(const struct model_service *service, const struct model_mirror *mirror);
