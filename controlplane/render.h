/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers in one form: one table of functions per form, all of them fed from the same values, so
 * that forms cannot disagree.  Pure: 'out' is memory, nothing else is looked at.  What came from
 * elsewhere (names, sentences) leaves without control characters.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct balance_outcome;
struct pairs;
struct status;
struct status_service;

/* A statement as HELP shows it. */
struct render_command {
	const char *syntax, *help, *example;
};

/* What an argument may be at present, for completion. */
struct render_words {
	const char *argument; /* "service" */
	unsigned n_words;
	const char *const *words;
};

struct render_help {
	unsigned n_commands, n_arguments;
	const struct render_command *commands;
	const struct render_words *arguments;
};

struct render {
	void (*services)(FILE *out, const struct status *status);
	/* 'only' NULL: of all services. */
	void (*mirrors)(FILE *out, const struct status *status, const struct status_service *only);
	void (*drops)(FILE *out, const struct status *status);
	void (*pairs)(FILE *out, const struct pairs *pairs);
	void (*help)(FILE *out, const struct render_help *help);
	void (*change)(FILE *out, const struct balance_outcome *outcome);
	void (*error)(FILE *out, const char *sentence);
};

extern const struct render render_text, render_json;
