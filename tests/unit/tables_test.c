/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "err.h"
#include "intent.h"
#include "lookup.h"
#include "pick.h"
#include "tables.h"

#define N_MIRRORS 4
#define N_DRAWS   100000

static struct intent *intent;
static struct table_slot *slots;
static struct table_port ports[2];
static struct karmalb_address source;
/* Slots are handed out in no order that the builder could rely on. */
static const uint16_t mirror_slots[N_MIRRORS] = {9, 3, 12, 5};
static struct tables_parts parts;
static struct err err;

static struct karmalb_endpoint
endpoint(const char *address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(inet_addr(address)),
		.port_be = htons(port),
		.protocol = IPPROTO_TCP,
	};
}

/* Two services: web with mirrors 0..2 at 0.5, 0.3, 0.2, and api with mirror 3 at 1. */
static void
set_up(void)
{
	static const double shares[N_MIRRORS] = {0.5, 0.3, 0.2, 1};

	intent = calloc(1, sizeof(*intent));
	slots = calloc(13, sizeof(*slots));
	ck_assert(intent != NULL && slots != NULL);
	intent->epoch = 17;
	intent->n_services = 2;
	intent->n_mirrors = N_MIRRORS;
	intent->services[0] = (struct intent_service){
		.listen = endpoint("192.0.2.10", 80), .first_mirror = 0, .n_mirrors = 3};
	intent->services[1] = (struct intent_service){
		.listen = endpoint("192.0.2.10", 81), .first_mirror = 3, .n_mirrors = 1};
	for (unsigned i = 0; i < N_MIRRORS; i++) {
		intent->mirrors[i].share = shares[i];
		slots[mirror_slots[i]].address = endpoint("10.0.0.1", (uint16_t)(9000 + i));
		slots[mirror_slots[i]].has_next_hop = true;
	}
	slots[12].next_hop_port = 1;
	ports[0].is_up = ports[1].is_up = true;
	source = karmalb_address_from_v4(inet_addr("10.0.0.240"));
	parts = (struct tables_parts){
		.intent = intent,
		.mirror_slots = mirror_slots,
		.slots = slots,
		.n_slots = 13,
		.ports = ports,
		.n_ports = 2,
		.sources = &source,
		.n_sources = 1,
	};
}

static void
tear_down(void)
{
	free(intent);
	free(slots);
}

/* How often each slot is drawn, as a share of N_DRAWS. */
static void
draw(const struct tables *t, unsigned service, double drawn[13])
{
	const struct table_service *s = &t->services[service];
	uint64_t random = 0x1234567;

	memset(drawn, 0, 13 * sizeof(drawn[0]));
	for (unsigned i = 0; i < N_DRAWS; i++)
		drawn[pick_draw(&t->columns[s->first_column], s->n_columns,
			pick_random(&random))] += 1.0 / N_DRAWS;
}

START_TEST(each_service_draws_its_own_mirrors_by_share)
{
	struct tables *t = tables_build(&parts, &err);
	double drawn[13];

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(t->epoch, 17);
	ck_assert_ptr_eq(lookup_service(t, &intent->services[1].listen), &t->services[1]);
	draw(t, 0, drawn);
	ck_assert_double_eq_tol(drawn[9], 0.5, 0.01);
	ck_assert_double_eq_tol(drawn[3], 0.3, 0.01);
	ck_assert_double_eq_tol(drawn[12], 0.2, 0.01);
	draw(t, 1, drawn);
	ck_assert_double_eq_tol(drawn[5], 1, 1e-9);
	tables_free(t);
}
END_TEST

START_TEST(mirror_of_share_zero_gets_no_flow_but_keeps_its_slot)
{
	double drawn[13];

	intent->mirrors[0].share = 0;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	draw(t, 0, drawn);
	ck_assert(drawn[9] == 0);
	ck_assert(!t->slots[9].is_selected && t->slots[3].is_selected);
	ck_assert_double_eq_tol(drawn[3], 0.6, 0.01);
	ck_assert(karmalb_endpoint_equal(&t->slots[9].address, &slots[9].address));
	tables_free(t);
}
END_TEST

