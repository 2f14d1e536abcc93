/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control loop without I/O: messages go into the model by hand, the clock is moved by hand, and
 * what is announced is looked at.  Periods are 10 s.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <karmalb/clock.h>

#include "model.h"
#include "observe.h"
#include "shares.h"
#include "status.h"
#include "strategy.h"
#include "why.h"

#define S           KARMALB_SECOND
#define MS          KARMALB_MILLISECOND
#define PERIOD_US   (10 * S)
#define N_MIRRORS   4
#define N_LISTENS   2
#define FIRST_BLOCK 1000

static struct config_mirror mirror_confs[N_MIRRORS];
static struct karmalb_endpoint listens[N_LISTENS];
static struct config_service service_conf;
static struct config config;
static struct model *model;
static struct model_service *web;
static uint64_t now_us;
/* What the fake data plane has counted, per mirror and listen. */
static struct karmalb_slot_totals totals[N_MIRRORS][N_LISTENS];

static unsigned
strategy_index(const char *name)
{
	unsigned i = 0;

	while (strcmp(strategies[i].name, name) != 0)
		i++;
	return i;
}

static struct karmalb_endpoint
endpoint(const char *address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(inet_addr(address)),
		.port_be = htons(port),
		.protocol = IPPROTO_TCP,
	};
}

static void
set_up(void)
{
	memset(totals, 0, sizeof(totals));
	now_us = FIRST_BLOCK * PERIOD_US;
	for (unsigned i = 0; i < N_MIRRORS; i++) {
		struct config_mirror *m = &mirror_confs[i];

		*m = (struct config_mirror){.weight = 1, .name = {'m', (char)('1' + i)}};
		m->address = karmalb_address_from_v4(htonl(0x0a000001 + i));
	}
	listens[0] = endpoint("192.0.2.10", 80);
	listens[1] = endpoint("192.0.2.10", 81);
	service_conf = (struct config_service){
		.name = "web",
		.n_listens = 1,
		.n_mirrors = N_MIRRORS,
		.listens = listens,
		.mirrors = mirror_confs,
	};
	settings_set_defaults(SETTING_SCOPE_SERVICE, &service_conf.settings);
	service_conf.settings.ha_strategy = strategy_index("nodeads");
	service_conf.settings.karma_rule = KARMA_RULE_DOCUMENTED;
	service_conf.settings.ha_period_karma_s = PERIOD_US / S;
	config = (struct config){.n_services = 1, .services = &service_conf};
	log_set_level(LOG_LEVEL_ERROR);
}

static void
begin(unsigned n_listens)
{
	service_conf.n_listens = n_listens;
	model = model_create(&config, now_us);
	ck_assert_ptr_nonnull(model);
	web = &model->services[0];
}

static void
tear_down(void)
{
	model_free(model);
	model = NULL;
}

static uint16_t
number_of(unsigned mirror, unsigned listen)
{
	return (uint16_t)(mirror * N_LISTENS + listen + 7);
}

static void
send_slot(unsigned mirror, unsigned listen, bool is_selected, double share)
{
	struct karmalb_slot message = {
		.listen = listens[listen],
		.address = config_mirror_endpoint(&mirror_confs[mirror], &listens[listen]),
		.slot = number_of(mirror, listen),
		.next_hop = KARMALB_NEXT_HOP_RESOLVED,
		.is_selected = is_selected,
		.share = share,
	};

	observe_slot(model, &message);
}

static void
send_totals(unsigned mirror, unsigned listen)
{
	totals[mirror][listen].slot = number_of(mirror, listen);
	totals[mirror][listen].stamp_us = now_us;
	observe_totals(model, &totals[mirror][listen]);
}

/* A data plane that has these shares in force; NULL: it has no snapshot and knows no slot yet. */
static void
connect_to(uint64_t instance, uint32_t epoch, const double *shares)
{
	struct karmalb_welcome welcome = {
		.instance = instance,
		.epoch = epoch,
		.n_workers = 1,
		.n_slots = shares != NULL ? N_MIRRORS * web->n_listens : 0,
	};

	observe_welcome(model, &welcome, now_us);
	for (unsigned i = 0; i < N_MIRRORS && shares != NULL; i++) {
		for (unsigned l = 0; l < web->n_listens; l++) {
			ck_assert(!observe_synced(model, now_us));
			send_slot(i, l, true, shares[i]);
			send_totals(i, l);
		}
	}
	ck_assert(observe_synced(model, now_us));
	for (unsigned i = 0; i < N_MIRRORS && shares == NULL; i++) {
		for (unsigned l = 0; l < web->n_listens; l++)
			send_slot(i, l, true, 1.0 / N_MIRRORS);
	}
}

