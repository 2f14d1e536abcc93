/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to the control plane's questions, of two workers and over a link that fills up. */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>

#include <karmalb/clock.h>

#include "craft.h"
#include "instance.h"
#include "link.h"
#include "question.h"
#include "story.h"
#include "suite.h"
#include "worker.h"

#define N_WORKERS 2
#define SENT_MAX  512

union sent {
	struct karmalb_question any;
	struct karmalb_flow flow;
	struct karmalb_checked checked;
	struct karmalb_answered answered;
};

/* In the place of the socket. */
struct link {
	unsigned room; /* messages that it still takes */
	unsigned n;
	union sent sent[SENT_MAX];
};

static struct fixture f[N_WORKERS]; /* one of each worker, alike but for the flows */
static struct worker workers[N_WORKERS];
static struct instance instance;
static struct link link_;
static struct questions *questions;
static struct err err;

int
link_send(struct link *l, const struct karmalb_header *message, int fd)
{
	ck_assert_int_eq(fd, -1);
	ck_assert_uint_le(message->size, sizeof(l->sent[0]));
	if (l->room == 0)
		return -EAGAIN;
	ck_assert_uint_lt(l->n, SENT_MAX);
	l->room--;
	memcpy(&l->sent[l->n++], message, message->size);
	return 0;
}

static void
setup(void)
{
	memset(workers, 0, sizeof(workers));
	for (unsigned i = 0; i < N_WORKERS; i++) {
		fixture_init(&f[i], &(struct fixture_conf){.n_mirrors = 0});
		f[i].now_us = karmalb_now_us(); /* questions are told with the clock's time */
		f[i].pipeline.errands = &workers[i].errands;
		workers[i].flows = f[i].flows;
	}
	instance = (struct instance){.workers = workers, .n_workers = N_WORKERS};
	atomic_init(&instance.snapshots.current, &f[0].tables);
	link_.n = 0;
	link_.room = UINT32_MAX;
	questions = questions_create(&instance, &link_);
	ck_assert_ptr_nonnull(questions);
}

static void
teardown(void)
{
	questions_free(questions);
	for (unsigned i = 0; i < N_WORKERS; i++)
		fixture_fini(&f[i]);
}

static void
connect_flows(unsigned worker, unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct talk t = talk_new(&f[worker], first + i);

		ck_assert(talk_connect(&t, 0));
	}
}

/* Every worker does what is due to its end. */
static void
run_workers(void)
{
	static uint8_t places[CRAFT_FRAMES_MAX][CRAFT_SIZE_MAX];
	struct craft_frames out = {.n_max = CRAFT_FRAMES_MAX};

	for (unsigned i = 0; i < CRAFT_FRAMES_MAX; i++)
		out.data[i] = places[i];
	for (unsigned i = 0; i < N_WORKERS; i++)
		do
			out.n = 0;
		while (pipeline_run_errands(&f[i].pipeline, &out, f[i].now_us));
}

