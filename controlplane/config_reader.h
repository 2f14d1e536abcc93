/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration being loaded: libconfig's tree on one side, the value under construction on the
 * other.  For the files that make up config.h only.
 */
#pragma once

#include <stddef.h>

#include <libconfig.h>

struct config;
struct config_errors;
struct err;
struct karmalb_address;

struct config_reader {
	const char *file;
	config_t tree;
	struct config *config;
	struct config_errors *errors;
};

/* Zeroed memory that lives as long as the value that is read; NULL: none left, and an error says
 * so. */
void *
config_reader_take(struct config_reader *r, size_t n, size_t size);

/* Fills the value from the tree; each setting for itself is right, or an error says why not. */
void
config_reader_fill(struct config_reader *r);

/* What only shows when the settings are seen together.  For a value without errors. */
void
config_reader_check(struct config_reader *r);

/* An empty value that owns its memory, and zeroed memory that lives as long; NULL: none left. */
struct config *
config_create(void);
void *
config_take(struct config *config, size_t n, size_t size);

/* Whether one host can have the address: not 0.x, multicast, reserved or broadcast.  0, or -EINVAL
 * with a sentence. */
int
config_check_host(const struct karmalb_address *address, struct err *err);