static void
answer(unsigned mirror, unsigned listen, unsigned n, uint64_t latency_us)
{
	struct karmalb_slot_totals *t = &totals[mirror][listen];

	t->opened += n;
	t->closed += n;
	t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] += n;
	t->query.count += n;
	t->query.sum_us += n * latency_us;
	t->query.histogram[karmalb_histogram_bucket(latency_us)] += n;
	if (latency_us > t->query.max_us)
		t->query.max_us = latency_us;
	t->errors_in_row = 0;
	t->row_began_us = 0;
	t->last_success_us = now_us;
	send_totals(mirror, listen);
}

static void
query_fails(unsigned mirror, unsigned listen, enum karmalb_outcome kind)
{
	struct karmalb_slot_totals *t = &totals[mirror][listen];

	t->outcomes[kind]++;
	t->last_error = (uint8_t)kind;
	t->last_error_us = now_us;
	if (t->errors_in_row++ == 0)
		t->row_began_us = now_us;
	send_totals(mirror, listen);
}

/* The seed's example: 10, 5, 30 and 3 ms. */
static void
answer_like_the_seed(unsigned n)
{
	static const uint64_t latencies_ms[N_MIRRORS] = {10, 5, 30, 3};

	for (unsigned i = 0; i < N_MIRRORS; i++)
		answer(i, 0, n, latencies_ms[i] * MS);
}

/* Moves the clock; returns whether there was a re-weighting. */
static bool
tick_at(uint64_t at_us)
{
	now_us = at_us;
	shares_judge(web, now_us);

	bool is_reweighted = shares_reweight(web, &model->dataplane, now_us);

	shares_spread(web);
	return is_reweighted;
}

static void
assert_shares(const double *expected)
{
	for (unsigned i = 0; i < N_MIRRORS; i++)
		ck_assert_double_eq_tol(web->mirrors[i].share, expected[i], 1e-12);
}

static uint64_t
block_at(unsigned block, uint64_t offset_us)
{
	return (FIRST_BLOCK + block) * PERIOD_US + offset_us;
}

static const double equal[N_MIRRORS] = {0.25, 0.25, 0.25, 0.25};
static const double w1[N_MIRRORS] = {0.15, 0.30, 0.05, 0.50};

/* ---- whole blocks ---- */

START_TEST(the_first_whole_block_brings_the_first_reweighting)
{
	now_us = block_at(0, 4 * S);
	begin(1);
	ck_assert_uint_eq(shares_reweight_due_us(web, &model->dataplane), UINT64_MAX);
	connect_to(1, 0, NULL);
	ck_assert_uint_eq(shares_reweight_due_us(web, &model->dataplane), block_at(2, 0));
	tick_at(block_at(0, 5 * S));
	answer_like_the_seed(100);
	ck_assert(!tick_at(block_at(1, 0)));
	assert_shares(equal);

	now_us = block_at(1, 5 * S);
	answer_like_the_seed(100);
	ck_assert(!tick_at(block_at(1, 9 * S)));
	ck_assert(tick_at(block_at(2, 0)));
	assert_shares(w1);
	ck_assert_uint_eq(web->mirrors[0].step.block, FIRST_BLOCK + 1);
	ck_assert_uint_eq(web->mirrors[0].step.queries, 100);
	ck_assert_double_eq_tol(web->mirrors[0].step.mean_us, 10000, 1e-9);
	ck_assert_double_eq(web->mirrors[0].step.share_before, 0.25);
	ck_assert_double_eq_tol(web->mirrors[0].step.share_after, 0.15, 1e-12);
	ck_assert(!tick_at(block_at(2, 1)));
}
END_TEST

START_TEST(a_late_tick_uses_the_last_block_only)
{
	begin(1);
	connect_to(1, 0, NULL);
	tick_at(block_at(1, 0));
	now_us = block_at(1, 5 * S);
	answer_like_the_seed(100);
	now_us = block_at(2, 5 * S);
	for (unsigned i = 0; i < N_MIRRORS; i++)
		answer(i, 0, 100, 5 * MS);
	ck_assert(tick_at(block_at(3, 5 * S)));
	assert_shares(equal);
	ck_assert_uint_eq(web->mirrors[0].step.block, FIRST_BLOCK + 2);
}
END_TEST