static int
list(uint32_t request, uint32_t limit, uint64_t slots)
{
	struct karmalb_list_flows m = {
		.header = {KARMALB_MESSAGE_LIST_FLOWS, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = request,
		.limit = limit,
		.slots = {slots},
	};

	return questions_take(questions, &m.header, &err);
}

/* The flow that talk_new() would make of this number. */
static int
find(uint32_t request, unsigned number)
{
	struct talk t = talk_new(&f[0], number);
	struct karmalb_find_flow m = {
		.header = {KARMALB_MESSAGE_FIND_FLOW, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = request,
		.client = {karmalb_address_from_v4(__builtin_bswap32(t.client)),
			__builtin_bswap16(t.client_port), IPPROTO_TCP, 0},
		.listen = f[0].tables.services[0].listen,
	};

	return questions_take(questions, &m.header, &err);
}

static int
reset(uint32_t request, uint64_t slots)
{
	struct karmalb_reset_flows m = {
		.header = {KARMALB_MESSAGE_RESET_FLOWS, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = request,
		.slots = {slots},
	};

	return questions_take(questions, &m.header, &err);
}

static int
check_slot(uint32_t request, uint16_t slot, uint32_t timeout_ms)
{
	struct karmalb_check_slot m = {
		.header = {KARMALB_MESSAGE_CHECK_SLOT, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.request = request,
		.slot = slot,
		.timeout_ms = timeout_ms,
	};

	return questions_take(questions, &m.header, &err);
}

/* Until it wants to be called again for no other cause than time or room. */
static uint64_t
step(void)
{
	uint64_t now_us = karmalb_now_us(), due_us;
	unsigned n = 0;

	do
		due_us = questions_step(questions, now_us);
	while (due_us <= now_us && n++ < 10000);
	ck_assert_uint_gt(due_us, now_us);
	return due_us;
}

static void
check_answered(unsigned at, uint32_t request, int32_t error, uint64_t n)
{
	ck_assert_uint_lt(at, link_.n);
	const struct karmalb_answered *m = &link_.sent[at].answered;

	ck_assert_uint_eq(m->header.message, KARMALB_MESSAGE_ANSWERED);
	ck_assert_uint_eq(m->request, request);
	ck_assert_int_eq(m->error, error);
	ck_assert_uint_eq(m->n, n);
}

/* Flows to that question stand at 'at' and after it, each client once. */
static void
check_flows(unsigned at, unsigned n, uint32_t request)
{
	ck_assert_uint_le(at + n, link_.n);
	for (unsigned i = at; i < at + n; i++) {
		const struct karmalb_flow *m = &link_.sent[i].flow;

		ck_assert_uint_eq(m->header.message, KARMALB_MESSAGE_FLOW);
		ck_assert_uint_eq(m->request, request);
		for (unsigned k = at; k < i; k++)
			ck_assert(!karmalb_endpoint_equal(&m->client, &link_.sent[k].flow.client));
	}
}

START_TEST(all_flows_of_all_workers_are_listed)
{
	setup();
	connect_flows(0, 0, 30);
	connect_flows(1, 100, 20);
	ck_assert_int_eq(list(7, 1000, ~UINT64_C(0)), 0);
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 51);
	check_flows(0, 50, 7);
	check_answered(50, 7, 0, 50);
	for (unsigned i = 0; i < 50; i++) {
		const struct karmalb_flow *m = &link_.sent[i].flow;
		const struct table_slot *slot = &f[0].tables.slots[m->slot];

		ck_assert_uint_eq(m->worker, i < 30 ? 0 : 1);
		ck_assert_uint_eq(m->state, KARMALB_FLOW_ESTABLISHED);
		ck_assert(karmalb_endpoint_equal(&m->listen, &slot->listen));
		ck_assert(karmalb_endpoint_equal(&m->address, &slot->address));
	}
	teardown();
}
END_TEST

START_TEST(only_flows_of_the_chosen_slots_are_listed)
{
	unsigned n_of_second = 0;

	setup();
	connect_flows(0, 0, 40);
	n_of_second = (unsigned)flow_slot_uses(f[0].header, 1);
	ck_assert(n_of_second > 0 && n_of_second < 40);
	ck_assert_int_eq(list(8, 1000, 1 << 1), 0);
	step();
	check_flows(0, n_of_second, 8);
	check_answered(n_of_second, 8, 0, n_of_second);
	for (unsigned i = 0; i < n_of_second; i++)
		ck_assert_uint_eq(link_.sent[i].flow.slot, 1);
	teardown();
}
END_TEST

/* Reached in the second worker's part. */
START_TEST(list_ends_at_its_limit)
{
	setup();
	connect_flows(0, 0, 30);
	connect_flows(1, 100, 20);
	ck_assert_int_eq(list(9, 33, ~UINT64_C(0)), 0);
	step();
	ck_assert_uint_eq(link_.n, 34);
	check_flows(0, 33, 9);
	check_answered(33, 9, 0, 33);
	teardown();
}
END_TEST

START_TEST(limit_out_of_range_is_refused)
{
	setup();
	ck_assert_int_eq(list(1, 0, 1), -EPROTO);
	ck_assert_str_eq(err.text, "LIST_FLOWS with a limit of 0");
	ck_assert_int_eq(list(1, KARMALB_FLOWS_LIMIT_MAX + 1, 1), -EPROTO);
	ck_assert_int_eq(check_slot(1, 0, 0), -EPROTO);
	ck_assert_int_eq(check_slot(1, 0, KARMALB_CHECK_TIMEOUT_MAX_MS + 1), -EPROTO);
	ck_assert_int_eq(check_slot(1, KARMALB_SLOTS_MAX, 100), -EPROTO);
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 0);
	teardown();
}
END_TEST

START_TEST(flow_is_found_with_whichever_worker)
{
	setup();
	connect_flows(0, 0, 10);
	connect_flows(1, 100, 10);
	for (unsigned i = 0; i < N_WORKERS; i++) {
		struct talk t = talk_new(&f[i], i * 100 + 4);
		const struct flow *flow = talk_flow(&t);

		link_.n = 0;
		ck_assert_int_eq(find(20 + i, i * 100 + 4), 0);
		step();
		check_flows(0, 1, 20 + i);
		check_answered(1, 20 + i, 0, 1);
		ck_assert_uint_eq(link_.sent[0].flow.worker, i);
		ck_assert_uint_eq(link_.sent[0].flow.client.port_be, flow->client_port_be);
		ck_assert_uint_eq(link_.sent[0].flow.source.port_be, flow->source_port_be);
		ck_assert_uint_eq(link_.sent[0].flow.slot, flow->slot);
	}
	teardown();
}
END_TEST

START_TEST(flow_that_is_not_there_is_not_found)
{
	setup();
	connect_flows(0, 0, 10);
	ck_assert_int_eq(find(21, 10), 0);
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 1);
	check_answered(0, 21, 0, 0);
	teardown();
}
END_TEST

/* Wherever the link is full, the answer goes on there: nothing twice, nothing lost. */
START_TEST(full_link_interrupts_and_loses_nothing)
{
	for (unsigned room = 1; room <= 23; room++) {
		setup();
		connect_flows(0, 0, 12);
		connect_flows(1, 100, 8);
		ck_assert_int_eq(list(30, 1000, ~UINT64_C(0)), 0);
		ck_assert_int_eq(find(31, 103), 0);
		for (unsigned i = 0; link_.n < 23; i++) {
			ck_assert_uint_lt(i, 23);
			link_.room = room;
			ck_assert_uint_eq(step(), UINT64_MAX); /* the link will tell */
		}
		check_flows(0, 20, 30);
		check_answered(20, 30, 0, 20);
		check_flows(21, 1, 31);
		check_answered(22, 31, 0, 1);
		link_.room = 1;
		step();
		ck_assert_uint_eq(link_.n, 23);
		teardown();
	}
}
END_TEST

START_TEST(one_question_too_many_is_answered_busy)
{
	setup();
	link_.room = 0;
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		ck_assert_int_eq(find(100 + i, 1), 0);
	link_.room = UINT32_MAX;
	ck_assert_int_eq(find(999, 1), 0);
	ck_assert_uint_eq(link_.n, 1);
	check_answered(0, 999, -EBUSY, 0);
	step();
	ck_assert_uint_eq(link_.n, 1 + QUESTIONS_MAX);
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		check_answered(1 + i, 100 + i, 0, 0);
	ck_assert_int_eq(find(1000, 1), 0);
	step();
	check_answered(1 + QUESTIONS_MAX, 1000, 0, 0);
	teardown();
}
END_TEST

/* Whatever it is turned down for; in the order in which they came, before what is looked for. */
START_TEST(questions_that_are_turned_down_are_answered_over_a_full_link)
{
	setup();
	link_.room = 0;
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		ck_assert_int_eq(find(100 + i, 1), 0);
	ck_assert_int_eq(find(200, 1), 0);
	ck_assert_int_eq(check_slot(201, f[0].tables.n_slots, 100), 0);
	for (uint32_t i = 0; i < PROBES_MAX; i++)
		ck_assert_int_eq(check_slot(300 + i, 0, 100), 0);
	ck_assert_int_eq(check_slot(202, 0, 100), 0);
	ck_assert_uint_lt(questions_step(questions, karmalb_now_us()), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 0);
	link_.room = 2;
	step();
	ck_assert_uint_eq(link_.n, 2);
	link_.room = UINT32_MAX;
	step();
	check_answered(0, 200, -EBUSY, 0);
	check_answered(1, 201, -ENOENT, 0);
	check_answered(2, 202, -EBUSY, 0);
	ck_assert_uint_eq(link_.n, 3 + QUESTIONS_MAX);
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		check_answered(3 + i, 100 + i, 0, 0);
	teardown();
}
END_TEST

/* And no answer to who left. */
START_TEST(who_asks_and_asks_and_does_not_read_is_refused)
{
	setup();
	link_.room = 0;
	for (uint32_t i = 0; i < QUESTIONS_TURNED_DOWN_MAX; i++)
		ck_assert_int_eq(check_slot(i, f[0].tables.n_slots, 100), 0);
	ck_assert_int_eq(check_slot(1, f[0].tables.n_slots, 100), -EPROTO);
	ck_assert_str_eq(
		err.text, "1024 questions more than can be answered, of which no answer is read");
	questions_forget(questions);
	link_.room = UINT32_MAX;
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 0);
	ck_assert_int_eq(check_slot(2, f[0].tables.n_slots, 100), 0);
	check_answered(0, 2, -ENOENT, 0);
	teardown();
}
END_TEST

