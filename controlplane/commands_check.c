/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CHECK SERVICE: a SYN to each mirror behind each TCP listen, and a ping to each mirror, of one
 * service or of all.  Both ends
 * are bounded in time, and end also when whoever asked is gone.  Loop's thread.
 */
#include "commands_check.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "balance.h"
#include "commands_call.h"
#include "inquiry.h"
#include "ping.h"
#include "pingers.h"
#include "status.h"

#define AT_A_TIME      32 /* SYNs on their way, and pings likewise */
#define SYN_MAX_US     KARMALB_SECOND
#define CHECK_LIMIT_US (4 * KARMALB_SECOND) /* for all together */

static struct checking *
checking_create(const struct command_call *call, const char *name);
static int
ask_more(struct checking *c);
static void
ping_more(struct checking *c);
static void
end_when_over(struct checking *c);
static void
on_part(void *arg, const struct karmalb_question *part);
static void
on_ping(void *arg, const struct ping_result *result);

int
command_check_service(const struct command_call *call)
{
	const char *name = statement_argument(call->statement, "service");
	struct checking *c;
	int rc;

	if (name != NULL && status_find_service(call->status, name) == NULL)
		return command_refuse_service(call, name);
	c = checking_create(call, name);
	if (c == NULL)
		return COMMAND_NOT_NOW;
	rc = ask_more(c);
	if (rc == 0 && c->n_rows > 0) {
		c->has_begun = true;
		ping_more(c);
		end_when_over(c); /* nobody could be asked, which is an answer too */
		return COMMAND_LATER;
	}
	if (rc == 0)
		rc = command_refuse(call, COMMAND_WRONG,
			"no mirror%s%s is reached by TCP, so there is nothing to check",
			name != NULL ? " of service " : "", name != NULL ? name : "");
	else
		rc = asking_refuse(call, rc);
	checking_free(c);
	return rc;
}

bool
checking_is_by_tcp(const struct status_service *s)
{
	for (unsigned i = 0; i < s->n_listens; i++)
		if (s->listens[i].protocol == IPPROTO_TCP)
			return true;
	return false;
}

static bool
is_tcp(const struct check_item *item)
{
	const struct status_service *s = item->service;

	return s->listens[item->index % s->n_listens].protocol == IPPROTO_TCP;
}

/* Where all is UDP, a mirror that can be pinged has one row. */
bool
checking_has_row(const struct check_item *item)
{
	const struct status_service *s = item->service;

	if (checking_is_by_tcp(s))
		return is_tcp(item);
	return item->index % s->n_listens == 0 && s->settings.ping_port != 0 &&
	       s->settings.ping != PING_NONE;
}

/* What is to be asked about of service 's'; room has been made. */
static void
add_service(struct checking *c, const struct status_service *s)
{
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct check_ping *ping = &c->pings[c->n_pings++];

		*ping = (struct check_ping){
			.checking = c, .service = s, .mirror = i, .items = &c->items[c->n_items]};
		for (unsigned l = 0; l < s->n_listens; l++) {
			struct check_item *item = &c->items[c->n_items++];

			*item = (struct check_item){.checking = c,
				.service = s,
				.ping = ping,
				.index = i * s->n_listens + l};
			c->n_rows += checking_has_row(item);
		}
	}
}

/* False: out of memory. */
static bool
fill(struct checking *c)
{
	const struct status *status = c->asking->status;
	unsigned n_items = 1, n_pings = 1;

	for (unsigned i = 0; i < status->n_services; i++) {
		n_items += status->services[i].n_mirrors * status->services[i].n_listens;
		n_pings += status->services[i].n_mirrors;
	}
	c->items = calloc(n_items, sizeof(c->items[0]));
	c->pings = calloc(n_pings, sizeof(c->pings[0]));
	if (c->items == NULL || c->pings == NULL)
		return false;
	for (unsigned i = 0; i < status->n_services; i++)
		if (c->only == NULL || c->only == &status->services[i])
			add_service(c, &status->services[i]);
	return true;
}

/* NULL when out of memory, and the call is refused. */
static struct checking *
checking_create(const struct command_call *call, const char *name)
{
	struct checking *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		command_refuse(call, COMMAND_NOT_NOW, "out of memory");
		return NULL;
	}
	c->asking = asking_create(call);
	if (c->asking == NULL) {
		free(c);
		return NULL;
	}
	checking_open_table(c);
	c->only = name != NULL ? status_find_service(c->asking->status, name) : NULL;
	c->until_us = karmalb_now_us() + CHECK_LIMIT_US;
	if (fill(c))
		return c;
	checking_free(c);
	command_refuse(call, COMMAND_NOT_NOW, "out of memory");
	return NULL;
}

