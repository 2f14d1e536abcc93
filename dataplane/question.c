/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions in the order in which they came, checks beside them.  Control thread. */
#include "question.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "counter.h"
#include "errands.h"
#include "flow.h"
#include "instance.h"
#include "link.h"
#include "worker.h"

#define SOON_US KARMALB_MILLISECOND

union question_message {
	struct karmalb_question any;
	struct karmalb_list_flows list;
	struct karmalb_find_flow find;
	struct karmalb_reset_flows reset;
};

/* The first in the queue is being answered. */
struct question {
	union question_message message;
	bool is_begun, is_done;
	int32_t error;
	uint64_t n;
	unsigned worker; /* LIST_FLOWS: where it has come to */
	uint32_t record;
};

/* By the worker's probe. */
struct check {
	bool is_out;
	bool is_wanted; /* whoever asked is still there */
	bool is_told;   /* CHECKED was sent, ANSWERED not yet */
	uint32_t request;
};

/* Its answer is an error at once, for which the link had no room yet. */
struct turned_down {
	uint32_t request;
	int32_t error;
};

struct questions {
	struct instance *instance;
	struct link *link;
	unsigned n;
	struct question queue[QUESTIONS_MAX];
	unsigned n_turned_down;
	struct turned_down turned_down[QUESTIONS_TURNED_DOWN_MAX];
	struct check checks[PROBES_MAX]; /* all with the first worker, who owns a queue anywhere */
};

static int
turn_down(struct questions *q, uint32_t request, int32_t error, struct err *err);
static int
send_turned_down(struct questions *q);
static int
take_check(struct questions *q, const struct karmalb_check_slot *m, struct err *err);
static bool
answer_checks(struct questions *q, uint64_t now_us);
static int
answer(struct questions *q, struct question *question, uint64_t now_us);
static int
list_flows(struct questions *q, struct question *question, uint64_t now_us);
static int
find_flow(struct questions *q, struct question *question, uint64_t now_us);
static int
reset_flows(struct questions *q, struct question *question, uint64_t now_us);
static int
send_answered(struct questions *q, uint32_t request, int32_t error, uint64_t n);

struct questions *
questions_create(struct instance *instance, struct link *link)
{
	struct questions *q = calloc(1, sizeof(*q));

	if (q != NULL)
		*q = (struct questions){.instance = instance, .link = link};
	return q;
}

void
questions_free(struct questions *q)
{
	free(q);
}

int
questions_take(struct questions *q, const struct karmalb_header *message, struct err *err)
{
	const struct karmalb_question *any = (const struct karmalb_question *)message;
	const struct karmalb_list_flows *list = (const struct karmalb_list_flows *)message;

	if (message->message == KARMALB_MESSAGE_CHECK_SLOT)
		return take_check(q, (const struct karmalb_check_slot *)message, err);
	if (message->message == KARMALB_MESSAGE_LIST_FLOWS &&
		(list->limit == 0 || list->limit > KARMALB_FLOWS_LIMIT_MAX))
		return err_set(err, -EPROTO, "LIST_FLOWS with a limit of %u", list->limit);
	if (q->n == QUESTIONS_MAX)
		return turn_down(q, any->request, -EBUSY, err);
	q->queue[q->n] = (struct question){.is_begun = false};
	memcpy(&q->queue[q->n].message, message, message->size);
	q->n++;
	return 0;
}

void
questions_forget(struct questions *q)
{
	q->n = 0;
	q->n_turned_down = 0;
	for (unsigned i = 0; i < PROBES_MAX; i++)
		q->checks[i].is_wanted = false;
}