START_TEST(asker_that_leaves_gets_nothing_more_and_the_next_one_all)
{
	setup();
	connect_flows(0, 0, 30);
	ck_assert_int_eq(list(40, 1000, ~UINT64_C(0)), 0);
	ck_assert_int_eq(find(41, 3), 0);
	link_.room = 11;
	step();
	ck_assert_uint_eq(link_.n, 11);
	questions_forget(questions);
	link_.n = 0;
	link_.room = UINT32_MAX;
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 0);
	ck_assert_int_eq(list(40, 1000, ~UINT64_C(0)), 0);
	step();
	ck_assert_uint_eq(link_.n, 31);
	check_flows(0, 30, 40);
	check_answered(30, 40, 0, 30);
	teardown();
}
END_TEST

START_TEST(reset_is_answered_when_all_workers_are_done)
{
	setup();
	connect_flows(0, 0, 30);
	connect_flows(1, 100, 20);
	ck_assert_int_eq(reset(50, ~UINT64_C(0)), 0);
	ck_assert_uint_lt(step(), UINT64_MAX); /* it looks again by itself */
	ck_assert_uint_eq(link_.n, 0);
	run_workers();
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 1);
	check_answered(0, 50, 0, 50);
	teardown();
}
END_TEST

/* What it ended is not told to the next one, whose own order waits for the workers. */
START_TEST(reset_of_one_that_left_does_not_mix_with_the_next)
{
	setup();
	connect_flows(0, 0, 30);
	ck_assert_int_eq(reset(50, ~UINT64_C(0)), 0);
	step();
	questions_forget(questions);
	ck_assert_int_eq(reset(51, ~UINT64_C(0)), 0);
	step();
	run_workers();
	connect_flows(1, 100, 4);
	step();
	ck_assert_uint_eq(link_.n, 0);
	run_workers();
	step();
	ck_assert_uint_eq(link_.n, 1);
	check_answered(0, 51, 0, 4);
	teardown();
}
END_TEST

