/* SPDX-License-Identifier: BSD-3-Clause */
/* What real workers do because control asks for it, seen from where control takes it. */
#include <sched.h>

#include <karmalb/clock.h>

#include "datagrams.h"
#include "ring_world.h"
#include "suite.h"
#include "worker.h"

#define N_FLOWS     300
#define PATIENCE_US (100 * KARMALB_SECOND)

static struct ring_world world;

/* A query of a client of its own, which nobody will answer. */
static bool
put_query(unsigned flow)
{
	uint8_t frame[FRAME_MAX];
	struct datagram d = {
		.source = FIXTURE_CLIENT,
		.destination = RING_WORLD_VIP,
		.source_port = (uint16_t)(10000 + flow),
		.destination_port = 53,
		.payload_size = 8,
	};

	return ring_world_put(&world, 0, 0, frame, datagram_build(frame, &d));
}

static bool
take_any(void)
{
	uint8_t frame[RING_WORLD_FRAME_MAX];

	return ring_world_take(&world, 0, 0, frame) > 0;
}

static void
wait_or_fail(uint64_t since_us, const char *what)
{
	ck_assert_msg(karmalb_now_us() - since_us < PATIENCE_US, "%s", what);
	sched_yield();
}

static unsigned
take_failures(unsigned worker, enum karmalb_outcome outcome)
{
	struct sample samples[2 * N_FLOWS];
	unsigned n = worker_take_samples(&world.instance.workers[worker], samples, 2 * N_FLOWS);
	unsigned n_failures = 0;

	for (unsigned i = 0; i < n; i++)
		n_failures += samples[i].kind == SAMPLE_FAILURE && samples[i].outcome == outcome;
	return n_failures;
}

/* Nearly all of them show when the flows are ended, the others when the sweep comes by. */
START_TEST(failures_that_show_when_flows_are_ended_have_their_samples)
{
	uint64_t began_us = karmalb_now_us(), asked_us;
	unsigned n_samples = 0;

	ring_world_open(&world,
		&(struct ring_world_conf){
			.n_workers = 2, .n_ports = 1, .n_queues = 1, .query_timeout_ms = 20});
	for (unsigned w = 0; w < 2; w++)
		ring_world_launch(&world, w);
	for (unsigned flow = 0; flow < N_FLOWS; flow++)
		while (!put_query(flow))
			wait_or_fail(began_us, "room for all queries");
	for (unsigned n_taken = 0; n_taken < N_FLOWS; n_taken += take_any())
		wait_or_fail(began_us, "all queries to come out");
	asked_us = karmalb_now_us();
	while (karmalb_now_us() < asked_us + 25 * KARMALB_MILLISECOND)
		wait_or_fail(began_us, "the time to be up");
	ck_assert_uint_eq(ring_world_reset(&world, RING_WORLD_UDP), N_FLOWS);
	ring_world_stop(&world);
	ck_assert_uint_eq(ring_world_outcomes(&world, KARMALB_OUTCOME_QUERY_TIMEOUTS), N_FLOWS);
	for (unsigned w = 0; w < 2; w++)
		n_samples += take_failures(w, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	ck_assert_uint_eq(n_samples, N_FLOWS);
	ck_assert_uint_eq(ring_world_sum(&world, KARMALB_COUNTER_SAMPLES_LOST), 0);
	ring_world_close(&world);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		failures_that_show_when_flows_are_ended_have_their_samples, NULL};

	return suite_run("workers_errands", tests);
}
