/* SPDX-License-Identifier: BSD-3-Clause */
/* One list of families for both: a service is shown as the sum of its mirrors. */
#include "render_traffic.h"

#include <inttypes.h>
#include <string.h>

#include "exposition.h"
#include "settings.h"
#include "status.h"
#include "units.h"

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What a service and a mirror have alike. */
struct subject {
	char labels[EXPOSITION_LABELS_MAX];
	const uint64_t *outcomes;
	const struct status_traffic *traffic;
};

static void
label_mirror(char labels[EXPOSITION_LABELS_MAX], const struct status_service *s,
	const struct status_mirror *m)
{
	labels[0] = '\0';
	exposition_label(labels, "service", s->name);
	exposition_label(labels, "mirror", m->name);
}

/* ---- states, of mirrors only ---- */

static void
write_mirror_states(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	for (unsigned state = 0; state < N_MIRROR_STATES; state++) {
		char labels[EXPOSITION_LABELS_MAX];

		label_mirror(labels, s, m);
		exposition_label(labels, "state", mirror_state_name(state));
		exposition_sample(out, "mirror_state", labels, m->state == state);
	}
}

static void
write_mirror_wanted(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	const struct setting *setting = setting_find(SETTING_SCOPE_MIRROR, "state");
	const char *name;

	for (unsigned i = 0; (name = setting_choice(setting, i)) != NULL; i++) {
		char labels[EXPOSITION_LABELS_MAX];

		label_mirror(labels, s, m);
		exposition_label(labels, "state", name);
		exposition_sample(out, "mirror_wanted_state", labels, m->wanted == i);
	}
}

/* ---- what services have, too ---- */

static void
write_outcomes(FILE *out, const char *name, const struct subject *it)
{
	static const char *const names[] = {
#define X(member, name, help) #name,
		KARMALB_OUTCOMES(X)
#undef X
	};

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++) {
		char labels[EXPOSITION_LABELS_MAX];

		memcpy(labels, it->labels, sizeof(labels));
		exposition_label(labels, "outcome", names[i]);
		exposition_sample(out, name, labels, (double)it->outcomes[i]);
	}
}

static void
write_directions(FILE *out, const char *name, const struct subject *it, const uint64_t values[2])
{
	static const char *const words[] = {"to_mirror", "to_client"};

	for (unsigned i = 0; i < 2; i++) {
		char labels[EXPOSITION_LABELS_MAX];

		memcpy(labels, it->labels, sizeof(labels));
		exposition_label(labels, "direction", words[i]);
		exposition_sample(out, name, labels, (double)values[i]);
	}
}

static void
write_packets(FILE *out, const char *name, const struct subject *it)
{
	write_directions(out, name, it,
		(uint64_t[]){it->traffic->to_mirror_packets, it->traffic->to_client_packets});
}

static void
write_bytes(FILE *out, const char *name, const struct subject *it)
{
	write_directions(out, name, it,
		(uint64_t[]){it->traffic->to_mirror_bytes, it->traffic->to_client_bytes});
}

/* status_histogram_edge_us() in seconds: to make these texts anew took most of a scrape's time. */
static const char *const edges_s[STATUS_HISTOGRAM_EDGES] = {"6.4e-05", "0.000128", "0.000256",
	"0.000512", "0.001024", "0.002048", "0.004096", "0.008192", "0.016384", "0.032768",
	"0.065536", "0.131072", "0.262144", "0.524288", "1.048576", "2.097152", "4.194304",
	"8.388608"};

/* Buckets as the format wants them: each one counts all that is not above its edge. */
static void
write_histogram(
	FILE *out, const char *name, const char *labels, const struct status_histogram *histogram)
{
	uint64_t n = 0;
	char sum[UNITS_TEXT_MAX];

	for (unsigned i = 0; i < STATUS_HISTOGRAM_EDGES; i++) {
		n += histogram->buckets[i];
		fprintf(out, "karmalb_%s_bucket{%s,le=\"%s\"} %" PRIu64 "\n", name, labels,
			edges_s[i], n);
	}
	n += histogram->buckets[STATUS_HISTOGRAM_EDGES];
	fprintf(out, "karmalb_%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, n);
	units_format_number((double)histogram->sum_us / 1e6, sum, sizeof(sum));
	fprintf(out, "karmalb_%s_sum{%s} %s\n", name, labels, sum);
	fprintf(out, "karmalb_%s_count{%s} %" PRIu64 "\n", name, labels, n);
}

static void
write_connects(FILE *out, const char *name, const struct subject *it)
{
	write_histogram(out, name, it->labels, &it->traffic->connect);
}

static void
write_queries(FILE *out, const char *name, const struct subject *it)
{
	write_histogram(out, name, it->labels, &it->traffic->query);
}

static const struct {
	const char *service, *mirror; /* names */
	const char *help;
	enum metric_type type;
	void (*write)(FILE *out, const char *name, const struct subject *it);
} families[] = {
#define FAMILY(name, help, type, write)                            \
	{                                                          \
		"service_" name, "mirror_" name, help, type, write \
	}
	FAMILY("outcomes_total", "How exchanges with mirrors ended", COUNTER, write_outcomes),
	FAMILY("packets_total", "Packets forwarded", COUNTER, write_packets),
	FAMILY("bytes_total", "Bytes forwarded, Ethernet header included", COUNTER, write_bytes),
	FAMILY("connect_seconds", "From SYN to SYN-ACK", HISTOGRAM, write_connects),
	FAMILY("query_seconds", "From the first byte of a query to the first of its answer",
		HISTOGRAM, write_queries),
#undef FAMILY
};

static void
write_services(FILE *out, const struct status *st, unsigned family)
{
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];
		struct subject it = {.outcomes = s->outcomes, .traffic = &s->traffic};

		exposition_label(it.labels, "service", s->name);
		families[family].write(out, families[family].service, &it);
	}
}

static void
write_mirrors(FILE *out, const struct status *st, unsigned family)
{
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			const struct status_mirror *m = &s->mirrors[k];
			struct subject it = {.outcomes = m->life.outcomes, .traffic = &m->traffic};

			label_mirror(it.labels, s, m);
			families[family].write(out, families[family].mirror, &it);
		}
	}
}

static void
write_states(FILE *out, const struct status *st)
{
	static const struct {
		const char *name, *help;
		void (*write)(
			FILE *out, const struct status_service *s, const struct status_mirror *m);
	} rows[] = {
		{"mirror_state", "1 for the state that the mirror is in, 0 for the others",
			write_mirror_states},
		{"mirror_wanted_state",
			"1 for what an operator wants of the mirror, 0 for the others",
			write_mirror_wanted},
	};

	for (unsigned r = 0; r < N_OF(rows); r++) {
		exposition_head(out, rows[r].name, GAUGE, rows[r].help);
		for (unsigned i = 0; i < st->n_services; i++) {
			const struct status_service *s = &st->services[i];

			for (unsigned k = 0; k < s->n_mirrors; k++)
				rows[r].write(out, s, &s->mirrors[k]);
		}
	}
}

void
render_traffic(FILE *out, const struct status *st)
{
	for (unsigned f = 0; f < N_OF(families); f++) {
		exposition_head(out, families[f].service, families[f].type, families[f].help);
		write_services(out, st, f);
	}
	write_states(out, st);
	for (unsigned f = 0; f < N_OF(families); f++) {
		exposition_head(out, families[f].mirror, families[f].type, families[f].help);
		write_mirrors(out, st, f);
	}
}