START_TEST(checks_are_told_and_answered_once_over_a_full_link)
{
	setup();
	ck_assert_int_eq(check_slot(60, 2, 100), 0);
	ck_assert_uint_lt(step(), UINT64_MAX);
	run_workers(); /* the SYN */
	f[0].now_us += 100 * KARMALB_MILLISECOND;
	run_workers();
	for (unsigned i = 0; i < 3; i++) {
		link_.room = 0;
		step();
		link_.room = 1;
		step();
	}
	ck_assert_uint_eq(link_.n, 2);
	ck_assert_uint_eq(link_.sent[0].any.header.message, KARMALB_MESSAGE_CHECKED);
	ck_assert_uint_eq(link_.sent[0].checked.request, 60);
	ck_assert_uint_eq(link_.sent[0].checked.slot, 2);
	ck_assert_int_eq(link_.sent[0].checked.result, KARMALB_CHECK_SILENT);
	check_answered(1, 60, 0, 1);
	teardown();
}
END_TEST

/* Checks of those who left keep their places until the worker is done with them. */
START_TEST(checks_without_a_place_are_answered_busy)
{
	setup();
	ck_assert_int_eq(check_slot(70, f[0].tables.n_slots, 100), 0);
	check_answered(0, 70, -ENOENT, 0);
	for (uint32_t i = 0; i < PROBES_MAX; i++)
		ck_assert_int_eq(check_slot(100 + i, 0, 100), 0);
	questions_forget(questions);
	ck_assert_int_eq(check_slot(71, 0, 100), 0);
	check_answered(1, 71, -EBUSY, 0);
	run_workers();
	f[0].now_us += 100 * KARMALB_MILLISECOND;
	run_workers();
	ck_assert_uint_eq(step(), UINT64_MAX);
	ck_assert_uint_eq(link_.n, 2);
	ck_assert_int_eq(check_slot(72, 0, 100), 0);
	ck_assert_uint_eq(link_.n, 2);
	teardown();
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {all_flows_of_all_workers_are_listed,
		only_flows_of_the_chosen_slots_are_listed, list_ends_at_its_limit,
		limit_out_of_range_is_refused, flow_is_found_with_whichever_worker,
		flow_that_is_not_there_is_not_found, full_link_interrupts_and_loses_nothing,
		one_question_too_many_is_answered_busy,
		questions_that_are_turned_down_are_answered_over_a_full_link,
		who_asks_and_asks_and_does_not_read_is_refused,
		asker_that_leaves_gets_nothing_more_and_the_next_one_all,
		reset_is_answered_when_all_workers_are_done,
		reset_of_one_that_left_does_not_mix_with_the_next,
		checks_are_told_and_answered_once_over_a_full_link,
		checks_without_a_place_are_answered_busy, NULL};

	return suite_run("question", tests);
}
