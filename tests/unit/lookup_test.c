/* SPDX-License-Identifier: BSD-3-Clause */
#include "lookup.h"
#include "suite.h"

static struct tables tables;

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(address), .port_be = port, .protocol = 6};
}

static void
fill(unsigned n_services, unsigned n_sources)
{
	tables.n_services = (uint16_t)n_services;
	tables.n_sources = (uint16_t)n_sources;
	for (unsigned i = 0; i < n_services; i++)
		tables.services[i].listen = endpoint(1 + i / 16, (uint16_t)(1 + i % 16));
	for (unsigned i = 0; i < n_sources; i++)
		tables.sources[i] = endpoint(0x10000 + i, 0).address;
}

START_TEST(full_tables_find_each_and_no_other)
{
	fill(KARMALB_SERVICES_MAX, KARMALB_SOURCES_MAX);
	ck_assert_int_eq(lookup_build(&tables), 0);
	for (unsigned i = 0; i < KARMALB_SERVICES_MAX; i++) {
		struct karmalb_endpoint e = tables.services[i].listen;

		ck_assert_ptr_eq(lookup_service(&tables, &e), &tables.services[i]);
		e.protocol = 17;
		ck_assert_ptr_null(lookup_service(&tables, &e));
		e = endpoint(1 + i / 16, (uint16_t)(17 + i % 16));
		ck_assert_ptr_null(lookup_service(&tables, &e));
		ck_assert_uint_eq(lookup_source(&tables, &tables.sources[i]), i);
		ck_assert_uint_eq(
			lookup_source(&tables, &tables.services[i].listen.address), LOOKUP_NONE);
		ck_assert(lookup_is_own(&tables, &tables.services[i].listen.address));
		ck_assert(lookup_is_own(&tables, &tables.sources[i]));
	}
	struct karmalb_address other = endpoint(0x20000, 0).address;

	ck_assert(!lookup_is_own(&tables, &other));
}
END_TEST

START_TEST(empty_tables_find_nothing)
{
	struct karmalb_endpoint e = endpoint(1, 1), none = {0};

	fill(0, 0);
	ck_assert_int_eq(lookup_build(&tables), 0);
	ck_assert_ptr_null(lookup_service(&tables, &e));
	ck_assert_ptr_null(lookup_service(&tables, &none));
	ck_assert_uint_eq(lookup_source(&tables, &e.address), LOOKUP_NONE);
	ck_assert(!lookup_is_own(&tables, &e.address));
}
END_TEST

START_TEST(duplicates_are_refused)
{
	fill(3, 2);
	tables.services[2] = tables.services[0];
	ck_assert_int_eq(lookup_build(&tables), -EEXIST);
	fill(3, 2);
	tables.sources[1] = tables.sources[0];
	ck_assert_int_eq(lookup_build(&tables), -EEXIST);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {full_tables_find_each_and_no_other, empty_tables_find_nothing,
		duplicates_are_refused, NULL};

	return suite_run("lookup", tests);
}
