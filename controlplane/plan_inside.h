/* SPDX-License-Identifier: BSD-3-Clause */
/* What plan_print.c and plan_words.c share.  Pure. */
#pragma once

#include <stdio.h>

struct config_mirror;
struct config_service;

/* "192.0.2.1:80/tcp, 192.0.2.1:81/tcp". */
void
plan_print_listens(const struct config_service *s, FILE *out);

/* "drain until 2026-11-30T04:30:00Z". */
void
plan_print_state(const struct config_mirror *m, FILE *out);
