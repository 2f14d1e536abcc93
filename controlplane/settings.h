/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table of everything that a configuration file may hold: name, where it belongs, type,
 * unit of a bare number, default, range, whether it may change at run time, help.  The file's
 * parser, its normal form, 'defaults', SET SERVICE and help all read these rows.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <karmalb/limits.h>

struct err;

/* The group of the file that a setting stands in. */
enum setting_scope {
	SETTING_SCOPE_FILE,         /* the top level */
	SETTING_SCOPE_DATAPLANE,    /* dataplane = {...}: struct config_dataplane */
	SETTING_SCOPE_PORT,         /* one of dataplane.ports: struct config_port */
	SETTING_SCOPE_NEIGHBOUR,    /* one of dataplane.neighbours: struct config_neighbour */
	SETTING_SCOPE_CONTROLPLANE, /* controlplane = {...}: struct config_controlplane */
	SETTING_SCOPE_SERVICE,      /* defaults = {...}, services: struct service_settings */
	SETTING_SCOPE_SERVICE_ONLY, /* services, but not defaults: struct config_service */
	SETTING_SCOPE_MIRROR,       /* one of services.mirrors: struct config_mirror */
};

enum setting_type {
	SETTING_DURATION, /* uint64_t in 'unit' */
	SETTING_SIZE,     /* uint64_t, bytes */
	SETTING_COUNT,    /* uint64_t */
	SETTING_NUMBER,   /* double */
	SETTING_SHARE,    /* double, 0 .. 1; also as "1 %" */
	SETTING_BOOL,     /* bool */
	SETTING_CHOICE,   /* unsigned, an index into 'choices' */
	SETTING_NAME,     /* char[KARMALB_NAME_MAX]: letters, digits, '-', '_', '.' */
	SETTING_TEXT,     /* char[KARMALB_NAME_MAX]: printable, no blanks */
	SETTING_DEVICE,   /* char[KARMALB_DEVICE_MAX]: likewise */
	SETTING_CPUS,     /* struct units_cpus */
	SETTING_GROUP,  /* { }     the four below have no value of their own: config.c reads them */
	SETTING_GROUPS, /* ( { }, ) */
	SETTING_STRINGS, /* [ "", ] */
	SETTING_ADDRESS, /* "10.0.0.11:9306" */
	SETTING_LATER,   /* known, but not available in this version */
};

/* Values of SETTING_CHOICE settings; the order is that of the choices. */
enum karma_rule {
	KARMA_RULE_DAMPED,     /* x <- (1 - forget) x - gain ln(latency / median) */
	KARMA_RULE_DOCUMENTED, /* share x 1/latency, renormalised: gain 1, forget 0, floor 0 */
};

/* What noerrors compares the mirrors by. */
enum karma_window {
	KARMA_WINDOW_HALF_FULL, /* karma_window(): a block leaves as a whole */
	KARMA_WINDOW_SMOOTH,    /* the block before fades as the present one fills */
};

enum ping_kind {
	PING_NONE,
	PING_TCP,
	PING_HTTP,
	PING_SPHINXAPI,
	PING_MYSQL,
};

/* How answers are read; REPLY_CHECK_AUTO: after the listen's port. */
enum reply_check {
	REPLY_CHECK_AUTO,
	REPLY_CHECK_NONE,
	REPLY_CHECK_HTTP,
	REPLY_CHECK_SPHINXAPI,
	REPLY_CHECK_MYSQL,
};

/* What an operator wants of a mirror; the choices of its setting 'state'. */
enum settings_mirror_state {
	SETTINGS_MIRROR_ACTIVE,
	SETTINGS_MIRROR_DRAIN,       /* no new connections; those there are go on */
	SETTINGS_MIRROR_MAINTENANCE, /* likewise, and it is neither pinged nor judged */
};

/* "active", "drain", "maintenance". */
const char *
settings_mirror_state_name(unsigned state);

/* What each service has, and 'defaults' sets for all of them.  No pointers: copy it freely. */
struct service_settings {
	unsigned ha_strategy;              /* for strategy_at() */
	unsigned karma_rule;               /* enum karma_rule */
	unsigned karma_window;             /* enum karma_window */
	unsigned ping;                     /* enum ping_kind */
	unsigned reply_check;              /* enum reply_check */
	uint64_t ha_period_karma_s;        /* >= 1 */
	uint64_t ha_ping_interval_ms;      /* 0: off */
	uint64_t agent_connect_timeout_ms; /* as struct karmalb_service bounds it; likewise: */
	uint64_t agent_query_timeout_ms;
	uint64_t idle_timeout_ms;     /* of TCP */
	uint64_t udp_idle_timeout_ms; /* of UDP */
	bool udp_answers;
	uint64_t dead_after;    /* errors in a row, >= 1 */
	uint64_t ping_port;     /* 0: the mirror's own port */
	uint64_t slow_start_ms; /* 0: off */
	double max_dead_pct;    /* 0 .. 100, of the service's mirrors; likewise: */
	double max_avoided_pct;
	double noerrors_tolerance_pct; /* 0 .. 100, of a mirror's queries */
	bool roundrobin_skip_dead;
	char ping_path[KARMALB_NAME_MAX]; /* for PING_HTTP */
	double karma_gain;   /* 0 .. 1, or SETTING_WORD: auto; the three are not used by
				KARMA_RULE_DOCUMENTED */
	double karma_forget; /* 0 .. 1 */
	double karma_floor;  /* 0 .. 0.5: lowest share, at most half the configured one */
};

