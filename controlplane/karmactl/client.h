/* SPDX-License-Identifier: BSD-3-Clause */
/* The control plane's other end: a statement there, an answer back, over its UNIX socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct client;
struct err;

#define CLIENT_TIMEOUT_MS  5000
#define CLIENT_ENVIRONMENT "KARMALB_CONTROL"
#define CLIENT_PATHS       "/run/karmalb/control.sock", "/run/karmalb-demo/control.sock"

/* What an answer looks like. */
enum client_form {
	CLIENT_TEXT,
	CLIENT_JSON,
	CLIENT_TSV,
	CLIENT_N_FORMS,
};

/* Owned by the caller: client_answer_free(). */
struct client_answer {
	bool is_done;        /* the statement was understood and carried out */
	bool is_bad;         /* and done: what was asked for was found to be in a bad way */
	bool is_unconfirmed; /* and done: a change that is taken, but not known to be in force */
	char *body;          /* terminated; ends with a line's end */
	size_t size;
};

/* 'path' NULL: the environment's, else the first of CLIENT_PATHS that answers.  Returns NULL with a
 * sentence that says which sockets were tried and what to do. */
struct client *
client_open(const char *path, struct err *err);

/* Takes NULL. */
void
client_close(struct client *client);

/* Returns 0, also if the statement was refused; or -errno with a sentence if there is no answer,
 * -ETIMEDOUT after CLIENT_TIMEOUT_MS.  A later call connects again. */
int
client_ask(struct client *client, const char *statement, enum client_form form,
	struct client_answer *answer, struct err *err);

/* From now on what comes in pieces is written to 'out' as it comes, and is no part of the answer;
 * NULL: no longer. */
void
client_stream(struct client *client, FILE *out);

void
client_answer_free(struct client_answer *answer);
