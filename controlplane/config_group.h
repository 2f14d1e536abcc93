/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading one group of the file by the table of settings; for the files that make up config.h. */
#pragma once

#include <libconfig.h>

#include "settings.h"

struct config_reader;

/* A group of the file, and where the settings of its one or two scopes go. */
struct config_place {
	const char *title; /* where it is, for sentences: "in dataplane", "in a mirror" */
	struct {
		enum setting_scope scope;
		void *base; /* the scope's struct */
	} parts[2];
	unsigned n_parts;
};

/* Reads every setting of the group except what is in its lists and groups (SETTING_GROUP, _GROUPS,
 * _STRINGS, _ADDRESS), of which only the shape is checked.  What the group does not hold stays as
 * it is, and is an error if it has no default. */
void
config_read_group(
	struct config_reader *r, config_setting_t *group, const struct config_place *place);

/* An error at the line of 'node'. */
void
config_complain(struct config_reader *r, const config_setting_t *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
