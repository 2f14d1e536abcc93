/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps slots and what is known of their mirrors.  Control thread; plain scans do, for slots are
 * thousands at most and changes rare. */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "endpoint_text.h"
#include "flow.h"
#include "instance.h"
#include "log.h"
#include "next_hop.h"
#include "options.h"
#include "totals.h"
#include "worker.h"

#define IDLE_SLOT_KEEP_US KARMALB_MINUTE

static int
check_room(const struct roster *r, const struct intent *intent, struct err *err);
static void
begin_life(struct roster *r, uint16_t slot, const char *service, const char *mirror);
static int
want_next_hops(struct roster *r, struct err *err);
static void
give_back_idle(struct roster *r, const struct roster_plan *rising, uint64_t now_us);

static const char *const state_names[] = {
	[KARMALB_NEXT_HOP_UNKNOWN] = "unknown",
	[KARMALB_NEXT_HOP_RESOLVED] = "resolved",
	[KARMALB_NEXT_HOP_FAILED] = "failed",
};

int
roster_plan(struct roster *r, struct intent *intent, struct roster_plan **result, struct err *err)
{
	struct slot *slots = r->instance->memory.header->slots;
	struct roster_plan *plan = calloc(1, sizeof(*plan));
	unsigned near = 0;

	if (plan == NULL)
		return err_set(err, -ENOMEM, "no memory for a plan");
	int rc = check_room(r, intent, err);

	if (rc < 0) {
		free(plan);
		return rc;
	}
	for (unsigned i = 0; i < intent->n_services; i++) {
		const struct intent_service *s = &intent->services[i];

		for (unsigned m = s->first_mirror; m < s->first_mirror + s->n_mirrors; m++) {
			int slot =
				slot_assign(slots, near, &s->listen, &intent->mirrors[m].address);

			plan->mirror_slots[m] = (uint16_t)slot; /* check_room() saw to it */
			near = (unsigned)slot + 1;
			begin_life(r, (uint16_t)slot, s->name, intent->mirrors[m].name);
		}
	}
	rc = want_next_hops(r, err);
	if (rc < 0) {
		free(plan);
		return rc;
	}
	plan->intent = intent;
	*result = plan;
	return 0;
}

void
roster_plan_free(struct roster_plan *plan)
{
	if (plan == NULL)
		return;
	intent_free(plan->intent);
	free(plan);
}

bool
roster_is_resolving(const struct roster *r, const struct roster_plan *plan)
{
	for (unsigned i = 0; i < plan->intent->n_mirrors; i++)
		if (r->entries[plan->mirror_slots[i]].next_hop == KARMALB_NEXT_HOP_UNKNOWN)
			return true;
	return false;
}

static void
log_next_hop(struct roster *r, unsigned slot, uint8_t now_state, uint64_t now_us)
{
	char text[ENDPOINT_TEXT_MAX];
	const struct roster_entry *e = &r->entries[slot];
	struct err why = {0};
	unsigned n_left_out;

	/* That a mirror's neighbour answers at last is news, that it does at first is not. */
	if (e->next_hop == KARMALB_NEXT_HOP_UNKNOWN && now_state == KARMALB_NEXT_HOP_RESOLVED)
		return;
	if (!log_limit_allows(&r->limit, now_us, &n_left_out))
		return;
	if (n_left_out > 0)
		log_info("%u changes of next hops not shown", n_left_out);
	next_hops_why(r->instance->next_hops, &r->slots[slot].address.address, &why);
	log_info("mirror %s %s: next hop %s -> %s%s%s", e->label,
		endpoint_text(&r->slots[slot].address, text), state_names[e->next_hop],
		state_names[now_state], why.text[0] ? ": " : "", why.text);
}

/*
 * Where our own link is down, that is no mirror's failure.  With a link its routes go: of a mirror
 * that never had one it cannot be told which port it is behind, so it may be any.
 */
static bool
is_link_missing(const struct roster *r, unsigned slot)
{
	const struct ports *ports = &r->instance->ports;

	if (r->entries[slot].has_port)
		return !ports->port[r->slots[slot].next_hop_port].is_up;
	for (unsigned i = 0; i < ports->n; i++)
		if (!ports->port[i].is_up)
			return true;
	return false;
}

