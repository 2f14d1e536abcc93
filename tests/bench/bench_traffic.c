/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates frames, runs them through a pipeline and checks what comes out.  Only run_batch() is
 * timed.  The clock is moved by hand, as if packets came at 10 million a second.
 */
#include "bench_traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <karmalb/clock.h>

#include "flow_memory.h"
#include "frames.h"
#include "lookup.h"
#include "pick.h"
#include "pipeline.h"

#define N_MIRRORS    8
#define N_SOURCES    8
#define VIP          0x0a000001u
#define MIRROR       0x0a010001u
#define SOURCE       0x0a020001u
#define BATCH        2048 /* packets written, then timed */
#define STRIDE       2240 /* of frames, as those of a packet pool: whole lines, not a power of two */
#define HALF_OPENS   8192
#define PACKETS_A_US 10
#define HUGE_PAGE    ((size_t)2 << 20)
#define CHECK_EVERY  61 /* frames that are checked in full */

/* Both ends' view of a flow, in the order that frames are written from. */
struct end {
	uint32_t client, source;
	uint16_t client_port, source_port;
	uint8_t mirror, phase;
	uint32_t client_seq, mirror_seq;
};

struct bench_traffic {
	struct flow_memory memory;
	struct flow_table table;
	struct tables tables;
	struct table_slot slots[N_MIRRORS] __attribute__((aligned(64)));
	struct table_alias columns[N_MIRRORS];
	struct slot_counters counters[KARMALB_SLOTS_MAX];
	struct sample samples[PIPELINE_SAMPLES_MAX];
	struct pipeline pipeline;
	struct pipeline_packet packets[BATCH];
	uint8_t *frames;
	struct end *ends;
	uint32_t chosen[BATCH]; /* ends that the frames belong to */
	uint32_t n_flows, n_lives;
	uint64_t now_us, tick_us, random, n_samples;
	uint64_t cycles, n_timed; /* of batches that nobody interrupted */
	uint64_t n_batches, n_disturbed;
	uint32_t payload_sum[2]; /* of a query's and an answer's bytes */
};

static void
die(const char *what)
{
	fprintf(stderr, "pipeline_bench: %s\n", what);
	exit(EXIT_FAILURE);
}

/*
 * Zeroed memory, of huge pages where there are some, as a packet pool's: walking page tables for
 * frames is not what is to be measured.
 */
static void *
take_memory(size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	void *at;

	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);
	if (at != MAP_FAILED)
		return at;
	at = aligned_alloc(HUGE_PAGE, size);
	if (at == NULL)
		die("no memory");
	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 0, size);
	return at;
}

static struct karmalb_endpoint
endpoint(uint32_t address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(__builtin_bswap32(address)),
		.port_be = __builtin_bswap16(port),
		.protocol = 6,
	};
}

static void
fill_tables(struct bench_traffic *t)
{
	struct pick_share shares[N_MIRRORS];

	t->tables.epoch = 1;
	t->tables.n_services = 1;
	t->tables.n_sources = N_SOURCES;
	t->tables.n_slots = N_MIRRORS;
	t->tables.n_ports = 2;
	t->tables.slots = t->slots;
	t->tables.columns = t->columns;
	t->tables.ports[0] = (struct table_port){.mac = {2, 0, 0, 0, 0, 1}, .is_up = true};
	t->tables.ports[1] = (struct table_port){.mac = {2, 0, 0, 0, 0, 2}, .is_up = true};
	t->tables.services[0].listen = endpoint(VIP, 80);
	for (unsigned i = 0; i < N_SOURCES; i++)
		t->tables.sources[i] = endpoint(SOURCE + i, 0).address;
	for (unsigned i = 0; i < N_MIRRORS; i++) {
		shares[i] = (struct pick_share){.share = 1 + i % 3, .slot = (uint16_t)i};
		t->slots[i] = (struct table_slot){
			.listen = endpoint(VIP, 80),
			.address = endpoint(MIRROR + i, 8080),
			.next_hop_mac = {6, 0, 0, 0, 0, (uint8_t)i},
			.next_hop_port = 1,
			.has_next_hop = true,
			.is_selected = true,
			.connect_timeout_ms = 1000,
			.query_timeout_ms = 3600000,
			.idle_timeout_ms = 3600000,
		};
	}
	t->tables.services[0].n_columns = pick_build(t->columns, shares, N_MIRRORS);
	if (lookup_build(&t->tables) != 0)
		die("tables");
}

