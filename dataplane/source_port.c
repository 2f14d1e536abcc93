/* SPDX-License-Identifier: BSD-3-Clause */
/* Source ports towards the mirrors.  Owning worker only. */
#include "source_port.h"

static bool
probe_source(struct flow_table *table, const struct tables *tables, uint16_t slot,
	struct source_port *found);

static uint16_t
swap16(uint16_t value)
{
	return __builtin_bswap16(value);
}

bool
source_port_find(struct flow_table *table, const struct tables *tables, uint16_t slot,
	uint32_t random, struct source_port *found)
{
	const struct karmalb_endpoint *mirror = &tables->slots[slot].address;
	bool is_v4 = karmalb_address_is_v4(&mirror->address);
	unsigned n_sources = tables->n_sources, n_tried = 0;

	if (n_sources > table->header->n_sources)
		n_sources = table->header->n_sources;
	if (n_sources == 0)
		return false;
	unsigned source = random % n_sources;

	found->key = (struct flow_key){
		.source = mirror->address,
		.source_port_be = mirror->port_be,
		.protocol = mirror->protocol,
	};
	/* Bounded by KARMALB_SOURCES_MAX; at most SOURCE_PORT_TRIES of them are probed. */
	for (unsigned i = 0; i < n_sources && n_tried < SOURCE_PORT_TRIES; i++) {
		found->source = (uint8_t)source;
		found->key.destination = tables->sources[source];
		if (karmalb_address_is_v4(&found->key.destination) == is_v4) {
			n_tried++;
			if (probe_source(table, tables, slot, found))
				return true;
		}
		if (++source == n_sources)
			source = 0;
	}
	return false;
}

static bool
probe_source(struct flow_table *table, const struct tables *tables, uint16_t slot,
	struct source_port *found)
{
	uint16_t *cursor = &table->cursors[(size_t)found->source * KARMALB_SLOTS_MAX + slot];

	/* Bounded by SOURCE_PORT_PROBES. */
	for (unsigned i = 0; i < SOURCE_PORT_PROBES; i++) {
		uint16_t port = (uint16_t)(table->first_port + *cursor);

		if (++*cursor >= table->n_ports)
			*cursor = 0;
		found->key.destination_port_be = swap16(port);
		found->hash = flow_hash(table->hash_key, &found->key);
		if (flow_find(table, tables, &found->key, found->hash) == FLOW_NONE)
			return true;
	}
	return false;
}
