/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs and sends what is due.  Control thread; a send that would block ends the turn. */
#include "upload.h"

#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "counter.h"
#include "flow.h"
#include "instance.h"
#include "link.h"
#include "options.h"
#include "source_port.h"
#include "totals.h"
#include "worker.h"

#define APPLIED_MAX 16 /* answers that may wait to be read */

/* How far the greeting has come. */
enum upload_stage {
	UPLOAD_OFF,     /* nobody said HELLO */
	UPLOAD_WELCOME, /* WELCOME is due */
	UPLOAD_PAIRS,   /* the announced pairs of SLOT and SLOT_TOTALS are due */
	UPLOAD_ON,      /* whatever changes */
};

struct upload_slot {
	struct karmalb_slot sent; /* as the control plane knows it; header.size 0: not at all */
	bool is_due;
	bool are_totals_due;
	bool is_pair_due;
	uint64_t n_records; /* as last sent */
};

struct upload {
	struct instance *instance;
	const struct apply *apply;
	struct link *link;
	enum upload_stage stage;
	bool is_pair_open; /* its SLOT was sent, its SLOT_TOTALS not yet */
	struct upload_slot slots[KARMALB_SLOTS_MAX];
	struct karmalb_applied applied[APPLIED_MAX];
	unsigned n_applied;
	struct karmalb_worker_totals workers[KARMALB_WORKERS_MAX];
	bool is_worker_due[KARMALB_WORKERS_MAX];
	struct karmalb_port_status ports[KARMALB_PORTS_MAX];
	bool is_port_due[KARMALB_PORTS_MAX];
};

static int
send_greeting(struct upload *u);
static int
send_slots(struct upload *u);
static int
send_applied(struct upload *u);
static int
send_totals(struct upload *u);
static int
send_counters(struct upload *u);

struct upload *
upload_create(struct instance *instance, const struct apply *apply, struct link *link)
{
	struct upload *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->instance = instance;
	u->apply = apply;
	u->link = link;
	return u;
}

void
upload_free(struct upload *u)
{
	free(u);
}

void
upload_begin(struct upload *u)
{
	u->stage = UPLOAD_WELCOME;
	u->n_applied = 0;
	u->is_pair_open = false;
	memset(u->slots, 0, sizeof(u->slots));
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++) {
		struct karmalb_slot ignored;

		u->slots[i].is_pair_due = apply_slot(u->apply, (uint16_t)i, &ignored);
	}
	for (unsigned i = 0; i < u->instance->n_workers; i++)
		u->is_worker_due[i] = u->workers[i].header.size > 0;
	for (unsigned i = 0; i < u->instance->ports.n; i++)
		u->is_port_due[i] = u->ports[i].header.size > 0;
}

void
upload_end(struct upload *u)
{
	u->stage = UPLOAD_OFF;
	u->n_applied = 0;
}

bool
upload_is_begun(const struct upload *u)
{
	return u->stage != UPLOAD_OFF;
}

/* The share is the control plane's own and may change at every period: no news. */
static bool
is_news(const struct karmalb_slot *sent, const struct karmalb_slot *now)
{
	return sent->header.size == 0 || !karmalb_endpoint_equal(&sent->listen, &now->listen) ||
	       !karmalb_endpoint_equal(&sent->address, &now->address) ||
	       sent->next_hop != now->next_hop || sent->is_selected != now->is_selected;
}

void
upload_note_slots(struct upload *u)
{
	struct karmalb_slot now;

	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		if (apply_slot(u->apply, (uint16_t)i, &now))
			u->slots[i].is_due |= is_news(&u->slots[i].sent, &now);
}

bool
upload_note_applied(struct upload *u, const struct karmalb_applied *applied)
{
	if (u->stage == UPLOAD_OFF)
		return true; /* whoever asked is gone */
	if (u->n_applied == APPLIED_MAX)
		return false;
	u->applied[u->n_applied++] = *applied;
	return true;
}

static uint64_t
n_records(const struct upload *u, unsigned slot)
{
	return flow_slot_uses(u->instance->memory.header, slot);
}

void
upload_note_totals(struct upload *u, bool urgent)
{
	struct totals *t = u->instance->totals;

	for (unsigned i = 0; i < apply_n_slots(u->apply); i++) {
		/* Records that rest end without anything else to tell. */
		if (!urgent && n_records(u, i) != u->slots[i].n_records)
			u->slots[i].are_totals_due = true;
		if (urgent ? totals_is_urgent(t, (uint16_t)i) : totals_is_changed(t, (uint16_t)i)) {
			totals_clear_changed(t, (uint16_t)i);
			u->slots[i].are_totals_due = true;
		}
	}
}

static void
note_worker(struct upload *u, unsigned number)
{
	const struct worker *w = &u->instance->workers[number];
	struct karmalb_worker_totals now = {
		.header = {KARMALB_MESSAGE_WORKER_TOTALS, KARMALB_PROTOCOL_VERSION, sizeof(now)},
		.worker = (uint16_t)number,
		.busy_us = counter_read(&w->busy_us),
		.n_flows = counter_read32(&w->flows.worker->n_flows),
		.n_half_open = counter_read32(&w->flows.worker->n_half_open),
		.n_unanswered = counter_read32(&w->flows.worker->n_unanswered),
	};

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		now.counters[i] = counter_read(&w->pipeline.counters[i]);
	if (memcmp(&now, &u->workers[number], sizeof(now)) != 0) {
		u->workers[number] = now;
		u->is_worker_due[number] = true;
	}
}