static void
make_memory(struct bench_traffic *t)
{
	struct flow_conf conf = {
		.n_workers = 1,
		.max_flows = t->n_flows < HALF_OPENS ? HALF_OPENS : t->n_flows,
		.max_half_open = HALF_OPENS,
		.sources = t->tables.sources,
		.n_sources = N_SOURCES,
	};

	if (flow_memory_create(&t->memory, &conf, true, 0) < 0)
		die("no memory for flows");
	flow_table_open(&t->table, t->memory.header, 0);
	t->pipeline = (struct pipeline){
		.tables = &t->tables,
		.flows = &t->table,
		.slots = t->counters,
		.random = 0x853c49e6748fea9b,
		.samples = t->samples,
	};
}

/* Frames' payload never changes; its sum is kept, so that writing a frame is writing headers. */
static void
make_frames(struct bench_traffic *t)
{
	struct segment empty = {.payload_size = BENCH_ANSWER_SIZE, .payload_seed = 17};

	t->frames = take_memory((size_t)BATCH * STRIDE);
	for (unsigned i = 0; i < BATCH; i++) {
		t->packets[i].data = &t->frames[(size_t)i * STRIDE];
		frame_build(t->packets[i].data, &empty);
	}
	for (unsigned i = 0; i < BENCH_ANSWER_SIZE; i += 2) {
		uint32_t word = (uint32_t)t->frames[54 + i] << 8 | t->frames[55 + i];

		if (i < BENCH_QUERY_SIZE)
			t->payload_sum[0] += word;
		t->payload_sum[1] += word;
	}
}

static uint32_t
fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static void
put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void
put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static uint32_t
sum16(const uint8_t *at, unsigned size)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < size; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	return sum;
}

/* Writes headers into the batch's frame number 'i', on the sender's side of 'end'. */
static void
write_frame(struct bench_traffic *t, unsigned i, const struct end *end, bool is_client,
	uint8_t flags, uint16_t payload)
{
	uint8_t *frame = t->packets[i].data, *ip = frame + 14, *tcp = ip + 20;
	uint32_t payload_sum = payload == 0 ? 0 : t->payload_sum[payload == BENCH_ANSWER_SIZE];

	memcpy(frame, t->tables.ports[is_client ? 0 : 1].mac, 6);
	memcpy(frame + 6, (uint8_t[]){2, 0, 0, 7, 0, is_client}, 6);
	put32(ip, 0x45000000 | (40u + payload));
	put32(ip + 4, end->client_seq << 16 | 0x4000);
	put32(ip + 8, 64 << 24 | 6 << 16);
	put32(ip + 12, is_client ? end->client : MIRROR + end->mirror);
	put32(ip + 16, is_client ? VIP : end->source);
	put16(ip + 10, ~fold(sum16(ip, 20)));
	put16(tcp, is_client ? end->client_port : 8080);
	put16(tcp + 2, is_client ? 80 : end->source_port);
	put32(tcp + 4, is_client ? end->client_seq : end->mirror_seq);
	put32(tcp + 8, is_client ? end->mirror_seq : end->client_seq);
	put32(tcp + 12, 0x5000ffff | (uint32_t)flags << 16);
	put32(tcp + 16, 0);
	put16(tcp + 16, ~fold(fold(sum16(ip + 12, 8) + 6 + 20 + payload) + sum16(tcp, 20) +
				fold(payload_sum)));
	t->packets[i].size = (uint16_t)(54 + payload);
	t->packets[i].port_in = is_client ? 0 : 1;
}

/* How often somebody else was given this thread's processor. */
static long
count_preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* The timed part: a worker's bursts, and its ticks when they are due. */
static void
run_batch(struct bench_traffic *t, unsigned n)
{
	long preemptions = count_preemptions();
	uint64_t begin = bench_cycles();

	for (unsigned i = 0; i < n; i += PIPELINE_BURST_MAX) {
		unsigned size = n - i < PIPELINE_BURST_MAX ? n - i : PIPELINE_BURST_MAX;

		pipeline_burst(&t->pipeline, &t->packets[i], size, t->now_us);
		t->n_samples += t->pipeline.n_samples;
		t->pipeline.n_samples = 0;
		t->now_us += PIPELINE_BURST_MAX / PACKETS_A_US;
		if (t->now_us >= t->tick_us) {
			t->tick_us = pipeline_tick(&t->pipeline, t->now_us);
			t->n_samples += t->pipeline.n_samples;
			t->pipeline.n_samples = 0;
		}
	}
	uint64_t end = bench_cycles();

	t->n_batches++;
	if (count_preemptions() != preemptions) {
		t->n_disturbed++;
		return;
	}
	t->cycles += end - begin;
	t->n_timed += n;
}

