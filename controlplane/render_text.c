/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers for eyes: aligned, units in the titles or beside the value, stable for scripts.  Pure. */
#include <inttypes.h>
#include <string.h>

#include <karmalb/clock.h>

#include "change_words.h"
#include "columns.h"
#include "pairs.h"
#include "render.h"
#include "status.h"
#include "table.h"
#include "text.h"
#include "units.h"

#define NUMBER_MAX 32

static void
print_services(FILE *out, const struct status *status);
static void
print_mirrors(FILE *out, const struct status *status, const struct status_service *only);
static void
print_drops(FILE *out, const struct status *status);
static void
print_pairs(FILE *out, const struct pairs *pairs);
static void
print_change(FILE *out, const struct render_change *change);
static void
print_result(FILE *out, const struct render_result *result);
static void
print_table(FILE *out, const struct table *table);
static void
print_report(FILE *out, const struct render_report *report);
static void
print_error(FILE *out, const char *sentence);

const struct render render_text = {
	.services = print_services,
	.mirrors = print_mirrors,
	.drops = print_drops,
	.pairs = print_pairs,
	.help = render_text_help,
	.change = print_change,
	.result = print_result,
	.table = print_table,
	.report = print_report,
	.error = print_error,
};

static double
seconds(uint64_t us)
{
	return (double)us / (double)KARMALB_SECOND;
}

/* What a reader must know before the figures. */
static void
print_notice(FILE *out, const struct status *status)
{
	const struct status_dataplane *d = &status->dataplane;
	char sentence[2 * KARMALB_SENTENCE_MAX];

	text_escape(d->sentence, sentence, sizeof(sentence));
	if (!d->is_connected)
		fprintf(out,
			"! data plane not connected for %.1f s%s%s; figures are the last known\n",
			seconds(status->now_us - d->since_us), sentence[0] != '\0' ? ": " : "",
			sentence);
	else if (sentence[0] != '\0')
		fprintf(out, "! data plane: %s\n", sentence);
}

/* Per second: small ones with a decimal. */
static const char *
format_rate(double rate, char *text, size_t size)
{
	snprintf(text, size, rate < 9.95 && rate > 0 ? "%.1f" : "%.0f", rate);
	return text;
}

/* Milliseconds, three significant digits as far as they matter. */
static const char *
format_ms(double us, char *text, size_t size)
{
	double ms = us / 1000;

	snprintf(text, size, "%.*f", ms < 0.995 ? 2 : ms < 999.5 ? 1 : 0, ms);
	return text;
}

static const char *
format_next(
	const struct status *status, const struct status_service *service, char *text, size_t size)
{
	uint64_t at = service->next_reweight_unix_us, now = status->now_unix_us;

	if (at == 0)
		return "-";
	snprintf(text, size, "%.1f s", at > now ? seconds(at - now) : 0);
	return text;
}

static const char *
listen_text(const struct status_service *service, unsigned i, char *text, size_t size)
{
	return i < service->n_listens ? units_format_endpoint(&service->listens[i], text, size)
				      : "";
}

static unsigned
count_up(const struct status_service *service)
{
	unsigned n_up = 0;

	for (unsigned i = 0; i < service->n_mirrors; i++)
		n_up += service->mirrors[i].state == MIRROR_UP;
	return n_up;
}

static void
print_services(FILE *out, const struct status *status)
{
	struct columns *c = columns_create("SERVICE|LISTEN|STRATEGY|RULE|>PERIOD|>NEXT|MIRRORS UP|"
					   ">CONN/S|>FAILED|>TOTAL");
	char text[RENDER_SETTING_MAX];

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];

		columns_add(c, "%s", s->name);
		columns_add(c, "%s", listen_text(s, 0, text, sizeof(text)));
		columns_add(c, "%s", render_setting(s, "ha_strategy", text, sizeof(text)));
		columns_add(c, "%s", render_setting(s, "karma_rule", text, sizeof(text)));
		columns_add(c, "%s", render_setting(s, "ha_period_karma", text, sizeof(text)));
		columns_add(c, "%s", format_next(status, s, text, sizeof(text)));
		columns_add(c, "%u of %u", count_up(s), s->n_mirrors);
		columns_add(c, "%s", format_rate(s->connections_per_s, text, sizeof(text)));
		columns_add(c, "%" PRIu64, s->failed);
		columns_add(c, "%" PRIu64, s->total);
		for (unsigned j = 1; j < s->n_listens; j++) {
			columns_add(c, "%s", "");
			columns_add(c, "%s", listen_text(s, j, text, sizeof(text)));
			for (unsigned k = 2; k < 10; k++)
				columns_add(c, "%s", "");
		}
	}
	print_notice(out, status);
	columns_print(c, out);
	columns_free(c);
}

static void
print_service_line(FILE *out, const struct status_service *s)
{
	char text[RENDER_SETTING_MAX];

	fputs(s->name, out);
	for (unsigned i = 0; i < s->n_listens; i++)
		fprintf(out, "%s%s", i == 0 ? "  " : " ", listen_text(s, i, text, sizeof(text)));
	fprintf(out, "  %s", render_setting(s, "ha_strategy", text, sizeof(text)));
	fprintf(out, "  period %s, %.1f s in",
		render_setting(s, "ha_period_karma", text, sizeof(text)),
		seconds(s->period_offset_us));
	fprintf(out, "  %s conn/s", format_rate(s->connections_per_s, text, sizeof(text)));
	fprintf(out, "  failed %" PRIu64 " of %" PRIu64 "\n", s->failed, s->total);
}

