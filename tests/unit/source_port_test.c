/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "fixture.h"
#include "source_port.h"
#include "suite.h"

static struct fixture f;

/* Takes a port as an established flow would.  Returns it in host order, or 0. */
static uint16_t
take(uint16_t slot, uint32_t random, uint8_t *source)
{
	struct source_port found;
	uint32_t record;

	if (!source_port_find(&f.flows, &f.tables, slot, random, &found))
		return 0;
	record = flow_take(&f.flows, slot);
	ck_assert_uint_ne(record, FLOW_NONE);
	f.flows.records[record].state = FLOW_RESTING;
	f.flows.records[record].flags = FLOW_FLAG_CLIENT_UNLINKED;
	f.flows.records[record].source = found.source;
	f.flows.records[record].source_port_be = found.key.destination_port_be;
	ck_assert(flow_link(&f.flows, found.hash, flow_entry(record, FLOW_MIRROR)));
	if (source != NULL)
		*source = found.source;
	return __builtin_bswap16(found.key.destination_port_be);
}

START_TEST(ports_of_all_workers_are_split_without_overlap)
{
	for (unsigned n = 1; n <= KARMALB_WORKERS_MAX; n++) {
		unsigned n_owned = 0;

		for (unsigned port = 0; port < 65536; port++) {
			int owner = source_port_owner((uint16_t)port, n);

			if (owner < 0)
				continue;
			unsigned first = source_port_first((unsigned)owner, n);

			ck_assert_int_lt(owner, (int)n);
			ck_assert_uint_ge(port, FLOW_PORT_FIRST);
			ck_assert(port >= first && port < first + source_port_slice(n));
			n_owned++;
		}
		ck_assert_uint_eq(n_owned, n * source_port_slice(n));
		ck_assert_uint_gt(n_owned, FLOW_PORTS - n);
	}
}
END_TEST

START_TEST(port_comes_back_only_after_all_others)
{
	struct fixture_conf conf = {.max_flows = 70000, .n_sources = 1, .n_workers = 1};
	static bool is_seen[65536];

	fixture_init(&f, &conf);
	for (unsigned i = 0; i < FLOW_PORTS; i++) {
		uint16_t port = take(0, 0, NULL);

		ck_assert_uint_ge(port, FLOW_PORT_FIRST);
		ck_assert(!is_seen[port]);
		is_seen[port] = true;
	}
	/* Every one rests. */
	ck_assert_uint_eq(take(0, 0, NULL), 0);
	/* Another mirror is another world. */
	ck_assert_uint_ne(take(1, 0, NULL), 0);
	fixture_fini(&f);
}
END_TEST

START_TEST(next_source_is_tried_when_one_is_used_up)
{
	struct fixture_conf conf = {.max_flows = 1000000, .n_sources = 3, .n_workers = 64};
	unsigned n_of[3] = {0};
	uint16_t port;
	uint8_t source;

	/* 64 workers: a slice of 1008 ports, 16384 flows. */
	fixture_init(&f, &conf);
	while ((port = take(0, 1, &source)) != 0) {
		ck_assert_int_eq(source_port_owner(port, 64), 0);
		n_of[source]++;
		if (source != 1)
			ck_assert_uint_eq(n_of[1], 1008);
	}
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(n_of[i], 1008);
	fixture_fini(&f);
}
END_TEST

START_TEST(busy_ports_in_a_row_are_skipped_up_to_the_bound)
{
	struct fixture_conf conf = {.n_sources = 1};
	struct source_port found;
	uint16_t first;

	fixture_init(&f, &conf);
	first = take(0, 0, NULL);
	for (unsigned i = 1; i < SOURCE_PORT_PROBES; i++)
		take(0, 0, NULL);
	/* As if the cursor had come round. */
	f.flows.cursors[0] = 0;
	ck_assert(!source_port_find(&f.flows, &f.tables, 0, 0, &found));
	ck_assert(source_port_find(&f.flows, &f.tables, 0, 0, &found));
	ck_assert_uint_eq(
		__builtin_bswap16(found.key.destination_port_be), first + SOURCE_PORT_PROBES);
	fixture_fini(&f);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {ports_of_all_workers_are_split_without_overlap,
		port_comes_back_only_after_all_others, next_source_is_tried_when_one_is_used_up,
		busy_ports_in_a_row_are_skipped_up_to_the_bound, NULL};

	return suite_run("source_port", tests);
}
