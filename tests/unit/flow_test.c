/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "flow.h"
#include "source_port.h"
#include "suite.h"

#define N_SLOTS   3
#define N_SOURCES 2
#define N_FLOWS   500

static struct tables tables;
static struct table_slot slots[N_SLOTS];
static struct flow_header *header;
static struct flow_table table;

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(address), .port_be = port, .protocol = 6};
}

static void
open_table(uint64_t max_flows, unsigned n_workers)
{
	for (unsigned i = 0; i < N_SOURCES; i++)
		tables.sources[i] = endpoint(0x100 + i, 0).address;
	for (unsigned i = 0; i < N_SLOTS; i++) {
		slots[i].listen = endpoint(1 + i / 2, 80);
		slots[i].address = endpoint(0x200 + i, 8080);
	}
	tables.slots = slots;
	tables.n_slots = N_SLOTS;
	tables.n_sources = N_SOURCES;
	struct flow_conf conf = {
		.n_workers = n_workers,
		.max_flows = max_flows,
		.max_half_open = n_workers,
		.sources = tables.sources,
		.n_sources = N_SOURCES,
		.hash_key = {1, 2, 3, 4},
	};
	size_t size = flow_region_size(&conf);

	ck_assert_uint_gt(size, 0);
	header = aligned_alloc(64, size);
	memset((void *)header, 0, size);
	ck_assert_ptr_nonnull(flow_region_init(header, &conf));
	flow_table_open(&table, header, 0);
}

static uint64_t
hash_of(const struct flow *flow, enum flow_side side)
{
	struct flow_key key = flow_key_of(flow, &tables, side);

	return flow_hash(table.hash_key, &key);
}

static uint32_t
find(const struct flow *flow, enum flow_side side)
{
	struct flow_key key = flow_key_of(flow, &tables, side);

	return flow_find(&table, &tables, &key, flow_hash(table.hash_key, &key));
}

/* A flow of client number 'id'; its source port follows from that, too. */
static uint32_t
add(uint32_t id)
{
	uint32_t record = flow_take(&table, (uint16_t)(id % N_SLOTS));

	if (record == FLOW_NONE)
		return record;
	struct flow *flow = &table.records[record];

	flow->state = FLOW_ESTABLISHED;
	flow->client = endpoint(0xc000000 + id / 7, 0).address;
	flow->client_port_be = (uint16_t)(1 + id % 7);
	flow->source = (uint8_t)(id & 1);
	flow->source_port_be = (uint16_t)(1024 + id / 2);
	ck_assert(flow_link(&table, hash_of(flow, FLOW_CLIENT), flow_entry(record, FLOW_CLIENT)));
	ck_assert(flow_link(&table, hash_of(flow, FLOW_MIRROR), flow_entry(record, FLOW_MIRROR)));
	return record;
}

START_TEST(table_behaves_as_a_naive_model)
{
	uint64_t random = suite_seed();
	static uint32_t record_of[4 * N_FLOWS]; /* the model: id -> record */
	unsigned n = 0, n_full = 0;

	open_table(N_FLOWS, 1);
	memset(record_of, 0xff, sizeof(record_of));
	for (unsigned step = 0; step < 200000; step++) {
		uint32_t id = (uint32_t)(suite_random(&random) % (4 * N_FLOWS));

		if (record_of[id] == FLOW_NONE) {
			record_of[id] = add(id);
			n_full += record_of[id] == FLOW_NONE;
			ck_assert_int_eq(record_of[id] == FLOW_NONE, n == N_FLOWS);
			n += record_of[id] != FLOW_NONE;
		} else if (suite_random(&random) % 4 == 0) {
			struct flow gone = table.records[record_of[id]];

			flow_remove(&table, &tables, record_of[id]);
			record_of[id] = FLOW_NONE;
			n--;
			ck_assert_uint_eq(find(&gone, FLOW_CLIENT), FLOW_NONE);
			ck_assert_uint_eq(find(&gone, FLOW_MIRROR), FLOW_NONE);
		} else {
			const struct flow *flow = &table.records[record_of[id]];

			ck_assert_uint_eq(
				find(flow, FLOW_CLIENT), flow_entry(record_of[id], FLOW_CLIENT));
			ck_assert_uint_eq(
				find(flow, FLOW_MIRROR), flow_entry(record_of[id], FLOW_MIRROR));
		}
		ck_assert_uint_eq(table.worker->n_flows, n);
	}
	ck_assert_uint_gt(n_full, 0);
	uint64_t uses = 0;

	for (unsigned i = 0; i < N_SLOTS; i++)
		uses += flow_slot_uses(header, i);
	ck_assert_uint_eq(uses, n);
	/* Nothing is left behind. */
	for (uint32_t id = 0; id < 4 * N_FLOWS; id++) {
		if (record_of[id] != FLOW_NONE)
			flow_remove(&table, &tables, record_of[id]);
	}
	for (uint32_t i = 0; i < table.n_buckets; i++)
		ck_assert_uint_eq(
			flow_bucket_match(&table.buckets[i], 0), (1u << FLOW_BUCKET_WAYS) - 1);
	ck_assert_uint_eq(table.worker->n_flows, 0);
}
END_TEST