START_TEST(a_block_with_a_gap_in_it_moves_nothing)
{
	begin(1);
	connect_to(1, 0, NULL);
	tick_at(block_at(1, 0));
	now_us = block_at(1, 2 * S);
	answer_like_the_seed(100);
	observe_closed(model, "gone", now_us);
	now_us = block_at(1, 3 * S);
	connect_to(1, 5, equal);
	ck_assert_uint_eq(shares_reweight_due_us(web, &model->dataplane), block_at(3, 0));
	now_us = block_at(1, 8 * S);
	answer_like_the_seed(100);
	ck_assert(!tick_at(block_at(2, 0)));
	assert_shares(equal);
	now_us = block_at(2, 5 * S);
	answer_like_the_seed(100);
	ck_assert(tick_at(block_at(3, 0)));
	assert_shares(w1);
}
END_TEST

START_TEST(without_a_data_plane_nothing_is_reweighted)
{
	begin(1);
	connect_to(1, 0, NULL);
	now_us = block_at(0, 5 * S);
	answer_like_the_seed(100);
	observe_closed(model, "gone", block_at(0, 9 * S));
	ck_assert(!tick_at(block_at(1, 0)));
	assert_shares(equal);
}
END_TEST

START_TEST(a_block_without_answers_is_no_reweighting)
{
	begin(1);
	connect_to(1, 0, NULL);
	for (unsigned i = 1; i < 5; i++)
		ck_assert(!tick_at(block_at(i, 0)));
	ck_assert_uint_eq(web->reweighted_us, 0);
	assert_shares(equal);
}
END_TEST

START_TEST(only_the_first_step_is_without_limit)
{
	service_conf.settings.karma_rule = KARMA_RULE_DAMPED;
	service_conf.settings.karma_gain = 1;
	service_conf.settings.karma_forget = 0;
	service_conf.settings.karma_floor = 0;
	begin(1);
	connect_to(1, 0, NULL);
	now_us = block_at(0, 5 * S);
	for (unsigned i = 0; i < N_MIRRORS; i++)
		answer(i, 0, 100, i == 0 ? 1000 * MS : 10 * MS);
	ck_assert(tick_at(block_at(1, 0)));
	ck_assert_double_eq_tol(web->mirrors[0].share, 0.01 / 3.01, 1e-12);

	now_us = block_at(1, 5 * S);
	for (unsigned i = 0; i < N_MIRRORS; i++)
		answer(i, 0, 100, i == 0 ? 1 * MS : 1000 * MS);
	ck_assert(tick_at(block_at(2, 0)));
	ck_assert_double_eq_tol(web->mirrors[0].share, 8 * 0.01 / 3.01, 1e-12);
}
END_TEST

START_TEST(random_never_reweights)
{
	service_conf.settings.ha_strategy = strategy_index("random");
	begin(1);
	connect_to(1, 0, NULL);
	for (unsigned i = 1; i < 5; i++) {
		answer_like_the_seed(100);
		ck_assert(!tick_at(block_at(i, 0)));
	}
	assert_shares(equal);
	ck_assert_uint_eq(shares_reweight_due_us(web, &model->dataplane), UINT64_MAX);
}
END_TEST

START_TEST(another_period_begins_its_blocks_anew)
{
	struct service_settings longer;

	begin(1);
	connect_to(1, 0, NULL);
	now_us = block_at(0, 5 * S);
	answer_like_the_seed(100);
	ck_assert(tick_at(block_at(1, 0)));
	longer = web->settings;
	longer.ha_period_karma_s = 20;
	model_set_settings(web, &longer, block_at(1, 1 * S));
	assert_shares(w1);
	/* 1000 is even: block 1 lies in the 20 s block that began with block 0 */
	ck_assert_uint_eq(shares_reweight_due_us(web, &model->dataplane), block_at(4, 0));
	now_us = block_at(1, 2 * S);
	answer_like_the_seed(100);
	ck_assert(!tick_at(block_at(2, 0)));
	assert_shares(w1);
}
END_TEST

/* ---- instances ---- */

