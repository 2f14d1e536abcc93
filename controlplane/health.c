/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of a mirror and the sentences that say why.  No clock, no I/O. */
#include "health.h"

#include <stdio.h>
#include <string.h>

/* How each kind of failure is told: "1 connect refused", "4 connects refused". */
struct failure_words {
	const char *one, *many;
};
static const struct failure_words failure_words[KARMALB_N_OUTCOMES] = {
	[KARMALB_OUTCOME_QUERY_TIMEOUTS] = {"query unanswered", "queries unanswered"},
	[KARMALB_OUTCOME_CONNECT_TIMEOUTS] = {"connect timed out", "connects timed out"},
	[KARMALB_OUTCOME_CONNECT_FAILURES] = {"connect refused", "connects refused"},
	[KARMALB_OUTCOME_NETWORK_ERRORS] = {"answer cut off by a reset",
		"answers cut off by a reset"},
	[KARMALB_OUTCOME_WRONG_REPLIES] = {"wrong reply", "wrong replies"},
	[KARMALB_OUTCOME_UNEXPECTED_CLOSINGS] = {"connection closed unanswered",
		"connections closed unanswered"},
};

static bool
leave_up(struct health *h, const struct health_evidence *e, const struct health_rule *rule);
static bool
leave_dead(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us);
static bool
leave_trial(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us);

const char *
mirror_state_name(enum mirror_state state)
{
	static const char *const names[N_MIRROR_STATES] = {
		[MIRROR_UP] = "up",
		[MIRROR_TRIAL] = "trial",
		[MIRROR_DEAD] = "dead",
	};

	return names[state];
}

void
health_init(struct health *h, enum mirror_state state, uint64_t now_us)
{
	memset(h, 0, sizeof(*h));
	h->state = state;
	h->since_us = now_us;
}

/* Failed pings in a row that no answered query has overtaken. */
static uint32_t
valid_ping_failures(const struct health_evidence *e)
{
	return e->last_success_us > e->ping_failed_us ? 0 : e->pings_failed;
}

uint32_t
health_failures(const struct health_evidence *e)
{
	uint32_t pings = valid_ping_failures(e);

	return e->errors_in_row > pings ? e->errors_in_row : pings;
}

bool
health_update(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us)
{
	bool is_changed = false;

	switch (h->state) {
	case MIRROR_UP:
		is_changed = leave_up(h, e, rule);
		break;
	case MIRROR_DEAD:
		is_changed = leave_dead(h, e, rule, now_us);
		break;
	case MIRROR_TRIAL:
		is_changed = leave_trial(h, e, rule, now_us);
		break;
	case N_MIRROR_STATES:
		break;
	}
	if (is_changed)
		h->since_us = now_us;
	return is_changed;
}

/* ---- the way out ---- */

static const char *
last_error_name(const struct health_evidence *e)
{
	const char *name =
		e->last_error < KARMALB_N_OUTCOMES ? failure_words[e->last_error].one : NULL;

	return name != NULL ? name : "failure";
}

/* "4 connects refused", "3 queries unanswered, 1 connect timed out" */
static void
tell_row(const struct health_evidence *e, char *text, size_t size)
{
	size_t at = 0;

	for (unsigned i = 0; i < KARMALB_N_OUTCOMES && at < size; i++) {
		const struct failure_words *w = &failure_words[i];

		if (e->row[i] == 0 || w->one == NULL)
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%u %s", at > 0 ? ", " : "",
			e->row[i], e->row[i] == 1 ? w->one : w->many);
	}
	if (at == 0)
		snprintf(text, size, "%u failures in a row, the last: %s", e->errors_in_row,
			last_error_name(e));
}

static void
tell_queries(const struct health_evidence *e, char *text, size_t size)
{
	char row[KARMALB_SENTENCE_MAX / 2] = "";
	uint64_t took_us =
		e->row_ended_us > e->row_began_us ? e->row_ended_us - e->row_began_us : 0;

	tell_row(e, row, sizeof(row));
	if (e->row_began_us == 0 || took_us == 0)
		snprintf(text, size, "%s", row);
	else if (took_us < KARMALB_SECOND)
		snprintf(text, size, "%s in %llu ms", row,
			(unsigned long long)(took_us + 999) / 1000);
	else
		snprintf(text, size, "%s in %.1f s", row, (double)took_us / KARMALB_SECOND);
}