START_TEST(full_table_places_every_flow)
{
	uint32_t n = 300000, first = 0;

	open_table(n, 1);
	for (uint32_t id = 0; id < 2 * 64000; id++)
		ck_assert_uint_ne(add(id), FLOW_NONE);
	/* Most lookups end in the first bucket. */
	for (uint32_t record = 0; record < table.worker->n_touched; record++) {
		const struct flow *flow = &table.records[record];
		uint64_t hash = hash_of(flow, FLOW_CLIENT);
		const struct flow_bucket *b = flow_bucket_first(&table, hash);
		unsigned mask = flow_bucket_match(b, flow_signature(hash));

		ck_assert_uint_eq(find(flow, FLOW_CLIENT), flow_entry(record, FLOW_CLIENT));
		ck_assert_uint_eq(find(flow, FLOW_MIRROR), flow_entry(record, FLOW_MIRROR));
		first += mask != 0;
	}
	ck_assert_uint_ge(first, table.worker->n_touched / 10 * 9);
}
END_TEST

/* At the very load that the buckets are sized for, with entries of no meaning. */
START_TEST(no_bucket_overflows_at_full_load)
{
	uint64_t random = suite_seed();

	open_table(1000000, 1);
	for (uint32_t i = 0; i < 2000000; i++)
		ck_assert(
			flow_link(&table, suite_random(&random) * UINT64_C(0xd6e8feb86659fd93), i));
}
END_TEST

START_TEST(both_buckets_full_is_refused_and_loses_nothing)
{
	open_table(1000, 1);
	uint64_t hash = UINT64_C(0x4000000040000000); /* bucket by the high bits of each half */
	unsigned n = 0;

	while (flow_link(&table, hash + n, n))
		n++;
	ck_assert_uint_ge(n, FLOW_BUCKET_WAYS);
	ck_assert_uint_le(n, 2 * FLOW_BUCKET_WAYS);
	for (unsigned i = 0; i < n; i++)
		ck_assert(flow_unlink(&table, hash + i, i));
	ck_assert(!flow_unlink(&table, hash, 0));
}
END_TEST

START_TEST(match_finds_each_way)
{
	struct flow_bucket bucket;

	for (unsigned way = 0; way < FLOW_BUCKET_WAYS; way++) {
		memset(&bucket, 0, sizeof(bucket));
		bucket.signatures[way] = 0xbeef;
		ck_assert_uint_eq(flow_bucket_match(&bucket, 0xbeef), 1u << way);
		ck_assert_uint_eq(flow_bucket_match(&bucket, 0), 0x3ffu & ~(1u << way));
		ck_assert_uint_eq(flow_bucket_match(&bucket, 0xbeee), 0);
	}
	memset(&bucket, 0xff, sizeof(bucket));
	ck_assert_uint_eq(flow_bucket_match(&bucket, 0xffff), 0x3ff);
}
END_TEST

START_TEST(relinked_entry_leads_to_its_successor)
{
	open_table(10, 1);
	uint32_t old = add(1), new = flow_take(&table, 1);
	struct flow *flow = &table.records[old];
	uint64_t hash = hash_of(flow, FLOW_CLIENT);

	table.records[new].client = flow->client;
	table.records[new].client_port_be = flow->client_port_be;
	table.records[new].state = FLOW_SYN_SENT;
	ck_assert(flow_relink(
		&table, hash, flow_entry(old, FLOW_CLIENT), flow_entry(new, FLOW_CLIENT)));
	flow->flags |= FLOW_FLAG_CLIENT_UNLINKED;
	ck_assert_uint_eq(find(flow, FLOW_CLIENT), flow_entry(new, FLOW_CLIENT));
	ck_assert_uint_eq(find(flow, FLOW_MIRROR), flow_entry(old, FLOW_MIRROR));
	flow_remove(&table, &tables, old);
	ck_assert_uint_eq(find(&table.records[new], FLOW_CLIENT), flow_entry(new, FLOW_CLIENT));
}
END_TEST

START_TEST(flow_costs_at_most_128_bytes)
{
	struct flow_conf conf = {
		.n_workers = 1, .max_half_open = 1, .sources = tables.sources, .n_sources = 1};

	conf.max_flows = 1000000;
	size_t small = flow_region_size(&conf);

	conf.max_flows = 2000000;
	ck_assert_uint_le(flow_region_size(&conf) - small, 128 * UINT64_C(1000000));
}
END_TEST

