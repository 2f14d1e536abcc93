/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "err.h"
#include "intent.h"

#define N_SOURCES 2

static struct intent_draft draft;
static struct err err;
static struct karmalb_address sources[N_SOURCES];

static struct karmalb_endpoint
endpoint(const char *address, uint16_t port)
{
	struct karmalb_endpoint e = {
		.address = karmalb_address_from_v4(inet_addr(address)),
		.port_be = htons(port),
		.protocol = IPPROTO_TCP,
	};

	return e;
}

static struct karmalb_begin
begin(uint32_t epoch, uint32_t n_services)
{
	return (struct karmalb_begin){.epoch = epoch, .n_services = n_services};
}

static struct karmalb_service
service(uint16_t number, uint16_t n_mirrors)
{
	struct karmalb_service m = {
		.listen = endpoint("192.0.2.10", (uint16_t)(80 + number)),
		.service = number,
		.n_mirrors = n_mirrors,
		.connect_timeout_ms = 250,
		.query_timeout_ms = 3000,
		.idle_timeout_ms = 60000,
	};

	snprintf(m.name, sizeof(m.name), "web%u", number);
	return m;
}

static struct karmalb_mirror
mirror(uint16_t service_number, uint16_t number, double share)
{
	struct karmalb_mirror m = {
		.address = endpoint("10.0.0.11", (uint16_t)(9000 + number)),
		.service = service_number,
		.mirror = number,
		.share = share,
	};

	snprintf(m.name, sizeof(m.name), "m%u", number);
	return m;
}

static void
set_up(void)
{
	memset(&err, 0, sizeof(err));
	sources[0] = karmalb_address_from_v4(inet_addr("10.0.0.240"));
	sources[1] = karmalb_address_from_v4(inet_addr("10.0.0.241"));
}

static void
tear_down(void)
{
	intent_draft_abort(&draft);
}

static void
feed_begin(uint32_t n_services)
{
	struct karmalb_begin b = begin(1, n_services);

	ck_assert_int_eq(intent_draft_begin(&draft, &b, 0, &err), 0);
}

static void
feed_service(struct karmalb_service m)
{
	ck_assert_msg(intent_draft_service(&draft, &m, &err) == 0, "%s", err.text);
}

static void
feed_mirror(struct karmalb_mirror m)
{
	ck_assert_msg(intent_draft_mirror(&draft, &m, &err) == 0, "%s", err.text);
}

static struct intent *
commit(void)
{
	struct karmalb_commit c = {.epoch = 1};
	struct intent *intent = NULL;

	ck_assert_msg(intent_draft_commit(&draft, &c, &intent, &err) == 0, "%s", err.text);
	ck_assert_ptr_null(draft.intent);
	return intent;
}

/* Checks a whole of one service with two mirrors, and that a refusal's sentence has 'words'. */
static void
expect_check(struct karmalb_service s, struct karmalb_mirror m, int rc, const char *words)
{
	feed_begin(1);
	s.n_mirrors = 2;
	feed_service(s);
	feed_mirror(mirror(0, 0, 0.5));
	m.mirror = 1;
	feed_mirror(m);
	struct intent *intent = commit();

	ck_assert_int_eq(intent_check(intent, sources, N_SOURCES, &err), rc);
	ck_assert_msg(strstr(err.text, words) != NULL, "'%s' lacks '%s'", err.text, words);
	intent_free(intent);
}

START_TEST(whole_transaction_is_kept_in_order)
{
	feed_begin(2);
	feed_service(service(0, 2));
	feed_mirror(mirror(0, 0, 0.25));
	feed_mirror(mirror(0, 1, 0.75));
	feed_service(service(1, 1));
	feed_mirror(mirror(1, 0, 1));
	struct intent *in = commit();

	ck_assert_uint_eq(in->epoch, 1);
	ck_assert_uint_eq(in->n_services, 2);
	ck_assert_uint_eq(in->n_mirrors, 3);
	ck_assert_uint_eq(in->services[1].first_mirror, 2);
	ck_assert_uint_eq(in->services[1].n_mirrors, 1);
	ck_assert_str_eq(in->services[1].name, "web1");
	ck_assert(in->mirrors[1].share == 0.75);
	ck_assert_int_eq(intent_check(in, sources, N_SOURCES, &err), 0);
	intent_free(in);
}
END_TEST