START_TEST(totals_of_a_new_instance_begin_anew)
{
	struct karma_counts report;

	begin(1);
	connect_to(1, 0, NULL);
	now_us += 1 * S;
	answer(0, 0, 1000, 10 * MS);
	observe_closed(model, "gone", now_us);
	memset(totals, 0, sizeof(totals));
	connect_to(2, 0, NULL);
	now_us += 1 * S;
	answer(0, 0, 3, 10 * MS);
	karma_report(&web->mirrors[0].karma, now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 1003);
	ck_assert_uint_eq(model_opened(web, &web->mirrors[0]), 3);
}
END_TEST

START_TEST(what_happened_while_we_were_away_is_counted_once)
{
	struct karma_counts report;

	begin(1);
	connect_to(1, 0, NULL);
	answer(0, 0, 10, 10 * MS);
	observe_closed(model, "gone", now_us);
	totals[0][0].query.count += 7;
	connect_to(1, 3, equal);
	answer(0, 0, 1, 10 * MS);
	karma_report(&web->mirrors[0].karma, now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 18);
}
END_TEST

START_TEST(what_was_counted_before_we_started_is_no_karma_of_ours)
{
	struct karma_counts report;

	totals[0][0].query.count = 5000;
	totals[0][0].opened = 5000;
	begin(1);
	connect_to(1, 3, equal);
	answer(0, 0, 2, 10 * MS);
	karma_report(&web->mirrors[0].karma, now_us, 15, &report);
	ck_assert_uint_eq(report.query.count, 2);
	ck_assert_uint_eq(model_opened(web, &web->mirrors[0]), 5002);
}
END_TEST

START_TEST(a_slot_number_may_pass_to_another_mirror)
{
	struct karma_counts report;

	begin(1);
	connect_to(1, 0, NULL);
	answer(0, 0, 100, 10 * MS);

	/* mirror 1 gets mirror 0's number, in a new life */
	struct karmalb_slot message = {
		.listen = listens[0],
		.address = config_mirror_endpoint(&mirror_confs[1], &listens[0]),
		.slot = number_of(0, 0),
		.is_selected = 1,
	};
	observe_slot(model, &message);
	memset(&totals[0][0], 0, sizeof(totals[0][0]));
	answer(0, 0, 4, 20 * MS);
	karma_report(&web->mirrors[1].karma, now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 4);
	karma_report(&web->mirrors[0].karma, now_us, 1, &report);
	ck_assert_uint_eq(report.query.count, 100);
	send_totals(1, 0); /* its old number is nobody's */
	ck_assert_uint_eq(model_opened(web, &web->mirrors[1]), 4);
}
END_TEST

/* ---- taking over ---- */

START_TEST(shares_in_force_are_announced_again)
{
	begin(1);
	connect_to(1, 9, w1);
	shares_adopt(model, now_us);
	tick_at(now_us);
	assert_shares(w1);
}
END_TEST

START_TEST(taken_over_shares_go_on_from_where_they_were)
{
	static const double w2[N_MIRRORS] = {0.061643835616438353, 0.24657534246575341,
		0.0068493150684931503, 0.68493150684931503};

	begin(1);
	connect_to(1, 9, w1);
	shares_adopt(model, now_us);
	now_us += 5 * S;
	answer_like_the_seed(100);
	ck_assert(tick_at(block_at(1, 0)));
	assert_shares(w2);
}
END_TEST

START_TEST(a_mirror_without_share_in_force_is_on_trial)
{
	static const double shares[N_MIRRORS] = {0.3, 0.6, 0.1, 0};

	begin(1);
	connect_to(1, 9, shares);
	shares_adopt(model, now_us);
	tick_at(now_us);
	ck_assert_int_eq(web->mirrors[3].health.state, MIRROR_TRIAL);
	ck_assert_double_eq_tol(web->mirrors[3].share, 0.01, 1e-12);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_double_eq_tol(web->mirrors[i].share, shares[i], 0.01);
	now_us += 1 * S;
	answer(3, 0, 1, 5 * MS);
	tick_at(now_us);
	ck_assert_int_eq(web->mirrors[3].health.state, MIRROR_UP);
	ck_assert_double_eq_tol(web->mirrors[3].share, 0.25, 1e-12);
}
END_TEST

START_TEST(a_mirror_found_dead_stays_dead)
{
	static const double shares[N_MIRRORS] = {0.3, 0.6, 0.1, 0};

	totals[3][0].errors_in_row = 17;
	totals[3][0].last_error = KARMALB_OUTCOME_CONNECT_FAILURES;
	totals[3][0].last_error_us = now_us - 5 * S;
	begin(1);
	connect_to(1, 9, shares);
	shares_adopt(model, now_us);
	tick_at(now_us);
	ck_assert_int_eq(web->mirrors[3].health.state, MIRROR_DEAD);
	assert_shares(shares);
}
END_TEST

