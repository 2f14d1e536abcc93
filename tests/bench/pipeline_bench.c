/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the pipeline takes for a packet, from parse to ready to send, accounting on, in one
 * process without a device.  See usage() for what is measured; the traffic is in bench_traffic.c.
 *
 * Sizes take turns in every run, so that a slow spell of the machine hits them all; the median over
 * the runs counts.  Frames are written anew before every batch, outside of the timed part, and the
 * outcome of every batch is checked: a pipeline that drops measures nothing.  A batch in which the
 * scheduler took the processor away is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "bench_traffic.h"

#define RUNS_MAX 101

static const uint32_t sizes[] = {1, 65536, 1000000};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct row {
	const char *name;
	uint32_t flows;
	double cycles[RUNS_MAX]; /* per packet */
};

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
quantile(struct row *row, unsigned n_runs, double q)
{
	qsort(row->cycles, n_runs, sizeof(row->cycles[0]), by_value);
	return row->cycles[(unsigned)(q * (n_runs - 1) + 0.5)];
}

/* TSC cycles per nanosecond. */
static double
measure_tsc(void)
{
	uint64_t begin_us = karmalb_now_us(), begin = bench_cycles();

	while (karmalb_now_us() - begin_us < 200 * KARMALB_MILLISECOND)
		;
	return (double)(bench_cycles() - begin) / (double)(karmalb_now_us() - begin_us) / 1000;
}

static void
usage(void)
{
	printf("usage: pipeline_bench [RUNS [PACKETS_PER_RUN [FILE.json]]]\n"
	       "\n"
	       "fullnat_established: %u flows at most, in random order.  Each flow repeats:\n"
	       "client's query (%u bytes), mirror's acknowledgement, mirror's answer (%u bytes),\n"
	       "client's acknowledgement.  new_connections: SYN, SYN-ACK, query, answer, FIN, FIN,\n"
	       "ACK, then rest and expiry.\n",
		sizes[N_SIZES - 1], BENCH_QUERY_SIZE, BENCH_ANSWER_SIZE);
}

static void
print_rows(struct row *rows, unsigned n_runs, double cycles_per_ns)
{
	printf("%-20s %9s %14s %10s %14s\n", "name", "flows", "cycles/packet", "ns/packet",
		"lowest-highest");
	for (unsigned i = 0; i <= N_SIZES; i++) {
		double median = quantile(&rows[i], n_runs, 0.5);

		printf("%-20s %9u %14.1f %10.1f %6.1f-%.1f\n", rows[i].name, rows[i].flows, median,
			median / cycles_per_ns, quantile(&rows[i], n_runs, 0),
			quantile(&rows[i], n_runs, 1));
	}
	double life = quantile(&rows[N_SIZES], n_runs, 0.5) * BENCH_LIFE_PACKETS;

	printf("new connections, full life: %.0f cycles each, %.2f million per second\n", life,
		cycles_per_ns * 1000 / life);
}

static int
write_json(const char *path, struct row *rows, unsigned n_runs, double cycles_per_ns)
{
	FILE *file = fopen(path, "w");

	if (file == NULL) {
		perror(path);
		return EXIT_FAILURE;
	}
	fprintf(file, "[\n");
	for (unsigned i = 0; i <= N_SIZES; i++) {
		double median = quantile(&rows[i], n_runs, 0.5);

		fprintf(file,
			"  {\"name\": \"%s\", \"flows\": %u, \"cycles_per_packet\": %.1f, "
			"\"ns_per_packet\": %.1f, \"runs\": %u",
			rows[i].name, rows[i].flows, median, median / cycles_per_ns, n_runs);
		if (i == N_SIZES)
			fprintf(file, ", \"connections_per_s\": %.0f",
				cycles_per_ns * 1e9 / (median * BENCH_LIFE_PACKETS));
		fprintf(file, "}%s\n", i < N_SIZES ? "," : "");
	}
	fprintf(file, "]\n");
	return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
	static struct row rows[N_SIZES + 1];
	struct bench_traffic *traffic[N_SIZES + 1];
	unsigned n_runs = argc > 1 ? (unsigned)atoi(argv[1]) : 11;
	double disturbed = 0;
	uint64_t n_packets = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;

	if (n_runs < 1 || n_runs > RUNS_MAX || n_packets < 1) {
		usage();
		return 2;
	}
	for (unsigned i = 0; i <= N_SIZES; i++) {
		bool is_last = i == N_SIZES;

		rows[i].name = is_last ? "new_connections" : "fullnat_established";
		rows[i].flows = is_last ? BENCH_LIFE_FLOWS : sizes[i];
		traffic[i] = bench_traffic_new(rows[i].flows, !is_last);
		printf("%s, %u flows: flow memory %.0f MB in %s\n", rows[i].name, rows[i].flows,
			bench_traffic_megabytes(traffic[i]), bench_traffic_pages(traffic[i]));
	}
	double cycles_per_ns = measure_tsc();

	printf("TSC %.3f GHz; median of %u interleaved runs of %llu packets\n", cycles_per_ns,
		n_runs, (unsigned long long)n_packets);
	/* The first round warms up and does not count. */
	for (unsigned run = 0; run <= n_runs; run++) {
		for (unsigned i = 0; i <= N_SIZES; i++) {
			double cycles = i < N_SIZES ? bench_established(traffic[i], n_packets)
						    : bench_lives(traffic[i], n_packets);

			if (run > 0)
				rows[i].cycles[run - 1] = cycles;
		}
	}
	print_rows(rows, n_runs, cycles_per_ns);
	for (unsigned i = 0; i <= N_SIZES; i++)
		disturbed += bench_traffic_disturbed(traffic[i]) / (N_SIZES + 1);
	printf("%.1f %% of the batches were interrupted and do not count\n", 100 * disturbed);
	return argc > 3 ? write_json(argv[3], rows, n_runs, cycles_per_ns) : EXIT_SUCCESS;
}
