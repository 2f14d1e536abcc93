/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each metric is a family: HELP, TYPE, then a sample per thing.  One-value families come from the
 * rows of metrics_list.h; counters of the contract come from its own lists, so that a new counter
 * is a new metric without a line here.
 */
#include "render_prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_list.h"
#include "settings.h"
#include "status.h"
#include "units.h"

#define PREFIX "karmalb_"

enum metric_type {
	COUNTER,
	GAUGE,
	HISTOGRAM,
};

/* Room for labels whose values are names, each byte of which may need an escape. */
#define LABELS_MAX 600

static double
metric_stamp_s(uint64_t unix_us)
{
	return unix_us > 0 ? (double)unix_us / 1e6 : NAN;
}

static double
metric_unix_s(const struct status *st, uint64_t at_us)
{
	return at_us > 0 ? metric_stamp_s(st->now_unix_us + at_us - st->now_us) : NAN;
}

static double
metric_ping_s(const struct status_mirror *m)
{
	return m->ping_us > 0 ? (double)m->ping_us / 1e6 : NAN;
}

/* ---- the text format ---- */

static void
write_head(FILE *out, const char *name, enum metric_type type, const char *help)
{
	static const char *const words[] = {"counter", "gauge", "histogram"};

	fprintf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name,
		words[type]);
}

/* One sample; 'labels' is empty or as labels_add() made it.  Nothing for a NaN. */
static void
write_sample(FILE *out, const char *name, const char *labels, double value)
{
	char text[UNITS_TEXT_MAX];

	if (isnan(value))
		return;
	/* Most values are counts, and a scrape of many mirrors must not hold up the loop. */
	if (value >= 0 && value < 1e15 && value == floor(value))
		snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)value);
	else
		units_format_number(value, text, sizeof(text));
	fputs(PREFIX, out);
	fputs(name, out);
	if (labels[0] != '\0')
		fprintf(out, "{%s}", labels);
	fprintf(out, " %s\n", text);
}

/* Appends name="value" with the three escapes of the format. */
static void
labels_add(char labels[LABELS_MAX], const char *name, const char *value)
{
	size_t n = strlen(labels);

	n += (size_t)snprintf(
		labels + n, LABELS_MAX - n, "%s%s=\"", labels[0] != '\0' ? "," : "", name);
	for (; *value != '\0' && n < LABELS_MAX - 4; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			labels[n++] = '\\';
		labels[n++] = *value == '\n' ? 'n' : *value;
	}
	strcpy(labels + n, "\"");
}

static void
label_mirror(char labels[LABELS_MAX], const struct status_service *s, const struct status_mirror *m)
{
	labels[0] = '\0';
	labels_add(labels, "service", s->name);
	labels_add(labels, "mirror", m->name);
}

static void
label_worker(char labels[LABELS_MAX], const struct karmalb_worker_totals *w)
{
	snprintf(labels, LABELS_MAX, "worker=\"%u\"", w->worker);
}

/* ---- one value per thing ---- */

struct metric {
	const char *name;
	const char *help;
	enum metric_type type;
	double (*value)(const struct status *st, const void *it);
};

#define DEFINE_VALUE(noun, it_struct, name, expression)                                    \
	static double value_of_##noun##_##name(const struct status *st, const void *thing) \
	{                                                                                  \
		const it_struct *it = thing;                                               \
                                                                                           \
		(void)st;                                                                  \
		return (double)(expression);                                               \
	}

#define X(name, type, help, expression) DEFINE_VALUE(program, struct status, name, expression)
METRICS_PROGRAM(X)
#undef X
#define X(name, type, help, expression) \
	DEFINE_VALUE(service, struct status_service, name, expression)
METRICS_SERVICE(X)
#undef X
#define X(name, type, help, expression) DEFINE_VALUE(mirror, struct status_mirror, name, expression)
METRICS_MIRROR(X)
#undef X
#define X(name, type, help, expression) \
	DEFINE_VALUE(worker, struct karmalb_worker_totals, name, expression)