void
checking_free(struct checking *c)
{
	asking_free(c->asking);
	free(c->items);
	free(c->pings);
	free(c);
}

/* Tells a mirror's rows as soon as both SYN and ping are over; each once. */
static void
settle(struct check_item *item)
{
	if (item->is_over && item->ping->state != CHECK_PING_WANTED)
		checking_tell(item);
}

/* Answers, and 'c' is gone, when all rows are told and nothing that would come back to it is out: a
 * ping may belong to no row. */
static void
end_when_over(struct checking *c)
{
	if (c->n_told == c->n_rows && c->n_out == 0 && c->n_pings_out == 0)
		checking_answer(c);
}

/* ---- SYNs ---- */

static void
end_item(struct check_item *item)
{
	item->is_over = true;
	settle(item);
}

static uint32_t
timeout_ms(const struct status_service *s)
{
	uint64_t us = (uint64_t)s->settings.agent_connect_timeout_ms * KARMALB_MILLISECOND;

	return (uint32_t)((us < SYN_MAX_US ? us : SYN_MAX_US) / KARMALB_MILLISECOND);
}

/* 0: it is on its way; else a negative errno. */
static int
ask(struct check_item *item)
{
	struct checking *c = item->checking;
	uint64_t now_us = karmalb_now_us();
	union {
		struct karmalb_question question;
		struct karmalb_check_slot check;
	} m = {.question.header.message = KARMALB_MESSAGE_CHECK_SLOT};

	m.check.slot = item->service->slots[item->index];
	m.check.timeout_ms = timeout_ms(item->service);
	if (!is_tcp(item) || m.check.slot == STATUS_SLOT_NONE)
		return -EOPNOTSUPP;
	if (now_us >= c->until_us)
		return -ETIMEDOUT;
	return balance_ask(c->asking->commands->balance, &m.question, c->until_us - now_us,
		&(struct inquiry_author){.part = on_part, .arg = item});
}

/* 0; or, before the check has begun, why the first that could be asked was not. */
static int
ask_more(struct checking *c)
{
	for (; c->next < c->n_items && c->n_out < AT_A_TIME; c->next++) {
		struct check_item *item = &c->items[c->next];
		int rc;

		if (!checking_has_row(item))
			continue;
		rc = ask(item);
		if (rc < 0 && rc != -EOPNOTSUPP && !c->has_begun && c->n_out == 0)
			return rc;
		if (rc < 0)
			end_item(item);
		c->n_out += rc == 0;
	}
	return 0;
}

static void
on_part(void *arg, const struct karmalb_question *part)
{
	struct check_item *item = arg;
	struct checking *c = item->checking;

	if (part != NULL && part->header.message == KARMALB_MESSAGE_CHECKED) {
		item->result = *(const struct karmalb_checked *)part;
		item->has_result = true;
		return;
	}
	c->n_out--;
	end_item(item);
	ask_more(c);
	end_when_over(c);
}

/* ---- pings ---- */

static void
end_ping(struct check_ping *ping, enum check_ping_state state)
{
	ping->state = state;
	for (unsigned i = 0; i < ping->service->n_listens; i++)
		settle(&ping->items[i]);
}

static void
ping_more(struct checking *c)
{
	for (; c->next_ping < c->n_pings && c->n_pings_out < AT_A_TIME; c->next_ping++) {
		struct check_ping *ping = &c->pings[c->next_ping];
		const struct status_service *s = ping->service;
		uint64_t now_us = karmalb_now_us();
		int rc = -ETIMEDOUT;

		if (now_us < c->until_us)
			rc = balance_ping(c->asking->commands->balance, s->name,
				s->mirrors[ping->mirror].name, c->until_us - now_us,
				&(struct pinger_author){.told = on_ping, .arg = ping});
		if (rc < 0)
			end_ping(ping, rc == -EOPNOTSUPP ? CHECK_PING_NONE : CHECK_PING_NOT_SENT);
		c->n_pings_out += rc == 0;
	}
}

static void
on_ping(void *arg, const struct ping_result *result)
{
	struct check_ping *ping = arg;
	struct checking *c = ping->checking;
	enum check_ping_state state = CHECK_PING_NOT_SENT;

	if (result != NULL) {
		state = result->is_answered ? CHECK_PING_ANSWERED : CHECK_PING_FAILED;
		ping->took_us = result->took_us;
		snprintf(ping->failure, sizeof(ping->failure), "%s",
			result->is_answered ? "" : result->failure);
	}
	c->n_pings_out--;
	end_ping(ping, state);
	ping_more(c);
	end_when_over(c);
}