static void
note_port(struct upload *u, unsigned number)
{
	const struct port *p = &u->instance->ports.port[number];
	struct port_counters c = {0};
	struct karmalb_port_status now = {
		.header = {KARMALB_MESSAGE_PORT_STATUS, KARMALB_PROTOCOL_VERSION, sizeof(now)},
		.port = (uint16_t)number,
		.is_up = p->is_up,
		.is_zero_copy = p->is_zero_copy,
		.mtu = p->mtu,
		.link_losses = p->link_losses,
	};

	ports_read(p, &c);
	memcpy(now.name, p->conf.name, sizeof(now.name));
	memcpy(now.device, p->conf.device, sizeof(now.device));
	now.guard_drops = c.guard_drops;
	now.rx_missed = c.rx_missed;
	now.steered = c.steered;
	now.passed = c.passed;
	now.rx_packets = c.rx_packets;
	now.rx_bytes = c.rx_bytes;
	now.tx_packets = c.tx_packets;
	now.tx_bytes = c.tx_bytes;
	if (memcmp(&now, &u->ports[number], sizeof(now)) != 0) {
		u->ports[number] = now;
		u->is_port_due[number] = true;
	}
}

void
upload_note_counters(struct upload *u)
{
	for (unsigned i = 0; i < u->instance->n_workers; i++)
		note_worker(u, i);
	for (unsigned i = 0; i < u->instance->ports.n; i++)
		note_port(u, i);
}

void
upload_flush(struct upload *u)
{
	if (u->stage == UPLOAD_OFF)
		return;
	/* In this order: an APPLIED follows the slots that came with it. */
	if (u->stage != UPLOAD_ON && send_greeting(u) < 0)
		return;
	if (send_slots(u) < 0 || send_applied(u) < 0 || send_totals(u) < 0)
		return;
	send_counters(u);
}

static int
send_welcome(struct upload *u)
{
	const struct instance *inst = u->instance;
	struct karmalb_welcome m = {
		.header = {KARMALB_MESSAGE_WELCOME, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.instance = inst->id,
		.started_us = inst->started_us,
		.epoch = apply_epoch(u->apply),
		.n_workers = (uint16_t)inst->n_workers,
		.n_sources = (uint16_t)inst->options->n_sources,
		.max_flows = inst->options->max_flows,
		.max_half_open = inst->options->max_half_open,
		.source_ports = (uint16_t)(source_port_slice(inst->n_workers) * inst->n_workers),
	};

	for (unsigned i = 0; i < inst->options->n_sources; i++)
		m.n_sources_v4 += karmalb_address_is_v4(&inst->options->sources[i]);
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		m.n_slots += u->slots[i].is_pair_due;
	return link_send(u->link, &m.header, inst->memory.fd);
}

static int
send_slot(struct upload *u, unsigned slot)
{
	struct karmalb_slot now;
	int rc;

	if (!apply_slot(u->apply, (uint16_t)slot, &now))
		now = u->slots[slot].sent; /* announced, but gone since */
	rc = link_send(u->link, &now.header, -1);
	if (rc == 0) {
		u->slots[slot].sent = now;
		u->slots[slot].is_due = false;
	}
	return rc;
}

static int
send_slot_totals(struct upload *u, unsigned slot)
{
	struct karmalb_slot_totals now = *totals_slot(u->instance->totals, (uint16_t)slot);
	int rc;

	now.n_records = n_records(u, slot);
	rc = link_send(u->link, &now.header, -1);
	if (rc == 0) {
		u->slots[slot].n_records = now.n_records;
		u->slots[slot].are_totals_due = false;
	}
	return rc;
}

static int
send_pair(struct upload *u, unsigned slot)
{
	int rc = u->is_pair_open ? 0 : send_slot(u, slot);

	u->is_pair_open = rc == 0;
	if (rc == 0)
		rc = send_slot_totals(u, slot);
	if (rc == 0)
		u->is_pair_open = false;
	return rc;
}

static int
send_greeting(struct upload *u)
{
	int rc;

	if (u->stage == UPLOAD_WELCOME) {
		if ((rc = send_welcome(u)) < 0)
			return rc;
		u->stage = UPLOAD_PAIRS;
	}
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		if (u->slots[i].is_pair_due) {
			if ((rc = send_pair(u, i)) < 0)
				return rc;
			u->slots[i].is_pair_due = false;
		}
	u->stage = UPLOAD_ON;
	return 0;
}

static int
send_slots(struct upload *u)
{
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		if (u->slots[i].is_due) {
			int rc = send_slot(u, i);

			if (rc < 0)
				return rc;
		}
	return 0;
}

static int
send_applied(struct upload *u)
{
	while (u->n_applied > 0) {
		int rc = link_send(u->link, &u->applied[0].header, -1);

		if (rc < 0)
			return rc;
		u->n_applied--;
		memmove(&u->applied[0], &u->applied[1], u->n_applied * sizeof(u->applied[0]));
	}
	return 0;
}

static int
send_totals(struct upload *u)
{
	for (unsigned i = 0; i < apply_n_slots(u->apply); i++)
		if (u->slots[i].are_totals_due) {
			int rc = send_slot_totals(u, i);

			if (rc < 0)
				return rc;
		}
	return 0;
}

static int
send_counters(struct upload *u)
{
	for (unsigned i = 0; i < u->instance->n_workers; i++)
		if (u->is_worker_due[i]) {
			int rc = link_send(u->link, &u->workers[i].header, -1);

			if (rc < 0)
				return rc;
			u->is_worker_due[i] = false;
		}
	for (unsigned i = 0; i < u->instance->ports.n; i++)
		if (u->is_port_due[i]) {
			int rc = link_send(u->link, &u->ports[i].header, -1);

			if (rc < 0)
				return rc;
			u->is_port_due[i] = false;
		}
	return 0;
}
