/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changing a configuration: a copy is edited step by step, checked as a whole, and then used or
 * thrown away, so that what is in force never is half of anything.  Texts are as a person typed
 * them.  Each step returns 0, or a negative errno with a sentence and the copy as it was: -ENOENT
 * no such service or mirror, -EINVAL wrong, -ENOMEM.  Pure.
 */
#pragma once

#include <karmalb/endpoint.h>

struct config;
struct config_mirror;
struct config_service;
struct err;
struct setting_change;

/* A copy that owns all that it points to, for config_free().  NULL: out of memory. */
struct config *
config_copy(const struct config *config);

/* Of the groups 'dataplane' and 'controlplane' what takes a restart, as it is in 'from'.  0 or
 * -ENOMEM. */
int
config_edit_programs(struct config *config, const struct config *from);

/* What shows only when everything is seen together, as for a file.  0 or -EINVAL. */
int
config_edit_check(struct config *config, struct err *err);

/* NULL: there is none, and the sentence says so. */
const struct config_service *
config_edit_find(const struct config *config, const char *service, struct err *err);
const struct config_mirror *
config_edit_find_mirror(const struct config_service *service, const char *mirror, struct err *err);

/* A setting of 'defaults', and of all services that have no own value of it. */
int
config_edit_default(struct config *config, const char *name, const char *text,
	struct setting_change *change, struct err *err);

/* A setting of a service, which is its own from then on. */
int
config_edit_setting(struct config *config, const char *service, const char *name, const char *text,
	struct setting_change *change, struct err *err);

/* Back to what 'defaults' say. */
int
config_edit_inherit(struct config *config, const char *service, const char *name, struct err *err);

/* 'service' is copied; what its 'own' does not hold is taken from 'defaults'. */
int
config_edit_add(struct config *config, const struct config_service *service, struct err *err);
/* The same where there is one of that name: in its place. */
int
config_edit_replace(struct config *config, const struct config_service *service, struct err *err);
int
config_edit_drop(struct config *config, const char *service, struct err *err);

int
config_edit_listens(struct config *config, const char *service,
	const struct karmalb_endpoint *listens, unsigned n_listens, struct err *err);

int
config_edit_add_mirror(struct config *config, const char *service,
	const struct config_mirror *mirror, struct err *err);
int
config_edit_drop_mirror(
	struct config *config, const char *service, const char *mirror, struct err *err);

/* A setting as it was typed. */
struct config_value {
	const char *name, *text;
};

/* A setting of a mirror by its name in the table: weight, state, name.  A state that is set so has
 * no end. */
int
config_edit_mirror(struct config *config, const char *service, const char *mirror,
	const struct config_value *value, struct err *err);

/* No new connections until then, and maintenance from then on: drain_until_us of config_mirror. */
int
config_edit_drain(struct config *config, const char *service, const char *mirror, uint64_t until_us,
	struct err *err);
