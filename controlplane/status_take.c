/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies the model, deciding nothing but how to sum up several slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <karmalb/clock.h>

#include "model.h"
#include "observe.h"
#include "shares.h"
#include "status.h"
#include "why.h"

static void
copy_source_ports(struct status_mirror *to, const struct model_service *s,
	const struct model_mirror *m, const struct model_dataplane *d);

static int
copy_service(struct status_service *to, const struct model *model, const struct model_service *from,
	const struct status *now);
static void
copy_mirror(struct status_mirror *to, const struct model_service *s,
	const struct model_mirror *from, uint64_t now_us);
static void
copy_dataplane(struct status_dataplane *to, const struct model_dataplane *from);
static int
copy_array(void *to, const void *from, size_t n, size_t size);

struct status *
status_take(const struct model *model, uint64_t now_us)
{
	const struct model_dataplane *d = &model->dataplane;
	struct status *st = calloc(1, sizeof(*st));

	if (st == NULL)
		return NULL;
	st->now_us = now_us;
	st->now_unix_us = karmalb_unix_now_us();
	st->started_us = model->started_us;
	copy_dataplane(&st->dataplane, d);
	st->n_workers = d->n_workers;
	st->n_ports = d->n_ports;
	st->services = calloc(model->n_services + 1, sizeof(st->services[0]));
	if (st->services == NULL ||
		copy_array(&st->workers, d->workers, d->n_workers, sizeof(d->workers[0])) < 0 ||
		copy_array(&st->ports, d->ports, d->n_ports, sizeof(d->ports[0])) < 0)
		goto fail;
	for (unsigned i = 0; i < model->n_services; i++) {
		st->n_services++;
		if (copy_service(&st->services[i], model, &model->services[i], st) < 0)
			goto fail;
	}
	return st;
fail:
	status_free(st);
	return NULL;
}

/* Sets the pointer at 'to' to a copy of the array. */
static int
copy_array(void *to, const void *from, size_t n, size_t size)
{
	void *copy = calloc(n + 1, size);

	if (copy == NULL)
		return -1;
	memcpy(copy, from, n * size);
	memcpy(to, &copy, sizeof(copy));
	return 0;
}

static uint64_t
unix_us(const struct status *now, uint64_t at_us)
{
	if (at_us == 0 || at_us == UINT64_MAX)
		return 0;
	return now->now_unix_us + at_us - now->now_us;
}

static void
add_histogram(struct status_histogram *to, const struct status_histogram *from)
{
	to->sum_us += from->sum_us;
	for (unsigned i = 0; i <= STATUS_HISTOGRAM_EDGES; i++)
		to->buckets[i] += from->buckets[i];
}

static void
add_mirror(struct status_service *to, const struct status_mirror *m)
{
	to->connections_per_s += m->connections_per_s;
	to->total += m->life.opened;
	to->failed += m->errors;
	to->n_open += m->n_open;
	to->n_waiting += m->n_waiting;
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		to->outcomes[i] += m->life.outcomes[i];
	to->traffic.to_mirror_packets += m->traffic.to_mirror_packets;
	to->traffic.to_mirror_bytes += m->traffic.to_mirror_bytes;
	to->traffic.to_client_packets += m->traffic.to_client_packets;
	to->traffic.to_client_bytes += m->traffic.to_client_bytes;
	add_histogram(&to->traffic.connect, &m->traffic.connect);
	add_histogram(&to->traffic.query, &m->traffic.query);
}

static struct karmalb_endpoint *
copy_endpoints(const struct model_service *s)
{
	unsigned n = s->n_mirrors * s->n_listens;
	struct karmalb_endpoint *endpoints = calloc(n + 1, sizeof(endpoints[0]));

	for (unsigned i = 0; endpoints != NULL && i < n; i++)
		endpoints[i] = s->mirrors[i / s->n_listens].slots[i % s->n_listens].address;
	return endpoints;
}

static uint16_t *
copy_numbers(const struct model_service *s)
{
	uint16_t *slots = calloc(s->n_mirrors * s->n_listens + 1u, sizeof(*slots));

	for (unsigned i = 0; slots != NULL && i < s->n_mirrors * s->n_listens; i++) {
		const struct model_slot *slot =
			&s->mirrors[i / s->n_listens].slots[i % s->n_listens];

		slots[i] = slot->is_known ? slot->number : STATUS_SLOT_NONE;
	}
	return slots;
}