uint64_t
questions_step(struct questions *q, uint64_t now_us)
{
	uint64_t check_us = answer_checks(q, now_us) ? now_us + SOON_US : UINT64_MAX;

	/* Where the link has no room: it tells when it has, or that it is gone. */
	if (send_turned_down(q) < 0)
		return check_us;
	if (q->n > 0) {
		struct question *first = &q->queue[0];
		int rc = first->is_done ? 0 : answer(q, first, now_us);

		if (rc == 0 && first->is_done)
			rc = send_answered(q, first->message.any.request, first->error, first->n);
		if (rc < 0)
			return check_us;
		if (first->is_done) {
			q->n--;
			memmove(&q->queue[0], &q->queue[1], q->n * sizeof(q->queue[0]));
		} else if (first->message.any.header.message == KARMALB_MESSAGE_RESET_FLOWS) {
			return now_us + SOON_US;
		}
	}
	return q->n > 0 ? now_us : check_us;
}

static int
send_answered(struct questions *q, uint32_t request, int32_t error, uint64_t n)
{
	const struct karmalb_answered m = {
		.header = {KARMALB_MESSAGE_ANSWERED, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = request,
		.error = error,
		.n = n,
	};

	return link_send(q->link, &m.header, -1);
}

static int
turn_down(struct questions *q, uint32_t request, int32_t error, struct err *err)
{
	if (q->n_turned_down == QUESTIONS_TURNED_DOWN_MAX)
		return err_set(err, -EPROTO,
			"%u questions more than can be answered, of which no answer is read",
			q->n_turned_down);
	q->turned_down[q->n_turned_down++] = (struct turned_down){request, error};
	send_turned_down(q);
	return 0;
}

/* 0, or negative: the link takes no more. */
static int
send_turned_down(struct questions *q)
{
	unsigned n = 0;
	int rc = 0;

	while (n < q->n_turned_down && rc == 0) {
		rc = send_answered(q, q->turned_down[n].request, q->turned_down[n].error, 0);
		n += rc == 0;
	}
	q->n_turned_down -= n;
	memmove(&q->turned_down[0], &q->turned_down[n],
		q->n_turned_down * sizeof(q->turned_down[0]));
	return rc;
}

/* A piece of the answer.  0, or negative: the link takes no more. */
static int
answer(struct questions *q, struct question *question, uint64_t now_us)
{
	switch (question->message.any.header.message) {
	case KARMALB_MESSAGE_LIST_FLOWS:
		return list_flows(q, question, now_us);
	case KARMALB_MESSAGE_FIND_FLOW:
		return find_flow(q, question, now_us);
	default:
		return reset_flows(q, question, now_us);
	}
}

/* ---- flows ---- */

static uint8_t
wire_state(uint8_t state)
{
	switch (state) {
	case FLOW_SYN_SENT:
		return KARMALB_FLOW_SYN_SENT;
	case FLOW_SYN_ACKED:
		return KARMALB_FLOW_SYN_ACKED;
	case FLOW_ESTABLISHED:
		return KARMALB_FLOW_ESTABLISHED;
	case FLOW_CLOSING:
		return KARMALB_FLOW_CLOSING;
	case FLOW_DATAGRAM:
	case FLOW_DATAGRAM_SENT:
		return KARMALB_FLOW_DATAGRAM;
	}
	return KARMALB_FLOW_RESTING;
}

/* The newest snapshot; this thread is the one that replaces it. */
static const struct tables *
tables_of(struct questions *q)
{
	return snapshots_current(&q->instance->snapshots);
}

/* From low 32 bits of milliseconds to the whole; within 24 days before or after 'now_us'. */
static uint64_t
whole_us(uint32_t ms, uint64_t now_us)
{
	int32_t ahead_ms = (int32_t)(ms - (uint32_t)(now_us / KARMALB_MILLISECOND));

	return now_us + (uint64_t)((int64_t)ahead_ms * (int64_t)KARMALB_MILLISECOND);
}

/* 'flow' is a copy, of worker number 'worker'. */
static int
send_flow(struct questions *q, const struct question *question, const struct flow *flow,
	unsigned worker)
{
	const struct tables *tables = tables_of(q);
	const struct table_slot *slot = &tables->slots[flow->slot];
	uint64_t now_us = karmalb_now_us();
	uint32_t age_ms = flow_age_ms(flow, (uint32_t)(now_us / KARMALB_MILLISECOND));
	struct karmalb_flow m = {
		.header = {KARMALB_MESSAGE_FLOW, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = question->message.any.request,
		.epoch = flow->epoch,
		.client = {flow->client, flow->client_port_be, slot->listen.protocol, 0},
		.listen = slot->listen,
		.source = {tables->sources[flow->source], flow->source_port_be,
			slot->listen.protocol, 0},
		.address = slot->address,
		.slot = flow->slot,
		.worker = (uint16_t)worker,
		.state = wire_state(flow->state),
		.is_waiting = flow->exchange == FLOW_EXCHANGE_WAIT,
		.opened_us = now_us - age_ms * KARMALB_MILLISECOND,
		.expires_us = flow_is_half_open(flow) ? 0 : whole_us(flow->expires_ms, now_us),
	};

	return link_send(q->link, &m.header, -1);
}

/* A copy of a record that is a client's flow; false: it is none, or was never still. */
static bool
copy_flow(struct questions *q, const struct flow *flow, struct flow *copy)
{
	if (__atomic_load_n(&flow->state, __ATOMIC_RELAXED) == FLOW_FREE ||
		!flow_copy(flow, copy) || copy->state == FLOW_FREE || copy->state == FLOW_PROBE)
		return false;
	return !(copy->flags & FLOW_FLAG_CLIENT_UNLINKED) && copy->slot < tables_of(q)->n_slots;
}

static int
list_flows(struct questions *q, struct question *question, uint64_t now_us)
{
	const struct karmalb_list_flows *m = &question->message.list;
	struct flow copy;

	(void)now_us;
	for (unsigned i = 0; i < QUESTIONS_RECORDS; i++) {
		if (question->worker == q->instance->n_workers || question->n == m->limit) {
			question->is_done = true;
			return 0;
		}
		const struct flow_table *table = &q->instance->workers[question->worker].flows;

		if (question->record >= counter_read32(&table->worker->n_touched)) {
			question->worker++;
			question->record = 0;
			continue;
		}
		if (copy_flow(q, &table->records[question->record], &copy) &&
			errands_has_slot(m->slots, copy.slot)) {
			int rc = send_flow(q, question, &copy, question->worker);

			if (rc < 0)
				return rc;
			question->n++;
		}
		question->record++;
	}
	return 0;
}

/*
 * The worker's own look-up, beside the worker: what it finds may be changing, so the record is
 * copied and its key compared once more.
 */
static bool
find_with(struct questions *q, unsigned worker, const struct flow_key *key, struct flow *copy)
{
	const struct flow_table *table = &q->instance->workers[worker].flows;
	uint32_t entry = flow_find(table, tables_of(q), key, flow_hash(table->hash_key, key));

	if (entry == FLOW_NONE || flow_entry_side(entry) != FLOW_CLIENT ||
		!copy_flow(q, &table->records[flow_entry_record(entry)], copy))
		return false;
	struct flow_key found = flow_key_of(copy, tables_of(q), FLOW_CLIENT);

	return memcmp(&found, key, sizeof(found)) == 0;
}

static int
find_flow(struct questions *q, struct question *question, uint64_t now_us)
{
	const struct karmalb_find_flow *m = &question->message.find;
	const struct flow_key key = {
		.source = m->client.address,
		.destination = m->listen.address,
		.source_port_be = m->client.port_be,
		.destination_port_be = m->listen.port_be,
		.protocol = m->listen.protocol,
	};
	struct flow copy;

	(void)now_us;
	for (unsigned i = 0; i < q->instance->n_workers && question->n == 0; i++)
		if (find_with(q, i, &key, &copy)) {
			int rc = send_flow(q, question, &copy, i);

			if (rc < 0)
				return rc;
			question->n++;
		}
	question->is_done = true;
	return 0;
}

static struct errands_reset *
reset_of(struct questions *q, unsigned worker)
{
	return &q->instance->workers[worker].errands.reset;
}

static void
order_reset(struct questions *q, struct question *question, uint64_t now_us)
{
	for (unsigned i = 0; i < q->instance->n_workers; i++) {
		struct errands_reset *r = reset_of(q, i);

		memcpy(r->slots, question->message.reset.slots, sizeof(r->slots));
		r->at_ms = (uint32_t)(now_us / KARMALB_MILLISECOND);
		r->record = 0;
		r->n_ended = 0;
		atomic_store_explicit(&r->state, ERRANDS_RESET_ORDERED, memory_order_release);
		errands_order(&q->instance->workers[i].errands);
	}
	question->is_begun = true;
}

/* Of one whose author has gone, workers may still be at it. */
static bool
is_reset_running(struct questions *q)
{
	for (unsigned i = 0; i < q->instance->n_workers; i++)
		if (atomic_load_explicit(&reset_of(q, i)->state, memory_order_acquire) ==
			ERRANDS_RESET_ORDERED)
			return true;
	return false;
}

static int
reset_flows(struct questions *q, struct question *question, uint64_t now_us)
{
	if (is_reset_running(q))
		return 0;
	if (!question->is_begun) {
		order_reset(q, question, now_us);
		return 0;
	}
	for (unsigned i = 0; i < q->instance->n_workers; i++)
		question->n += reset_of(q, i)->n_ended;
	question->is_done = true;
	return 0;
}

/* ---- checks ---- */

static struct probe *
probe_at(struct questions *q, unsigned i)
{
	return &q->instance->workers[0].errands.probes[i];
}

static int
take_check(struct questions *q, const struct karmalb_check_slot *m, struct err *err)
{
	const struct tables *tables = tables_of(q);

	if (m->slot >= KARMALB_SLOTS_MAX || m->timeout_ms == 0 ||
		m->timeout_ms > KARMALB_CHECK_TIMEOUT_MAX_MS)
		return err_set(
			err, -EPROTO, "CHECK_SLOT of slot %u within %u ms", m->slot, m->timeout_ms);
	if (m->slot >= tables->n_slots || tables->slots[m->slot].listen.protocol != IPPROTO_TCP)
		return turn_down(q, m->request, -ENOENT, err);
	for (unsigned i = 0; i < PROBES_MAX; i++) {
		struct probe *p = probe_at(q, i);

		if (q->checks[i].is_out)
			continue;
		q->checks[i] =
			(struct check){.is_out = true, .is_wanted = true, .request = m->request};
		p->slot = m->slot;
		p->timeout_ms = m->timeout_ms;
		p->ordered_us = karmalb_now_us();
		atomic_store_explicit(&p->state, PROBE_ORDERED, memory_order_release);
		errands_order(&q->instance->workers[0].errands);
		return 0;
	}
	return turn_down(q, m->request, -EBUSY, err);
}

static int
send_checked(struct questions *q, const struct check *c, const struct probe *p)
{
	struct karmalb_checked m = {
		.header = {KARMALB_MESSAGE_CHECKED, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = c->request,
		.slot = p->slot,
		.result = p->result,
		.took_us = p->took_us,
	};

	if (p->record != FLOW_NONE)
		m.source = (struct karmalb_endpoint){
			tables_of(q)->sources[p->source], p->source_port_be, IPPROTO_TCP, 0};
	return link_send(q->link, &m.header, -1);
}

/* Returns whether some are still under way. */
static bool
answer_checks(struct questions *q, uint64_t now_us)
{
	bool is_any = false;

	(void)now_us;
	for (unsigned i = 0; i < PROBES_MAX; i++) {
		struct check *c = &q->checks[i];
		struct probe *p = probe_at(q, i);

		if (!c->is_out)
			continue;
		if (atomic_load_explicit(&p->state, memory_order_acquire) != PROBE_DONE) {
			is_any = true;
			continue;
		}
		if (c->is_wanted && !c->is_told && send_checked(q, c, p) < 0)
			continue;
		c->is_told = true;
		if (c->is_wanted && send_answered(q, c->request, 0, 1) < 0)
			continue;
		*c = (struct check){.is_out = false};
	}
	return is_any;
}
