/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements as edits, and what is saved of them: read again after the file it gives the same. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "edit.h"
#include "log.h"
#include "plan.h"
#include "saved.h"
#include "state_file.h"
#include "suite.h"

static const char base[] =
	"config_version = 1;\n"
	"dataplane = { ports = ( { name = \"p\"; device = \"af_xdp:eth0\"; } );\n"
	"  sources = [ \"10.255.0.0/28\" ]; };\n"
	"services = ( { name = \"web.1\"; listen = [ \"192.0.2.1:80/tcp\" ]; dead_after = 7;\n"
	"    mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; },\n"
	"                { name = \"m2\"; address = \"10.0.0.2\"; } ); } );\n";

static const struct config *file;
static struct config *config;
static struct err err;
static char directory[] = "/tmp/karmalb-edit-XXXXXX", path[64];

static void
set_up(void)
{
	struct config_errors errors;

	log_set_level(LOG_LEVEL_ERROR);
	file = config_parse("t.conf", base, strlen(base), &errors);
	config = config_copy(file);
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, directory);
}

static void
tear_down(void)
{
	unlink(path);
	rmdir(directory);
	config_free(config);
	config_free(file);
}

static int
run_at(const char *statement, uint64_t now_unix_us)
{
	const struct edit_base edit_base = {.file = file, .now_unix_us = now_unix_us};

	return edit_text(&config, &edit_base, statement, &err);
}

static int
run(const char *statement)
{
	return run_at(statement, karmalb_unix_now_us());
}

static void
assert_done(const char *statement)
{
	ck_assert_msg(run(statement) == 0, "%s: %s", statement, err.sentence);
}

static void
assert_refused(const char *statement, const char *sentence)
{
	ck_assert_int_lt(run(statement), 0);
	ck_assert_str_eq(err.sentence, sentence);
}

static unsigned
n_differences(const struct config *from, const struct config *to)
{
	struct plan plan;
	unsigned n;

	ck_assert_int_eq(plan_make(&plan, from, to), 0);
	n = plan.n_changes;
	plan_fini(&plan);
	return n;
}

static void
change_everything(void)
{
	assert_done("SET GLOBAL ha_strategy = 'nodeads'");
	assert_done("CREATE SERVICE s LISTEN '192.0.2.2:80/tcp', '192.0.2.2:81/tcp' "
		    "MIRRORS ('10.0.0.1', b '10.0.0.2:99' WEIGHT 3, '10.0.0.3' WEIGHT 2) "
		    "dead_after = 3, ha_ping_interval = '2s'");
	assert_done("SET MIRROR s.b STATE = maintenance");
	assert_done("ALTER SERVICE web.1 LISTEN '192.0.2.1:8080/tcp'");
	assert_done("ALTER SERVICE web.1 DEFAULT dead_after");
	assert_done("ALTER SERVICE web.1 ADD MIRROR m3 '10.0.0.3:81' WEIGHT 2;");
	assert_done("ALTER SERVICE web.1 DROP MIRROR m1");
	assert_done("SET MIRROR web.1.m2 WEIGHT = 9");
	assert_done("SET MIRROR web.1.m3 STATE = drain WITHIN 5m");
	assert_done("SET SERVICE web.1 karma_gain = 0.5");
}

START_TEST(what_is_saved_gives_the_same_after_the_file)
{
	struct config *again = config_copy(file);
	struct state_report report;
	struct plan plan;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	change_everything();
	ck_assert_int_eq(plan_make(&plan, file, config), 0);
	plan_print_statements(&plan, out);
	plan_fini(&plan);
	fclose(out);
	ck_assert_int_eq(state_file_write(path, text, &err), 0);
	ck_assert_int_eq(state_file_apply(path, &again, file, &report, &err), 0);
	ck_assert_msg(report.n_refused == 0, "%s", report.first_refused);
	ck_assert_uint_eq(n_differences(again, config), 0);
	ck_assert_uint_gt(n_differences(file, again), 5);
	free(text);
	config_free(again);
}
END_TEST

static void
assert_saves(const char *wanted)
{
	char *text = saved_statements(file, config);

	ck_assert_str_eq(text, wanted);
	free(text);
}

