/* SPDX-License-Identifier: BSD-3-Clause */
/* What SAVE CONFIG writes, applied to the file again, is what was in force: whatever chance and
 * people have said between. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "edit.h"
#include "log.h"
#include "plan.h"
#include "saved.h"
#include "state_file.h"
#include "statement.h"
#include "suite.h"

#define ROUNDS     1000
#define STATEMENTS 30

static const char base[] =
	"config_version = 1;\n"
	"dataplane = { ports = ( { name = \"p\"; device = \"af_xdp:eth0\"; } );\n"
	"  sources = [ \"10.255.0.0/28\" ]; };\n"
	"defaults = { ha_strategy = \"nodeads\"; };\n"
	"services = (\n"
	"  { name = \"web\"; listen = [ \"192.0.2.1:80/tcp\" ]; dead_after = 7;\n"
	"    mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; weight = 2; },\n"
	"                { name = \"m2\"; address = \"10.0.0.2\"; } ); },\n"
	"  { name = \"s\"; listen = [ \"192.0.2.2:80/tcp\" ];\n"
	"    mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; } ); } );\n";

static struct err err;
static char path[] = "/tmp/karmalb-saved-XXXXXX";

static const struct config *
load(void)
{
	struct config_errors errors;
	const struct config *config = config_parse("t.conf", base, strlen(base), &errors);

	ck_assert_ptr_nonnull(config);
	log_set_level(LOG_LEVEL_ERROR);
	return config;
}

static int
say(struct config **config, const struct config *file, const char *statement)
{
	const struct edit_base edit_base = {.file = file, .now_unix_us = karmalb_unix_now_us()};

	return edit_text(config, &edit_base, statement, &err);
}

/* All of 'statements', one a line. */
static void
say_all(struct config **config, const struct config *file, const char *statements)
{
	char *text = strdup(statements), *rest = text;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		ck_assert_msg(say(config, file, line) == 0, "%s: %s", line, err.sentence);
	free(text);
}

/* The file with what was saved. */
static struct config *
apply(const struct config *file, const char *text, struct state_report *report)
{
	struct config *config = config_copy(file);
	FILE *out;
	int fd;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	out = fdopen(fd, "w");
	fputs(text, out);
	fclose(out);
	ck_assert_int_eq(state_file_apply(path, &config, file, report, &err), 0);
	unlink(path);
	return config;
}

static void
assert_same(const struct config *a, const struct config *b, const char *saved)
{
	char *text = saved_statements(a, b);

	ck_assert_msg(text[0] == '\0', "saved:\n%sstill to be said:\n%s", saved, text);
	free(text);
}

static void
assert_comes_back(const struct config *file, const struct config *config)
{
	struct state_report report;
	char *saved = saved_statements(file, config);
	struct config *again = apply(file, saved, &report);

	ck_assert_msg(report.n_refused == 0, "saved:\n%sleft out: %s", saved, report.first_refused);
	assert_same(again, config, saved);
	ck_assert_int_eq(config_edit_check(again, &err), 0);
	config_free(again);
	free(saved);
}

/* As if each had been typed, then SAVE CONFIG, then a start. */
static void
assert_comes_back_after(const char *statements)
{
	const struct config *file = load();
	struct config *config = config_copy(file);

	say_all(&config, file, statements);
	assert_comes_back(file, config);
	config_free(config);
	config_free(file);
}

START_TEST(all_mirrors_may_have_been_replaced)
{
	assert_comes_back_after("ALTER SERVICE web ADD MIRROR n1 '10.0.0.9'\n"
				"ALTER SERVICE web DROP MIRROR m1\n"
				"ALTER SERVICE web DROP MIRROR m2");
}
END_TEST