/* ---- health ---- */

START_TEST(death_moves_shares_at_once_and_the_share_is_kept_for_the_return)
{
	static const double without_m4[N_MIRRORS] = {0.3, 0.6, 0.1, 0};
	char why[KARMALB_SENTENCE_MAX];

	begin(1);
	connect_to(1, 9, w1);
	shares_adopt(model, now_us);
	for (unsigned i = 0; i < 4; i++) {
		tick_at(now_us);
		assert_shares(w1);
		now_us += 3 * MS;
		query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	}
	tick_at(now_us);
	assert_shares(without_m4);
	ck_assert_str_eq(
		why_share(web, &web->mirrors[3], why, sizeof(why)), "4 connects refused in 9 ms");

	now_us += 1 * S;
	observe_ping_answered(&web->mirrors[3], 100, now_us);
	tick_at(now_us);
	ck_assert_int_eq(web->mirrors[3].health.state, MIRROR_TRIAL);
	ck_assert_double_eq_tol(web->mirrors[3].share, 0.01, 1e-12);
	ck_assert_str_eq(why_share(web, &web->mirrors[3], why, sizeof(why)),
		"answers pings again, on trial at 1 %");
	now_us += 1 * S;
	answer(3, 0, 1, 3 * MS);
	tick_at(now_us);
	assert_shares(w1);
}
END_TEST

START_TEST(either_listen_can_kill_a_mirror)
{
	begin(2);
	connect_to(1, 0, NULL);
	for (unsigned i = 0; i < 4; i++) {
		now_us += MS;
		answer(2, 0, 1, 5 * MS);
		query_fails(2, 1, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	}
	tick_at(now_us);
	ck_assert_int_eq(web->mirrors[2].health.state, MIRROR_DEAD);
	ck_assert_double_eq(web->mirrors[2].share, 0);
}
END_TEST

START_TEST(karma_sums_over_listens)
{
	begin(2);
	connect_to(1, 0, NULL);
	now_us = block_at(0, 5 * S);
	for (unsigned i = 0; i < N_MIRRORS; i++) {
		answer(i, 0, 30, 10 * MS);
		answer(i, 1, 10, i == 0 ? 50 * MS : 10 * MS);
	}
	ck_assert(tick_at(block_at(1, 0)));
	ck_assert_uint_eq(web->mirrors[0].step.queries, 40);
	ck_assert_double_eq_tol(web->mirrors[0].step.mean_us, 20000, 1e-9);
	ck_assert_double_eq_tol(web->mirrors[0].share, 1.0 / 7, 1e-12);
}
END_TEST

START_TEST(four_failed_pings_take_an_idle_mirror_out)
{
	char why[KARMALB_SENTENCE_MAX];

	begin(1);
	for (unsigned i = 0; i < 4; i++) {
		now_us += 1 * S;
		observe_ping_failed(&web->mirrors[1], "connection refused", now_us);
		tick_at(now_us);
	}
	ck_assert_double_eq(web->mirrors[1].share, 0);
	ck_assert_str_eq(why_share(web, &web->mirrors[1], why, sizeof(why)),
		"ping: connection refused 4 times");
}
END_TEST

START_TEST(a_dead_mirror_has_no_say_in_the_pool)
{
	begin(1);
	connect_to(1, 9, w1);
	shares_adopt(model, now_us);
	for (unsigned i = 0; i < 4; i++)
		query_fails(3, 0, KARMALB_OUTCOME_CONNECT_FAILURES);
	now_us += 5 * S;
	for (unsigned i = 0; i < 3; i++)
		answer(i, 0, 100, 10 * MS);
	ck_assert(tick_at(block_at(1, 0)));
	ck_assert_double_eq_tol(web->mirrors[1].share, 0.6, 1e-12);
	ck_assert_double_eq(web->mirrors[3].share, 0);
}
END_TEST

/* ---- status ---- */

START_TEST(status_shows_what_was_measured)
{
	char why[KARMALB_SENTENCE_MAX];
	struct status *st;

	begin(1);
	connect_to(1, 0, NULL);
	now_us = block_at(0, 5 * S);
	answer_like_the_seed(100);
	tick_at(block_at(1, 0));
	query_fails(2, 0, KARMALB_OUTCOME_QUERY_TIMEOUTS);
	st = status_take(model, now_us);
	ck_assert_ptr_nonnull(st);

	const struct status_service *s = status_find_service(st, "web");

	ck_assert_ptr_nonnull(s);
	ck_assert_ptr_null(status_find_service(st, "wep"));
	ck_assert_uint_eq(s->period, FIRST_BLOCK + 1);
	ck_assert_uint_eq(s->total, 400);
	ck_assert_uint_eq(s->failed, 1);
	ck_assert_uint_gt(s->reweighted_at_unix_us, 0);
	ck_assert_uint_eq(s->next_reweight_unix_us - s->reweighted_at_unix_us, PERIOD_US);
	ck_assert_uint_eq(s->mirrors[2].errors_in_row, 1);
	ck_assert_uint_eq(s->mirrors[2].n_answers, 100);
	ck_assert_double_eq_tol(s->mirrors[2].answer_mean_us, 30000, 1e-9);
	ck_assert_double_eq_tol(s->mirrors[2].answer_p99_us, 30000, 30000 / 8.0);
	ck_assert(!s->mirrors[2].is_answer_partial);
	ck_assert_uint_eq(
		s->mirrors[2].reports[0].outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES], 100);
	ck_assert_str_eq(s->mirrors[0].why, "10.0 ms against the pool's 7.5 ms median");
	ck_assert_str_eq(s->mirrors[0].why, why_share(web, &web->mirrors[0], why, sizeof(why)));

	/* a copy: what comes later does not reach it */
	answer(2, 0, 1000, 1 * MS);
	ck_assert_uint_eq(s->mirrors[2].life.opened, 100);
	status_free(st);
}
END_TEST

