/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "render_prometheus.h"
#include "status.h"

static struct status_mirror mirror;
static struct status_service service;
static struct status status;
static char *text;

static void
set_up(void)
{
	memset(&mirror, 0, sizeof(mirror));
	memset(&service, 0, sizeof(service));
	strcpy(mirror.name, "m1");
	strcpy(service.name, "web");
	settings_set_defaults(SETTING_SCOPE_SERVICE, &service.settings);
	service.n_mirrors = 1;
	service.mirrors = &mirror;
	status = (struct status){.now_us = 5000000,
		.now_unix_us = 1700000000000000,
		.n_services = 1,
		.services = &service};
}

static void
tear_down(void)
{
	free(text);
	text = NULL;
}

static void
render(void)
{
	size_t size;

	free(text);
	FILE *out = open_memstream(&text, &size);

	render_prometheus(out, &status);
	fclose(out);
}

/* Whether the text has this line. */
static bool
has_line(const char *line)
{
	size_t length = strlen(line);

	for (const char *p = text; (p = strstr(p, line)) != NULL; p += length) {
		if ((p == text || p[-1] == '\n') && p[length] == '\n')
			return true;
	}
	return false;
}

#define expect_line(line) ck_assert_msg(has_line(line), "lacks %s in:\n%s", line, text)

START_TEST(a_share_is_shown_as_it_is)
{
	mirror.share = 0.15;
	render();
	expect_line("karmalb_mirror_share_ratio{service=\"web\",mirror=\"m1\"} 0.15");
}
END_TEST

START_TEST(a_label_value_cannot_break_out)
{
	strcpy(service.name, "a\"b\\c\nd");
	render();
	expect_line("karmalb_service_connections_total{service=\"a\\\"b\\\\c\\nd\"} 0");
}
END_TEST

START_TEST(the_longest_names_fit)
{
	memset(service.name, '"', sizeof(service.name) - 1);
	memset(mirror.name, '\\', sizeof(mirror.name) - 1);
	render();
	char name[2 * KARMALB_NAME_MAX] = "";

	for (unsigned i = 0; i < KARMALB_NAME_MAX - 1; i++)
		strcat(name, "\\\\");
	ck_assert_ptr_nonnull(strstr(text, name));
	ck_assert_ptr_nonnull(strstr(text, "outcome=\"succeeded_queries\"} 0\n"));
}
END_TEST

START_TEST(buckets_are_cumulative_and_agree_with_the_count)
{
	mirror.traffic.query = (struct status_histogram){
		.sum_us = 20000064, .buckets = {[0] = 2, [1] = 3, [STATUS_HISTOGRAM_EDGES] = 1}};
	render();
#define QUERY(suffix, more) \
	"karmalb_mirror_query_seconds_" suffix "{service=\"web\",mirror=\"m1\"" more "} "
	expect_line(QUERY("bucket", ",le=\"6.4e-05\"") "2");
	expect_line(QUERY("bucket", ",le=\"0.000128\"") "5");
	expect_line(QUERY("bucket", ",le=\"8.388608\"") "5");
	expect_line(QUERY("bucket", ",le=\"+Inf\"") "6");
	expect_line(QUERY("count", "") "6");
	expect_line(QUERY("sum", "") "20.000064");
}
END_TEST

START_TEST(every_edge_is_shown_as_it_is)
{
	render();
	for (unsigned i = 0; i < STATUS_HISTOGRAM_EDGES; i++) {
		static const char label[] = "mirror=\"m1\",le=\"";
		const char *p = strstr(text, "karmalb_mirror_query_seconds_bucket");

		for (unsigned k = 0; k <= i; k++)
			p = strstr(p + 1, label);
		ck_assert_double_eq(
			atof(p + strlen(label)), (double)status_histogram_edge_us(i) / 1e6);
	}
}
END_TEST

START_TEST(what_does_not_exist_yet_has_no_sample)
{
	render();
	expect_line("# TYPE karmalb_service_reweight_timestamp_seconds gauge");
	ck_assert_ptr_null(strstr(text, "karmalb_service_reweight_timestamp_seconds{"));
	ck_assert_ptr_null(strstr(text, "karmalb_mirror_ping_seconds{"));
	service.reweighted_at_unix_us = 1700000000500000;
	mirror.ping_us = 1500;
	render();
	expect_line("karmalb_service_reweight_timestamp_seconds{service=\"web\"} 1700000000.5");
	expect_line("karmalb_mirror_ping_seconds{service=\"web\",mirror=\"m1\"} 0.0015");
}
END_TEST

START_TEST(a_mirror_is_in_one_state)
{
	mirror.state = MIRROR_DEAD;
	render();
	expect_line("karmalb_mirror_state{service=\"web\",mirror=\"m1\",state=\"up\"} 0");
	expect_line("karmalb_mirror_state{service=\"web\",mirror=\"m1\",state=\"dead\"} 1");
}
END_TEST

START_TEST(every_counter_of_the_contract_is_a_metric)
{
	static struct karmalb_worker_totals worker = {.worker = 3};
	static const char *const names[] = {
#define X(member, name, help) #name,
		KARMALB_WORKER_COUNTERS(X)
#undef X
	};

	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		worker.counters[i] = 1000 + i;
	status.n_workers = 1;
	status.workers = &worker;
	render();
	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++) {
		char line[200];

		if (strncmp(names[i], "drop_", 5) == 0)
			snprintf(line, sizeof(line),
				"karmalb_worker_drops_total{worker=\"3\",reason=\"%s\"} %u",
				names[i] + 5, 1000 + i);
		else
			snprintf(line, sizeof(line), "karmalb_worker_%s_total{worker=\"3\"} %u",
				names[i], 1000 + i);
		expect_line(line);
	}
}
END_TEST

START_TEST(the_edges_of_coarse_buckets_are_edges_of_the_fine_ones)
{
	for (unsigned i = 0; i < STATUS_HISTOGRAM_EDGES; i++) {
		uint64_t edge_us = status_histogram_edge_us(i);

		ck_assert_uint_eq(
			karmalb_histogram_edge_us(karmalb_histogram_bucket(edge_us)), edge_us);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("render_prometheus");
	TCase *tc = tcase_create("render_prometheus");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_share_is_shown_as_it_is);
	tcase_add_test(tc, a_label_value_cannot_break_out);
	tcase_add_test(tc, the_longest_names_fit);
	tcase_add_test(tc, buckets_are_cumulative_and_agree_with_the_count);
	tcase_add_test(tc, every_edge_is_shown_as_it_is);
	tcase_add_test(tc, what_does_not_exist_yet_has_no_sample);
	tcase_add_test(tc, a_mirror_is_in_one_state);
	tcase_add_test(tc, every_counter_of_the_contract_is_a_metric);
	tcase_add_test(tc, the_edges_of_coarse_buckets_are_edges_of_the_fine_ones);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
