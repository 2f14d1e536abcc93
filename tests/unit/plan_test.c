/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans between configurations that chance has made: whatever they are, the plan leads there. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "plan.h"
#include "suite.h"

#define ROUNDS 400

static const char base[] =
	"config_version = 1;\n"
	"dataplane = { ports = ( { name = \"p\"; device = \"af_xdp:eth0\"; } );\n"
	"  sources = [ \"10.255.0.0/28\" ]; };\n"
	"defaults = { ha_strategy = \"nodeads\"; };\n"
	"services = (\n"
	"  { name = \"web\"; listen = [ \"192.0.2.1:80/tcp\" ]; dead_after = 7;\n"
	"    mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; weight = 2; },\n"
	"                { name = \"m2\"; address = \"10.0.0.2:8080\"; } ); },\n"
	"  { name = \"search\"; listen = [ \"192.0.2.2:9306/tcp\" ];\n"
	"    mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; } ); } );\n";

static struct err err;

static const struct config *
load(const char *text)
{
	struct config_errors errors;
	const struct config *config = config_parse("t.conf", text, strlen(text), &errors);

	if (config == NULL)
		config_errors_print(&errors, stderr);
	ck_assert_ptr_nonnull(config);
	return config;
}

/* The whole plan as text; to be freed. */
static char *
say(const struct plan *plan, bool is_statements)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (is_statements)
		plan_print_statements(plan, out);
	for (unsigned i = 0; !is_statements && i < plan->n_changes; i++) {
		plan_print_change(plan, i, out);
		fputc('\n', out);
	}
	fclose(out);
	return text;
}

static void
assert_says(const struct config *from, const struct config *to, const char *changes,
	const char *statements)
{
	struct plan plan;

	ck_assert_int_eq(plan_make(&plan, from, to), 0);
	char *got = say(&plan, false), *got_statements = say(&plan, true);

	ck_assert_str_eq(got, changes);
	ck_assert_str_eq(got_statements, statements);
	free(got_statements);
	free(got);
	plan_fini(&plan);
}

static struct config_mirror
mirror(const char *name, unsigned host, uint16_t port)
{
	struct config_mirror m = {
		.address = karmalb_address_from_v4(htonl(0x0a000000 + host)),
		.weight = 1 + host % 5,
		.port = port,
	};

	snprintf(m.name, sizeof(m.name), "%s", name);
	return m;
}

static struct karmalb_endpoint
listen_at(unsigned host, uint16_t port)
{
	return (struct karmalb_endpoint){
		karmalb_address_from_v4(htonl(0xc0000200 + host)), htons(port), IPPROTO_TCP};
}

START_TEST(there_is_nothing_to_do_between_a_configuration_and_itself)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);

	assert_says(a, a, "", "");
	assert_says(a, b, "", "");
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(a_copy_outlives_its_original)
{
	const struct config *a = load(base);
	struct config *copy = config_copy(a);
	const struct config *again;

	config_free(a);
	ck_assert_int_eq(config_edit_check(copy, &err), 0);
	again = load(base);
	assert_says(again, copy, "", "");
	config_free(again);
	config_free(copy);
}
END_TEST

