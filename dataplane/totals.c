/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds up what workers observed.  Runs on the control thread, which alone writes here; the workers'
 * counters are read relaxed and may be some packets ahead of the samples.
 */
#include "totals.h"

/* A row's first errors decide whether a mirror is taken out; more of them change nothing. */
#define URGENT_ERRORS 16

#include <stdlib.h>
#include <string.h>

#include "counter.h"

struct totals_row {
	struct karmalb_slot_totals sent; /* in the form in which it travels */
	uint64_t unreachable;            /* connect failures that no worker saw */
	bool is_changed;
	bool is_urgent; /* so changed that it is not to wait for the next round */
};

struct totals {
	bool has_urgent; /* some row is */
	struct totals_row rows[KARMALB_SLOTS_MAX];
};

struct totals *
totals_create(void)
{
	return calloc(1, sizeof(struct totals)); /* pages of slots never used stay unmapped */
}

void
totals_free(struct totals *t)
{
	free(t);
}

void
totals_reset(struct totals *t, uint16_t slot)
{
	struct totals_row *row = &t->rows[slot];

	memset(row, 0, sizeof(*row));
	row->sent.header = (struct karmalb_header){
		.message = KARMALB_MESSAGE_SLOT_TOTALS,
		.version = KARMALB_PROTOCOL_VERSION,
		.size = sizeof(row->sent),
	};
	row->sent.slot = slot;
}

static void
add_latency(struct karmalb_latency *l, uint32_t us)
{
	l->count++;
	l->sum_us += us;
	if (us > l->max_us)
		l->max_us = us;
	l->histogram[karmalb_histogram_bucket(us)]++;
}

static void
add_failure(struct totals *t, struct totals_row *row, uint8_t outcome, uint64_t at_us)
{
	struct karmalb_slot_totals *s = &row->sent;

	if (s->errors_in_row == 0)
		s->row_began_us = at_us;
	if (s->errors_in_row < URGENT_ERRORS) {
		row->is_urgent = true;
		t->has_urgent = true;
	}
	s->errors_in_row++;
	s->last_error = outcome;
	s->last_error_us = at_us;
	row->is_changed = true;
}

static void
add_success(struct totals_row *row, uint64_t at_us)
{
	row->sent.errors_in_row = 0;
	row->sent.row_began_us = 0;
	row->sent.last_success_us = at_us;
}

/* Samples carry the low 32 bits of their time, which is near 'now_us'. */
static uint64_t
whole_time_us(uint32_t at_us, uint64_t now_us)
{
	return now_us + (uint64_t)(int64_t)(int32_t)(at_us - (uint32_t)now_us);
}

static void
add_sample(struct totals *t, const struct sample *s, uint64_t now_us)
{
	struct totals_row *row = &t->rows[s->slot];
	uint64_t at_us = whole_time_us(s->at_us, now_us);

	row->is_changed = true;
	switch ((enum sample_kind)s->kind) {
	case SAMPLE_CONNECT:
		add_latency(&row->sent.connect, s->latency_us);
		break;
	case SAMPLE_QUERY:
		add_latency(&row->sent.query, s->latency_us);
		if (s->outcome == KARMALB_OUTCOME_WARNINGS)
			row->sent.last_success_us = at_us;
		else
			add_success(row, at_us);
		break;
	case SAMPLE_GREETING:
		add_success(row, at_us);
		break;
	case SAMPLE_FAILURE:
		add_failure(t, row, s->outcome, at_us);
		break;
	}
}

/* The batch whose next sample is the earliest, or NULL when all are used up. */
static struct totals_batch *
earliest(struct totals_batch *batches, unsigned n_batches)
{
	struct totals_batch *best = NULL;

	for (unsigned i = 0; i < n_batches; i++) {
		struct totals_batch *b = &batches[i];

		if (b->n_samples == 0)
			continue;
		if (best == NULL || (int32_t)(b->samples->at_us - best->samples->at_us) < 0)
			best = b;
	}
	return best;
}

void
totals_add_samples(
	struct totals *t, struct totals_batch *batches, unsigned n_batches, uint64_t now_us)
{
	struct totals_batch *b;

