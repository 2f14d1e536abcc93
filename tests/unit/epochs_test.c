/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/wire.h>

#include "epochs.h"
#include "suite.h"
#include "transaction.h"

static struct epochs epochs;

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		karmalb_address_from_v4(htonl(address)), htons(port), 6, 0};
}

/* Two services with one mirror each, the same mirror; its share is 'first', resp. 'second'. */
static struct transaction *
make(uint32_t epoch, double first, double second)
{
	struct {
		struct karmalb_service service;
		struct karmalb_mirror mirror;
	} parts[2] = {0};
	struct transaction *t = calloc(1, sizeof(*t) + sizeof(parts));

	for (unsigned i = 0; i < 2; i++) {
		parts[i].service.header = (struct karmalb_header){KARMALB_MESSAGE_SERVICE,
			KARMALB_PROTOCOL_VERSION, sizeof(parts[i].service)};
		parts[i].service.listen = endpoint(0x0a000001, (uint16_t)(80 + i));
		parts[i].mirror.header = (struct karmalb_header){
			KARMALB_MESSAGE_MIRROR, KARMALB_PROTOCOL_VERSION, sizeof(parts[i].mirror)};
		parts[i].mirror.address = endpoint(0x0a000002, 80);
		parts[i].mirror.share = i == 0 ? first : second;
	}
	memcpy(t->bytes, parts, sizeof(parts));
	t->epoch = epoch;
	t->size = sizeof(parts);
	return t;
}

START_TEST(shares_are_those_of_the_epoch_and_the_listen)
{
	struct karmalb_endpoint first = endpoint(0x0a000001, 80), second = endpoint(0x0a000001, 81);
	struct karmalb_endpoint mirror = endpoint(0x0a000002, 80), other = endpoint(0x0a000003, 80);
	double share = -1;

	epochs_add(&epochs, make(7, 0.25, 0.5));
	epochs_add(&epochs, make(8, 0.75, 1));
	ck_assert(epochs_share(epochs_find(&epochs, 7), &first, &mirror, &share));
	ck_assert_double_eq(share, 0.25);
	ck_assert(epochs_share(epochs_find(&epochs, 7), &second, &mirror, &share));
	ck_assert_double_eq(share, 0.5);
	ck_assert(epochs_share(epochs_find(&epochs, 8), &first, &mirror, &share));
	ck_assert_double_eq(share, 0.75);
	ck_assert(!epochs_share(epochs_find(&epochs, 8), &first, &other, &share));
	epochs_fini(&epochs);
}
END_TEST

START_TEST(the_last_64_are_kept)
{
	for (uint32_t i = 1; i <= EPOCHS_MAX + 3; i++)
		epochs_add(&epochs, make(i, 0, 0));
	ck_assert_ptr_null(epochs_find(&epochs, 3));
	ck_assert_ptr_nonnull(epochs_find(&epochs, 4));
	ck_assert_ptr_nonnull(epochs_find(&epochs, EPOCHS_MAX + 3));
	ck_assert_ptr_null(epochs_find(&epochs, EPOCHS_MAX + 4));
	epochs_fini(&epochs);
}
END_TEST

START_TEST(it_is_known_since_when_they_are_in_force)
{
	epochs_add(&epochs, make(5, 0, 0));
	ck_assert_uint_eq(epochs_find(&epochs, 5)->in_force_us, 0);
	epochs_note(&epochs, 5, 1234);
	epochs_note(&epochs, 6, 99);
	ck_assert_uint_eq(epochs_find(&epochs, 5)->in_force_us, 1234);
	epochs_fini(&epochs);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {shares_are_those_of_the_epoch_and_the_listen, the_last_64_are_kept,
		it_is_known_since_when_they_are_in_force, NULL};

	return suite_run("epochs", tests);
}