METRICS_WORKER(X)
#undef X
#define X(name, type, help, expression) \
	DEFINE_VALUE(port, struct karmalb_port_status, name, expression)
METRICS_PORT(X)
#undef X

static const struct metric program_metrics[] = {
#define X(name, type, help, expression) {#name, help, type, value_of_program_##name},
	METRICS_PROGRAM(X)
#undef X
};
static const struct metric service_metrics[] = {
#define X(name, type, help, expression) {"service_" #name, help, type, value_of_service_##name},
	METRICS_SERVICE(X)
#undef X
};
static const struct metric mirror_metrics[] = {
#define X(name, type, help, expression) {"mirror_" #name, help, type, value_of_mirror_##name},
	METRICS_MIRROR(X)
#undef X
};
static const struct metric worker_metrics[] = {
#define X(name, type, help, expression) {"worker_" #name, help, type, value_of_worker_##name},
	METRICS_WORKER(X)
#undef X
};
static const struct metric port_metrics[] = {
#define X(name, type, help, expression) {"port_" #name, help, type, value_of_port_##name},
	METRICS_PORT(X)
#undef X
};

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

static void
write_program(FILE *out, const struct status *st)
{
	for (unsigned i = 0; i < N_OF(program_metrics); i++) {
		const struct metric *m = &program_metrics[i];

		write_head(out, m->name, m->type, m->help);
		write_sample(out, m->name, "", m->value(st, st));
	}
}

static void
write_services(FILE *out, const struct status *st, const struct metric *metric)
{
	write_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_services; i++) {
		char labels[LABELS_MAX] = "";

		labels_add(labels, "service", st->services[i].name);
		write_sample(out, metric->name, labels, metric->value(st, &st->services[i]));
	}
}

static void
write_mirrors(FILE *out, const struct status *st, const struct metric *metric)
{
	char labels[LABELS_MAX];

	write_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			label_mirror(labels, s, &s->mirrors[k]);
			write_sample(out, metric->name, labels, metric->value(st, &s->mirrors[k]));
		}
	}
}

static void
write_workers(FILE *out, const struct status *st, const struct metric *metric)
{
	char labels[LABELS_MAX];

	write_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_workers; i++) {
		label_worker(labels, &st->workers[i]);
		write_sample(out, metric->name, labels, metric->value(st, &st->workers[i]));
	}
}

static void
write_ports(FILE *out, const struct status *st, const struct metric *metric)
{
	write_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_ports; i++) {
		char labels[LABELS_MAX] = "";

		labels_add(labels, "port", st->ports[i].name);
		write_sample(out, metric->name, labels, metric->value(st, &st->ports[i]));
	}
}

/* ---- information: the value is always 1, the labels tell ---- */

static void
write_build_info(FILE *out)
{
	char labels[LABELS_MAX] = "";

	write_head(out, "build_info", GAUGE, "1; the label says which version this is");
	labels_add(labels, "version", KARMALB_VERSION);
	write_sample(out, "build_info", labels, 1);
}

static void
write_service_info(FILE *out, const struct status *st)
{
	static const char *const names[] = {"ha_strategy", "karma_rule"};
	char text[SETTING_TEXT_MAX];

	write_head(out, "service_info", GAUGE, "1; the labels say how the service is balanced");
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];
		char labels[LABELS_MAX] = "";

		labels_add(labels, "service", s->name);
		for (unsigned k = 0; k < N_OF(names); k++)
			labels_add(labels, names[k],
				setting_format(setting_find(SETTING_SCOPE_SERVICE, names[k]),
					&s->settings, text, sizeof(text)));
		write_sample(out, "service_info", labels, 1);
	}
}

