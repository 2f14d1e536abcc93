/* SPDX-License-Identifier: BSD-3-Clause */
/* The status as SHOW AGENT STATUS words it.  Pure. */
#include "agent_status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "pairs.h"
#include "status.h"
#include "units.h"

#define PREFIX_MAX 64

/* A mirror address with all that is known of it, over all services. */
struct agent {
	const struct karmalb_endpoint *address;
	unsigned references; /* services that have it */
	bool is_pinged;
	uint64_t last_query_us, last_answer_us;
	uint64_t ping_us;
	uint32_t errors_in_row;
	struct karma_counts reports[STATUS_REPORTS];
};

static void
collect(const struct status *status, const struct karmalb_endpoint *address, struct agent *agent);
static const struct karmalb_endpoint *
agent_address(const struct status *status, unsigned i);
static void
add_agent(struct pairs *pairs, const char *prefix, const struct status *status,
	const struct agent *agent);
static void
add_report(struct pairs *pairs, const char *prefix, const struct karma_counts *counts);
static void
add_ours(struct pairs *pairs, const char *prefix, const struct status *status,
	const struct agent *agent);
static void
add_mirror(struct pairs *pairs, const char *prefix, const struct status_mirror *mirror);
static void
format_host(const struct karmalb_endpoint *address, char *text, size_t size);

void
agent_status_all(struct pairs *pairs, const struct status *status)
{
	const struct karmalb_endpoint *address;
	uint64_t period_s =
		status->n_services > 0 ? status->services[0].settings.ha_period_karma_s : 0;

	for (unsigned i = 0; i < status->n_services; i++)
		if (status->services[i].settings.ha_period_karma_s != period_s)
			period_s = 0;
	/* With us the period is the service's. */
	if (period_s > 0)
		pairs_add_count(pairs, "status_", "period_seconds", period_s);
	else
		pairs_add_none(pairs, "status_", "period_seconds");
	pairs_add_count(pairs, "status_", "stored_periods", KARMA_BLOCKS);
	for (unsigned i = 0; (address = agent_address(status, i)) != NULL; i++) {
		char prefix[PREFIX_MAX];
		struct agent agent;

		collect(status, address, &agent);
		snprintf(prefix, sizeof(prefix), "ag_%u_", i);
		add_agent(pairs, prefix, status, &agent);
	}
}

bool
agent_status_one(struct pairs *pairs, const struct status *status, const char *host)
{
	const struct karmalb_endpoint *address;

	for (unsigned i = 0; (address = agent_address(status, i)) != NULL; i++) {
		char text[UNITS_TEXT_MAX];
		struct agent agent;

		format_host(address, text, sizeof(text));
		if (strcmp(text, host) != 0)
			continue;
		collect(status, address, &agent);
		add_agent(pairs, "agent_", status, &agent);
		return true;
	}
	return false;
}

bool
agent_status_host(const struct status *status, unsigned i, char *host, unsigned size)
{
	const struct karmalb_endpoint *address = agent_address(status, i);

	if (address != NULL)
		format_host(address, host, size);
	return address != NULL;
}

/* One mirror alone is no choice, so Manticore calls it an agent, not a mirror. */
void
agent_status_service(struct pairs *pairs, const struct status_service *service)
{
	bool is_ha = service->n_mirrors > 1;

	pairs_add_count(pairs, "dstindex_1_", "is_ha", is_ha);
	for (unsigned i = 0; i < service->n_mirrors; i++) {
		char prefix[PREFIX_MAX] = "dstindex_1agent_";

		if (is_ha)
			snprintf(prefix, sizeof(prefix), "dstindex_1mirror%u_", i + 1);
		add_mirror(pairs, prefix, &service->mirrors[i]);
	}
}