static void
count_failure(struct roster *r, unsigned slot, uint64_t now_us)
{
	const struct roster_entry *e = &r->entries[slot];

	if (e->is_selected && e->share > 0 && e->next_hop == KARMALB_NEXT_HOP_FAILED &&
		!is_link_missing(r, slot))
		totals_add_unreachable(r->instance->totals, (uint16_t)slot, now_us);
}

static bool
refresh_slot(struct roster *r, unsigned slot, uint64_t now_us)
{
	struct table_slot *t = &r->slots[slot];
	struct roster_entry *e = &r->entries[slot];
	struct next_hop hop = next_hops_get(r->instance->next_hops, &t->address.address);
	bool is_known = hop.state == KARMALB_NEXT_HOP_RESOLVED;

	if (hop.state == e->next_hop && is_known == t->has_next_hop &&
		hop.has_port == e->has_port && (!hop.has_port || hop.port == t->next_hop_port) &&
		(!is_known || memcmp(hop.mac, t->next_hop_mac, sizeof(hop.mac)) == 0))
		return false;
	t->has_next_hop = is_known;
	e->has_port = hop.has_port;
	if (hop.has_port)
		t->next_hop_port = hop.port;
	if (is_known)
		memcpy(t->next_hop_mac, hop.mac, sizeof(t->next_hop_mac));
	if (hop.state != e->next_hop) {
		log_next_hop(r, slot, hop.state, now_us);
		e->next_hop = hop.state;
		count_failure(r, slot, now_us);
	}
	return true;
}

bool
roster_refresh(struct roster *r, uint64_t now_us)
{
	bool is_changed = false;

	for (unsigned i = 0; i < r->n_slots; i++)
		if (r->entries[i].is_alive && refresh_slot(r, i, now_us))
			is_changed = true;
	return is_changed;
}

struct tables *
roster_build(struct roster *r, const struct roster_plan *plan, struct err *err)
{
	const struct intent *in = plan->intent;
	const struct options *o = r->instance->options;
	struct table_port ports[KARMALB_PORTS_MAX];

	for (unsigned i = 0; i < in->n_services; i++) {
		const struct intent_service *s = &in->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			struct table_slot *t = &r->slots[plan->mirror_slots[s->first_mirror + k]];

			t->connect_timeout_ms = s->connect_timeout_ms;
			t->query_timeout_ms = s->query_timeout_ms;
			t->idle_timeout_ms = s->idle_timeout_ms;
			t->reply_check = s->reply_check;
			t->is_one_way = s->is_one_way;
		}
	}
	const struct tables_parts parts = {
		.intent = in,
		.mirror_slots = plan->mirror_slots,
		.slots = r->slots,
		.n_slots = r->n_slots,
		.ports = ports,
		.n_ports = instance_table_ports(r->instance, ports),
		.sources = o->sources,
		.n_sources = o->n_sources,
	};

	return tables_build(&parts, err);
}

void
roster_select(struct roster *r, const struct roster_plan *plan)
{
	for (unsigned i = 0; i < r->n_slots; i++) {
		r->entries[i].is_selected = false;
		r->entries[i].share = 0;
	}
	for (unsigned i = 0; i < plan->intent->n_mirrors; i++) {
		struct roster_entry *e = &r->entries[plan->mirror_slots[i]];

		e->is_selected = true;
		e->share = plan->intent->mirrors[i].share;
	}
}

void
roster_tick(struct roster *r, const struct roster_plan *rising, uint64_t now_us)
{
	if (now_us - r->counted_us < KARMALB_SECOND)
		return;
	r->counted_us = now_us;
	for (unsigned i = 0; i < r->n_slots; i++)
		count_failure(r, i, now_us);
	give_back_idle(r, rising, now_us);
}