static int
copy_service(struct status_service *to, const struct model *model, const struct model_service *from,
	const struct status *now)
{
	snprintf(to->name, sizeof(to->name), "%s", from->name);
	to->settings = from->settings;
	to->n_listens = from->n_listens;
	to->period = karma_block_number(from->period_us, now->now_us);
	to->period_offset_us = now->now_us % from->period_us;
	to->reweighted_at_unix_us = unix_us(now, from->reweighted_us);
	to->has_gain = from->n_reweights > 0;
	to->karma_gain = from->gain;
	to->next_reweight_unix_us = unix_us(now, shares_reweight_due_us(from, &model->dataplane));
	to->mirrors = calloc(from->n_mirrors + 1, sizeof(to->mirrors[0]));
	if (to->mirrors == NULL || copy_array(&to->listens, from->listens, from->n_listens,
					   sizeof(from->listens[0])) < 0)
		return -1;
	to->n_mirrors = from->n_mirrors;
	to->slots = copy_numbers(from);
	to->endpoints = copy_endpoints(from);
	if (to->slots == NULL || to->endpoints == NULL)
		return -1;
	for (unsigned i = 0; i < from->n_mirrors; i++) {
		copy_mirror(&to->mirrors[i], from, &from->mirrors[i], now->now_us);
		copy_source_ports(&to->mirrors[i], from, &from->mirrors[i], &model->dataplane);
		add_mirror(to, &to->mirrors[i]);
	}
	return 0;
}

static uint64_t
failures(const struct karma_counts *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++) {
		if (i != KARMALB_OUTCOME_WARNINGS && i != KARMALB_OUTCOME_SUCCEEDED_QUERIES)
			n += c->outcomes[i];
	}
	return n;
}

/* Answer times of the last block that is over; before there is one, of the current block. */
static void
copy_answers(struct status_mirror *to, const struct model_service *s, const struct model_mirror *m,
	uint64_t now_us)
{
	uint64_t current = karma_block_number(s->period_us, now_us);
	const struct karma_block *b = current > 0 ? karma_block(&m->karma, current - 1) : NULL;

	if (b == NULL || b->counts.query.count == 0) {
		b = karma_block(&m->karma, current);
		to->is_answer_partial = true;
	}
	if (b == NULL || b->counts.query.count == 0) {
		to->is_answer_partial = false;
		return;
	}
	to->has_answers = true;
	to->n_answers = b->counts.query.count;
	to->answer_mean_us = karma_mean_us(&b->counts.query);
	to->answer_p99_us = karma_quantile_us(b, 0.99);
}

/* Edges of the coarse buckets are edges of the fine ones, so nothing is torn apart. */
static void
add_latency(struct status_histogram *to, const struct karmalb_latency *from)
{
	unsigned bucket = 0;

	to->sum_us += from->sum_us;
	for (unsigned i = 0; i < KARMALB_HISTOGRAM_BUCKETS; i++) {
		while (bucket < STATUS_HISTOGRAM_EDGES &&
			karmalb_histogram_edge_us(i) >= status_histogram_edge_us(bucket))
			bucket++;
		to->buckets[bucket] += from->histogram[i];
	}
}

static void
add_traffic(struct status_traffic *to, const struct karmalb_slot_totals *from)
{
	to->to_mirror_packets += from->to_mirror_packets;
	to->to_mirror_bytes += from->to_mirror_bytes;
	to->to_client_packets += from->to_client_packets;
	to->to_client_bytes += from->to_client_bytes;
	add_latency(&to->connect, &from->connect);
	add_latency(&to->query, &from->query);
}

/* Each slot has every port of every source of its version. */
static void
copy_source_ports(struct status_mirror *to, const struct model_service *s,
	const struct model_mirror *m, const struct model_dataplane *d)
{
	const struct karmalb_welcome *w = &d->welcome;

	for (unsigned i = 0; i < s->n_listens; i++) {
		const struct model_slot *slot = &m->slots[i];
		bool is_v4 = karmalb_address_is_v4(&slot->address.address);
		uint64_t n_sources = is_v4 ? w->n_sources_v4 : w->n_sources - w->n_sources_v4;
		uint64_t max = n_sources * w->source_ports, used = slot->totals.n_records;
		uint64_t left = max > used ? max - used : 0;

		to->source_ports += used;
		if (i == 0 || left < to->source_ports_left)
			to->source_ports_left = left;
	}
}

