/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and unmaking one service of the model; for model*.c only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct config_mirror;
struct config_service;
struct model_mirror;
struct model_service;

/* All mirrors up, shares as configured.  0, or -1 when out of memory; fini either way. */
int
model_service_init(struct model_service *s, const struct config_service *conf, uint64_t now_us);

/* Takes a zeroed one too. */
void
model_service_fini(struct model_service *s);

/* Whether it is the same mirror: by address and port. */
bool
model_is_mirror(const struct model_mirror *mirror, const struct config_mirror *conf);

/* On trial from now on. */
void
model_try_mirror(struct model_mirror *mirror, const char *evidence, uint64_t now_us);
