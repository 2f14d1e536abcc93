/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must happen to get from one configuration to another, as an ordered list: what goes, then
 * what comes, then what changes.  Two configurations that differ only in the order of their
 * services or mirrors say the same.  Services are the same by name; mirrors of a service are the
 * same by address and port, so that one that is only called otherwise now stays itself.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "err.h"

struct change_words;
struct config;
struct config_mirror;
struct config_service;
struct setting;

enum plan_kind {
	PLAN_PROGRAM,      /* dataplane or controlplane: takes a restart, all else does not */
	PLAN_CONTROLPLANE, /* a setting that does not, though no statement changes it either */
	PLAN_DROP_SERVICE,
	PLAN_DROP_MIRROR,
	PLAN_DEFAULT, /* and all services without a value of their own */
	PLAN_ADD_SERVICE,
	PLAN_LISTENS,
	PLAN_SETTING, /* or whether it is the service's own */
	PLAN_MIRROR_SETTING,
	PLAN_ADD_MIRROR,
};

/* Points into both configurations. */
struct plan_change {
	enum plan_kind kind;
	const struct config_service *service, *service_was;
	const struct config_mirror *mirror, *mirror_was;
	const struct setting *setting; /* PROGRAM: NULL stands for a list: 'title' */
	const char *title;
	const void *base, *base_was; /* of the setting */
	bool is_own;                 /* SETTING: from now on */
};

struct plan {
	const struct config *from, *to; /* must outlive the plan */
	unsigned n_changes;
	unsigned n_restarts; /* of these, PLAN_PROGRAM */
	struct plan_change *changes;
};

/* 0, or -ENOMEM, and the plan is empty. */
int
plan_make(struct plan *plan, const struct config *from, const struct config *to);

/* Frees what it holds. */
void
plan_fini(struct plan *plan);

/* Does to 'config' what the plan says; PLAN_PROGRAM is left out.  0 or a negative errno. */
int
plan_apply(const struct plan *plan, struct config *config, struct err *err);

/* "web: ha_strategy nodeads -> random", without an end of line. */
void
plan_print_change(const struct plan *plan, unsigned index, FILE *out);

/* All of them in fields, for change_words_free(); NULL when out of memory. */
struct change_words *
plan_words(const struct plan *plan);

/* The statements that lead from the one to the other, one a line, each ended by ';'.  They are good
 * together; on the way a service may have no mirror, or two listen at one place.  PLAN_PROGRAM and
 * PLAN_CONTROLPLANE have none. */
void
plan_print_statements(const struct plan *plan, FILE *out);
