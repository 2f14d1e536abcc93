/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes snapshots out of intent and what is known of the network.  Runs on the control thread;
 * knows no worker: when a snapshot may be freed is snapshot.c's business.
 */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "intent.h"
#include "lookup.h"
#include "pick.h"

#define CACHE_LINE 64

static bool
is_eligible(const struct tables_parts *parts, unsigned mirror);
static void
add_services(struct tables *t, const struct tables_parts *parts);

static struct tables *
allocate(const struct tables_parts *parts)
{
	unsigned n_mirrors = parts->intent ? parts->intent->n_mirrors : 0;
	struct tables *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->columns = calloc(n_mirrors + 1, sizeof(*t->columns));
	t->slots = aligned_alloc(CACHE_LINE, (parts->n_slots + 1) * sizeof(*t->slots));
	if (t->columns == NULL || t->slots == NULL) {
		tables_free(t);
		return NULL;
	}
	return t;
}

struct tables *
tables_build(const struct tables_parts *parts, struct err *err)
{
	struct tables *t = allocate(parts);

	if (t == NULL) {
		err_set(err, -ENOMEM, "no memory for a snapshot");
		return NULL;
	}
	t->epoch = parts->intent ? parts->intent->epoch : 0;
	t->n_sources = (uint16_t)parts->n_sources;
	t->n_slots = (uint16_t)parts->n_slots;
	t->n_ports = (uint16_t)parts->n_ports;
	memcpy(t->sources, parts->sources, parts->n_sources * sizeof(t->sources[0]));
	memcpy(t->ports, parts->ports, parts->n_ports * sizeof(t->ports[0]));
	if (parts->n_slots > 0)
		memcpy(t->slots, parts->slots, parts->n_slots * sizeof(t->slots[0]));
	if (parts->intent != NULL)
		add_services(t, parts);
	if (lookup_build(t) < 0) {
		err_set(err, -EEXIST, "a listen or a source occurs twice");
		tables_free(t);
		return NULL;
	}
	return t;
}

void
tables_free(struct tables *t)
{
	if (t == NULL)
		return;
	free(t->columns);
	free(t->slots);
	free(t);
}

static void
add_services(struct tables *t, const struct tables_parts *parts)
{
	const struct intent *in = parts->intent;
	struct pick_share shares[KARMALB_MIRRORS_MAX];
	uint32_t n_columns = 0;

	for (unsigned i = 0; i < in->n_services; i++) {
		const struct intent_service *s = &in->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			unsigned m = s->first_mirror + k;

			shares[k].slot = parts->mirror_slots[m];
			shares[k].share = is_eligible(parts, m) ? in->mirrors[m].share : 0;
			t->slots[shares[k].slot].is_selected = shares[k].share > 0;
		}
		t->services[i] = (struct table_service){
			.listen = s->listen,
			.first_column = n_columns,
			.selector = s->selector,
			.turn = s->n_mirrors > 0 ? shares[0].slot : 0,
		};
		t->services[i].n_columns =
			s->selector == KARMALB_SELECTOR_ROTATE
				? pick_order(&t->columns[n_columns], shares, s->n_mirrors)
				: pick_build(&t->columns[n_columns], shares, s->n_mirrors);
		n_columns += t->services[i].n_columns;
	}
	t->n_services = in->n_services;
}

static bool
is_eligible(const struct tables_parts *parts, unsigned mirror)
{
	const struct table_slot *slot = &parts->slots[parts->mirror_slots[mirror]];

	return slot->has_next_hop && parts->ports[slot->next_hop_port].is_up;
}