void
roster_why_unreachable(const struct roster *r, const struct roster_plan *plan, struct err *sentence)
{
	sentence->text[0] = '\0';
	for (unsigned i = 0; i < plan->intent->n_mirrors; i++) {
		unsigned slot = plan->mirror_slots[i];
		struct err why = {0};

		if (r->slots[slot].has_next_hop)
			continue;
		next_hops_why(r->instance->next_hops, &r->slots[slot].address.address, &why);
		err_set(sentence, 0, "mirror %s gets no flows: %.100s", r->entries[slot].label,
			why.text);
		return;
	}
}

/* Nothing is assigned before there is room for all. */
static int
check_room(const struct roster *r, const struct intent *intent, struct err *err)
{
	const struct slot *slots = r->instance->memory.header->slots;
	unsigned n_free = 0, n_new = 0, near = 0;

	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++)
		n_free += slot_is_free(&slots[i]);
	if (n_free >= intent->n_mirrors)
		return 0;
	for (unsigned i = 0; i < intent->n_services; i++) {
		const struct intent_service *s = &intent->services[i];

		for (unsigned m = s->first_mirror; m < s->first_mirror + s->n_mirrors; m++) {
			int slot = slot_find(slots, near, &s->listen, &intent->mirrors[m].address);

			n_new += slot < 0;
			near = slot < 0 ? near : (unsigned)slot + 1;
		}
	}
	if (n_new <= n_free)
		return 0;
	return err_set(err, -ENOSPC,
		"%u new mirrors, but only %u of %u numbers are free; those of removed mirrors come "
		"back a minute after their last flow",
		n_new, n_free, KARMALB_SLOTS_MAX);
}

static void
begin_life(struct roster *r, uint16_t slot, const char *service, const char *mirror)
{
	struct roster_entry *e = &r->entries[slot];
	const struct slot *identity = &r->instance->memory.header->slots[slot];

	if (!e->is_alive) {
		*e = (struct roster_entry){.is_alive = true};
		r->slots[slot] = (struct table_slot){
			.listen = identity->listen,
			.address = identity->address,
		};
		totals_reset(r->instance->totals, slot);
		if (slot >= r->n_slots)
			r->n_slots = slot + 1u;
	}
	snprintf(e->label, sizeof(e->label), "%.63s/%.63s", service, mirror);
}

static void
end_life(struct roster *r, unsigned slot)
{
	struct instance *inst = r->instance;

	slot_release(inst->memory.header->slots, slot);
	/* Counters and totals go together, or the totals of nobody would fall. */
	totals_reset(inst->totals, (uint16_t)slot);
	for (unsigned w = 0; w < inst->n_workers; w++)
		worker_forget_slot(&inst->workers[w], (uint16_t)slot);
	r->entries[slot] = (struct roster_entry){0};
	r->slots[slot] = (struct table_slot){0};
	while (r->n_slots > 0 && !r->entries[r->n_slots - 1].is_alive)
		r->n_slots--;
}

static int
want_next_hops(struct roster *r, struct err *err)
{
	struct karmalb_address *addresses = calloc(r->n_slots + 1, sizeof(*addresses));
	unsigned n = 0;

	if (addresses == NULL)
		return err_set(err, -ENOMEM, "no memory for next hops");
	for (unsigned i = 0; i < r->n_slots; i++)
		if (r->entries[i].is_alive)
			addresses[n++] = r->slots[i].address.address;
	int rc = next_hops_want(r->instance->next_hops, addresses, n, err);

	free(addresses);
	return rc;
}

static bool
is_planned(const struct roster_plan *plan, unsigned slot)
{
	for (unsigned i = 0; plan != NULL && i < plan->intent->n_mirrors; i++)
		if (plan->mirror_slots[i] == slot)
			return true;
	return false;
}

static void
give_back_idle(struct roster *r, const struct roster_plan *rising, uint64_t now_us)
{
	for (unsigned i = 0; i < r->n_slots; i++) {
		struct roster_entry *e = &r->entries[i];

		if (!e->is_alive)
			continue;
		if (e->is_selected || is_planned(rising, i) ||
			flow_slot_uses(r->instance->memory.header, i) > 0)
			e->idle_us = 0;
		else if (e->idle_us == 0)
			e->idle_us = now_us;
		else if (now_us - e->idle_us >= IDLE_SLOT_KEEP_US)
			end_life(r, i);
	}
}