START_TEST(others_make_up_for_a_mirror_without_next_hop)
{
	double drawn[13];

	slots[3].has_next_hop = false;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	draw(t, 0, drawn);
	ck_assert(drawn[3] == 0);
	ck_assert_double_eq_tol(drawn[9], 0.5 / 0.7, 0.01);
	tables_free(t);
}
END_TEST

START_TEST(mirror_behind_a_port_that_is_down_gets_no_flow)
{
	double drawn[13];

	ports[1].is_up = false;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	draw(t, 0, drawn);
	ck_assert(drawn[12] == 0);
	tables_free(t);
}
END_TEST

START_TEST(service_without_eligible_mirror_has_no_column)
{
	slots[5].has_next_hop = false;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(t->services[1].n_columns, 0);
	ck_assert_uint_eq(t->services[0].n_columns, 3);
	tables_free(t);
}
END_TEST

START_TEST(snapshot_without_intent_knows_ports_and_sources)
{
	parts.intent = NULL;
	parts.slots = NULL;
	parts.n_slots = 0;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq(t->epoch, 0);
	ck_assert_uint_eq(t->n_services, 0);
	ck_assert_uint_eq(t->n_ports, 2);
	ck_assert_uint_eq(lookup_source(t, &source), 0);
	ck_assert_ptr_null(lookup_service(t, &intent->services[0].listen));
	tables_free(t);
}
END_TEST

START_TEST(slots_are_aligned_to_a_cache_line_and_copied)
{
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	ck_assert_uint_eq((uintptr_t)t->slots % 64, 0);
	memset(slots, 0xff, 13 * sizeof(*slots));
	ck_assert(t->slots[12].next_hop_port == 1);
	tables_free(t);
}
END_TEST

START_TEST(largest_intent_fits)
{
	uint16_t *many = calloc(KARMALB_SLOTS_MAX, sizeof(*many));

	slots = realloc(slots, KARMALB_SLOTS_MAX * sizeof(*slots));
	ck_assert(many != NULL && slots != NULL);
	intent->n_services = KARMALB_SLOTS_MAX / KARMALB_MIRRORS_MAX;
	intent->n_mirrors = KARMALB_SLOTS_MAX;
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++) {
		many[i] = (uint16_t)i;
		slots[i] = (struct table_slot){.has_next_hop = true};
		intent->mirrors[i].share = 1.0 / KARMALB_MIRRORS_MAX;
	}
	for (uint16_t i = 0; i < intent->n_services; i++)
		intent->services[i] = (struct intent_service){
			.listen = endpoint("192.0.2.10", (uint16_t)(80 + i)),
			.first_mirror = (uint16_t)(i * KARMALB_MIRRORS_MAX),
			.n_mirrors = KARMALB_MIRRORS_MAX,
		};
	parts.mirror_slots = many;
	parts.slots = slots;
	parts.n_slots = KARMALB_SLOTS_MAX;
	struct tables *t = tables_build(&parts, &err);

	ck_assert_ptr_nonnull(t);
	for (unsigned i = 0; i < intent->n_services; i++)
		ck_assert_uint_eq(t->services[i].n_columns, KARMALB_MIRRORS_MAX);
	tables_free(t);
	free(many);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tables");
	TCase *tc = tcase_create("tables");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_service_draws_its_own_mirrors_by_share);
	tcase_add_test(tc, mirror_of_share_zero_gets_no_flow_but_keeps_its_slot);
	tcase_add_test(tc, others_make_up_for_a_mirror_without_next_hop);
	tcase_add_test(tc, mirror_behind_a_port_that_is_down_gets_no_flow);
	tcase_add_test(tc, service_without_eligible_mirror_has_no_column);
	tcase_add_test(tc, snapshot_without_intent_knows_ports_and_sources);
	tcase_add_test(tc, slots_are_aligned_to_a_cache_line_and_copied);
	tcase_add_test(tc, largest_intent_fits);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