START_TEST(no_service_at_all_is_a_valid_whole)
{
	feed_begin(0);
	struct intent *in = commit();

	ck_assert_int_eq(intent_check(in, sources, N_SOURCES, &err), 0);
	intent_free(in);
}
END_TEST

START_TEST(begin_forgets_an_unfinished_transaction)
{
	feed_begin(1);
	feed_service(service(0, 1));
	feed_begin(0);
	struct intent *in = commit();

	ck_assert_uint_eq(in->n_services, 0);
	intent_free(in);
}
END_TEST

START_TEST(epoch_that_does_not_rise_is_refused)
{
	struct karmalb_begin b = begin(7, 0);

	ck_assert_int_eq(intent_draft_begin(&draft, &b, 7, &err), -EPROTO);
	ck_assert_int_eq(intent_draft_begin(&draft, &b, 8, &err), -EPROTO);
	ck_assert_ptr_null(draft.intent);
	ck_assert_int_eq(intent_draft_begin(&draft, &b, 6, &err), 0);
}
END_TEST

START_TEST(too_many_services_are_refused)
{
	struct karmalb_begin b = begin(1, KARMALB_SERVICES_MAX + 1);

	ck_assert_int_eq(intent_draft_begin(&draft, &b, 0, &err), -EPROTO);
	b.n_services = KARMALB_SERVICES_MAX;
	ck_assert_int_eq(intent_draft_begin(&draft, &b, 0, &err), 0);
}
END_TEST

START_TEST(message_out_of_order_is_refused)
{
	struct karmalb_service s = service(0, 1);
	struct karmalb_mirror m = mirror(0, 0, 1);
	struct karmalb_commit c = {.epoch = 1};
	struct intent *in = NULL;

	ck_assert_int_eq(intent_draft_service(&draft, &s, &err), -EPROTO);
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
	ck_assert_int_eq(intent_draft_commit(&draft, &c, &in, &err), -EPROTO);

	feed_begin(2);
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
	ck_assert_int_eq(intent_draft_commit(&draft, &c, &in, &err), -EPROTO);
	feed_service(s);
	s = service(1, 1);
	ck_assert_int_eq(intent_draft_service(&draft, &s, &err), -EPROTO);
	ck_assert_int_eq(intent_draft_commit(&draft, &c, &in, &err), -EPROTO);
	feed_mirror(m);
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
	feed_service(s);
	feed_mirror(mirror(1, 0, 1));
	s = service(2, 1);
	ck_assert_int_eq(intent_draft_service(&draft, &s, &err), -EPROTO);
	ck_assert_ptr_null(in);
}
END_TEST

START_TEST(numbers_that_skip_or_repeat_are_refused)
{
	struct karmalb_service s = service(1, 2);
	struct karmalb_mirror m = mirror(0, 1, 1);

	feed_begin(2);
	ck_assert_int_eq(intent_draft_service(&draft, &s, &err), -EPROTO);
	feed_service(service(0, 2));
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
	m = mirror(1, 0, 1);
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
	feed_mirror(mirror(0, 0, 1));
	m = mirror(0, 0, 1);
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
}
END_TEST

START_TEST(commit_of_another_epoch_is_refused)
{
	struct karmalb_commit c = {.epoch = 2};
	struct intent *in = NULL;

	feed_begin(0);
	ck_assert_int_eq(intent_draft_commit(&draft, &c, &in, &err), -EPROTO);
	ck_assert_ptr_null(in);
}
END_TEST

static const double bad_shares[] = {-0.1, 1.0000001, NAN, INFINITY, -INFINITY};

START_TEST(share_out_of_range_is_refused)
{
	struct karmalb_mirror m = mirror(0, 0, bad_shares[_i]);

	feed_begin(1);
	feed_service(service(0, 1));
	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -EPROTO);
}
END_TEST

static void
refuse_service(struct karmalb_service s)
{
	feed_begin(1);
	ck_assert_int_eq(intent_draft_service(&draft, &s, &err), -EPROTO);
	ck_assert_uint_gt(strlen(err.text), 10);
}