static void
write_mirror_info(FILE *out, const struct status *st)
{
	char labels[LABELS_MAX], text[UNITS_TEXT_MAX];

	write_head(out, "mirror_info", GAUGE, "1; the label says where the mirror is");
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			const struct status_mirror *m = &s->mirrors[k];

			label_mirror(labels, s, m);
			labels_add(labels, "address",
				units_format_endpoint(&m->address, text, sizeof(text)));
			write_sample(out, "mirror_info", labels, 1);
		}
	}
}

static void
write_port_info(FILE *out, const struct status *st)
{
	write_head(out, "port_info", GAUGE, "1; the label says which device the port is");
	for (unsigned i = 0; i < st->n_ports; i++) {
		char labels[LABELS_MAX] = "";

		labels_add(labels, "port", st->ports[i].name);
		labels_add(labels, "device", st->ports[i].device);
		write_sample(out, "port_info", labels, 1);
	}
}

/* ---- what has a label of its own besides whom it is about ---- */

static void
write_mirror_states(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	for (unsigned state = 0; state < N_MIRROR_STATES; state++) {
		char labels[LABELS_MAX];

		label_mirror(labels, s, m);
		labels_add(labels, "state", mirror_state_name(state));
		write_sample(out, "mirror_state", labels, m->state == state);
	}
}

static void
write_mirror_wanted(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	const struct setting *setting = setting_find(SETTING_SCOPE_MIRROR, "state");
	const char *name;

	for (unsigned i = 0; (name = setting_choice(setting, i)) != NULL; i++) {
		char labels[LABELS_MAX];

		label_mirror(labels, s, m);
		labels_add(labels, "state", name);
		write_sample(out, "mirror_wanted_state", labels, m->wanted == i);
	}
}

static void
write_mirror_outcomes(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	static const char *const names[] = {
#define X(member, name, help) #name,
		KARMALB_OUTCOMES(X)
#undef X
	};

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++) {
		char labels[LABELS_MAX];

		label_mirror(labels, s, m);
		labels_add(labels, "outcome", names[i]);
		write_sample(out, "mirror_outcomes_total", labels, (double)m->life.outcomes[i]);
	}
}

static void
write_directions(FILE *out, const char *name, const char *labels, const uint64_t values[2])
{
	static const char *const words[] = {"to_mirror", "to_client"};

	for (unsigned i = 0; i < 2; i++) {
		char all[LABELS_MAX];

		snprintf(all, sizeof(all), "%s", labels);
		labels_add(all, "direction", words[i]);
		write_sample(out, name, all, (double)values[i]);
	}
}

static void
write_mirror_packets(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	char labels[LABELS_MAX];

	label_mirror(labels, s, m);
	write_directions(out, "mirror_packets_total", labels,
		(uint64_t[]){m->traffic.to_mirror_packets, m->traffic.to_client_packets});
}

static void
write_mirror_bytes(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	char labels[LABELS_MAX];

	label_mirror(labels, s, m);
	write_directions(out, "mirror_bytes_total", labels,
		(uint64_t[]){m->traffic.to_mirror_bytes, m->traffic.to_client_bytes});
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
		fprintf(out, PREFIX "%s_bucket{%s,le=\"%s\"} %" PRIu64 "\n", name, labels,
			edges_s[i], n);
	}
	n += histogram->buckets[STATUS_HISTOGRAM_EDGES];
	fprintf(out, PREFIX "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, n);
	units_format_number((double)histogram->sum_us / 1e6, sum, sizeof(sum));
	fprintf(out, PREFIX "%s_sum{%s} %s\n", name, labels, sum);
	fprintf(out, PREFIX "%s_count{%s} %" PRIu64 "\n", name, labels, n);
}

static void
write_mirror_connects(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	char labels[LABELS_MAX];

	label_mirror(labels, s, m);
	write_histogram(out, "mirror_connect_seconds", labels, &m->traffic.connect);
}

static void
write_mirror_queries(FILE *out, const struct status_service *s, const struct status_mirror *m)
{
	char labels[LABELS_MAX];

	label_mirror(labels, s, m);
	write_histogram(out, "mirror_query_seconds", labels, &m->traffic.query);
}