START_TEST(each_change_is_told_as_old_and_new)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct karmalb_endpoint listens[2] = {listen_at(1, 80), listen_at(1, 443)};
	struct config_mirror m3 = mirror("m3", 3, 0);
	struct setting_change change;

	ck_assert_int_eq(config_edit_default(b, "ha_strategy", "random", &change, &err), 0);
	ck_assert_int_eq(config_edit_setting(b, "web", "dead_after", "9", &change, &err), 0);
	ck_assert_int_eq(config_edit_listens(b, "web", listens, 2, &err), 0);
	ck_assert_int_eq(config_edit_drop_mirror(b, "web", "m2", &err), 0);
	ck_assert_int_eq(config_edit_add_mirror(b, "web", &m3, &err), 0);
	ck_assert_int_eq(
		config_edit_mirror(b, "web", "m1", &(struct config_value){"state", "drain"}, &err),
		0);
	ck_assert_int_eq(config_edit_drop(b, "search", &err), 0);
	assert_says(a, b,
		"mirror web.m2: dropped (10.0.0.2:8080, weight 1)\n"
		"service search: dropped (listens at 192.0.2.2:9306/tcp; 1 mirror)\n"
		"defaults: ha_strategy nodeads -> random (1 of 1 services have no value of their "
		"own)\n"
		"service web: listen 192.0.2.1:80/tcp -> 192.0.2.1:80/tcp, 192.0.2.1:443/tcp\n"
		"service web: dead_after 7 -> 9\n"
		"mirror web.m1: state active -> drain\n"
		"mirror web.m3: added (10.0.0.3, weight 4)\n",
		"ALTER SERVICE web DROP MIRROR m2;\n"
		"DROP SERVICE search;\n"
		"SET GLOBAL ha_strategy = 'random';\n"
		"ALTER SERVICE web LISTEN '192.0.2.1:80/tcp', '192.0.2.1:443/tcp';\n"
		"SET SERVICE web dead_after = '9';\n"
		"SET MIRROR web.m1 state = 'drain';\n"
		"ALTER SERVICE web ADD MIRROR m3 '10.0.0.3' WEIGHT 4;\n");
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(another_end_of_a_drain_is_a_change)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a), *c;

	ck_assert_int_eq(config_edit_drain(b, "web", "m1", 60 * KARMALB_SECOND, &err), 0);
	assert_says(a, b, "mirror web.m1: state active -> drain until 1970-01-01T00:01:00Z\n",
		"SET MIRROR web.m1 state = 'drain' UNTIL '1970-01-01T00:01:00Z';\n");
	c = config_copy(b);
	ck_assert_int_eq(config_edit_drain(c, "web", "m1", 0, &err), 0);
	assert_says(b, c, "mirror web.m1: state drain until 1970-01-01T00:01:00Z -> drain\n",
		"SET MIRROR web.m1 state = 'drain';\n");
	ck_assert_int_eq(config_edit_mirror(c, "web", "m1",
				 &(struct config_value){"state", "maintenance"}, &err),
		0);
	assert_says(b, c, "mirror web.m1: state drain until 1970-01-01T00:01:00Z -> maintenance\n",
		"SET MIRROR web.m1 state = 'maintenance';\n");
	config_free(c);
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(a_service_keeps_its_own_value_when_the_default_changes)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct setting_change change;

	ck_assert_int_eq(config_edit_default(b, "dead_after", "3", &change, &err), 0);
	ck_assert_uint_eq(b->services[0].settings.dead_after, 7);
	ck_assert_uint_eq(b->services[1].settings.dead_after, 3);
	ck_assert_int_eq(config_edit_inherit(b, "web", "dead_after", &err), 0);
	ck_assert_uint_eq(b->services[0].settings.dead_after, 3);
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(whose_a_value_is_is_told_too)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct setting_change change;

	ck_assert_int_eq(config_edit_setting(b, "search", "dead_after", "4", &change, &err), 0);
	ck_assert(change.is_pinned);
	ck_assert(!change.is_changed);
	assert_says(a, b, "service search: dead_after 4 (the service's own from now on)\n",
		"SET SERVICE search dead_after = '4';\n");
	assert_says(b, a, "service search: dead_after 4 (as in defaults from now on)\n",
		"ALTER SERVICE search DEFAULT dead_after;\n");
	ck_assert_int_eq(config_edit_setting(b, "search", "dead_after", "5", &change, &err), 0);
	ck_assert(!change.is_pinned);
	assert_says(a, b, "service search: dead_after 4 -> 5\n",
		"SET SERVICE search dead_after = '5';\n");
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(a_mirror_called_otherwise_stays_itself)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);

	ck_assert_int_eq(
		config_edit_mirror(b, "web", "m1", &(struct config_value){"name", "m9"}, &err), 0);
	assert_says(a, b, "mirror web.m9: name m1 -> m9\n",
		"ALTER SERVICE web DROP MIRROR m1;\n"
		"ALTER SERVICE web ADD MIRROR m9 '10.0.0.1' WEIGHT 2;\n");
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(what_takes_a_restart_is_told_and_left)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct plan plan;

	b->dataplane.max_flows = 5000;
	b->dataplane.n_sources = 0;
	assert_says(a, b,
		"dataplane: max_flows 1000000 -> 5000 (not in force before karmalb-dataplane is "
		"restarted)\n"
		"dataplane.sources: changed (not in force before karmalb-dataplane is restarted)\n",
		"");
	ck_assert_int_eq(plan_make(&plan, a, b), 0);
	ck_assert_uint_eq(plan.n_restarts, 2);
	plan_fini(&plan);
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(groups_of_people_take_no_restart)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct plan plan;

	strcpy(b->controlplane.admin_group, "ops");
	strcpy(b->controlplane.metrics, "127.0.0.1:9465");
	assert_says(a, b,
		"controlplane: admin_group karmalb-admin -> ops\n"
		"controlplane: metrics 127.0.0.1:9464 -> 127.0.0.1:9465 (not in force before "
		"karmalb-controlplane is restarted)\n",
		"");
	ck_assert_int_eq(plan_make(&plan, a, b), 0);
	ck_assert_uint_eq(plan.n_restarts, 1);
	plan_fini(&plan);
	ck_assert_int_eq(config_edit_programs(b, a), 0);
	ck_assert_str_eq(b->controlplane.admin_group, "ops");
	ck_assert_str_eq(b->controlplane.metrics, a->controlplane.metrics);
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(order_alone_is_no_change)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct config_service *services = (struct config_service *)(uintptr_t)b->services;
	struct config_service first = services[0];

	services[0] = services[1];
	services[1] = first;
	assert_says(a, b, "", "");
	config_free(b);
	config_free(a);
}
END_TEST