START_TEST(a_mirror_may_be_called_otherwise)
{
	assert_comes_back_after("ALTER SERVICE web DROP MIRROR m1\n"
				"ALTER SERVICE web ADD MIRROR renamed '10.0.0.1' WEIGHT 5\n"
				"SET MIRROR web.renamed STATE = maintenance");
	/* the only one; and names that go round */
	assert_comes_back_after("ALTER SERVICE s ADD MIRROR x '10.0.0.9'\n"
				"ALTER SERVICE s DROP MIRROR m1\n"
				"ALTER SERVICE s ADD MIRROR renamed '10.0.0.1'\n"
				"ALTER SERVICE s DROP MIRROR x");
	assert_comes_back_after("ALTER SERVICE web ADD MIRROR x '10.0.0.9'\n"
				"ALTER SERVICE web DROP MIRROR m1\n"
				"ALTER SERVICE web DROP MIRROR m2\n"
				"ALTER SERVICE web ADD MIRROR m1 '10.0.0.2'\n"
				"SET MIRROR web.m1 STATE = drain\n"
				"ALTER SERVICE web ADD MIRROR m2 '10.0.0.1'\n"
				"ALTER SERVICE web DROP MIRROR x");
}
END_TEST

START_TEST(services_may_have_changed_places)
{
	assert_comes_back_after("ALTER SERVICE web LISTEN '192.0.2.9:80/tcp'\n"
				"ALTER SERVICE s LISTEN '192.0.2.1:80/tcp'\n"
				"ALTER SERVICE web LISTEN '192.0.2.2:80/tcp'");
	/* and one may listen where another was, or have its mirrors where that listened */
	assert_comes_back_after("DROP SERVICE s\n"
				"CREATE SERVICE t LISTEN '192.0.2.2:80/tcp' MIRRORS ('10.0.0.4')\n"
				"ALTER SERVICE t LISTEN '192.0.2.7:80/tcp'\n"
				"ALTER SERVICE web ADD MIRROR m3 '192.0.2.2'");
}
END_TEST

START_TEST(a_value_may_have_quotes_in_it)
{
	assert_comes_back_after("SET SERVICE web ping_path = \"/it's;\"\n"
				"SET GLOBAL ping_path = \"/'\"");
}
END_TEST

/* A statement has only so many words: what was said in many comes back in many. */
START_TEST(a_service_with_much_of_its_own_is_saved_in_statements_that_are_read)
{
	const struct config *file = load();
	struct config *config = config_copy(file);
	char statement[STATEMENT_SIZE_MAX];
	size_t n = (size_t)snprintf(statement, sizeof(statement), "ALTER SERVICE t LISTEN ");

	say_all(&config, file, "CREATE SERVICE t LISTEN '192.0.2.3:80/tcp' MIRRORS ('10.0.0.4')");
	for (unsigned i = 0; i < 60; i++)
		n += (size_t)snprintf(statement + n, sizeof(statement) - n, "%s'192.0.2.4:%u/tcp'",
			i > 0 ? "," : "", 100 + i);
	say_all(&config, file, statement);
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != SETTING_SCOPE_SERVICE || s->type == SETTING_LATER)
			continue;
		snprintf(statement, sizeof(statement), "SET SERVICE t %s = '%s'", s->name,
			s->default_text);
		say_all(&config, file, statement);
	}
	assert_comes_back(file, config);
	config_free(config);
	config_free(file);
}
END_TEST