struct setting {
	const char *name;
	enum setting_scope scope;
	enum setting_type type;
	size_t offset;              /* of the value in the scope's struct */
	const char *unit;           /* of a bare number: "us", "ms", "s"; NULL: none */
	const char *default_text;   /* NULL: required */
	double min, max;            /* in 'unit'; for numbers only */
	const char *zero;           /* what 0 (or empty text) means; NULL: it is not allowed */
	const char *const *choices; /* NULL-terminated; or: */
	const char *(*choice_at)(unsigned index); /* NULL behind the last */
	const char *word;    /* may stand for a SETTING_NUMBER, as SETTING_WORD; NULL: none */
	const char *later;   /* values, with blanks between, that will be possible one day */
	bool is_live;        /* of a service: SET SERVICE may change it; else: RELOAD may */
	const char *help;    /* one line, no full stop; LATER: what to say instead, or NULL */
	const char *instead; /* SERVICE_ONLY: what changes it, in a sentence without full stop */
};

#define SETTING_WORD (-1.0) /* what a setting's 'word' is kept as; no row allows it otherwise */

/* The table; ends with a row whose name is NULL. */
extern const struct setting settings[];

/* NULL: no such setting there. */
const struct setting *
setting_find(enum setting_scope scope, const char *name);

/* A setting of a service that statements may change; NULL with a sentence: there is none of that
 * name, or not in this version, or something else changes it. */
const struct setting *
setting_find_live(const char *name, struct err *err);

/* A bit for each setting of SETTING_SCOPE_SERVICE, for sets of them. */
uint64_t
setting_bit(const struct setting *s);

/* Bytes of a SETTING_NAME, _TEXT or _DEVICE, its NUL included; of others 0. */
static inline int
setting_word_max(const struct setting *s)
{
	switch (s->type) {
	case SETTING_NAME:
	case SETTING_TEXT:
		return KARMALB_NAME_MAX;
	case SETTING_DEVICE:
		return KARMALB_DEVICE_MAX;
	default:
		return 0;
	}
}

/* Enough for any setting_format(). */
#define SETTING_TEXT_MAX 336

/* Reads 'text' (without quotes) into the setting's place in 'base', the scope's struct.  Returns
 * 0, or -EINVAL with a sentence, and 'base' is as before. */
int
setting_parse(const struct setting *s, void *base, const char *text, struct err *err);

/* A value of a SETTING_CHOICE by its index, for completion too; NULL: no more. */
const char *
setting_choice(const struct setting *s, unsigned index);

/* What the row allows, in words: "a duration from 1s to 1d such as ...".  Returns 'text'. */
#define SETTING_EXPECTED_MAX 300
const char *
setting_expected(const struct setting *s, char *text, size_t size);

/* A number of the setting's kind in its normal text; returns 'text'. */
char *
setting_format_number(const struct setting *s, double value, char *text, size_t size);

/* What a bare number of it counts, for people: "ms", "bytes", "%"; empty: things, or it is none. */
const char *
setting_unit(const struct setting *s);

/* Microseconds in the unit of a SETTING_DURATION. */
uint64_t
setting_unit_us(const struct setting *s);

/* A text as a sentence quotes it: in quotes unless it is a number, true or false; cut after
 * SETTING_QUOTE_MAX bytes.  Returns 'quoted'. */
#define SETTING_QUOTE_MAX  60
#define SETTING_QUOTED_MAX (SETTING_QUOTE_MAX + 6)
const char *
setting_quote(const char *text, char *quoted, size_t size);

/* Whether 'text', a normal one of its, stands in quotes in a file. */
bool
setting_is_quoted(const struct setting *s, const char *text);

/* The value in its normal text, without quotes; returns 'text'. */
char *
setting_format(const struct setting *s, const void *base, char *text, size_t size);

/* Fills every setting of a scope that has a default with it. */
void
settings_set_defaults(enum setting_scope scope, void *base);

/* What settings_set() did, in normal texts: "60s" -> "2m". */
struct setting_change {
	const struct setting *setting;
	bool is_changed; /* false: it had that value already */
	bool is_pinned;  /* of a service: it was as in defaults until now */
	char old_text[SETTING_TEXT_MAX];
	char new_text[SETTING_TEXT_MAX];
};

/* SET SERVICE: validates name and value and changes 'service' in that one place.  Returns 0, or
 * -EINVAL with a sentence that lists what is possible, and 'service' is as before. */
int
settings_set(struct service_settings *service, const char *name, const char *text,
	struct setting_change *change, struct err *err);