START_TEST(service_field_out_of_range_is_refused)
{
	struct karmalb_service s = service(0, 0);

	s.n_mirrors = KARMALB_MIRRORS_MAX + 1, refuse_service(s), s = service(0, 0);
	s.connect_timeout_ms = 0, refuse_service(s), s = service(0, 0);
	s.query_timeout_ms = 3600001, refuse_service(s), s = service(0, 0);
	s.idle_timeout_ms = 999, refuse_service(s), s = service(0, 0);
	s.selector = KARMALB_N_SELECTORS, refuse_service(s), s = service(0, 0);
	s.listen.port_be = 0, refuse_service(s), s = service(0, 0);
	s.listen.protocol = IPPROTO_ICMP, refuse_service(s), s = service(0, 0);
	s.listen.pad = 1, refuse_service(s), s = service(0, 0);
	s.pad = 1, refuse_service(s), s = service(0, 0);
	s.is_one_way = 1, refuse_service(s), s = service(0, 0); /* with TCP */
	s.is_one_way = 2, s.listen.protocol = IPPROTO_UDP, refuse_service(s), s = service(0, 0);
	memset(s.name, 'a', sizeof(s.name)), refuse_service(s), s = service(0, 0);
	s.name[1] = '\n', refuse_service(s);
}
END_TEST

START_TEST(mirror_field_out_of_range_is_refused)
{
	struct karmalb_mirror m[5];

	for (unsigned i = 0; i < 5; i++)
		m[i] = mirror(0, 0, 1);
	m[0].address.port_be = 0;
	m[1].address.protocol = IPPROTO_UDP; /* its service is TCP */
	m[2].address.pad = 1;
	memset(m[3].name, 'a', sizeof(m[3].name));
	m[4].name[0] = '\x1b';
	feed_begin(1);
	feed_service(service(0, 1));
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(intent_draft_mirror(&draft, &m[i], &err), -EPROTO);
	feed_mirror(mirror(0, 0, 1));
}
END_TEST

START_TEST(more_mirrors_than_slots_are_refused)
{
	unsigned n_services = KARMALB_SLOTS_MAX / KARMALB_MIRRORS_MAX;

	feed_begin(n_services + 1);
	for (uint16_t i = 0; i < n_services; i++) {
		feed_service(service(i, KARMALB_MIRRORS_MAX));
		for (uint16_t k = 0; k < KARMALB_MIRRORS_MAX; k++)
			feed_mirror(mirror(i, k, 0.5));
	}
	feed_service(service((uint16_t)n_services, 1));
	struct karmalb_mirror m = mirror((uint16_t)n_services, 0, 1);

	ck_assert_int_eq(intent_draft_mirror(&draft, &m, &err), -ENOSPC);
}
END_TEST

START_TEST(listen_given_twice_is_refused)
{
	struct karmalb_service s = service(1, 0);

	s.listen = service(0, 0).listen;
	feed_begin(2);
	feed_service(service(0, 0));
	feed_service(s);
	struct intent *in = commit();

	ck_assert_int_eq(intent_check(in, sources, N_SOURCES, &err), -EINVAL);
	ck_assert_str_eq(err.text,
		"service web1: listen 192.0.2.10:80/tcp is taken by service web0 already");
	intent_free(in);
}
END_TEST

START_TEST(mirror_that_is_a_vip_is_a_loop)
{
	struct karmalb_mirror m = mirror(0, 1, 0.5);

	m.address = endpoint("192.0.2.10", 8080);
	expect_check(service(0, 0), m, -EINVAL, "mirror m1 192.0.2.10:8080/tcp is the address of");
}
END_TEST

START_TEST(mirror_given_twice_is_refused)
{
	struct karmalb_mirror m = mirror(0, 1, 0.5);

	m.address = mirror(0, 0, 0).address;
	expect_check(service(0, 0), m, -EINVAL, "is mirror m0 already");
}
END_TEST

START_TEST(source_address_serves_nothing_else)
{
	struct karmalb_service s = service(0, 0);
	struct karmalb_mirror m = mirror(0, 1, 0.5);

	s.listen.address = sources[1];
	expect_check(s, m, -EINVAL, "10.0.0.241:80/tcp is one of our source addresses");
	m.address.address = sources[0];
	expect_check(service(0, 0), m, -EINVAL, "10.0.0.240:9001/tcp is one of our source");
}
END_TEST

