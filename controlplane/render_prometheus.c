/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each metric is a family: HELP, TYPE, then a sample per thing.  One-value families come from the
 * rows of metrics_list.h, what has more labels from render_traffic.h; counters of the contract come
 * from its own lists, so that a new counter is a new metric without a line here.
 */
#include "render_prometheus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exposition.h"
#include "metrics_list.h"
#include "render_traffic.h"
#include "settings.h"
#include "status.h"
#include "units.h"

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

static void
label_mirror(char labels[EXPOSITION_LABELS_MAX], const struct status_service *s,
	const struct status_mirror *m)
{
	labels[0] = '\0';
	exposition_label(labels, "service", s->name);
	exposition_label(labels, "mirror", m->name);
}

static void
label_worker(char labels[EXPOSITION_LABELS_MAX], const struct karmalb_worker_totals *w)
{
	snprintf(labels, EXPOSITION_LABELS_MAX, "worker=\"%u\"", w->worker);
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

/* A label, since the two are alike but for how it ended. */
static void
write_reloads(FILE *out, const struct status *st)
{
	exposition_head(out, "reloads_total", COUNTER, "Reloads since the control plane started");
	exposition_sample(out, "reloads_total", "result=\"ok\"", st->reload.n_ok);
	exposition_sample(out, "reloads_total", "result=\"failed\"", st->reload.n_failed);
}

static void
write_program(FILE *out, const struct status *st)
{
	for (unsigned i = 0; i < N_OF(program_metrics); i++) {
		const struct metric *m = &program_metrics[i];

		exposition_head(out, m->name, m->type, m->help);
		exposition_sample(out, m->name, "", m->value(st, st));
	}
}

static void
write_services(FILE *out, const struct status *st, const struct metric *metric)
{
	exposition_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_services; i++) {
		char labels[EXPOSITION_LABELS_MAX] = "";

		exposition_label(labels, "service", st->services[i].name);
		exposition_sample(out, metric->name, labels, metric->value(st, &st->services[i]));
	}
}

static void
write_mirrors(FILE *out, const struct status *st, const struct metric *metric)
{
	char labels[EXPOSITION_LABELS_MAX];

	exposition_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			label_mirror(labels, s, &s->mirrors[k]);
			exposition_sample(
				out, metric->name, labels, metric->value(st, &s->mirrors[k]));
		}
	}
}

static void
write_workers(FILE *out, const struct status *st, const struct metric *metric)
{
	char labels[EXPOSITION_LABELS_MAX];

	exposition_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_workers; i++) {
		label_worker(labels, &st->workers[i]);
		exposition_sample(out, metric->name, labels, metric->value(st, &st->workers[i]));
	}
}

static void
write_ports(FILE *out, const struct status *st, const struct metric *metric)
{
	exposition_head(out, metric->name, metric->type, metric->help);
	for (unsigned i = 0; i < st->n_ports; i++) {
		char labels[EXPOSITION_LABELS_MAX] = "";

		exposition_label(labels, "port", st->ports[i].name);
		exposition_sample(out, metric->name, labels, metric->value(st, &st->ports[i]));
	}
}

/* ---- information: the value is always 1, the labels tell ---- */

static void
write_build_info(FILE *out)
{
	char labels[EXPOSITION_LABELS_MAX] = "";

	exposition_head(out, "build_info", GAUGE, "1; the label says which version this is");
	exposition_label(labels, "version", KARMALB_VERSION);
	exposition_sample(out, "build_info", labels, 1);
}

static void
write_service_info(FILE *out, const struct status *st)
{
	static const char *const names[] = {"ha_strategy", "karma_rule"};
	char text[SETTING_TEXT_MAX];

	exposition_head(
		out, "service_info", GAUGE, "1; the labels say how the service is balanced");
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];
		char labels[EXPOSITION_LABELS_MAX] = "";

		exposition_label(labels, "service", s->name);
		for (unsigned k = 0; k < N_OF(names); k++)
			exposition_label(labels, names[k],
				setting_format(setting_find(SETTING_SCOPE_SERVICE, names[k]),
					&s->settings, text, sizeof(text)));
		exposition_sample(out, "service_info", labels, 1);
	}
}

static void
write_mirror_info(FILE *out, const struct status *st)
{
	char labels[EXPOSITION_LABELS_MAX], text[UNITS_TEXT_MAX];

	exposition_head(out, "mirror_info", GAUGE, "1; the label says where the mirror is");
	for (unsigned i = 0; i < st->n_services; i++) {
		const struct status_service *s = &st->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			const struct status_mirror *m = &s->mirrors[k];

			label_mirror(labels, s, m);
			exposition_label(labels, "address",
				units_format_endpoint(&m->address, text, sizeof(text)));
			exposition_sample(out, "mirror_info", labels, 1);
		}
	}
}

static void
write_port_info(FILE *out, const struct status *st)
{
	exposition_head(out, "port_info", GAUGE, "1; the label says which device the port is");
	for (unsigned i = 0; i < st->n_ports; i++) {
		char labels[EXPOSITION_LABELS_MAX] = "";

		exposition_label(labels, "port", st->ports[i].name);
		exposition_label(labels, "device", st->ports[i].device);
		exposition_sample(out, "port_info", labels, 1);
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
	char labels[EXPOSITION_LABELS_MAX];

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++) {
		if (is_drop(i))
			continue;
		exposition_head(out, worker_counters[i].family, COUNTER, worker_counters[i].help);
		for (unsigned w = 0; w < st->n_workers; w++) {
			label_worker(labels, &st->workers[w]);
			exposition_sample(out, worker_counters[i].family, labels,
				(double)st->workers[w].counters[i]);
		}
	}
}

static void
write_worker_drops(FILE *out, const struct status *st)
{
	char labels[EXPOSITION_LABELS_MAX];

	exposition_head(out, "worker_drops_total", COUNTER, "Packets dropped, by reason");
	for (unsigned w = 0; w < st->n_workers; w++) {
		for (unsigned i = KARMALB_COUNTER_DROP_FIRST; i <= KARMALB_COUNTER_DROP_LAST; i++) {
			label_worker(labels, &st->workers[w]);
			exposition_label(
				labels, "reason", worker_counters[i].name + strlen("drop_"));
			exposition_sample(out, "worker_drops_total", labels,
				(double)st->workers[w].counters[i]);
		}
	}
}

void
render_prometheus(FILE *out, const struct status *st)
{
	write_build_info(out);
	write_program(out, st);
	write_reloads(out, st);
	write_service_info(out, st);
	for (unsigned i = 0; i < N_OF(service_metrics); i++)
		write_services(out, st, &service_metrics[i]);
	write_mirror_info(out, st);
	for (unsigned i = 0; i < N_OF(mirror_metrics); i++)
		write_mirrors(out, st, &mirror_metrics[i]);
	render_traffic(out, st);
	for (unsigned i = 0; i < N_OF(worker_metrics); i++)
		write_workers(out, st, &worker_metrics[i]);
	write_worker_counters(out, st);
	write_worker_drops(out, st);
	write_port_info(out, st);
	for (unsigned i = 0; i < N_OF(port_metrics); i++)
		write_ports(out, st, &port_metrics[i]);
}
