/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "config.h"
#include "err.h"
#include "settings.h"

static struct err err;
static struct service_settings service;
static struct setting_change change;

static void
reset(void)
{
	memset(&service, 0, sizeof(service));
	settings_set_defaults(SETTING_SCOPE_SERVICE, &service);
}

static bool
set(const char *name, const char *text)
{
	return settings_set(&service, name, text, &change, &err) == 0;
}

START_TEST(defaults_are_those_of_the_table)
{
	reset();
	ck_assert_uint_eq(service.ha_period_karma_s, 60);
	ck_assert_uint_eq(service.ha_ping_interval_ms, 1000);
	ck_assert_uint_eq(service.agent_connect_timeout_ms, 1000);
	ck_assert_uint_eq(service.agent_query_timeout_ms, 3000);
	ck_assert_uint_eq(service.idle_timeout_ms, 3600000);
	ck_assert_uint_eq(service.dead_after, 4);
	ck_assert_uint_eq(service.karma_rule, KARMA_RULE_DAMPED);
	ck_assert_uint_eq(service.ping, PING_TCP);
	ck_assert_uint_eq(service.ping_port, 0);
	ck_assert_double_eq(service.karma_gain, 0.25);
	ck_assert_double_eq(service.karma_forget, 0.1);
	ck_assert_double_eq(service.karma_floor, 0.01);
	ck_assert_uint_eq(service.slow_start_ms, 10000);
	ck_assert_double_eq(service.noerrors_tolerance_pct, 3);
	ck_assert_uint_eq(service.karma_window, KARMA_WINDOW_HALF_FULL);
	ck_assert_double_eq(service.max_avoided_pct, 50);
	ck_assert_double_eq(service.max_dead_pct, 100);
	ck_assert(!service.roundrobin_skip_dead);
}
END_TEST

START_TEST(vectors_c1_and_c2_hold)
{
	static const struct {
		const char *name, *text;
		uint64_t value; /* UINT64_MAX: refused */
	} rows[] = {
		{"ha_ping_interval", "3s", 3000},
		{"ha_ping_interval", "1000", 1000},
		{"ha_ping_interval", "0", 0},
		{"ha_ping_interval", "2m", 120000},
		{"ha_ping_interval", "500us", UINT64_MAX},
		{"ha_period_karma", "2m", 120},
		{"ha_period_karma", "90", 90},
		{"ha_period_karma", "1500ms", 1},
		{"ha_period_karma", "500ms", UINT64_MAX},
		{"ha_period_karma", "0", UINT64_MAX},
		{"agent_connect_timeout", "250", 250},
		{"agent_query_timeout", "3s", 3000},
		{"agent_query_timeout", "0", UINT64_MAX},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct setting *s = setting_find(SETTING_SCOPE_SERVICE, rows[i].name);
		struct service_settings before;
		uint64_t value;

		reset();
		before = service;
		if (rows[i].value == UINT64_MAX) {
			ck_assert_msg(!set(rows[i].name, rows[i].text), "%s", rows[i].text);
			ck_assert_mem_eq(&before, &service, sizeof(service));
			continue;
		}
		ck_assert_msg(set(rows[i].name, rows[i].text), "%s", err.sentence);
		memcpy(&value, (char *)&service + s->offset, sizeof(value));
		ck_assert_uint_eq(value, rows[i].value);
	}
}
END_TEST

START_TEST(a_change_tells_old_and_new_in_normal_text)
{
	reset();
	ck_assert(set("ha_period_karma", "120"));
	ck_assert_str_eq(change.setting->name, "ha_period_karma");
	ck_assert_str_eq(change.old_text, "1m");
	ck_assert_str_eq(change.new_text, "2m");
	ck_assert(change.is_changed);
	ck_assert(set("ha_period_karma", "2m"));
	ck_assert(!change.is_changed);
	ck_assert(set("ha_strategy", "nodeads"));
	ck_assert_str_eq(change.old_text, "random");
	ck_assert_str_eq(change.new_text, "nodeads");
	ck_assert(set("karma_floor", "2 %"));
	ck_assert_str_eq(change.old_text, "1%");
	ck_assert_str_eq(change.new_text, "2%");
	ck_assert(set("karma_gain", "1"));
	ck_assert_double_eq(service.karma_gain, 1);
	ck_assert(set("karma_gain", "auto"));
	ck_assert_double_eq(service.karma_gain, SETTING_WORD);
	ck_assert_str_eq(change.old_text, "1");
	ck_assert_str_eq(change.new_text, "auto");
}
END_TEST

