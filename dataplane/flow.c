/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layout of the flow memory, and one worker's flow table in it.  Laying out and flow_copy() belong
 * to the control thread, all else to the owning worker.  Pure: no clock, no I/O.
 *
 * Buckets are sized for a mean of four entries in ten ways.  An entry goes to its first bucket
 * while that is not crowded, so that most lookups touch one bucket, else to the emptier of the two;
 * both full is out of reach at that load, and refused.
 */
#include "flow.h"

#include <string.h>

#include "counter.h"
#include "halfopen.h"
#include "source_port.h"

#define FLOW_ENTRIES_PER_BUCKET 4
#define FLOW_CROWDED            8 /* entries in a bucket from which on the second is considered */
#define FLOW_LINE               64

/* Where the parts of one worker's region begin. */
struct flow_parts {
	uint32_t max_flows, max_half_open, n_buckets;
	size_t buckets, records, half_opens, wheel, cursors, size;
};

static bool
parts_of(struct flow_parts *parts, const struct flow_conf *conf);
static uint32_t
find_in_bucket(const struct flow_table *table, const struct tables *tables,
	const struct flow_key *key, const struct flow_bucket *bucket, uint16_t signature);
static uint32_t *
place_of(struct flow_bucket *bucket, uint16_t signature, uint32_t entry);
static uint32_t *
place_in_either(
	const struct flow_table *table, uint64_t hash, uint32_t entry, struct flow_bucket **bucket);

static size_t
round_up(size_t size)
{
	return (size + FLOW_LINE - 1) / FLOW_LINE * FLOW_LINE;
}

size_t
flow_region_size(const struct flow_conf *conf)
{
	struct flow_parts parts;

	if (!parts_of(&parts, conf))
		return 0;
	return round_up(sizeof(struct flow_header)) + conf->n_workers * parts.size;
}

struct flow_header *
flow_region_init(void *region, const struct flow_conf *conf)
{
	struct flow_header *header = region;
	struct flow_parts parts;

	if (!parts_of(&parts, conf))
		return NULL;
	header->magic = FLOW_MAGIC;
	header->layout_version = FLOW_LAYOUT_VERSION;
	header->n_workers = conf->n_workers;
	header->generation = 1;
	header->size = flow_region_size(conf);
	memcpy(header->hash_key, conf->hash_key, sizeof(header->hash_key));
	header->max_flows = parts.max_flows;
	header->max_half_open = parts.max_half_open;
	header->n_buckets = parts.n_buckets;
	header->n_sources = conf->n_sources;
	header->worker_offset = round_up(sizeof(*header));
	header->worker_size = parts.size;
	memcpy(header->sources, conf->sources, conf->n_sources * sizeof(conf->sources[0]));
	for (unsigned i = 0; i < conf->n_workers; i++) {
		struct flow_table table;

		flow_table_open(&table, header, i);
		table.worker->first_free = FLOW_NONE;
		half_open_init(&table);
	}
	return header;
}

void
flow_table_open(struct flow_table *table, struct flow_header *header, unsigned worker)
{
	uint8_t *base = (uint8_t *)header + header->worker_offset + worker * header->worker_size;
	struct flow_conf conf = {
		.n_workers = header->n_workers,
		.max_flows = (uint64_t)header->max_flows * header->n_workers,
		.max_half_open = (uint64_t)header->max_half_open * header->n_workers,
		.n_sources = header->n_sources,
	};
	struct flow_parts parts = {0}; /* a header that was laid out is in bounds */

	parts_of(&parts, &conf);
	*table = (struct flow_table){
		.header = header,
		.worker = (struct flow_worker *)base,
		.buckets = (struct flow_bucket *)(base + parts.buckets),
		.records = (struct flow *)(base + parts.records),
		.half_opens = (struct half_open *)(base + parts.half_opens),
		.wheel = (uint32_t *)(base + parts.wheel),
		.cursors = (uint16_t *)(base + parts.cursors),
		.n_buckets = header->n_buckets,
		.max_flows = header->max_flows,
		.max_half_open = header->max_half_open,
		.number = (uint16_t)worker,
		.n_workers = (uint16_t)header->n_workers,
		.first_port = source_port_first(worker, header->n_workers),
		.n_ports = source_port_slice(header->n_workers),
	};
	memcpy(table->hash_key, header->hash_key, sizeof(table->hash_key));
}