START_TEST(a_drain_is_saved_with_its_end)
{
	uint64_t noon_us = UINT64_C(946728000) * KARMALB_SECOND; /* 2000-01-01T12:00:00Z */

	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = drain WITHIN 5m", noon_us), 0);
	assert_saves("SET MIRROR web.1.m1 state = 'drain' UNTIL '2000-01-01T12:05:00Z';\n");
	/* another end is another state, and none is one, too */
	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = drain WITHIN 1500ms", noon_us), 0);
	assert_saves("SET MIRROR web.1.m1 state = 'drain' UNTIL '2000-01-01T12:00:01.500Z';\n");
	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = drain", noon_us), 0);
	assert_saves("SET MIRROR web.1.m1 state = 'drain';\n");
	/* whatever it was, active has no end */
	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = drain WITHIN 5m", noon_us), 0);
	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = active", noon_us), 0);
	ck_assert_uint_eq(config->services[0].mirrors[0].drain_until_us, 0);
	assert_saves("");
}
END_TEST

START_TEST(an_end_of_a_drain_that_the_file_has_is_saved_too)
{
	struct config *drained = config_copy(file);

	ck_assert_int_eq(config_edit_mirror(drained, "web.1", "m1",
				 &(struct config_value){"state", "drain"}, &err),
		0);
	config_free(file);
	file = drained;
	config_free(config);
	config = config_copy(file);
	ck_assert_int_eq(run_at("SET MIRROR web.1.m1 STATE = drain WITHIN 60s", 0), 0);
	assert_saves("SET MIRROR web.1.m1 state = 'drain' UNTIL '1970-01-01T00:01:00Z';\n");
}
END_TEST

START_TEST(a_saved_drain_that_is_over_is_maintenance)
{
	static const char until[] =
		"SET MIRROR web.1.m1 STATE = drain UNTIL '2000-01-01T12:05:00Z'";
	uint64_t end_us = UINT64_C(946728300) * KARMALB_SECOND;
	const struct config_mirror *m;

	ck_assert_int_eq(run_at(until, end_us - 1), 0);
	m = &config->services[0].mirrors[0];
	ck_assert_uint_eq(m->state, SETTINGS_MIRROR_DRAIN);
	ck_assert_uint_eq(m->drain_until_us, end_us);
	ck_assert_int_eq(run_at(until, end_us), 0);
	m = &config->services[0].mirrors[0];
	ck_assert_uint_eq(m->state, SETTINGS_MIRROR_MAINTENANCE);
	ck_assert_uint_eq(m->drain_until_us, 0);
}
END_TEST

START_TEST(a_saved_line_that_no_longer_applies_is_left_out)
{
	struct state_report report;

	ck_assert_int_eq(state_file_write(path,
				 "# remark\nSET MIRROR gone.m1 STATE = drain;\n\n"
				 "SET GLOBAL dead_after = '5';\nnonsense\n",
				 &err),
		0);
	ck_assert_int_eq(state_file_apply(path, &config, file, &report, &err), 0);
	ck_assert_uint_eq(report.n_applied, 1);
	ck_assert_uint_eq(report.n_refused, 2);
	ck_assert_ptr_nonnull(strstr(report.first_refused, "gone"));
	ck_assert_uint_eq(config->defaults.dead_after, 5);
}
END_TEST

START_TEST(nothing_saved_is_nothing_to_apply)
{
	struct state_report report;

	ck_assert_int_eq(state_file_apply(path, &config, file, &report, &err), 0);
	ck_assert_uint_eq(report.n_applied + report.n_refused, 0);
	ck_assert_uint_eq(n_differences(file, config), 0);
}
END_TEST

START_TEST(a_saved_file_is_replaced_as_a_whole)
{
	struct stat st;
	char new_path[80];

	ck_assert_int_eq(state_file_write(path, "one\n", &err), 0);
	ck_assert_int_eq(state_file_write(path, "two two\n", &err), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 8);
	ck_assert_uint_eq(st.st_mode & 07, 0);
	snprintf(new_path, sizeof(new_path), "%s.new", path);
	ck_assert_int_lt(access(new_path, F_OK), 0);
	ck_assert_int_eq(state_file_write("/nowhere/x", "", &err), -ENOENT);
}
END_TEST

