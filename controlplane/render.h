/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers in one form: one table of functions per form, all of them fed from the same values, so
 * that forms cannot disagree.  Pure: 'out' is memory, nothing else is looked at.  What came from
 * elsewhere (names, sentences) leaves without control characters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct change_words;
struct pairs;
struct table;
struct status;
struct status_service;

/* How a change ended. */
struct render_change {
	const char *service, *setting;
	const char *old_text, *new_text;  /* equal: nothing changed */
	const struct change_words *words; /* the same in fields: one */
	bool is_pinned;         /* it was as in defaults until now, and is the service's own */
	const char *file_text;  /* what the configuration file says */
	const char *start_text; /* what the next start has: that, then what was saved */
	bool is_in_file;        /* the file says the new one, of this service itself */
	bool is_saved;          /* likewise the next start */
	bool is_in_force;
	uint32_t epoch; /* 0: none */
	double took_ms;
	const char *sentence; /* when it comes into force, or why not */
};

/* What a statement did to what is wanted, or would. */
struct render_result {
	const struct change_words *changes;
	unsigned n_changes;
	bool has_force; /* whether the next three mean anything */
	bool is_in_force;
	uint32_t epoch; /* 0: none */
	double took_ms;
	const char *sentence;
};

/* A statement as HELP shows it. */
struct render_command {
	const char *syntax, *help, *example;
};

/* One of the words that an argument may be at present. */
struct render_word {
	const char *argument; /* "service" */
	const char *word;     /* "web" */
	const char *help;     /* may be empty */
};

struct render_help {
	bool is_full; /* a choice of statements, with examples and the words of their arguments */
	unsigned n_commands, n_words;
	const struct render_command *commands;
	const struct render_word *words; /* those of one argument in a row */
};

/* A sentence about rows, with the facts in it for programs. */
struct render_report {
	const char *sentence;      /* for people; lines */
	const struct pairs *facts; /* for programs: beside the rows */
	const char *rows_name;     /* "mirrors" */
	const struct table *table;
};

struct render {
	void (*services)(FILE *out, const struct status *status);
	/* 'only' NULL: of all services. */
	void (*mirrors)(FILE *out, const struct status *status, const struct status_service *only);
	void (*drops)(FILE *out, const struct status *status);
	void (*pairs)(FILE *out, const struct pairs *pairs);
	void (*help)(FILE *out, const struct render_help *help);
	void (*change)(FILE *out, const struct render_change *change);
	void (*result)(FILE *out, const struct render_result *result);
	void (*table)(FILE *out, const struct table *table);
	void (*report)(FILE *out, const struct render_report *report);
	void (*error)(FILE *out, const char *sentence);
};

/* Text for eyes; JSON; and tab-separated values, a row of names first, made from what JSON says. */
extern const struct render render_text, render_json, render_tsv;

/* What follows is shared by the forms. */

/* Statements for eyes; needs nothing else of this header, so karmactl has it too. */
void
render_text_help(FILE *out, const struct render_help *help);

/* A service's setting in its normal text, as SHOW and SET have it: "nodeads", "5s". */
#define RENDER_SETTING_MAX 80
const char *
render_setting(const struct status_service *service, const char *name, char *text, size_t size);

/* A reason for which packets were lost, over all workers or at one port. */
struct render_drop {
	const char *name, *help;
	const char *port; /* NULL: counted by the workers, as counters[counter] */
	unsigned counter;
	uint64_t total;
};

/* The one number 'i'; false: there are no more. */
bool
render_drop_at(const struct status *status, unsigned i, struct render_drop *drop);

/* "resolved", "unknown", "failed": enum karmalb_next_hop_state. */
const char *
render_next_hop(unsigned next_hop);