/* Those that are kept and not older than KARMA_BLOCKS, newest first. */
static void
copy_blocks(struct status_mirror *to, const struct model_service *s, const struct model_mirror *m,
	uint64_t now_us)
{
	uint64_t current = karma_block_number(s->period_us, now_us);

	for (uint64_t age = 0; age < KARMA_BLOCKS && age <= current; age++) {
		const struct karma_block *b = karma_block(&m->karma, current - age);

		if (b == NULL)
			continue;
		to->blocks[to->n_blocks++] = (struct status_block){
			.number = b->number,
			.began_us = b->number * s->period_us,
			.counts = b->counts,
			.connect_mean_us = karma_mean_us(&b->counts.connect),
			.answer_mean_us = karma_mean_us(&b->counts.query),
			.answer_p99_us = karma_quantile_us(b, 0.99),
			.failed = failures(&b->counts),
		};
	}
}

static void
copy_slots(struct status_mirror *to, const struct model_service *s, const struct model_mirror *m)
{
	to->next_hop = KARMALB_NEXT_HOP_RESOLVED;
	for (unsigned i = 0; i < s->n_listens; i++) {
		const struct model_slot *slot = &m->slots[i];

		karma_add_life(&to->life, &slot->totals);
		add_traffic(&to->traffic, &slot->totals);
		to->n_open += slot->totals.opened - slot->totals.closed;
		to->n_waiting += slot->totals.n_waiting;
		if (slot->next_hop == KARMALB_NEXT_HOP_FAILED)
			to->next_hop = KARMALB_NEXT_HOP_FAILED;
		else if (slot->next_hop == KARMALB_NEXT_HOP_UNKNOWN &&
			 to->next_hop == KARMALB_NEXT_HOP_RESOLVED)
			to->next_hop = KARMALB_NEXT_HOP_UNKNOWN;
	}
}

static void
copy_ping(struct status_mirror *to, const struct model_service *s, const struct model_mirror *m)
{
	const struct model_ping *p = &m->ping;

	to->is_pinged = model_is_pinged(s);
	to->pings_failed = p->n_failed;
	to->last_ping_us = p->answered_us > p->failed_us ? p->answered_us : p->failed_us;
	to->ping_us = p->took_us;
}

static void
copy_mirror(struct status_mirror *to, const struct model_service *s,
	const struct model_mirror *from, uint64_t now_us)
{
	const struct model_step *step = &from->step;
	struct health_evidence e;

	observe_evidence(s, from, &e);
	snprintf(to->name, sizeof(to->name), "%s", from->conf.name);
	to->address = from->slots[0].address;
	to->state = from->health.state;
	to->wanted = from->conf.state;
	to->state_since_us = from->health.since_us;
	to->share = from->share;
	to->is_avoided = from->role == STRATEGY_AVOIDED;
	to->configured_share = from->configured;
	to->connections_per_s = model_rate(s, from, now_us);
	to->errors_in_row = e.errors_in_row;
	to->last_answer_us = e.last_success_us;
	to->last_query_us =
		e.last_error_us > e.last_success_us ? e.last_error_us : e.last_success_us;
	to->karma = (struct status_karma){.has_block = step->has_block,
		.block = step->block,
		.queries = step->queries,
		.answer_mean_us = step->mean_us,
		.share_before = step->share_before,
		.share_after = step->share_after};
	copy_answers(to, s, from, now_us);
	copy_blocks(to, s, from, now_us);
	copy_slots(to, s, from);
	copy_ping(to, s, from);
	to->errors = failures(&to->life);
	for (unsigned i = 0; i < STATUS_REPORTS; i++)
		karma_report(&from->karma, now_us, status_report_periods[i], &to->reports[i]);
	why_share(s, from, to->why, sizeof(to->why));
}

static void
copy_dataplane(struct status_dataplane *to, const struct model_dataplane *from)
{
	*to = (struct status_dataplane){
		.is_connected = from->is_connected,
		.since_us = from->since_us,
		.instance = from->welcome.instance,
		.started_us = from->welcome.started_us,
		.epoch_sent = from->epoch_sent,
		.epoch_in_force = from->epoch_in_force,
		.max_flows = from->welcome.max_flows,
		.max_half_open = from->welcome.max_half_open,
		.n_sources = from->welcome.n_sources,
	};
	snprintf(to->sentence, sizeof(to->sentence), "%s", from->sentence);
	snprintf(to->path, sizeof(to->path), "%s", from->path);
}