START_TEST(what_is_wrong_is_answered_with_what_is_possible)
{
	static const struct {
		const char *name, *text, *sentence;
	} rows[] = {
		{"ha_strategy", "fastest",
			"ha_strategy = \"fastest\": expected one of \"random\", \"nodeads\", "
			"\"noerrors\", \"roundrobin\""},
		{"ha_strategy", "adaptive",
			"ha_strategy = \"adaptive\" is not available in this version, "
			"expected one of \"random\", \"nodeads\", \"noerrors\", "
			"\"roundrobin\""},
		{"ha_strategy", "",
			"ha_strategy = \"\": expected one of \"random\", \"nodeads\", "
			"\"noerrors\", \"roundrobin\""},
		{"ha_period_karma", "500ms",
			"ha_period_karma = \"500ms\": expected a duration from 1s to 1d "
			"such as \"60s\" (a bare number counts seconds)"},
		{"ha_ping_interval", "5",
			"ha_ping_interval = 5: expected a duration from 10ms to 1h such as "
			"\"1s\" (a bare number counts milliseconds), or 0 (off)"},
		{"dead_after", "0", "dead_after = 0: expected a whole number from 1 to 1000"},
		{"karma_gain", "1.5",
			"karma_gain = 1.5: expected a number from 0 to 1, or \"auto\""},
		{"karma_gain", "-1", "karma_gain = -1: expected a number from 0 to 1, or \"auto\""},
		{"karma_gain", "Auto",
			"karma_gain = \"Auto\": expected a number from 0 to 1, or \"auto\""},
		{"karma_forget", "auto", "karma_forget = \"auto\": expected a number from 0 to 1"},
		{"karma_floor", "60%",
			"karma_floor = \"60%\": expected a share from 0% to 50% such as \"1%\""},
		{"ping", "galera",
			"ping = \"galera\" is not available in this version, "
			"expected one of \"none\", \"tcp\", \"http\", \"sphinxapi\", "
			"\"mysql\""},
		{"ping_port", "65536",
			"ping_port = 65536: expected a whole number from 1 to 65535, "
			"or 0 (the mirror's own port)"},
		{"ha_stratgy", "random",
			"no setting of a service is called \"ha_stratgy\", did you mean "
			"ha_strategy?"},
		{"colour", "red",
			"no setting of a service is called \"colour\", expected one of ha_strategy, "
			"ha_period_karma, karma_rule, karma_gain, karma_forget, karma_floor, "
			"slow_start, noerrors_tolerance_pct, karma_window, max_avoided_pct, "
			"max_dead_pct, roundrobin_skip_dead, "
			"dead_after, agent_connect_timeout, agent_query_timeout, idle_timeout, "
			"udp_idle_timeout, reply_check, udp_answers, ping, ha_ping_interval, "
			"ping_port, ping_path"},
		{"proxy_protocol", "v2", "proxy_protocol is not available in this version"},
		{"mirrors", "m1",
			"mirrors are changed by ALTER SERVICE ... ADD MIRROR and DROP MIRROR"},
		{"weight", "1",
			"no setting of a service is called \"weight\", expected one of ha_strategy, "
			"ha_period_karma, karma_rule, karma_gain, karma_forget, karma_floor, "
			"slow_start, noerrors_tolerance_pct, karma_window, max_avoided_pct, "
			"max_dead_pct, roundrobin_skip_dead, "
			"dead_after, agent_connect_timeout, agent_query_timeout, idle_timeout, "
			"udp_idle_timeout, reply_check, udp_answers, ping, ha_ping_interval, "
			"ping_port, ping_path"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct service_settings before;

		reset();
		before = service;
		ck_assert(!set(rows[i].name, rows[i].text));
		ck_assert_str_eq(err.sentence, rows[i].sentence);
		ck_assert_mem_eq(&before, &service, sizeof(service));
	}
}
END_TEST

START_TEST(a_long_value_is_quoted_in_part)
{
	char longer[1000];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	reset();
	ck_assert(!set("ha_strategy", longer));
	ck_assert_uint_lt(strlen(err.sentence), 200);
	ck_assert_ptr_nonnull(strstr(err.sentence, "xxx...\": expected one of"));
	ck_assert(!set(longer, "1"));
	ck_assert_ptr_nonnull(strstr(err.sentence, "xxx...\", expected one of"));
}
END_TEST

START_TEST(names_are_made_of_few_characters)
{
	const struct setting *name = setting_find(SETTING_SCOPE_MIRROR, "name");
	const struct setting *local = setting_find(SETTING_SCOPE_CONTROLPLANE, "local_name");
	const struct setting *device = setting_find(SETTING_SCOPE_PORT, "device");
	struct config_mirror mirror = {0};
	struct config_controlplane controlplane;
	struct config_port port;
	char longest[KARMALB_NAME_MAX + 1] = "";

	memset(longest, 'a', KARMALB_NAME_MAX - 1);
	ck_assert_int_eq(setting_parse(name, &mirror, "web-1_A.b", &err), 0);
	ck_assert_str_eq(mirror.name, "web-1_A.b");
	ck_assert_int_eq(setting_parse(name, &mirror, longest, &err), 0);
	longest[KARMALB_NAME_MAX - 1] = 'a';
	ck_assert_int_ne(setting_parse(name, &mirror, longest, &err), 0);
	ck_assert_int_ne(setting_parse(name, &mirror, "", &err), 0);
	ck_assert_int_ne(setting_parse(name, &mirror, "a b", &err), 0);
	ck_assert_int_ne(setting_parse(name, &mirror, "a/b", &err), 0);
	ck_assert_int_ne(setting_parse(name, &mirror, "m\xc3\xbcller", &err), 0);
	ck_assert_int_eq(setting_parse(local, &controlplane, "", &err), 0);
	ck_assert_int_eq(setting_parse(device, &port, "net_pcap0,rx_pcap=/tmp/a.pcap", &err), 0);
	ck_assert_int_ne(setting_parse(device, &port, "a\"b", &err), 0);
	ck_assert_int_ne(setting_parse(device, &port, "a b", &err), 0);
}
END_TEST

/* The struct that a scope's offsets lie in; large enough for any of them. */
static union {
	struct config_dataplane dataplane;
	struct config_controlplane controlplane;
	struct config_port port;
	struct config_mirror mirror;
	struct service_settings service;
} base;

START_TEST(every_row_can_be_helped_with)
{
	char text[SETTING_EXPECTED_MAX];

	for (const struct setting *s = settings; s->name != NULL; s++) {
		ck_assert_ptr_eq(setting_find(s->scope, s->name), s);
		if (s->type == SETTING_LATER)
			continue;
		ck_assert_ptr_nonnull(s->help);
		ck_assert_uint_gt(strlen(s->help), 5);
		if (s->scope == SETTING_SCOPE_SERVICE_ONLY)
			ck_assert_ptr_nonnull(s->instead);
		if (s->type == SETTING_CHOICE)
			ck_assert_ptr_nonnull(setting_choice(s, 1));
	}
	ck_assert_str_eq(setting_expected(setting_find(SETTING_SCOPE_DATAPLANE, "huge_pages"), text,
				 sizeof(text)),
		"a size from 16M to 1T such as \"512M\", or 0 (do without)");
}
END_TEST

START_TEST(every_default_reads_back_as_it_is_shown)
{
	char text[SETTING_TEXT_MAX], again[SETTING_TEXT_MAX];
	unsigned n_rows = 0;

	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->default_text == NULL || s->type > SETTING_CPUS)
			continue;
		ck_assert_int_eq(setting_parse(s, &base, s->default_text, &err), 0);
		setting_format(s, &base, text, sizeof(text));
		ck_assert_int_eq(setting_parse(s, &base, text, &err), 0);
		ck_assert_str_eq(setting_format(s, &base, again, sizeof(again)), text);
		n_rows++;
	}
	ck_assert_uint_ge(n_rows, 20);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("settings");
	TCase *tc = tcase_create("settings");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, defaults_are_those_of_the_table);
	tcase_add_test(tc, vectors_c1_and_c2_hold);
	tcase_add_test(tc, a_change_tells_old_and_new_in_normal_text);
	tcase_add_test(tc, what_is_wrong_is_answered_with_what_is_possible);
	tcase_add_test(tc, a_long_value_is_quoted_in_part);
	tcase_add_test(tc, names_are_made_of_few_characters);
	tcase_add_test(tc, every_row_can_be_helped_with);
	tcase_add_test(tc, every_default_reads_back_as_it_is_shown);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