/* We retry nothing, and open no connection with data in its SYN. */
void
agent_status_life(struct pairs *pairs, const struct status *status)
{
	uint64_t opened = 0;

	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *service = &status->services[i];

		for (unsigned j = 0; j < service->n_mirrors; j++) {
			char prefix[PREFIX_MAX + KARMALB_NAME_MAX];

			snprintf(prefix, sizeof(prefix), "ag_%s_1_%u_", service->name, j + 1);
			add_report(pairs, prefix, &service->mirrors[j].life);
			opened += service->mirrors[j].life.opened;
		}
	}
	pairs_add_count(pairs, "agent_", "connect", opened);
	pairs_add_count(pairs, "agent_", "tfo", 0);
	pairs_add_count(pairs, "agent_", "retry", 0);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void
add_latency(struct karma_latency *sum, const struct karma_latency *latency)
{
	sum->count += latency->count;
	sum->sum_us += latency->sum_us;
	sum->max_us = later(sum->max_us, latency->max_us);
}

static void
add_counts(struct karma_counts *sum, const struct karma_counts *counts)
{
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++)
		sum->outcomes[i] += counts->outcomes[i];
	sum->opened += counts->opened;
	add_latency(&sum->connect, &counts->connect);
	add_latency(&sum->query, &counts->query);
}

static void
collect(const struct status *status, const struct karmalb_endpoint *address, struct agent *agent)
{
	*agent = (struct agent){.address = address};
	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *service = &status->services[i];

		for (unsigned j = 0; j < service->n_mirrors; j++) {
			const struct status_mirror *m = &service->mirrors[j];

			if (!karmalb_endpoint_equal(&m->address, address))
				continue;
			agent->references++;
			agent->is_pinged = agent->is_pinged || m->is_pinged;
			agent->last_query_us = later(agent->last_query_us, m->last_query_us);
			agent->last_answer_us = later(agent->last_answer_us, m->last_answer_us);
			agent->ping_us = later(agent->ping_us, m->ping_us);
			if (m->errors_in_row > agent->errors_in_row)
				agent->errors_in_row = m->errors_in_row;
			for (unsigned k = 0; k < STATUS_REPORTS; k++)
				add_counts(&agent->reports[k], &m->reports[k]);
		}
	}
}

/* True if a mirror before that one has the address already. */
static bool
is_known(const struct status *status, unsigned service, unsigned mirror)
{
	const struct karmalb_endpoint *address = &status->services[service].mirrors[mirror].address;

	for (unsigned i = 0; i <= service; i++) {
		const struct status_service *s = &status->services[i];

		for (unsigned j = 0; j < (i == service ? mirror : s->n_mirrors); j++)
			if (karmalb_endpoint_equal(&s->mirrors[j].address, address))
				return true;
	}
	return false;
}

/* The address of agent number 'i'; NULL: there are no more. */
static const struct karmalb_endpoint *
agent_address(const struct status *status, unsigned i)
{
	for (unsigned s = 0; s < status->n_services; s++)
		for (unsigned m = 0; m < status->services[s].n_mirrors; m++)
			if (!is_known(status, s, m) && i-- == 0)
				return &status->services[s].mirrors[m].address;
	return NULL;
}

static void
add_seconds_since(
	struct pairs *pairs, const char *prefix, const char *name, uint64_t now_us, uint64_t at_us)
{
	if (at_us == 0)
		pairs_add_none(pairs, prefix, name);
	else
		pairs_add_number(
			pairs, prefix, name, (double)(now_us - at_us) / (double)KARMALB_SECOND, 2);
}