START_TEST(bounds_of_the_configuration_are_checked)
{
	struct flow_conf good = {.n_workers = 2,
		.max_flows = 100,
		.max_half_open = 10,
		.sources = tables.sources,
		.n_sources = 1};
	struct flow_conf bad;

	ck_assert_uint_gt(flow_region_size(&good), 0);
	bad = good, bad.n_workers = 0;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.n_workers = KARMALB_WORKERS_MAX + 1;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.max_flows = 0;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.max_half_open = 101;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.n_sources = 0;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.n_sources = KARMALB_SOURCES_MAX + 1;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
	bad = good, bad.max_flows = (uint64_t)FLOW_MAX + 1;
	ck_assert_uint_eq(flow_region_size(&bad), 0);
}
END_TEST

START_TEST(workers_do_not_share_memory)
{
	struct flow_table tables_of[3];

	open_table(30, 3);
	for (unsigned i = 0; i < 3; i++) {
		flow_table_open(&tables_of[i], header, i);
		memset((void *)tables_of[i].buckets, (int)i + 1,
			tables_of[i].n_buckets * sizeof(struct flow_bucket));
		memset((void *)tables_of[i].records, (int)i + 1,
			tables_of[i].max_flows * sizeof(struct flow));
		tables_of[i].cursors[N_SOURCES * KARMALB_SLOTS_MAX - 1] = (uint16_t)i;
	}
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *records = (const uint8_t *)tables_of[i].records;

		ck_assert_uint_eq(records[0], i + 1);
		ck_assert_uint_eq(records[10 * 64 - 1], i + 1);
		ck_assert_uint_eq(tables_of[i].cursors[N_SOURCES * KARMALB_SLOTS_MAX - 1], i);
		ck_assert_uint_eq(tables_of[i].worker->first_free, FLOW_NONE);
		ck_assert_uint_eq((uintptr_t)tables_of[i].buckets % 64, 0);
		ck_assert_uint_eq((uintptr_t)tables_of[i].records % 64, 0);
	}
	ck_assert_ptr_eq((uint8_t *)header + header->size,
		(uint8_t *)tables_of[2].worker + header->worker_size);
}
END_TEST

START_TEST(copy_is_refused_while_written)
{
	struct flow flow = {.epoch = 5}, copy;

	ck_assert(flow_copy(&flow, &copy));
	ck_assert_uint_eq(copy.epoch, 5);
	flow_change(&flow);
	ck_assert(!flow_copy(&flow, &copy));
	flow_changed(&flow);
	ck_assert(flow_copy(&flow, &copy));
}
END_TEST

START_TEST(hash_depends_on_every_bit_of_the_key_and_on_the_secret)
{
	uint64_t secret[4] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
		0x082efa98ec4e6c89}; /* digits of pi */
	struct flow_key key = {.source = karmalb_address_from_v4(0x01020304),
		.destination = karmalb_address_from_v4(0x05060708),
		.source_port_be = 7,
		.destination_port_be = 8,
		.protocol = 6};
	uint64_t hash = flow_hash(secret, &key);

	for (unsigned bit = 0; bit < 37 * 8; bit++) {
		struct flow_key other = key;

		((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		int n = __builtin_popcountll(flow_hash(secret, &other) ^ hash);

		ck_assert_int_ge(n, 8);
		ck_assert_int_le(n, 56);
	}
	for (unsigned i = 0; i < 4; i++) {
		secret[i] ^= 1;
		ck_assert_uint_ne(flow_hash(secret, &key), hash);
		secret[i] ^= 1;
	}
}
END_TEST

START_TEST(owners_of_clients_are_even_and_do_not_starve_buckets)
{
	uint64_t random = suite_seed();
	unsigned n_of[3] = {0}, halves[2] = {0};

	for (unsigned i = 0; i < 300000; i++) {
		uint64_t hash = suite_random(&random) * UINT64_C(0xd6e8feb86659fd93);
		unsigned owner = flow_client_owner(hash, 3);

		ck_assert_uint_lt(owner, 3);
		n_of[owner]++;
		if (owner == 0)
			halves[(uint32_t)hash >> 31]++;
		ck_assert_uint_eq(flow_client_owner(hash, 1), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		ck_assert(n_of[i] > 98000 && n_of[i] < 102000);
	ck_assert(halves[0] > 48000 && halves[1] > 48000);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {table_behaves_as_a_naive_model, full_table_places_every_flow,
		no_bucket_overflows_at_full_load, both_buckets_full_is_refused_and_loses_nothing,
		match_finds_each_way, relinked_entry_leads_to_its_successor,
		flow_costs_at_most_128_bytes, bounds_of_the_configuration_are_checked,
		workers_do_not_share_memory, copy_is_refused_while_written,
		hash_depends_on_every_bit_of_the_key_and_on_the_secret,
		owners_of_clients_are_even_and_do_not_starve_buckets, NULL};

	return suite_run("flow", tests);
}