START_TEST(a_refused_statement_changes_nothing)
{
	assert_refused("DROP SERVICE wbe", "there is no service \"wbe\"");
	assert_refused("ALTER SERVICE web.1 ADD MIRROR m1 '10.0.0.9'",
		"name = \"m1\": service \"web.1\" has a mirror of this name");
	assert_refused("ALTER SERVICE web.1 ADD MIRROR m9 '192.0.2.1'",
		"address = \"192.0.2.1\": service \"web.1\" listens there, so that packets would "
		"go in a circle");
	assert_refused("SET MIRROR web.1.m1 WEIGHT = 0",
		"weight = 0: expected a whole number from 1 to 1000");
	assert_refused("SET MIRROR web.1.m1 STATE = active WITHIN 5s",
		"WITHIN and UNTIL are for STATE = drain only");
	assert_refused("SET MIRROR web.1.m1 STATE = maintenance UNTIL '2000-01-01T00:00:00Z'",
		"WITHIN and UNTIL are for STATE = drain only");
	assert_refused("SET MIRROR web.1.m1 STATE = drain WITHIN 5s UNTIL '2026-11-30T04:30:00Z'",
		"WITHIN or UNTIL, not both");
	assert_refused("SET MIRROR web.1.m1 STATE = drain UNTIL 12:00",
		"UNTIL 12:00: expected a time in UTC such as 2026-11-30T04:30:00Z");
	assert_refused("SET MIRROR m1 STATE = drain",
		"found \"m1\", expected service.mirror, such as web.m1");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS ('10.0.0.1'",
		"found \"the end of the statement\", expected , or )");
	ck_assert_int_lt(run("SHOW SERVICES"), 0);
	ck_assert_uint_eq(n_differences(file, config), 0);
}
END_TEST

/* A statement that takes a setting, from the file's configuration: typed, and as a saved line. */
static int
run_afresh(const char *statement)
{
	struct config *again = config_copy(file);
	struct state_report report;
	struct err of_file;
	FILE *out = fopen(path, "we"); /* hundreds of lines: no time to sync each */
	int rc;

	ck_assert_ptr_nonnull(out);
	fprintf(out, "%s;\n", statement);
	fclose(out);
	config_free(config);
	config = config_copy(file);
	err.sentence[0] = '\0';
	rc = run(statement);
	ck_assert_int_eq(state_file_apply(path, &again, file, &report, &of_file), 0);
	ck_assert_uint_eq(report.n_refused, rc < 0);
	ck_assert_uint_eq(n_differences(config, again), 0);
	config_free(again);
	ck_assert_msg(rc == 0 || err.sentence[0] != '\0', "%s", statement);
	return rc;
}

START_TEST(every_key_of_the_table_is_taken_or_refused_with_a_sentence)
{
	static const char *const forms[] = {
		"SET SERVICE web.1 %s = '%s'",
		"SET GLOBAL %s = '%s'",
		"ALTER SERVICE web.1 DEFAULT %s",
		"CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS ('10.0.0.9') %s = '%s'",
		"SET MIRROR web.1.m1 %s = '%s'",
		"RESET SERVICE %s",
	};
	char statement[300];

	for (const struct setting *s = settings; s->name != NULL; s++) {
		const struct setting *same = setting_find(SETTING_SCOPE_SERVICE, s->name);
		bool is_possible = same != NULL && same->type != SETTING_LATER;

		for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
			snprintf(statement, sizeof(statement), forms[i], s->name,
				is_possible ? same->default_text : "1");
			int rc = run_afresh(statement);

			if (i < 4)
				ck_assert_msg((rc == 0) == is_possible, "%s: %s", statement,
					err.sentence);
			if (i < 4 && same != NULL && !is_possible)
				ck_assert_msg(strstr(err.sentence, "not available in this version"),
					"%s: %s", statement, err.sentence);
		}
	}
}
END_TEST

START_TEST(what_a_setting_cannot_do_is_said_with_what_can)
{
	assert_refused("ALTER SERVICE web.1 DEFAULT load_balancing",
		"load_balancing is not available in this version");
	assert_refused("ALTER SERVICE web.1 DEFAULT ping_password",
		"ping_password: a password does not stand in this file; ping_password_file will "
		"name a file, but is not available in this version");
	assert_refused("ALTER SERVICE web.1 DEFAULT listen",
		"listen is changed by ALTER SERVICE ... LISTEN");
	assert_refused("SET SERVICE web.1 listen = '192.0.2.1:81/tcp'",
		"listen is changed by ALTER SERVICE ... LISTEN");
	assert_refused("SET SERVICE web.1 mirrors = 'm1'",
		"mirrors are changed by ALTER SERVICE ... ADD MIRROR and DROP MIRROR");
	assert_refused("SET GLOBAL name = 'x'",
		"a service keeps its name; CREATE SERVICE makes one of another name");
	assert_refused("ALTER SERVICE web.1 DEFAULT dead_afer",
		"no setting of a service is called \"dead_afer\", did you mean dead_after?");
}
END_TEST