static void
tell_pings(const struct health_evidence *e, char *text, size_t size)
{
	const char *failure = e->ping_failure != NULL ? e->ping_failure : "failed";

	if (e->pings_failed == 1)
		snprintf(text, size, "ping: %s", failure);
	else
		snprintf(text, size, "ping: %s %u times", failure, e->pings_failed);
}

static bool
leave_up(struct health *h, const struct health_evidence *e, const struct health_rule *rule)
{
	bool is_row = e->errors_in_row >= rule->dead_after && !e->is_row_answered &&
		      (rule->trial_us == 0 || e->last_error_us > h->since_us);

	if (!is_row && valid_ping_failures(e) < rule->dead_after)
		return false;
	if (is_row)
		tell_queries(e, h->evidence, sizeof(h->evidence));
	else
		tell_pings(e, h->evidence, sizeof(h->evidence));
	h->state = MIRROR_DEAD;
	return true;
}

/* ---- the way back ---- */

static uint64_t
last_failure_us(const struct health_evidence *e)
{
	return e->last_error_us > e->ping_failed_us ? e->last_error_us : e->ping_failed_us;
}

/* From when on another trial may begin, signs of life provided. */
static uint64_t
wait_end_us(const struct health *h, const struct health_rule *rule)
{
	uint64_t wait_us = rule->wait_us;

	if (h->n_failed_trials == 0)
		return h->since_us;
	for (unsigned i = 1; i < h->n_failed_trials && wait_us < HEALTH_WAIT_MAX_US; i++)
		wait_us *= 2;
	return h->since_us + (wait_us < HEALTH_WAIT_MAX_US ? wait_us : HEALTH_WAIT_MAX_US);
}

static const char *
sign_of_life(const struct health_evidence *e, const struct health_rule *rule, uint64_t now_us)
{
	if (rule->is_pinged && e->ping_answered_us > last_failure_us(e))
		return "answers pings again";
	if (e->last_success_us > last_failure_us(e) && health_failures(e) < rule->dead_after)
		return "answers queries again";
	if (!rule->is_pinged && now_us >= last_failure_us(e) + rule->wait_us)
		return "no failure for one period";
	return NULL;
}

static bool
leave_dead(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us)
{
	const char *sign = sign_of_life(e, rule, now_us);

	if (sign == NULL || now_us < wait_end_us(h, rule))
		return false;
	snprintf(h->evidence, sizeof(h->evidence), "%s", sign);
	h->state = MIRROR_TRIAL;
	return true;
}

static void
pass_trial(struct health *h, const char *why)
{
	snprintf(h->evidence, sizeof(h->evidence), "%s", why);
	h->state = MIRROR_UP;
	h->n_failed_trials = 0;
}

static bool
leave_trial(struct health *h, const struct health_evidence *e, const struct health_rule *rule,
	uint64_t now_us)
{
	char why[KARMALB_SENTENCE_MAX / 2];

	bool is_clear = e->errors_in_row == 0 || e->is_row_answered;

	if (e->last_success_us > h->since_us && is_clear && valid_ping_failures(e) == 0) {
		pass_trial(h, "answered a query");
		return true;
	}
	if (rule->trial_us > 0 && now_us >= h->since_us + rule->trial_us &&
		last_failure_us(e) <= h->since_us) {
		pass_trial(h, "no failure in its trial");
		return true;
	}
	if (e->last_error_us > h->since_us && !is_clear)
		snprintf(why, sizeof(why), "%s", last_error_name(e));
	else if (e->ping_failed_us > h->since_us && e->pings_failed > 0)
		tell_pings(e, why, sizeof(why));
	else
		return false;
	snprintf(h->evidence, sizeof(h->evidence), "failed its trial: %s", why);
	h->state = MIRROR_DEAD;
	h->n_failed_trials++;
	return true;
}

uint64_t
health_wake_us(
	const struct health *h, const struct health_evidence *e, const struct health_rule *rule)
{
	uint64_t sign_us, wait_us;

	if (h->state == MIRROR_TRIAL && rule->trial_us > 0 && last_failure_us(e) <= h->since_us)
		return h->since_us + rule->trial_us;
	if (h->state != MIRROR_DEAD)
		return UINT64_MAX;
	wait_us = wait_end_us(h, rule);
	sign_us = last_failure_us(e) + rule->wait_us;
	if (rule->is_pinged)
		return sign_of_life(e, rule, wait_us) != NULL ? wait_us : UINT64_MAX;
	return wait_us > sign_us ? wait_us : sign_us;
}
