/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include <check.h>

#include "observe.h"
#include "shares.h"
#include "strategy.h"

struct loop loop;
const double loop_equal[LOOP_N_MIRRORS] = {0.25, 0.25, 0.25, 0.25};
const double loop_w1[LOOP_N_MIRRORS] = {0.15, 0.30, 0.05, 0.50};

unsigned
loop_strategy_index(const char *name)
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

void
loop_set_up(void)
{
	memset(loop.totals, 0, sizeof(loop.totals));
	loop.now_us = LOOP_FIRST_BLOCK * LOOP_PERIOD_US;
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++) {
		struct config_mirror *m = &loop.mirror_confs[i];

		*m = (struct config_mirror){.weight = 1, .name = {'m', (char)('1' + i)}};
		m->address = karmalb_address_from_v4(htonl(0x0a000001 + i));
	}
	loop.listens[0] = endpoint("192.0.2.10", 80);
	loop.listens[1] = endpoint("192.0.2.10", 81);
	loop.service_conf = (struct config_service){
		.name = "web",
		.n_listens = 1,
		.n_mirrors = LOOP_N_MIRRORS,
		.listens = loop.listens,
		.mirrors = loop.mirror_confs,
	};
	settings_set_defaults(SETTING_SCOPE_SERVICE, &loop.service_conf.settings);
	loop.service_conf.settings.ha_strategy = loop_strategy_index("nodeads");
	loop.service_conf.settings.slow_start_ms = 0;
	loop.service_conf.settings.karma_rule = KARMA_RULE_DOCUMENTED;
	loop.service_conf.settings.ha_period_karma_s = LOOP_PERIOD_US / S;
	loop.config = (struct config){.n_services = 1, .services = &loop.service_conf};
	log_set_level(LOG_LEVEL_ERROR);
}

void
loop_begin(unsigned n_listens)
{
	loop.service_conf.n_listens = n_listens;
	loop.model = model_create(&loop.config, loop.now_us);
	ck_assert_ptr_nonnull(loop.model);
	loop.web = &loop.model->services[0];
}

void
loop_tear_down(void)
{
	model_free(loop.model);
	loop.model = NULL;
}

uint16_t
loop_number_of(unsigned mirror, unsigned listen)
{
	return (uint16_t)(mirror * LOOP_N_LISTENS + listen + 7);
}

static void
send_slot(unsigned mirror, unsigned listen, bool is_selected, double share)
{
	struct karmalb_slot message = {
		.listen = loop.listens[listen],
		.address =
			config_mirror_endpoint(&loop.mirror_confs[mirror], &loop.listens[listen]),
		.slot = loop_number_of(mirror, listen),
		.next_hop = KARMALB_NEXT_HOP_RESOLVED,
		.is_selected = is_selected,
		.share = share,
	};

	observe_slot(loop.model, &message);
}

void
loop_send_totals(unsigned mirror, unsigned listen)
{
	loop.totals[mirror][listen].slot = loop_number_of(mirror, listen);
	loop.totals[mirror][listen].stamp_us = loop.now_us;
	observe_totals(loop.model, &loop.totals[mirror][listen]);
}

void
loop_connect_to(uint64_t instance, uint32_t epoch, const double *shares)
{
	struct karmalb_welcome welcome = {
		.instance = instance,
		.epoch = epoch,
		.n_workers = 1,
		.n_slots = shares != NULL ? LOOP_N_MIRRORS * loop.web->n_listens : 0,
	};

	observe_welcome(loop.model, &welcome, loop.now_us);
	for (unsigned i = 0; i < LOOP_N_MIRRORS && shares != NULL; i++) {
		for (unsigned l = 0; l < loop.web->n_listens; l++) {
			ck_assert(!observe_synced(loop.model, loop.now_us));
			send_slot(i, l, true, shares[i]);
			loop_send_totals(i, l);
		}
	}
	ck_assert(observe_synced(loop.model, loop.now_us));
	for (unsigned i = 0; i < LOOP_N_MIRRORS && shares == NULL; i++) {
		for (unsigned l = 0; l < loop.web->n_listens; l++)
			send_slot(i, l, true, 1.0 / LOOP_N_MIRRORS);
	}
}

void
loop_answer(unsigned mirror, unsigned listen, unsigned n, uint64_t latency_us)
{
	struct karmalb_slot_totals *t = &loop.totals[mirror][listen];

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
	t->last_success_us = loop.now_us;
	loop_send_totals(mirror, listen);
}

void
loop_query_fails(unsigned mirror, unsigned listen, enum karmalb_outcome kind)
{
	struct karmalb_slot_totals *t = &loop.totals[mirror][listen];

	t->outcomes[kind]++;
	t->last_error = (uint8_t)kind;
	t->last_error_us = loop.now_us;
	if (t->errors_in_row++ == 0)
		t->row_began_us = loop.now_us;
	loop_send_totals(mirror, listen);
}

void
loop_answer_like_the_seed(unsigned n)
{
	static const uint64_t latencies_ms[LOOP_N_MIRRORS] = {10, 5, 30, 3};

	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		loop_answer(i, 0, n, latencies_ms[i] * MS);
}

bool
loop_decide_at(uint64_t at_us)
{
	loop.now_us = at_us;
	shares_judge(loop.web, loop.now_us);

	bool is_reweighted = shares_reweight(loop.web, &loop.model->dataplane, loop.now_us);

	shares_spread(loop.web, loop.now_us);
	return is_reweighted;
}

bool
loop_tick_at(uint64_t at_us)
{
	bool is_reweighted = loop_decide_at(at_us);

	/* What is due now is done: else the loop would turn without end. */
	ck_assert_uint_gt(shares_wake_us(loop.web, &loop.model->dataplane), loop.now_us);
	return is_reweighted;
}

void
loop_assert_shares(const double *expected)
{
	for (unsigned i = 0; i < LOOP_N_MIRRORS; i++)
		ck_assert_double_eq_tol(loop.web->mirrors[i].share, expected[i], 1e-12);
}

uint64_t
loop_block_at(unsigned block, uint64_t offset_us)
{
	return (LOOP_FIRST_BLOCK + block) * LOOP_PERIOD_US + offset_us;
}