/* Says which drop it was that must not be. */
static void
die_of_drop(const struct bench_traffic *t)
{
	static const char *const names[] = {
#define X(member, name, help) [KARMALB_COUNTER_##member] = #name,
		KARMALB_WORKER_COUNTERS(X)
#undef X
	};

	for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
		if (t->pipeline.counters[i] != 0)
			die(names[i]);
	}
	die("a packet has no verdict");
}

/* Every packet was sent, and those looked at are what they should be. */
static void
check_batch(struct bench_traffic *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct end *end = &t->ends[t->chosen[i]];
		const struct pipeline_packet *packet = &t->packets[i];
		bool is_client = packet->port_in == 0;
		struct segment out;

		if (packet->verdict != PIPELINE_SEND || packet->size_out != packet->size)
			die_of_drop(t);
		if (i % CHECK_EVERY != 0)
			continue;
		if (!frame_read(packet->data, packet->size_out, &out) || out.ttl != 63 ||
			packet->port_out != 1 - packet->port_in)
			die("a packet was not rewritten right");
		if (is_client && end->source_port != 0 &&
			(out.destination != MIRROR + end->mirror || out.source != end->source ||
				out.source_port != end->source_port))
			die("a packet went to the wrong mirror");
		if (!is_client && (out.destination != end->client || out.source != VIP ||
					  out.destination_port != end->client_port))
			die("a packet went to the wrong client");
	}
}

static uint64_t
next_random(struct bench_traffic *t)
{
	return pick_random(&t->random);
}

/* Another client's address and port for every number. */
static void
new_end(struct end *end, uint32_t number)
{
	*end = (struct end){
		.client = 0xac100000u + number % 60000 * 17,
		.client_port = (uint16_t)(1024 + number / 60000),
		.client_seq = number * 2654435761u,
		.mirror_seq = number * 40503u,
	};
}

/* What the rewritten SYN in frame 'i' says about mirror and source. */
static void
learn_mirror(struct bench_traffic *t, unsigned i, struct end *end)
{
	struct segment out;

	frame_read(t->packets[i].data, 54, &out);
	end->mirror = (uint8_t)(out.destination - MIRROR);
	end->source = out.source;
	end->source_port = out.source_port;
}

enum {
	PHASE_SYN = 4,
	PHASE_SYN_ACK,
	PHASE_ACK,
	PHASE_FIN,
	PHASE_MIRROR_FIN,
	PHASE_LAST
};

/* Writes the flow's next packet into frame 'i' and moves its sequence numbers on. */
static void
step(struct bench_traffic *t, unsigned i, struct end *end, uint8_t phase)
{
	switch (phase) {
	case 0:
		write_frame(t, i, end, true, SEG_ACK | SEG_PSH, BENCH_QUERY_SIZE);
		end->client_seq += BENCH_QUERY_SIZE;
		break;
	case 1:
		write_frame(t, i, end, false, SEG_ACK, 0);
		break;
	case 2:
		write_frame(t, i, end, false, SEG_ACK | SEG_PSH, BENCH_ANSWER_SIZE);
		end->mirror_seq += BENCH_ANSWER_SIZE;
		break;
	case PHASE_SYN:
		write_frame(t, i, end, true, SEG_SYN, 0);
		end->client_seq++;
		break;
	case PHASE_SYN_ACK:
		write_frame(t, i, end, false, SEG_SYN | SEG_ACK, 0);
		end->mirror_seq++;
		break;
	case PHASE_FIN:
		write_frame(t, i, end, true, SEG_ACK | SEG_FIN, 0);
		end->client_seq++;
		break;
	case PHASE_MIRROR_FIN:
		write_frame(t, i, end, false, SEG_ACK | SEG_FIN, 0);
		end->mirror_seq++;
		break;
	default:
		write_frame(t, i, end, true, SEG_ACK, 0);
	}
}

/* One phase of ends [first, first + n), timed. */
static void
step_all(struct bench_traffic *t, uint32_t first, unsigned n, uint8_t phase)
{
	for (unsigned i = 0; i < n; i++) {
		t->chosen[i] = first + i;
		step(t, i, &t->ends[first + i], phase);
	}
	run_batch(t, n);
	check_batch(t, n);
	for (unsigned i = 0; i < n && phase == PHASE_SYN; i++)
		learn_mirror(t, i, &t->ends[first + i]);
}

