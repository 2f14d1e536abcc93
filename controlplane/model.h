/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The services and mirrors in force: what was asked for ('conf', 'settings'), what we decided (x,
 * share), what was observed.  The only owner of all three.  No I/O and no clock: times are
 * CLOCK_MONOTONIC us.  Loop's thread only.
 *
 * Who works on it: observe.h takes in what came from outside, shares.h makes decisions, status.h
 * copies it for renderers, transaction.h puts it into messages; balance.h calls them in turn.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "config.h"
#include "health.h"
#include "karma.h"
#include "log.h"
#include "settings.h"
#include "strategy.h"

struct pinger;

/* One listen of one mirror, as the data plane numbers and counts it. */
struct model_slot {
	struct karmalb_endpoint address; /* conf: the mirror behind that listen */
	bool is_known;                   /* the data plane has named its number */
	bool is_new;      /* it came into being while we watched, so its totals began at zero */
	bool has_totals;  /* 'totals' are of the present instance */
	bool is_selected; /* part of the snapshot in force */
	uint8_t next_hop; /* enum karmalb_next_hop_state */
	uint16_t number;
	double share_in_force;
	struct karmalb_slot_totals totals;     /* as last received */
	uint64_t row_base[KARMALB_N_OUTCOMES]; /* outcomes before the present row of errors */
};

struct model_ping {
	uint32_t n_failed; /* in a row */
	uint64_t failed_us;
	uint64_t answered_us;
	uint64_t took_us; /* the last answered one */
	char failure[64]; /* the last failure in words */
};

/* Connections opened at two moments, at least one second apart once the mirror is that old. */
struct model_rate {
	uint64_t at_us[2];
	uint64_t opened[2];
};

/* What the last re-weighting saw and did. */
struct model_step {
	bool has_block;
	uint64_t block;
	uint64_t queries;
	double mean_us;    /* of the answered queries */
	double latency_us; /* as the rule saw it: waiting queries included; 0: no sample */
	double median_us;  /* of the pool */
	double share_before, share_after;
};

/* Of a death that is not in force in the workers yet, see reaction.h. */
struct model_reaction {
	uint64_t failed_us; /* 0: none */
	uint32_t epoch;     /* that tells of it; 0: not sent yet */
};

struct model_mirror {
	struct config_mirror conf;
	double configured; /* share: weight / sum of weights */
	/* decided */
	double x;             /* ln(share / configured) up to a constant, see weight.h */
	double share;         /* announced */
	double moved, pulled; /* by the last re-weighting, see weight.h */
	struct model_step step;
	uint64_t ramp_since_us;  /* slow start; 0: not on its ramp */
	uint64_t ramp_step;      /* of SHARES_RAMP_STEPS, at the last decision */
	bool is_joining;         /* on trial or on its ramp, and nobody counted on it before */
	bool was_avoided;        /* by noerrors, until it is a regular mirror again */
	enum strategy_role role; /* as last decided */
	struct strategy_counts counts; /* that the role came from */
	/* observed */
	struct model_slot *slots; /* one per listen of the service */
	struct model_ping ping;
	struct health health;
	struct model_reaction reaction;
	struct model_rate rate;
	struct karma karma;
	/* whoever drives it */
	struct pinger *pinger; /* owned by pingers.h */
	struct log_limit log_limit;
};

struct model_service {
	char name[KARMALB_NAME_MAX];
	struct service_settings settings;
	unsigned n_listens;
	unsigned n_mirrors;
	struct karmalb_endpoint *listens;
	struct model_mirror *mirrors;
	uint64_t period_us;
	uint64_t period_since_us; /* blocks that began before had another length */
	uint64_t block;           /* the current one at the last tick */
	uint64_t reweighted_us;   /* 0: not yet */
	unsigned n_reweights;
	double gain;   /* of the last re-weighting */
	bool is_tuned; /* it found that by itself */
};

struct model_dataplane {
	bool is_connected; /* WELCOME was received */
	bool is_synced;    /* and so were all its slots: observation is complete from then on */
	bool was_synced;   /* ever: from then on the model says what is in force */
	unsigned n_pairs_missing;
	uint64_t since_us; /* connected, or not, since */
	uint64_t synced_us;
	uint32_t epoch_sent;     /* never runs back, whatever the data plane starts with */
	uint32_t epoch_answered; /* the newest that APPLIED was about, in force or not */
	uint32_t epoch_in_force;
	struct karmalb_welcome welcome; /* of the present or last connection */
	char sentence[KARMALB_SENTENCE_MAX];
	char path[128];
	unsigned n_workers; /* highest number heard of + 1 */
	unsigned n_ports;
	struct karmalb_worker_totals workers[KARMALB_WORKERS_MAX];
	struct karmalb_port_status ports[KARMALB_PORTS_MAX];
};

struct model_slot_owner {
	struct model_mirror *mirror; /* NULL: none of ours */
	struct model_slot *slot;
};

struct model {
	uint64_t started_us;
	unsigned n_services;
	struct model_service *services; /* in the file's order */
	/* What changes dropped that may be taken back yet, oldest first: services as they were,
	 * whose mirrors nobody pings. */
	unsigned n_dropped;
	struct model_service *dropped;
	struct model_dataplane dataplane;
	struct model_slot_owner owners[KARMALB_SLOTS_MAX]; /* by slot number */
};

/* All mirrors up, shares as configured.  NULL when out of memory. */
struct model *
model_create(const struct config *config, uint64_t now_us);

/* Takes NULL.  Pingers must be gone. */
void
model_free(struct model *model);

/*
 * Takes another configuration into force.  Services stay themselves by name and mirrors by service,
 * address and port: karma, health, x and what is known of their slots stay.  Pointers to services
 * and mirrors are void afterwards; pingers move along, and those of mirrors that went are nobody's.
 * What went is kept, and is what it was if it comes back, until model_forget_dropped().  0, or
 * -ENOMEM and nothing has changed.
 */
int
model_apply(struct model *model, const struct config *config, uint64_t now_us);

/* No change is taken back any more. */
void
model_forget_dropped(struct model *model);

/* NULL: no such service. */
struct model_service *
model_find_service(struct model *model, const char *name);

/* Takes other settings into force; karma, health and x stay.  Only another period begins its blocks
 * anew, since the old ones have no meaning then. */
void
model_set_settings(
	struct model_service *service, const struct service_settings *wanted, uint64_t now_us);

/* Whether its mirrors are pinged: not where all is UDP and no ping_port is named. */
bool
model_is_pinged(const struct model_service *service);

/* Whether all is UDP that mirrors never answer: then no answer will ever prove anything. */
bool
model_is_one_way(const struct model_service *service);

/* Connections opened, all slots together, as last heard of. */
uint64_t
model_opened(const struct model_service *service, const struct model_mirror *mirror);

/* Takes note of all mirrors' connections once a second; call it at least that often. */
void
model_sample_rates(struct model *model, uint64_t now_us);

/* Connections per second over the last one to two seconds. */
double
model_rate(const struct model_service *service, const struct model_mirror *mirror, uint64_t now_us);
