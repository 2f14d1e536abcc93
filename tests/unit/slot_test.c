/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "slot.h"
#include "suite.h"

static struct slot slots[KARMALB_SLOTS_MAX];

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(address), .port_be = port, .protocol = 6};
}

START_TEST(identity_keeps_its_slot)
{
	struct karmalb_endpoint vip = endpoint(1, 80), other = endpoint(1, 81);
	struct karmalb_endpoint mirror = endpoint(2, 8080);
	int slot = slot_assign(slots, 0, &vip, &mirror);

	ck_assert_int_ge(slot, 0);
	ck_assert_int_eq(slot_assign(slots, 0, &vip, &mirror), slot);
	ck_assert_int_eq(slot_find(slots, 0, &vip, &mirror), slot);
	ck_assert_int_ne(slot_assign(slots, 0, &other, &mirror), slot);
	ck_assert_int_eq(slot_find(slots, 0, &other, &vip), -ENOENT);
}
END_TEST

START_TEST(table_fills_up_and_released_slots_come_back)
{
	struct karmalb_endpoint vip = endpoint(1, 80), late = endpoint(0xffff, 1);

	for (unsigned i = 0; i < KARMALB_SLOTS_MAX; i++) {
		struct karmalb_endpoint mirror = endpoint(1000 + i, 1);

		ck_assert_int_eq(slot_assign(slots, 0, &vip, &mirror), (int)i);
	}
	ck_assert_int_eq(slot_assign(slots, 0, &vip, &late), -ENOSPC);
	slot_release(slots, 77);
	ck_assert(slot_is_free(&slots[77]));
	ck_assert_int_eq(slot_assign(slots, 0, &vip, &late), 77);
	ck_assert_uint_eq(slots[77].n_assigned, 2);
	ck_assert(karmalb_endpoint_equal(&slots[77].address, &late));
}
END_TEST

START_TEST(the_beginning_of_a_search_does_not_matter)
{
	struct karmalb_endpoint vip = endpoint(1, 80), stranger = endpoint(7, 7);
	uint64_t random = suite_seed();

	memset(slots, 0, sizeof(slots));
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX / 2; i++) {
		struct karmalb_endpoint mirror = endpoint(1000 + i, 1);
		unsigned near = (unsigned)suite_random(&random) % (KARMALB_SLOTS_MAX + 1);

		ck_assert_int_eq(slot_assign(slots, near, &vip, &mirror), (int)i);
	}
	for (unsigned i = 0; i < KARMALB_SLOTS_MAX / 2; i++) {
		struct karmalb_endpoint mirror = endpoint(1000 + i, 1);
		unsigned near = (unsigned)suite_random(&random) % (KARMALB_SLOTS_MAX + 1);

		ck_assert_int_eq(slot_find(slots, near, &vip, &mirror), (int)i);
		ck_assert_int_eq(slot_assign(slots, near, &vip, &mirror), (int)i);
	}
	ck_assert_int_eq(slot_find(slots, KARMALB_SLOTS_MAX - 1, &vip, &stranger), -ENOENT);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {identity_keeps_its_slot,
		table_fills_up_and_released_slots_come_back,
		the_beginning_of_a_search_does_not_matter, NULL};

	return suite_run("slot", tests);
}