START_TEST(the_last_mirror_goes_only_with_its_service)
{
	assert_done("ALTER SERVICE web.1 DROP MIRROR m1");
	assert_refused("ALTER SERVICE web.1 DROP MIRROR m2",
		"m2 is the last mirror of web.1; DROP SERVICE web.1 drops both");
	assert_done("DROP SERVICE web.1");
	ck_assert_uint_eq(config->n_services, 0);
}
END_TEST

START_TEST(a_reset_service_is_as_in_the_file_whatever_was_done_to_it)
{
	assert_done("SET SERVICE web.1 dead_after = 9");
	assert_done("SET MIRROR web.1.m2 STATE = drain");
	assert_done("RESET SERVICE web.1");
	ck_assert_uint_eq(n_differences(file, config), 0);
	assert_done("DROP SERVICE web.1");
	assert_done("RESET SERVICE web.1");
	ck_assert_uint_eq(n_differences(file, config), 0);
}
END_TEST

/* Counters such as ag_0_hostname are numbered in the order of services. */
START_TEST(a_reset_service_keeps_its_place)
{
	assert_done("CREATE SERVICE s LISTEN '192.0.2.2:80/tcp' MIRRORS ('10.0.0.1')");
	assert_done("ALTER SERVICE web.1 DROP MIRROR m1");
	assert_done("RESET SERVICE web.1");
	ck_assert_str_eq(config->services[0].name, "web.1");
	ck_assert_uint_eq(config->services[0].n_mirrors, 2);
	assert_refused("RESET SERVICE s",
		"the configuration file has no service \"s\"; DROP SERVICE drops it");
}
END_TEST

START_TEST(an_optional_word_wants_what_belongs_to_it)
{
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS ('10.0.0.1' WEIGHT)",
		"found \")\" after WEIGHT, expected a whole number from 1 to 1000");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' "
		       "MIRRORS (a '10.0.0.1' WEIGHT, '10.0.0.2')",
		"found \",\" after WEIGHT, expected a whole number from 1 to 1000");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS (a '10.0.0.1' WEIGHT",
		"found \"the end of the statement\" after WEIGHT, expected a whole number from 1 "
		"to 1000");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS ('10.0.0.1') dead_after",
		"found \"the end of the statement\", expected setting = 'value'");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp' MIRRORS ('10.0.0.1') "
		       "dead_after = 3,",
		"found \"the end of the statement\", expected setting = 'value'");
	assert_refused("CREATE SERVICE x LISTEN '192.0.2.9:80/tcp', MIRRORS ('10.0.0.1')",
		"LISTEN 'MIRRORS': expected address:port/protocol, such as \"192.0.2.10:80/tcp\"");
	ck_assert_int_lt(run("ALTER SERVICE web.1 ADD MIRROR m9 '10.0.0.9' WEIGHT"), 0);
	ck_assert_int_lt(run("ALTER SERVICE web.1 LISTEN '192.0.2.9:80/tcp',"), 0);
	ck_assert_int_lt(run("SET MIRROR web.1.m1 STATE = drain WITHIN"), 0);
	ck_assert_int_lt(run("SET MIRROR web.1.m1 STATE = drain UNTIL"), 0);
	ck_assert_uint_eq(n_differences(file, config), 0);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		what_is_saved_gives_the_same_after_the_file,
		a_drain_is_saved_with_its_end,
		an_end_of_a_drain_that_the_file_has_is_saved_too,
		a_saved_drain_that_is_over_is_maintenance,
		a_saved_line_that_no_longer_applies_is_left_out,
		nothing_saved_is_nothing_to_apply,
		a_saved_file_is_replaced_as_a_whole,
		a_refused_statement_changes_nothing,
		every_key_of_the_table_is_taken_or_refused_with_a_sentence,
		what_a_setting_cannot_do_is_said_with_what_can,
		the_last_mirror_goes_only_with_its_service,
		a_reset_service_is_as_in_the_file_whatever_was_done_to_it,
		a_reset_service_keeps_its_place,
		an_optional_word_wants_what_belongs_to_it,
		NULL,
	};
	Suite *suite = suite_create("edit");
	TCase *tc = tcase_create("edit");
	SRunner *runner = srunner_create(suite);

	tcase_add_checked_fixture(tc, set_up, tear_down);
	suite_add_tcase(suite, tc);
	for (unsigned i = 0; tests[i] != NULL; i++)
		tcase_add_test(tc, tests[i]);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