/* In random order, so that neighbours in the list are strangers in memory. */
static void
establish_all(struct bench_traffic *t)
{
	for (uint32_t i = 0; i < t->n_flows; i++)
		new_end(&t->ends[i], i);
	for (uint32_t i = t->n_flows; i > 1; i--) {
		uint32_t j = (uint32_t)(next_random(t) % i);
		struct end end = t->ends[i - 1];

		t->ends[i - 1] = t->ends[j];
		t->ends[j] = end;
	}
	for (uint32_t i = 0; i < t->n_flows; i += BATCH) {
		unsigned n = t->n_flows - i < BATCH ? t->n_flows - i : BATCH;

		step_all(t, i, n, PHASE_SYN);
		step_all(t, i, n, PHASE_SYN_ACK);
		step_all(t, i, n, PHASE_ACK);
	}
}

struct bench_traffic *
bench_traffic_new(uint32_t n_flows, bool is_established)
{
	struct bench_traffic *t = take_memory(sizeof(*t));

	t->n_flows = n_flows;
	t->random = 88172645463325252;
	t->now_us = 1000 * KARMALB_SECOND;
	t->ends = take_memory((is_established ? n_flows : BATCH) * sizeof(t->ends[0]));
	fill_tables(t);
	make_memory(t);
	make_frames(t);
	if (is_established)
		establish_all(t);
	return t;
}

double
bench_traffic_megabytes(const struct bench_traffic *t)
{
	return (double)t->memory.size / 1e6;
}

const char *
bench_traffic_pages(const struct bench_traffic *t)
{
	return t->memory.is_huge ? "huge pages" : "plain memory";
}

double
bench_traffic_disturbed(const struct bench_traffic *t)
{
	return (double)t->n_disturbed / (double)t->n_batches;
}

static uint64_t
count_forwarded(const struct bench_traffic *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < N_MIRRORS; i++)
		sum += t->counters[i].to_mirror_packets + t->counters[i].to_client_packets;
	return sum;
}

static void
begin_timing(struct bench_traffic *t)
{
	t->cycles = 0;
	t->n_timed = 0;
}

static double
cycles_per_packet(const struct bench_traffic *t)
{
	if (t->n_timed == 0)
		die("no batch ran undisturbed: this machine is too busy");
	return (double)t->cycles / (double)t->n_timed;
}

double
bench_established(struct bench_traffic *t, uint64_t n_packets)
{
	uint64_t n_done = 0, before = count_forwarded(t), samples = t->n_samples;

	begin_timing(t);
	while (n_done < n_packets) {
		for (unsigned i = 0; i < BATCH; i++) {
			struct end *end;

			t->chosen[i] = (uint32_t)(((next_random(t) >> 32) * t->n_flows) >> 32);
			end = &t->ends[t->chosen[i]];
			step(t, i, end, end->phase);
			end->phase = (end->phase + 1) & 3;
		}
		run_batch(t, BATCH);
		check_batch(t, BATCH);
		n_done += BATCH;
	}
	if (count_forwarded(t) - before != n_done)
		die("the counters do not agree");
	if (n_packets > 8 * (uint64_t)t->n_flows && t->n_samples == samples)
		die("no answer was timed");
	return cycles_per_packet(t);
}

double
bench_lives(struct bench_traffic *t, uint64_t n_packets)
{
	static const uint8_t life[BENCH_LIFE_PACKETS] = {
		PHASE_SYN, PHASE_SYN_ACK, 0, 2, PHASE_FIN, PHASE_MIRROR_FIN, PHASE_LAST};
	const uint64_t *closed = &t->pipeline.counters[KARMALB_COUNTER_FLOWS_CLOSED];
	uint64_t n_done = 0, before = *closed;

	begin_timing(t);
	while (n_done < n_packets) {
		for (unsigned i = 0; i < BATCH; i++)
			new_end(&t->ends[i], t->n_lives++ % 3000000000u);
		for (unsigned i = 0; i < BENCH_LIFE_PACKETS; i++)
			step_all(t, 0, BATCH, life[i]);
		n_done += (uint64_t)BATCH * BENCH_LIFE_PACKETS;
	}
	if (*closed - before != n_done / BENCH_LIFE_PACKETS)
		die("connections are left open");
	return cycles_per_packet(t);
}
