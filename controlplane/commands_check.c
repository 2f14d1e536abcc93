/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CHECK SERVICE: a SYN to each mirror behind each TCP listen, and a ping to each mirror.  Both ends
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
static bool
has_row(const struct checking *c, unsigned index);
static int
ask_more(struct checking *c);
static void
ping_more(struct checking *c);
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

	if (status_find_service(call->status, name) == NULL)
		return command_refuse_service(call, name);
	c = checking_create(call, name);
	if (c == NULL)
		return COMMAND_NOT_NOW;
	rc = ask_more(c);
	if (rc == 0 && c->n_rows > 0) {
		c->has_begun = true;
		ping_more(c);
		if (c->n_told == c->n_rows)
			checking_answer(c); /* nobody could be asked, which is an answer too */
		return COMMAND_LATER;
	}
	if (rc == 0)
		rc = command_refuse(call, COMMAND_WRONG,
			"no mirror of service %s is reached by TCP, so there is nothing to check",
			name);
	else
		rc = asking_refuse(call, rc);
	checking_free(c);
	return rc;
}

static bool
has_tcp(const struct status_service *s)
{
	for (unsigned i = 0; i < s->n_listens; i++)
		if (s->listens[i].protocol == IPPROTO_TCP)
			return true;
	return false;
}

/* What is to be asked about; false: out of memory. */
static bool
fill(struct checking *c)
{
	unsigned n_items = c->service->n_mirrors * c->service->n_listens;

	c->items = calloc(n_items + 1, sizeof(c->items[0]));
	c->pings = calloc(c->service->n_mirrors + 1, sizeof(c->pings[0]));
	if (c->items == NULL || c->pings == NULL)
		return false;
	for (unsigned i = 0; i < n_items; i++) {
		c->items[i] = (struct check_item){.checking = c, .index = i};
		c->n_rows += has_row(c, i);
	}
	for (unsigned i = 0; i < c->service->n_mirrors; i++)
		c->pings[i] = (struct check_ping){.checking = c, .mirror = i};
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
	c->service = status_find_service(c->asking->status, name);
	c->is_by_tcp = has_tcp(c->service);
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

static bool
is_tcp(const struct status_service *s, unsigned index)
{
	return s->listens[index % s->n_listens].protocol == IPPROTO_TCP;
}

/* Where all is UDP, a mirror that can be pinged has one row. */
static bool
has_row(const struct checking *c, unsigned index)
{
	const struct status_service *s = c->service;

	if (c->is_by_tcp)
		return is_tcp(s, index);
	return index % s->n_listens == 0 && s->settings.ping_port != 0 &&
	       s->settings.ping != PING_NONE;
}

/* Tells a mirror's rows as soon as both SYN and ping are over; each once. */
static void
settle(struct check_item *item)
{
	const struct checking *c = item->checking;
	const struct check_ping *ping = &c->pings[item->index / c->service->n_listens];

	if (item->is_over && ping->state != CHECK_PING_WANTED)
		checking_tell(item);
}

/* ---- SYNs ---- */

static void
end_item(struct check_item *item)
{
	item->is_over = true;
	settle(item);
}

static uint32_t
timeout_ms(const struct checking *c)
{
	uint64_t us = (uint64_t)c->service->settings.agent_connect_timeout_ms * KARMALB_MILLISECOND;

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

	m.check.slot = c->service->slots[item->index];
	m.check.timeout_ms = timeout_ms(c);
	if (!is_tcp(c->service, item->index) || m.check.slot == STATUS_SLOT_NONE)
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
	unsigned n_all = c->service->n_mirrors * c->service->n_listens;

	for (; c->next < n_all && c->n_out < AT_A_TIME; c->next++) {
		struct check_item *item = &c->items[c->next];
		int rc;

		if (!has_row(c, c->next))
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
	if (c->n_told == c->n_rows)
		checking_answer(c);
}

/* ---- pings ---- */

static void
end_ping(struct check_ping *ping, enum check_ping_state state)
{
	struct checking *c = ping->checking;
	unsigned n = c->service->n_listens;

	ping->state = state;
	for (unsigned i = ping->mirror * n; i < (ping->mirror + 1) * n; i++)
		settle(&c->items[i]);
}

static void
ping_more(struct checking *c)
{
	const struct status_service *s = c->service;

	for (; c->next_ping < s->n_mirrors && c->n_pings_out < AT_A_TIME; c->next_ping++) {
		struct check_ping *ping = &c->pings[c->next_ping];
		uint64_t now_us = karmalb_now_us();
		int rc = -ETIMEDOUT;

		if (now_us < c->until_us)
			rc = balance_ping(c->asking->commands->balance, s->name,
				s->mirrors[c->next_ping].name, c->until_us - now_us,
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
	if (c->n_told == c->n_rows)
		checking_answer(c);
}