START_TEST(rates_are_over_the_last_seconds)
{
	begin(1);
	connect_to(1, 0, NULL);
	for (unsigned i = 0; i < 100; i++) {
		now_us += 100 * MS;
		answer(0, 0, i < 50 ? 10 : 30, MS);
		model_sample_rates(model, now_us);
	}
	ck_assert_double_eq_tol(model_rate(web, &web->mirrors[0], now_us), 300, 1);
	ck_assert_double_eq(model_rate(web, &web->mirrors[1], now_us), 0);
	for (unsigned i = 0; i < 30; i++) {
		now_us += 100 * MS;
		model_sample_rates(model, now_us);
	}
	ck_assert_double_eq(model_rate(web, &web->mirrors[0], now_us), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shares");
	TCase *tc = tcase_create("loop");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_first_whole_block_brings_the_first_reweighting);
	tcase_add_test(tc, a_late_tick_uses_the_last_block_only);
	tcase_add_test(tc, a_block_with_a_gap_in_it_moves_nothing);
	tcase_add_test(tc, without_a_data_plane_nothing_is_reweighted);
	tcase_add_test(tc, a_block_without_answers_is_no_reweighting);
	tcase_add_test(tc, only_the_first_step_is_without_limit);
	tcase_add_test(tc, random_never_reweights);
	tcase_add_test(tc, another_period_begins_its_blocks_anew);
	tcase_add_test(tc, totals_of_a_new_instance_begin_anew);
	tcase_add_test(tc, what_happened_while_we_were_away_is_counted_once);
	tcase_add_test(tc, what_was_counted_before_we_started_is_no_karma_of_ours);
	tcase_add_test(tc, a_slot_number_may_pass_to_another_mirror);
	tcase_add_test(tc, shares_in_force_are_announced_again);
	tcase_add_test(tc, taken_over_shares_go_on_from_where_they_were);
	tcase_add_test(tc, a_mirror_without_share_in_force_is_on_trial);
	tcase_add_test(tc, a_mirror_found_dead_stays_dead);
	tcase_add_test(tc, death_moves_shares_at_once_and_the_share_is_kept_for_the_return);
	tcase_add_test(tc, either_listen_can_kill_a_mirror);
	tcase_add_test(tc, karma_sums_over_listens);
	tcase_add_test(tc, four_failed_pings_take_an_idle_mirror_out);
	tcase_add_test(tc, a_dead_mirror_has_no_say_in_the_pool);
	tcase_add_test(tc, status_shows_what_was_measured);
	tcase_add_test(tc, rates_are_over_the_last_seconds);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
