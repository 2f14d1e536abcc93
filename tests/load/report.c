/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of the load and their JSON.  Mirrors are found by name among at most a handful. */
#include "report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name, *help;
} failures[] = {
#define X(member, name, help) {#name, help},
	REPORT_FAILURES(X)
#undef X
};

void
report_succeeded(struct report *r, const char *mirror, uint64_t body_size, uint64_t latency_us)
{
	unsigned i = 0;

	r->n_requests++;
	r->body_size += body_size;
	r->latency_sum_us += latency_us;
	if (latency_us > r->latency_max_us)
		r->latency_max_us = latency_us;
	r->histogram[karmalb_histogram_bucket(latency_us)]++;
	while (i < r->n_mirrors && strcmp(r->mirrors[i].name, mirror) != 0)
		i++;
	if (i == REPORT_MIRRORS_MAX)
		return;
	if (i == r->n_mirrors) {
		r->n_mirrors++;
		strcpy(r->mirrors[i].name, mirror);
	}
	r->mirrors[i].n_answers++;
}

void
report_failed(struct report *r, enum report_failure why, uint16_t port, uint64_t after_us)
{
	struct timespec now;
	struct tm tm;

	r->n_requests++;
	r->n_failed++;
	r->failures[why]++;
	if (r->n_failed > REPORT_LINES_MAX)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	fprintf(stderr, "%02d:%02d:%02d.%03ld from port %u: %s, after %.1f ms\n", tm.tm_hour,
		tm.tm_min, tm.tm_sec, now.tv_nsec / 1000000, port, failures[why].help,
		(double)after_us / 1000);
}

/* The upper edge of the bucket in which 'part' of all answers is reached, in ms. */
static double
quantile_ms(const struct report *r, double part)
{
	uint64_t n = r->n_requests - r->n_failed, seen = 0;

	for (unsigned b = 0; b < KARMALB_HISTOGRAM_BUCKETS; b++) {
		seen += r->histogram[b];
		if (seen > 0 && (double)seen >= part * (double)n)
			return (double)karmalb_histogram_edge_us(b + 1) / 1000;
	}
	return 0;
}

void
report_print(const struct report *r, FILE *out)
{
	uint64_t n_good = r->n_requests - r->n_failed;

	fprintf(out,
		"{\"requests\": %" PRIu64 ", \"failed\": %" PRIu64
		", \"seconds\": %.3f, \"body_bytes\": %" PRIu64,
		r->n_requests, r->n_failed, (double)r->duration_us / 1e6, r->body_size);
	fprintf(out,
		", \"latency_ms\": {\"mean\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"max\": %.3f}",
		n_good > 0 ? (double)r->latency_sum_us / (double)n_good / 1000 : 0,
		quantile_ms(r, 0.50), quantile_ms(r, 0.99), (double)r->latency_max_us / 1000);
	fputs(", \"failures\": {", out);
	for (unsigned i = 0; i < REPORT_N_FAILURES; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", failures[i].name,
			r->failures[i]);
	fputs("}, \"mirrors\": {", out);
	for (unsigned i = 0; i < r->n_mirrors; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i > 0 ? ", " : "", r->mirrors[i].name,
			r->mirrors[i].n_answers);
	fputs("}}\n", out);
}

void
report_write(const struct report *r, const char *path)
{
	char temporary[512];
	FILE *out;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	out = fopen(temporary, "w");
	if (out == NULL) {
		perror(temporary);
		return;
	}
	report_print(r, out);
	if (fclose(out) != 0 || rename(temporary, path) != 0)
		perror(path);
}
