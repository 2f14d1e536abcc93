/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that a renderer may see, as one flat copy that is consistent in itself: taken in one
 * go between two events of the loop, and unaffected by what happens afterwards.  Text, JSON and
 * metrics are made from this and from nothing else, so they cannot disagree.
 *
 * Times named _us are CLOCK_MONOTONIC, comparable with 'now_us'; times named _unix_us are the wall
 * clock's; 0 means never.  Shares are 0 .. 1.  Counts are since the data plane's instance began.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "health.h"
#include "karma.h"
#include "settings.h"

struct model;

#define STATUS_REPORTS 3 /* over 1, 5 and 15 periods: status_report_periods[] */
extern const unsigned status_report_periods[STATUS_REPORTS];

/* What the last re-weighting saw of a mirror, and what it had before. */
struct status_karma {
	bool has_block; /* false: no re-weighting yet, the rest is 0 */
	uint64_t block; /* number of the block it used */
	uint64_t queries;
	double answer_mean_us; /* 0: no answered query in it */
	double share_before;
	double share_after;
};

/*
 * Latencies in coarse buckets: bucket 0 below 64 us, each further one below twice that, the last
 * without an end.
 */
#define STATUS_HISTOGRAM_EDGES 18
struct status_histogram {
	uint64_t sum_us;
	uint64_t buckets[STATUS_HISTOGRAM_EDGES + 1]; /* not cumulative */
};

/* The upper edge of a bucket but the last: 64 us .. 8.4 s.  Pure. */
uint64_t
status_histogram_edge_us(unsigned bucket);

/* One of a mirror's karma blocks that are kept. */
struct status_block {
	uint64_t number;
	uint64_t began_us; /* CLOCK_MONOTONIC; it lasts a period */
	struct karma_counts counts;
	double connect_mean_us, answer_mean_us, answer_p99_us; /* 0 without samples */
	uint64_t failed;                                       /* outcomes that are failures */
};

/* Packets of a mirror and their latencies. */
struct status_traffic {
	uint64_t to_mirror_packets, to_mirror_bytes;
	uint64_t to_client_packets, to_client_bytes;
	struct status_histogram connect, query;
};

struct status_mirror {
	char name[KARMALB_NAME_MAX];
	struct karmalb_endpoint address; /* behind the service's first listen */
	enum mirror_state state;         /* mirror_state_name() */
	uint64_t state_since_us;
	unsigned wanted; /* enum settings_mirror_state: what an operator wants of it */
	double share;    /* announced to the data plane */
	double configured_share;
	double connections_per_s;
	bool has_answers;       /* false: the next four are 0 */
	bool is_answer_partial; /* from the current block, no block being over yet */
	uint64_t n_answers;     /* in the last block that is over */
	double answer_mean_us, answer_p99_us;
	uint64_t errors; /* failures of all kinds */
	uint32_t errors_in_row;
	uint64_t last_query_us;  /* last outcome of a query, good or bad */
	uint64_t last_answer_us; /* last answered query */
	bool is_pinged;
	uint32_t pings_failed;      /* in a row */
	uint64_t last_ping_us;      /* when the last ping ended */
	uint64_t ping_us;           /* how long the last answered one took; 0: none yet */
	bool is_avoided;            /* by noerrors */
	uint8_t next_hop;           /* enum karmalb_next_hop_state; the worst of its slots */
	uint64_t n_open;            /* connections now */
	uint64_t n_waiting;         /* queries without answer now */
	uint64_t source_ports;      /* towards it in use, resting ones included */
	uint64_t source_ports_left; /* of its scarcest listen; 0 while no data plane was heard */
	struct status_karma karma;
	struct karma_counts life;
	struct status_traffic traffic;
	struct karma_counts reports[STATUS_REPORTS];
	unsigned n_blocks;
	struct status_block blocks[KARMA_BLOCKS]; /* newest first */
	char why[KARMALB_SENTENCE_MAX];           /* why it has this share */
};

#define STATUS_SLOT_NONE UINT16_MAX

struct status_service {
	char name[KARMALB_NAME_MAX];
	struct service_settings settings;
	unsigned n_listens;
	unsigned n_mirrors;
	struct karmalb_endpoint *listens;
	struct status_mirror *mirrors;
	/* By the data plane's numbers, n_listens of each mirror; STATUS_SLOT_NONE: not known. */
	uint16_t *slots;
	/* In the same order: where the mirror is, with its own port or that of the listen. */
	struct karmalb_endpoint *endpoints;
	uint64_t period;           /* number of the current block */
	uint64_t period_offset_us; /* of 'now' in it */
	uint64_t reweighted_at_unix_us;
	bool has_gain;                  /* there was one; else the next is 0 */
	double karma_gain;              /* of that re-weighting */
	uint64_t next_reweight_unix_us; /* 0: not before the data plane is back, or the strategy
					   does not use karma */
	double connections_per_s;
	uint64_t total;  /* connections given to a mirror */
	uint64_t failed; /* outcomes that are failures */
	/* Sums over the mirrors. */
	uint64_t n_open, n_waiting;
	uint64_t outcomes[KARMALB_N_OUTCOMES];
	struct status_traffic traffic;
};

/* How the last reload went; not the model's, so status_take() leaves it zero. */
struct status_reload {
	uint64_t at_unix_us; /* 0: none since the start */
	bool is_ok;
	unsigned n_ok, n_failed;
	uint64_t took_us;         /* from reading the file until it was in force, or refused */
	uint64_t confirm_left_us; /* 0: no reload waits for CONFIRM RELOAD */
	char sentence[256];
};

struct status_dataplane {
	bool is_connected;
	uint64_t since_us; /* connected, or not, since */
	uint64_t instance;
	uint64_t started_us;
	uint32_t epoch_sent;
	uint32_t epoch_in_force; /* 0: none */
	unsigned n_waiting;      /* changes that it has not answered; not the model's, too */
	uint64_t max_flows, max_half_open;
	unsigned n_sources;
	char sentence[KARMALB_SENTENCE_MAX]; /* what it said last that a person should know: a
						refusal, or why an epoch is not in force; empty:
						all is well */
	char path[128];                      /* of its socket */
};

struct status {
	uint64_t now_us;
	uint64_t now_unix_us;
	uint64_t started_us; /* this control plane */
	struct status_dataplane dataplane;
	struct status_reload reload;
	unsigned n_services;
	unsigned n_workers;
	unsigned n_ports;
	struct status_service *services;       /* in the file's order */
	struct karmalb_worker_totals *workers; /* as last received; n_flows, counters[] */
	struct karmalb_port_status *ports;
};

/* A copy of what is known at 'now_us'; NULL when out of memory.  Loop's thread only.  The copy
 * belongs to the caller until status_free(), and may be read by any thread. */
struct status *
status_take(const struct model *model, uint64_t now_us);

/* "up", or what an operator wants of it instead: "drain". */
const char *
status_mirror_state(const struct status_mirror *mirror);

/* Takes NULL. */
void
status_free(struct status *status);

/* NULL: no such service. */
const struct status_service *
status_find_service(const struct status *status, const char *name);

/* Whose slot it is: service and index of the mirror; NULL: none of ours.  'listen' may be NULL. */
const struct status_service *
status_find_slot(const struct status *status, uint16_t slot, unsigned *mirror, unsigned *listen);