START_TEST(a_bad_edit_is_found_when_all_is_seen_together)
{
	const struct config *a = load(base);
	struct config *b = config_copy(a);
	struct karmalb_endpoint taken = listen_at(2, 9306);

	ck_assert_int_eq(config_edit_listens(b, "web", &taken, 1, &err), 0);
	ck_assert_int_eq(config_edit_check(b, &err), -EINVAL);
	ck_assert_str_eq(err.sentence,
		"listen = \"192.0.2.2:9306/tcp\": service \"web\" listens there already");
	ck_assert_int_eq(config_edit_drop_mirror(b, "search", "m1", &err), 0);
	ck_assert_int_eq(config_edit_check(b, &err), -EINVAL);
	ck_assert_int_eq(config_edit_drop(b, "wbe", &err), -ENOENT);
	ck_assert_str_eq(err.sentence, "there is no service \"wbe\"; did you mean web?");
	config_free(b);
	config_free(a);
}
END_TEST

/* One edit that chance chooses; what does not fit is left. */
static void
edit(struct config *c, uint64_t *random)
{
	static const char *const names[] = {"web", "search", "a", "b", "c"};
	static const char *const mirrors[] = {"m1", "m2", "m3", "m4"};
	static const char *const counts[] = {"1", "5", "9"};
	const char *service = names[suite_random(random) % 5];
	const char *m = mirrors[suite_random(random) % 4];
	const char *n = counts[suite_random(random) % 3];
	unsigned host = 1 + (unsigned)(suite_random(random) % 9);
	struct karmalb_endpoint listens[2] = {listen_at(host, 80), listen_at(host, 81)};
	struct config_mirror add = mirror(m, host, host % 2 ? 8080 : 0);
	struct config_service new = {.n_listens = 1 + host % 2, .n_mirrors = 1};
	struct setting_change change;

	switch (suite_random(random) % 10) {
	case 0:
		config_edit_default(c, "dead_after", n, &change, &err);
		return;
	case 1:
		config_edit_setting(c, service, "dead_after", n, &change, &err);
		return;
	case 2:
		config_edit_inherit(c, service, "dead_after", &err);
		return;
	case 3:
		snprintf(new.name, sizeof(new.name), "%s", service);
		settings_set_defaults(SETTING_SCOPE_SERVICE, &new.settings);
		new.listens = listens;
		new.mirrors = &add;
		config_edit_add(c, &new, &err);
		return;
	case 4:
		config_edit_drop(c, service, &err);
		return;
	case 5:
		config_edit_listens(c, service, listens, 1 + host % 2, &err);
		return;
	case 6:
		config_edit_add_mirror(c, service, &add, &err);
		return;
	case 7:
		config_edit_drop_mirror(c, service, m, &err);
		return;
	case 8:
		config_edit_drain(c, service, m, host % 3 * KARMALB_SECOND, &err);
		return;
	default:
		config_edit_mirror(c, service, m, &(struct config_value){"weight", n}, &err);
	}
}

START_TEST(a_plan_applied_to_the_old_gives_the_new)
{
	const struct config *start = load(base);
	uint64_t random = suite_seed();
	unsigned n_tried = 0;

	while (n_tried < ROUNDS) {
		struct config *from = config_copy(start), *to, *got;
		struct plan plan, rest;

		for (unsigned i = suite_random(&random) % 8; i > 0; i--)
			edit(from, &random);
		to = config_copy(from);
		for (unsigned i = suite_random(&random) % 12; i > 0; i--)
			edit(to, &random);
		if (config_edit_check(from, &err) == 0 && config_edit_check(to, &err) == 0) {
			got = config_copy(from);
			ck_assert_int_eq(plan_make(&plan, from, to), 0);
			ck_assert_msg(plan_apply(&plan, got, &err) == 0, "%s", err.sentence);
			ck_assert_int_eq(plan_make(&rest, got, to), 0);
			ck_assert_uint_eq(rest.n_changes, 0);
			ck_assert_uint_eq(got->n_services, to->n_services);
			ck_assert_uint_eq(got->defaults.dead_after, to->defaults.dead_after);
			plan_fini(&rest);
			plan_fini(&plan);
			config_free(got);
			n_tried++;
		}
		config_free(to);
		config_free(from);
	}
	config_free(start);
}
END_TEST

int
main(void)
{
	const TTest *const tests[] = {
		there_is_nothing_to_do_between_a_configuration_and_itself,
		a_copy_outlives_its_original,
		each_change_is_told_as_old_and_new,
		another_end_of_a_drain_is_a_change,
		a_service_keeps_its_own_value_when_the_default_changes,
		whose_a_value_is_is_told_too,
		a_mirror_called_otherwise_stays_itself,
		what_takes_a_restart_is_told_and_left,
		groups_of_people_take_no_restart,
		order_alone_is_no_change,
		a_bad_edit_is_found_when_all_is_seen_together,
		a_plan_applied_to_the_old_gives_the_new,
		NULL,
	};

	return suite_run("plan", tests);
}