	while ((b = earliest(batches, n_batches)) != NULL) {
		if (b->samples->slot < KARMALB_SLOTS_MAX)
			add_sample(t, b->samples, now_us);
		b->samples++;
		/* Before the next is chosen: what follows here may be earlier than what others
		 * have. */
		if (--b->n_samples == 0 && b->refill != NULL)
			b->refill(b, b->arg);
	}
}

/*
 * Sum of the ages of one worker's unanswered queries.  Count and sum are two words that the worker
 * is free to change between our reads, so a pair that did not hold still for two looks, or that
 * says the future, is taken for no age rather than for a wild one.
 */
static uint64_t
waiting_age_us(const struct slot_counters *c, uint64_t now_us, uint64_t *n_waiting)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t n = counter_read(&c->n_waiting),
			 since = counter_read(&c->waiting_since_us);

		*n_waiting = n;
		if (n == counter_read(&c->n_waiting) && since == counter_read(&c->waiting_since_us))
			return n * now_us > since ? n * now_us - since : 0;
	}
	return 0;
}

static void
sum_counters(struct karmalb_slot_totals *sum, uint16_t slot, const struct totals_reading *r)
{
	for (unsigned w = 0; w < r->n_workers; w++) {
		const struct slot_counters *c = &r->workers[w][slot];
		uint64_t n_waiting;

		for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
			sum->outcomes[i] += counter_read(&c->outcomes[i]);
		sum->opened += counter_read(&c->opened);
		sum->closed += counter_read(&c->closed);
		sum->to_mirror_packets += counter_read(&c->to_mirror_packets);
		sum->to_mirror_bytes += counter_read(&c->to_mirror_bytes);
		sum->to_client_packets += counter_read(&c->to_client_packets);
		sum->to_client_bytes += counter_read(&c->to_client_bytes);
		sum->waiting_age_us += waiting_age_us(c, r->now_us, &n_waiting);
		sum->n_waiting += n_waiting;
	}
}

void
totals_add_counters(struct totals *t, uint16_t slot, const struct totals_reading *reading)
{
	struct totals_row *row = &t->rows[slot];
	struct karmalb_slot_totals *s = &row->sent;
	struct karmalb_slot_totals sum = {
		.outcomes[KARMALB_OUTCOME_CONNECT_FAILURES] = row->unreachable,
	};

	sum_counters(&sum, slot, reading);
	if (memcmp(sum.outcomes, s->outcomes, sizeof(sum.outcomes)) != 0 ||
		sum.opened != s->opened || sum.closed != s->closed ||
		sum.to_mirror_packets != s->to_mirror_packets ||
		sum.to_client_packets != s->to_client_packets || sum.n_waiting != s->n_waiting ||
		sum.n_waiting > 0)
		row->is_changed = true;
	memcpy(s->outcomes, sum.outcomes, sizeof(s->outcomes));
	s->opened = sum.opened;
	s->closed = sum.closed;
	s->to_mirror_packets = sum.to_mirror_packets;
	s->to_mirror_bytes = sum.to_mirror_bytes;
	s->to_client_packets = sum.to_client_packets;
	s->to_client_bytes = sum.to_client_bytes;
	s->n_waiting = sum.n_waiting;
	s->waiting_age_us = sum.waiting_age_us;
	s->stamp_us = reading->stamp_us;
}

void
totals_add_unreachable(struct totals *t, uint16_t slot, uint64_t now_us)
{
	t->rows[slot].unreachable++;
	add_failure(t, &t->rows[slot], KARMALB_OUTCOME_CONNECT_FAILURES, now_us);
}

const struct karmalb_slot_totals *
totals_slot(const struct totals *t, uint16_t slot)
{
	return &t->rows[slot].sent;
}

bool
totals_is_changed(const struct totals *t, uint16_t slot)
{
	return t->rows[slot].is_changed;
}

bool
totals_is_urgent(const struct totals *t, uint16_t slot)
{
	return t->rows[slot].is_urgent;
}

void
totals_clear_changed(struct totals *t, uint16_t slot)
{
	t->rows[slot].is_changed = false;
	t->rows[slot].is_urgent = false;
}

bool
totals_take_urgent(struct totals *t)
{
	bool has_urgent = t->has_urgent;

	t->has_urgent = false;
	return has_urgent;
}
