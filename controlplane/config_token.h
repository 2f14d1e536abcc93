/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a configuration file, for those who must look at its text: libconfig says no more
 * than "syntax error", and keeps only what it understood.  Pure; for config_syntax.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

enum config_token_kind {
	CONFIG_TOKEN_END,    /* of the text */
	CONFIG_TOKEN_STRING, /* "...", quotes included */
	CONFIG_TOKEN_WORD,   /* a run of other characters */
	CONFIG_TOKEN_MARK,   /* one of = : ; , ( ) [ ] { } */
	CONFIG_TOKEN_WRONG,  /* the scanner has said what is wrong; nothing follows */
};

/* What a word is to libconfig. */
enum config_word {
	CONFIG_WORD_NAME,
	CONFIG_WORD_BOOL,
	CONFIG_WORD_INTEGER,
	CONFIG_WORD_FLOAT,
	CONFIG_WORD_ODD, /* nothing: several tokens in one, or none at all */
};

struct config_token {
	enum config_token_kind kind;
	const char *text; /* into the source */
	size_t length;
	unsigned line;
};

struct config_scanner {
	const char *next, *end;
	unsigned line;
};

/* 'text' holds no byte 0, but is followed by one. */
struct config_scanner
config_scanner_of(const char *text, size_t size);

/* The next token; 'err' is filled for CONFIG_TOKEN_WRONG only. */
struct config_token
config_scanner_next(struct config_scanner *scanner, struct err *err);

/* The token together with what stands right behind it, as far as it looks like one unquoted value:
 * "10.0.0.1:80/tcp", "1 %". */
struct config_token
config_token_extend(const struct config_scanner *scanner, struct config_token token);

enum config_word
config_token_word(const struct config_token *token);

/* Whether libconfig keeps the value of an integer word. */
bool
config_token_fits(const struct config_token *token);