static void
add_mirror(struct columns *c, const struct status_mirror *m)
{
	char text[NUMBER_MAX], p99[NUMBER_MAX];

	columns_add(c, "%s", m->name);
	columns_add(c, "%s", status_mirror_state(m));
	columns_add(c, "%.1f %%", 100 * m->share);
	columns_add(c, "%s", format_rate(m->connections_per_s, text, sizeof(text)));
	if (m->has_answers)
		columns_add(c, "%s / %s ms", format_ms(m->answer_mean_us, text, sizeof(text)),
			format_ms(m->answer_p99_us, p99, sizeof(p99)));
	else
		columns_add(c, "-");
	columns_add(c, "%" PRIu64, m->errors);
	columns_add(c, "%s", m->why);
}

static void
print_mirrors(FILE *out, const struct status *status, const struct status_service *only)
{
	print_notice(out, status);
	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];
		struct columns *c;

		if (only != NULL && s != only)
			continue;
		if (i > 0 && only == NULL)
			fputc('\n', out);
		c = columns_create("MIRROR|STATE|>SHARE|>CONN/S|>ANSWER mean/p99|>ERR|WHY");
		print_service_line(out, s);
		for (unsigned j = 0; j < s->n_mirrors; j++)
			add_mirror(c, &s->mirrors[j]);
		columns_print(c, out);
		columns_free(c);
	}
}

static struct columns *
create_drop_columns(const struct status *status)
{
	char titles[64 + 16 * KARMALB_WORKERS_MAX] = "COUNTER|>TOTAL";
	size_t n = strlen(titles);

	for (unsigned w = 0; w < status->n_workers && w < KARMALB_WORKERS_MAX; w++)
		n += (size_t)snprintf(
			titles + n, sizeof(titles) - n, "|>WORKER %u", status->workers[w].worker);
	snprintf(titles + n, sizeof(titles) - n, "|MEANING");
	return columns_create(titles);
}

static void
print_drops(FILE *out, const struct status *status)
{
	struct columns *c = create_drop_columns(status);
	struct render_drop drop;

	for (unsigned i = 0; render_drop_at(status, i, &drop); i++) {
		columns_add(c, drop.port != NULL ? "%s %s" : "%s", drop.name, drop.port);
		columns_add(c, "%" PRIu64, drop.total);
		for (unsigned w = 0; w < status->n_workers && w < KARMALB_WORKERS_MAX; w++) {
			if (drop.port != NULL)
				columns_add(c, "%s", "");
			else
				columns_add(
					c, "%" PRIu64, status->workers[w].counters[drop.counter]);
		}
		columns_add(c, "%s", drop.help);
	}
	print_notice(out, status);
	columns_print(c, out);
	columns_free(c);
}

static void
print_pairs(FILE *out, const struct pairs *pairs)
{
	char titles[64];

	snprintf(titles, sizeof(titles), "%s|%s", pairs->name_title, pairs->value_title);
	struct columns *c = columns_create(titles);

	for (unsigned i = 0; i < pairs->n_pairs; i++) {
		columns_add(c, "%s", pairs->pairs[i].name);
		columns_add(c, "%s", pairs->pairs[i].value);
	}
	columns_print(c, out);
	columns_free(c);
}

/* How long it lasts. */
static void
print_saved(FILE *out, const struct render_change *change)
{
	if (change->is_saved && change->is_in_file)
		fputs(". The configuration file says so too.\n", out);
	else if (change->is_saved)
		fprintf(out, ". Saved; the configuration file itself says %s.\n",
			change->file_text);
	else if (strcmp(change->start_text, change->new_text) == 0)
		fputs(". Not saved: the next start takes it from defaults again.\n", out);
	else if (strcmp(change->start_text, change->file_text) == 0)
		fprintf(out, ". Not saved: the configuration file still says %s.\n",
			change->file_text);
	else
		fprintf(out, ". Not saved: what SAVE CONFIG kept still says %s.\n",
			change->start_text);
}

static void
print_change(FILE *out, const struct render_change *change)
{
	char sentence[2 * KARMALB_SENTENCE_MAX];

	fprintf(out, "%s: %s ", change->service, change->setting);
	if (strcmp(change->old_text, change->new_text) == 0)
		fprintf(out, "was %s already%s", change->new_text,
			change->is_pinned ? ", as in defaults; from now on it is the service's own"
					  : "");
	else
		fprintf(out, "%s -> %s, %s", change->old_text, change->new_text,
			text_escape(change->sentence, sentence, sizeof(sentence)));
	print_saved(out, change);
}

static void
print_result(FILE *out, const struct render_result *result)
{
	for (unsigned i = 0; i < result->n_changes; i++)
		fprintf(out, "%s\n", result->changes[i].sentence);
	fprintf(out, "%s.\n", result->sentence);
}

/* Column titles are the names of the fields in capitals. */
static void
print_table(FILE *out, const struct table *table)
{
	char titles[512], text[1024];
	size_t n = 0;

	for (unsigned i = 0; i < table->n_columns && n < sizeof(titles); i++)
		n += (size_t)snprintf(titles + n, sizeof(titles) - n, "%s%s%s", i > 0 ? "|" : "",
			table->columns[i].is_number ? ">" : "", table->columns[i].title);
	struct columns *c = columns_create(titles);

	for (unsigned i = 0; i < table->n_cells; i++) {
		const char *cell = table->cells[i];

		columns_add(c, "%s", cell != NULL ? text_escape(cell, text, sizeof(text)) : "-");
	}
	columns_print(c, out);
	columns_free(c);
}

static void
print_report(FILE *out, const struct render_report *report)
{
	fputs(report->sentence, out);
	if (report->table->n_cells > 0)
		print_table(out, report->table);
}

static void
print_error(FILE *out, const char *sentence)
{
	char text[1024];

	fprintf(out, "%s\n", text_escape(sentence, text, sizeof(text)));
}