/* One that chance makes of few names and addresses, so that they meet. */
static void
random_statement(char *text, size_t size, uint64_t *random)
{
	static const char *const services[] = {"web", "s", "a"};
	static const char *const mirrors[] = {"m1", "m2", "n1", "n2"};
	static const char *const states[] = {"active", "drain", "maintenance", "drain WITHIN 5m"};
	const char *service = services[suite_random(random) % 3];
	const char *mirror = mirrors[suite_random(random) % 4];
	unsigned host = 1 + (unsigned)(suite_random(random) % 5);
	unsigned n = 1 + (unsigned)(suite_random(random) % 3);
	const char *port = suite_random(random) % 4 == 0 ? ":81" : "";

	switch (suite_random(random) % 12) {
	case 0:
		snprintf(text, size, "SET GLOBAL dead_after = %u", n);
		return;
	case 1:
		snprintf(text, size, "SET SERVICE %s dead_after = %u", service, n);
		return;
	case 2:
		snprintf(text, size, "ALTER SERVICE %s DEFAULT dead_after", service);
		return;
	case 3:
		snprintf(text, size,
			"CREATE SERVICE %s LISTEN '192.0.2.%u:80/tcp' MIRRORS (%s '10.0.0.%u%s') "
			"dead_after = %u",
			service, host, mirror, 1 + host % n, port, n);
		return;
	case 4:
		snprintf(text, size, "DROP SERVICE %s", service);
		return;
	case 5:
		snprintf(text, size, "ALTER SERVICE %s LISTEN '192.0.2.%u:80/tcp'", service, host);
		return;
	case 6:
		snprintf(text, size, "RESET SERVICE %s", service);
		return;
	case 7:
		snprintf(text, size, "SET MIRROR %s.%s STATE = %s", service, mirror,
			states[suite_random(random) % 4]);
		return;
	case 8:
		snprintf(text, size, "SET MIRROR %s.%s WEIGHT = %u", service, mirror, n);
		return;
	case 9:
		snprintf(text, size, "ALTER SERVICE %s ADD MIRROR %s '192.0.2.%u'", service, mirror,
			host);
		return;
	case 10:
		snprintf(text, size, "ALTER SERVICE %s DROP MIRROR %s", service, mirror);
		return;
	default:
		snprintf(text, size, "ALTER SERVICE %s ADD MIRROR %s '10.0.0.%u%s' WEIGHT %u",
			service, mirror, host, port, n);
	}
}

/* What is refused is left, as when a person types it. */
static unsigned
say_at_random(struct config **config, const struct config *file, uint64_t *random)
{
	char statement[300];
	unsigned n_done = 0;

	for (uint64_t i = suite_random(random) % STATEMENTS; i > 0; i--) {
		random_statement(statement, sizeof(statement), random);
		n_done += say(config, file, statement) == 0;
	}
	return n_done;
}

START_TEST(whatever_was_said_comes_back_after_any_file)
{
	const struct config *start = load();
	uint64_t random = suite_seed();
	unsigned n_done = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct config *file = config_copy(start), *config;

		say_at_random(&file, start, &random);
		config = config_copy(file);
		n_done += say_at_random(&config, file, &random);
		assert_comes_back(file, config);
		config_free(config);
		config_free(file);
	}
	ck_assert_uint_gt(n_done, 4 * ROUNDS);
	config_free(start);
}
END_TEST

/* The file has changed meanwhile: what does not go with it is left out, all else holds. */
START_TEST(what_does_not_fit_the_file_is_left_out_alone)
{
	const struct config *file = load();
	struct state_report report;
	struct config *config = apply(file,
		"ALTER SERVICE web DROP MIRROR m1;\n"
		"ALTER SERVICE web DROP MIRROR m2;\n"
		"ALTER SERVICE s LISTEN '192.0.2.1:80/tcp';\n"
		"SET GLOBAL dead_after = '5';\n"
		"ALTER SERVICE web ADD MIRROR n1 '10.0.0.9';\n",
		&report);

	ck_assert_uint_eq(report.n_applied, 4);
	ck_assert_uint_eq(report.n_refused, 1);
	ck_assert_str_eq(report.first_refused,
		"ALTER SERVICE s LISTEN '192.0.2.1:80/tcp': listen = \"192.0.2.1:80/tcp\": "
		"service \"web\" listens there already");
	ck_assert_int_eq(config_edit_check(config, &err), 0);
	ck_assert_uint_eq(config->defaults.dead_after, 5);
	ck_assert_uint_eq(config->services[0].n_mirrors, 1);
	ck_assert_str_eq(config->services[0].mirrors[0].name, "n1");
	config_free(config);
	config_free(file);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		all_mirrors_may_have_been_replaced,
		a_mirror_may_be_called_otherwise,
		services_may_have_changed_places,
		a_value_may_have_quotes_in_it,
		a_service_with_much_of_its_own_is_saved_in_statements_that_are_read,
		whatever_was_said_comes_back_after_any_file,
		what_does_not_fit_the_file_is_left_out_alone,
		NULL,
	};

	return suite_run("saved", tests);
}
