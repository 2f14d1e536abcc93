/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow_memory.h"
#include "memory_left.h"
#include "suite.h"

static struct karmalb_address source;

static const struct flow_conf conf = {.n_workers = 2,
	.max_flows = 1000,
	.max_half_open = 100,
	.sources = &source,
	.n_sources = 1};

START_TEST(region_is_laid_out_and_shared_by_descriptor)
{
	struct flow_memory a;

	ck_assert_int_eq(flow_memory_create(&a, &conf, false, 0), 0);
	ck_assert_uint_eq(a.header->magic, FLOW_MAGIC);
	ck_assert_uint_eq(a.header->n_workers, 2);
	ck_assert_uint_ge(a.size, a.header->size);
	struct flow_header *other = mmap(NULL, a.size, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, 0);

	ck_assert(other != MAP_FAILED);
	a.header->slots[5].n_assigned = 77;
	ck_assert_uint_eq(other->slots[5].n_assigned, 77);
	munmap(other, a.size);
	flow_memory_destroy(&a);
	ck_assert_int_eq(a.fd, -1);
}
END_TEST

START_TEST(all_memory_is_there_from_the_start)
{
	struct flow_memory a;
	struct stat st;

	ck_assert_int_eq(flow_memory_create(&a, &conf, false, 0), 0);
	ck_assert_int_eq(fstat(a.fd, &st), 0);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, a.header->size);
	flow_memory_destroy(&a);
}
END_TEST

START_TEST(keys_differ_from_one_instance_to_the_next)
{
	struct flow_memory a, b;

	ck_assert_int_eq(flow_memory_create(&a, &conf, false, 0), 0);
	ck_assert_int_eq(flow_memory_create(&b, &conf, false, 0), 0);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_ne(a.header->hash_key[i], b.header->hash_key[i]);
	flow_memory_destroy(&a);
	flow_memory_destroy(&b);
}
END_TEST

START_TEST(huge_pages_are_used_or_done_without)
{
	struct flow_memory a;

	ck_assert_int_eq(flow_memory_create(&a, &conf, true, 0), 0);
	ck_assert_uint_eq(a.header->magic, FLOW_MAGIC);
	ck_assert(!a.is_huge || a.size % (2 << 20) == 0);
	flow_memory_destroy(&a);
}
END_TEST

START_TEST(impossible_configuration_is_refused)
{
	struct flow_conf bad = conf;
	struct flow_memory a;

	bad.n_workers = 0;
	ck_assert_int_eq(flow_memory_create(&a, &bad, false, 0), -EINVAL);
}
END_TEST

/* What is promised to others will be taken, though nobody sees it yet. */
START_TEST(memory_promised_to_others_is_left)
{
	struct flow_memory a;
	uint64_t left = memory_left("");

	if (left == UINT64_MAX)
		return; /* nobody can tell */
	ck_assert_int_eq(flow_memory_create(&a, &conf, false, UINT64_MAX), -ENOMEM);
	/* Twice, since others take and give back meanwhile. */
	ck_assert_int_eq(flow_memory_create(&a, &conf, false, 2 * left), -ENOMEM);
	ck_assert_int_eq(flow_memory_create(&a, &conf, false, left / 16), 0);
	flow_memory_destroy(&a);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {region_is_laid_out_and_shared_by_descriptor,
		all_memory_is_there_from_the_start, keys_differ_from_one_instance_to_the_next,
		huge_pages_are_used_or_done_without, impossible_configuration_is_refused,
		memory_promised_to_others_is_left, NULL};

	return suite_run("flow_memory", tests);
}