uint64_t
flow_slot_uses(const struct flow_header *header, unsigned slot)
{
	const uint8_t *base = (const uint8_t *)header + header->worker_offset;
	uint64_t sum = 0;

	for (unsigned i = 0; i < header->n_workers; i++, base += header->worker_size) {
		const struct flow_worker *worker = (const struct flow_worker *)base;

		sum += counter_read32(&worker->slot_uses[slot]);
	}
	return sum;
}

bool
flow_copy(const struct flow *flow, struct flow *copy)
{
	for (unsigned i = 0; i < 3; i++) {
		uint16_t before = __atomic_load_n(&flow->sequence, __ATOMIC_ACQUIRE);

		if (before & 1)
			continue;
		memcpy(copy, flow, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&flow->sequence, __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

uint32_t
flow_find(const struct flow_table *table, const struct tables *tables, const struct flow_key *key,
	uint64_t hash)
{
	uint16_t signature = flow_signature(hash);
	uint32_t entry =
		find_in_bucket(table, tables, key, flow_bucket_first(table, hash), signature);

	if (entry != FLOW_NONE)
		return entry;
	return find_in_bucket(table, tables, key, flow_bucket_second(table, hash), signature);
}

uint32_t
flow_take(struct flow_table *table, uint16_t slot)
{
	struct flow_worker *worker = table->worker;
	uint32_t record = worker->first_free;

	if (record != FLOW_NONE) {
		worker->first_free = table->records[record].next_free;
	} else if (worker->n_touched < table->max_flows) {
		record = worker->n_touched;
		counter_add32(&worker->n_touched, 1);
	} else {
		return FLOW_NONE;
	}

	struct flow *flow = &table->records[record];
	uint16_t sequence = flow->sequence;

	memset(flow, 0, sizeof(*flow));
	flow->sequence = sequence;
	flow->slot = slot;
	counter_add32(&worker->n_flows, 1);
	counter_add32(&worker->slot_uses[slot], 1);
	return record;
}

void
flow_give(struct flow_table *table, uint32_t record)
{
	struct flow *flow = &table->records[record];

	counter_add32(&table->worker->slot_uses[flow->slot], -1u);
	counter_add32(&table->worker->n_flows, -1u);
	flow_change(flow);
	flow_hold_vlan(table, flow, 0);
	flow->state = FLOW_FREE;
	flow->next_free = table->worker->first_free;
	flow_changed(flow);
	table->worker->first_free = record;
}

bool
flow_link(struct flow_table *table, uint64_t hash, uint32_t entry)
{
	struct flow_bucket *bucket = flow_bucket_first(table, hash);
	unsigned empty = flow_bucket_match(bucket, 0);

	if (__builtin_popcount(empty) <= FLOW_BUCKET_WAYS - FLOW_CROWDED) {
		struct flow_bucket *second = flow_bucket_second(table, hash);
		unsigned empty_second = flow_bucket_match(second, 0);

		if (__builtin_popcount(empty_second) > __builtin_popcount(empty)) {
			bucket = second;
			empty = empty_second;
		}
	}
	if (empty == 0)
		return false;
	unsigned way = (unsigned)__builtin_ctz(empty);

	bucket->entries[way] = entry;
	bucket->signatures[way] = flow_signature(hash);
	return true;
}

bool
flow_unlink(struct flow_table *table, uint64_t hash, uint32_t entry)
{
	struct flow_bucket *bucket;
	uint32_t *place = place_in_either(table, hash, entry, &bucket);

	if (place == NULL)
		return false;
	bucket->signatures[place - bucket->entries] = 0;
	return true;
}

bool
flow_relink(struct flow_table *table, uint64_t hash, uint32_t entry, uint32_t successor)
{
	struct flow_bucket *bucket;
	uint32_t *place = place_in_either(table, hash, entry, &bucket);

	if (place == NULL)
		return false;
	*place = successor;
	return true;
}

struct flow_key
flow_key_of(const struct flow *flow, const struct tables *tables, enum flow_side side)
{
	const struct table_slot *slot = &tables->slots[flow->slot];

	if (side == FLOW_CLIENT)
		return (struct flow_key){
			.source = flow->client,
			.destination = slot->listen.address,
			.source_port_be = flow->client_port_be,
			.destination_port_be = slot->listen.port_be,
			.protocol = slot->listen.protocol,
		};
	return (struct flow_key){
		.source = slot->address.address,
		.destination = tables->sources[flow->source],
		.source_port_be = slot->address.port_be,
		.destination_port_be = flow->source_port_be,
		.protocol = slot->address.protocol,
	};
}

void
flow_remove(struct flow_table *table, const struct tables *tables, uint32_t record)
{
	struct flow *flow = &table->records[record];
	struct flow_key key = flow_key_of(flow, tables, FLOW_MIRROR);

	flow_unlink(table, flow_hash(table->hash_key, &key), flow_entry(record, FLOW_MIRROR));
	if (!(flow->flags & FLOW_FLAG_CLIENT_UNLINKED)) {
		key = flow_key_of(flow, tables, FLOW_CLIENT);
		flow_unlink(
			table, flow_hash(table->hash_key, &key), flow_entry(record, FLOW_CLIENT));
	}
	flow_give(table, record);
}

static bool
parts_of(struct flow_parts *parts, const struct flow_conf *conf)
{
	if (conf->n_workers < 1 || conf->n_workers > KARMALB_WORKERS_MAX || conf->n_sources < 1 ||
		conf->n_sources > KARMALB_SOURCES_MAX || conf->max_half_open < 1 ||
		conf->max_half_open > conf->max_flows || conf->max_flows > FLOW_MAX)
		return false;
	uint32_t max_flows = (uint32_t)((conf->max_flows + conf->n_workers - 1) / conf->n_workers);

	parts->max_flows = max_flows;
	parts->max_half_open =
		(uint32_t)((conf->max_half_open + conf->n_workers - 1) / conf->n_workers);
	parts->n_buckets = 2 * max_flows / FLOW_ENTRIES_PER_BUCKET + 2;
	parts->buckets = round_up(sizeof(struct flow_worker));
	parts->records = parts->buckets + parts->n_buckets * sizeof(struct flow_bucket);
	parts->half_opens = parts->records + (size_t)max_flows * sizeof(struct flow);
	parts->wheel = parts->half_opens +
		       round_up((size_t)parts->max_half_open * sizeof(struct half_open));
	parts->cursors = parts->wheel + round_up(HALF_OPEN_WHEEL_LISTS * sizeof(uint32_t));
	parts->size = parts->cursors +
		      round_up((size_t)conf->n_sources * KARMALB_SLOTS_MAX * sizeof(uint16_t));
	return true;
}

static uint32_t
find_in_bucket(const struct flow_table *table, const struct tables *tables,
	const struct flow_key *key, const struct flow_bucket *bucket, uint16_t signature)
{
	/* Bounded by FLOW_BUCKET_WAYS. */
	for (unsigned mask = flow_bucket_match(bucket, signature); mask != 0; mask &= mask - 1) {
		uint32_t entry = bucket->entries[__builtin_ctz(mask)];

		if (flow_entry_matches(table, tables, entry, key))
			return entry;
	}
	return FLOW_NONE;
}

static uint32_t *
place_of(struct flow_bucket *bucket, uint16_t signature, uint32_t entry)
{
	/* Bounded by FLOW_BUCKET_WAYS. */
	for (unsigned mask = flow_bucket_match(bucket, signature); mask != 0; mask &= mask - 1) {
		uint32_t *place = &bucket->entries[__builtin_ctz(mask)];

		if (*place == entry)
			return place;
	}
	return NULL;
}

static uint32_t *
place_in_either(
	const struct flow_table *table, uint64_t hash, uint32_t entry, struct flow_bucket **bucket)
{
	uint16_t signature = flow_signature(hash);
	uint32_t *place;

	*bucket = flow_bucket_first(table, hash);
	place = place_of(*bucket, signature, entry);
	if (place != NULL)
		return place;
	*bucket = flow_bucket_second(table, hash);
	return place_of(*bucket, signature, entry);
}