static const struct {
	const char *name, *help;
	enum metric_type type;
	void (*write)(FILE *out, const struct status_service *s, const struct status_mirror *m);
} mirror_families[] = {
	{"mirror_state", "1 for the state that the mirror is in, 0 for the others", GAUGE,
		write_mirror_states},
	{"mirror_wanted_state", "1 for what an operator wants of the mirror, 0 for the others",
		GAUGE, write_mirror_wanted},
	{"mirror_outcomes_total", "How exchanges with the mirror ended", COUNTER,
		write_mirror_outcomes},
	{"mirror_packets_total", "Packets forwarded", COUNTER, write_mirror_packets},
	{"mirror_bytes_total", "Bytes forwarded, Ethernet header included", COUNTER,
		write_mirror_bytes},
	{"mirror_connect_seconds", "From SYN to SYN-ACK", HISTOGRAM, write_mirror_connects},
	{"mirror_query_seconds", "From the first byte of a query to the first of its answer",
		HISTOGRAM, write_mirror_queries},
};

static void
write_mirror_families(FILE *out, const struct status *st)
{
	for (unsigned f = 0; f < N_OF(mirror_families); f++) {
		write_head(out, mirror_families[f].name, mirror_families[f].type,
			mirror_families[f].help);
		for (unsigned i = 0; i < st->n_services; i++) {
			const struct status_service *s = &st->services[i];

			for (unsigned k = 0; k < s->n_mirrors; k++)
				mirror_families[f].write(out, s, &s->mirrors[k]);
		}
	}
}

/* ---- the workers' counters, by the contract's list ---- */

static const struct {
	const char *name, *family, *help;
} worker_counters[] = {
#define X(member, name, help) {#name, "worker_" #name "_total", help},
	KARMALB_WORKER_COUNTERS(X)
#undef X
};

static bool
is_drop(unsigned counter)
{
	return counter >= KARMALB_COUNTER_DROP_FIRST && counter <= KARMALB_COUNTER_DROP_LAST;
}

static void
write_worker_counters(FILE *out, const struct status *st)
{
	char labels[LABELS_MAX];

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++) {
		if (is_drop(i))
			continue;
		write_head(out, worker_counters[i].family, COUNTER, worker_counters[i].help);
		for (unsigned w = 0; w < st->n_workers; w++) {
			label_worker(labels, &st->workers[w]);
			write_sample(out, worker_counters[i].family, labels,
				(double)st->workers[w].counters[i]);
		}
	}
}

static void
write_worker_drops(FILE *out, const struct status *st)
{
	char labels[LABELS_MAX];

	write_head(out, "worker_drops_total", COUNTER, "Packets dropped, by reason");
	for (unsigned w = 0; w < st->n_workers; w++) {
		for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
			label_worker(labels, &st->workers[w]);
			labels_add(labels, "reason", worker_counters[i].name + strlen("drop_"));
			write_sample(out, "worker_drops_total", labels,
				(double)st->workers[w].counters[i]);
		}
	}
}

void
render_prometheus(FILE *out, const struct status *st)
{
	write_build_info(out);
	write_program(out, st);
	write_service_info(out, st);
	for (unsigned i = 0; i < N_OF(service_metrics); i++)
		write_services(out, st, &service_metrics[i]);
	write_mirror_info(out, st);
	for (unsigned i = 0; i < N_OF(mirror_metrics); i++)
		write_mirrors(out, st, &mirror_metrics[i]);
	write_mirror_families(out, st);
	for (unsigned i = 0; i < N_OF(worker_metrics); i++)
		write_workers(out, st, &worker_metrics[i]);
	write_worker_counters(out, st);
	write_worker_drops(out, st);
	write_port_info(out, st);
	for (unsigned i = 0; i < N_OF(port_metrics); i++)
		write_ports(out, st, &port_metrics[i]);
}