static void
add_agent(struct pairs *pairs, const char *prefix, const struct status *status,
	const struct agent *agent)
{
	double since_query_us = (double)agent->last_answer_us - (double)agent->last_query_us;
	char host[UNITS_TEXT_MAX];

	format_host(agent->address, host, sizeof(host));
	pairs_add_text(pairs, prefix, "hostname", host);
	pairs_add_count(pairs, prefix, "references", agent->references);
	pairs_add_text(pairs, prefix, "ping", agent->is_pinged ? "yes" : "no");
	/* Clients' own connections are passed on, and addresses are no names. */
	pairs_add_text(pairs, prefix, "has_perspool", "no");
	pairs_add_text(pairs, prefix, "need_resolve", "no");
	add_seconds_since(pairs, prefix, "lastquery", status->now_us, agent->last_query_us);
	add_seconds_since(pairs, prefix, "lastanswer", status->now_us, agent->last_answer_us);
	if (agent->last_answer_us == 0)
		pairs_add_none(pairs, prefix, "lastperiodmsec");
	else
		pairs_add_number(pairs, prefix, "lastperiodmsec", since_query_us / 1000, 3);
	if (agent->ping_us == 0)
		pairs_add_none(pairs, prefix, "pingtripmsec");
	else
		pairs_add_number(pairs, prefix, "pingtripmsec", (double)agent->ping_us / 1000, 3);
	pairs_add_count(pairs, prefix, "errorsarow", agent->errors_in_row);
	for (unsigned i = 0; i < STATUS_REPORTS; i++) {
		char report[PREFIX_MAX + 24];

		snprintf(report, sizeof(report), "%s%uperiods_", prefix, status_report_periods[i]);
		add_report(pairs, report, &agent->reports[i]);
	}
	add_ours(pairs, prefix, status, agent);
}

static void
add_report(struct pairs *pairs, const char *prefix, const struct karma_counts *counts)
{
	for (unsigned i = 0; i < KARMALB_N_OUTCOMES; i++) {
		static const char *const names[] = {
#define X(member, name, help) #name,
			KARMALB_OUTCOMES(X)
#undef X
		};

		/* Between network_errors and wrong_replies.  We build no requests. */
		if (i == KARMALB_OUTCOME_WRONG_REPLIES)
			pairs_add_count(pairs, prefix, "wrong_query", 0);
		pairs_add_count(pairs, prefix, names[i], counts->outcomes[i]);
	}
	if (counts->query.count == 0)
		pairs_add_none(pairs, prefix, "msecsperquery");
	else
		pairs_add_number(pairs, prefix, "msecsperquery",
			(double)counts->query.sum_us / (double)counts->query.count / 1000, 2);
	pairs_add_count(pairs, prefix, "connect_count", counts->connect.count);
	pairs_add_count(pairs, prefix, "connect_avg",
		counts->connect.count > 0 ? counts->connect.sum_us / counts->connect.count : 0);
	pairs_add_count(pairs, prefix, "connect_max", counts->connect.max_us);
}

/* What Manticore has no words for: per service that has the agent, where it stands there. */
static void
add_ours(struct pairs *pairs, const char *prefix, const struct status *status,
	const struct agent *agent)
{
	for (unsigned i = 0; i < status->n_services; i++) {
		const struct status_service *service = &status->services[i];

		for (unsigned j = 0; j < service->n_mirrors; j++) {
			const struct status_mirror *m = &service->mirrors[j];
			char own[PREFIX_MAX + 2 * KARMALB_NAME_MAX];

			if (!karmalb_endpoint_equal(&m->address, agent->address))
				continue;
			snprintf(own, sizeof(own), "%s%s_%s_", prefix, service->name, m->name);
			pairs_add_text(pairs, own, "state", status_mirror_state(m));
			pairs_add_number(pairs, own, "share", m->share, 6);
			pairs_add_text(pairs, own, "why", m->why);
		}
	}
}

static void
add_mirror(struct pairs *pairs, const char *prefix, const struct status_mirror *mirror)
{
	char text[UNITS_TEXT_MAX];

	format_host(&mirror->address, text, sizeof(text));
	pairs_add_text(pairs, prefix, "id", text);
	snprintf(text, sizeof(text), "%.2f%%", 100 * mirror->share);
	pairs_add_text(pairs, prefix, "probability_weight", text);
	pairs_add_count(pairs, prefix, "is_blackhole", 0);
	pairs_add_count(pairs, prefix, "is_persistent", 0);
	pairs_add_text(pairs, prefix, "name", mirror->name);
	pairs_add_text(pairs, prefix, "state", status_mirror_state(mirror));
	pairs_add_text(pairs, prefix, "why", mirror->why);
}

static void
format_host(const struct karmalb_endpoint *address, char *text, size_t size)
{
	units_format_host(&address->address, ntohs(address->port_be), text, size);
}