START_TEST(one_service_is_of_one_version_of_ip)
{
	static const struct karmalb_address v6 = {.bytes = {0x20, 1, 0xd, 0xb8, [15] = 1}};
	struct karmalb_mirror m = mirror(0, 1, 0.5);
	struct karmalb_service s = service(0, 0);

	m.address.address = v6;
	expect_check(s, m, -EPROTONOSUPPORT, "[2001:db8::1]:9001/tcp: IPv4 in front of IPv6");
	s.listen.address = v6;
	expect_check(s, mirror(0, 1, 0.5), -EINVAL, "no source address of its version of IP");
}
END_TEST

static const char *const no_unicast[] = {
	"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"};

START_TEST(address_that_no_host_can_have_is_refused)
{
	struct karmalb_service s = service(0, 0);

	s.listen = endpoint(no_unicast[_i], 80);
	expect_check(s, mirror(0, 1, 0.5), -EINVAL, "is not a unicast address");
}
END_TEST

/* One service with listen number 'service' and mirrors 'first' and first + 1. */
static struct intent *
make(uint16_t service_number, uint16_t first)
{
	struct karmalb_service s = service(0, 2);

	s.listen = service(service_number, 0).listen;
	feed_begin(1);
	feed_service(s);
	for (uint16_t i = 0; i < 2; i++) {
		struct karmalb_mirror m = mirror(0, i, 0.1 * (1 + first));

		m.address = mirror(0, (uint16_t)(first + i), 0).address;
		feed_mirror(m);
	}
	return commit();
}

START_TEST(other_shares_leave_the_same_mirrors)
{
	struct intent *a = make(0, 0), *b = make(0, 0), *other_mirror = make(0, 1),
		      *other_listen = make(1, 0);

	b->mirrors[0].share = 0.9;
	b->services[0].query_timeout_ms++;
	ck_assert(intent_has_same_mirrors(a, b));
	ck_assert(!intent_has_same_mirrors(a, other_mirror));
	ck_assert(!intent_has_same_mirrors(a, other_listen));
	b->n_services = 0;
	b->n_mirrors = 0;
	ck_assert(!intent_has_same_mirrors(a, b));
	ck_assert(intent_is_part_of(b, a));
	ck_assert(!intent_is_part_of(a, b));
	ck_assert(intent_is_part_of(a, other_mirror));
	ck_assert(!intent_is_part_of(a, other_listen));
	intent_free(a);
	intent_free(b);
	intent_free(other_mirror);
	intent_free(other_listen);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("intent");
	TCase *tc = tcase_create("intent");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, whole_transaction_is_kept_in_order);
	tcase_add_test(tc, no_service_at_all_is_a_valid_whole);
	tcase_add_test(tc, begin_forgets_an_unfinished_transaction);
	tcase_add_test(tc, epoch_that_does_not_rise_is_refused);
	tcase_add_test(tc, too_many_services_are_refused);
	tcase_add_test(tc, message_out_of_order_is_refused);
	tcase_add_test(tc, numbers_that_skip_or_repeat_are_refused);
	tcase_add_test(tc, commit_of_another_epoch_is_refused);
	tcase_add_loop_test(tc, share_out_of_range_is_refused, 0, 5);
	tcase_add_test(tc, service_field_out_of_range_is_refused);
	tcase_add_test(tc, mirror_field_out_of_range_is_refused);
	tcase_add_test(tc, more_mirrors_than_slots_are_refused);
	tcase_add_test(tc, listen_given_twice_is_refused);
	tcase_add_test(tc, mirror_that_is_a_vip_is_a_loop);
	tcase_add_test(tc, mirror_given_twice_is_refused);
	tcase_add_test(tc, source_address_serves_nothing_else);
	tcase_add_test(tc, one_service_is_of_one_version_of_ip);
	tcase_add_test(tc, other_shares_leave_the_same_mirrors);
	tcase_add_loop_test(tc, address_that_no_host_can_have_is_refused, 0, 5);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
