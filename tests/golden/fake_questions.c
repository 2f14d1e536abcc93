/* SPDX-License-Identifier: BSD-3-Clause */
/* The data plane that statements ask, played: three flows, and mirrors of every kind. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "epochs.h"
#include "fake_status.h"
#include "inquiry.h"
#include "local_address.h"
#include "ping.h"
#include "pingers.h"
#include "status.h"
#include "transaction.h"

static struct event_base *loop;
static struct epochs epochs;
bool fake_is_dark;

/* A question on its way. */
struct asked {
	union {
		struct karmalb_question any;
		struct karmalb_list_flows list;
		struct karmalb_find_flow find;
		struct karmalb_reset_flows reset;
		struct karmalb_check_slot check;
	} question;
	struct inquiry_author author;
};

/* Epoch 41: other shares than now. */
static void
add_epoch(void)
{
	static const double shares[] = {0.25, 0.5, 0.125, 0.125};
	size_t size = sizeof(struct karmalb_service) + 4 * sizeof(struct karmalb_mirror);
	struct transaction *t = calloc(1, sizeof(*t) + size);
	struct karmalb_service *service = (struct karmalb_service *)t->bytes;
	struct karmalb_mirror *mirrors = (struct karmalb_mirror *)(service + 1);

	t->epoch = 41;
	t->size = size;
	service->header = (struct karmalb_header){
		KARMALB_MESSAGE_SERVICE, KARMALB_PROTOCOL_VERSION, sizeof(*service)};
	service->listen = fake_endpoint("10.99.0.10", 80);
	for (unsigned i = 0; i < 4; i++) {
		mirrors[i].header = (struct karmalb_header){
			KARMALB_MESSAGE_MIRROR, KARMALB_PROTOCOL_VERSION, sizeof(mirrors[i])};
		mirrors[i].address = fake_status()->services[0].mirrors[i].address;
		mirrors[i].share = shares[i];
	}
	epochs_add(&epochs, t);
	epochs_note(&epochs, 41, fake_status()->now_us - 60 * KARMALB_SECOND);
}

void
fake_questions_open(struct event_base *base)
{
	loop = base;
	add_epoch();
}

void
fake_questions_close(void)
{
	epochs_fini(&epochs);
}

const struct epochs *
fake_epochs(void)
{
	return &epochs;
}

static bool
has_slot(const uint64_t *slots, unsigned slot)
{
	return slots[slot / 64] >> slot % 64 & 1;
}

static struct karmalb_flow
flow(unsigned i)
{
	uint64_t now_us = fake_status()->now_us;
	struct karmalb_flow flows[] = {
		{.slot = 1,
			.epoch = 41,
			.state = KARMALB_FLOW_ESTABLISHED,
			.is_waiting = 1,
			.listen = fake_endpoint("10.99.0.10", 80),
			.address = fake_endpoint("10.99.1.12", 80),
			.client = fake_endpoint("192.0.2.77", 40000),
			.source = fake_endpoint("10.99.0.241", 2044),
			.opened_us = now_us - 5200000,
			.expires_us = now_us + 3594800000},
		{.slot = 0,
			.epoch = 3,
			.state = KARMALB_FLOW_SYN_SENT,
			.worker = 1,
			.listen = fake_endpoint("10.99.0.10", 80),
			.address = fake_endpoint("10.99.1.11", 80),
			.client = fake_endpoint("192.0.2.78", 40001),
			.source = fake_endpoint("10.99.0.242", 33001),
			.opened_us = now_us - 3000},
		/* Of a mirror that is no longer configured. */
		{.slot = 9,
			.epoch = 2,
			.state = KARMALB_FLOW_RESTING,
			.listen = fake_endpoint("192.0.2.10", 9306),
			.address = fake_endpoint("10.99.1.99", 9306),
			.client = fake_endpoint("192.0.2.79", 40002),
			.source = fake_endpoint("10.99.0.243", 1024),
			.opened_us = now_us - 70000000,
			.expires_us = now_us + 900000},
	};

	return flows[i];
}

static void
send_part(const struct asked *a, void *part, uint16_t message)
{
	struct karmalb_question *q = part;

	q->header = (struct karmalb_header){
		message, KARMALB_PROTOCOL_VERSION, karmalb_message_size(message)};
	a->author.part(a->author.arg, part);
}

static uint64_t
send_flows(const struct asked *a)
{
	bool is_list = a->question.any.header.message == KARMALB_MESSAGE_LIST_FLOWS;
	uint64_t n = 0;

	for (unsigned i = 0; i < 3; i++) {
		struct karmalb_flow f = flow(i);

		if (is_list ? !has_slot(a->question.list.slots, f.slot) ||
					n == a->question.list.limit
			    : !karmalb_endpoint_equal(&f.client, &a->question.find.client) ||
					!karmalb_endpoint_equal(
						&f.listen, &a->question.find.listen))
			continue;
		n++;
		send_part(a, &f, KARMALB_MESSAGE_FLOW);
	}
	return n;
}

static void
send_check(const struct asked *a)
{
	static const uint8_t results[] = {KARMALB_CHECK_OPEN, KARMALB_CHECK_REFUSED,
		KARMALB_CHECK_SILENT, KARMALB_CHECK_NO_NEXT_HOP, KARMALB_CHECK_OPEN,
		KARMALB_CHECK_UNREACHABLE, KARMALB_CHECK_NO_PORT};
	uint16_t slot = a->question.check.slot;
	struct karmalb_checked c = {.slot = slot, .result = results[slot]};

	if (fake_is_dark)
		c.result = KARMALB_CHECK_SILENT;

	if (c.result <= KARMALB_CHECK_UNREACHABLE)
		c.source = fake_endpoint("10.99.0.241", (uint16_t)(1031 + slot));
	if (c.result <= KARMALB_CHECK_REFUSED)
		c.took_us = 210u + slot;
	send_part(a, &c, KARMALB_MESSAGE_CHECKED);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	struct asked *a = arg;
	struct karmalb_answered end = {.n = 0};

	(void)fd;
	(void)what;
	switch (a->question.any.header.message) {
	case KARMALB_MESSAGE_CHECK_SLOT:
		send_check(a);
		break;
	case KARMALB_MESSAGE_RESET_FLOWS:
		end.n = has_slot(a->question.reset.slots, 9) ? 3 : 2;
		break;
	default:
		end.n = send_flows(a);
	}
	send_part(a, &end, KARMALB_MESSAGE_ANSWERED);
	free(a);
}

int
fake_ask(const struct karmalb_question *question, const struct inquiry_author *author)
{
	struct timeval delay = {.tv_usec = 4000};
	struct asked *a = calloc(1, sizeof(*a));

	if (a == NULL)
		abort();
	if (!fake_status()->dataplane.is_connected) {
		free(a);
		return -ENOTCONN;
	}
	memcpy(&a->question, question, karmalb_message_size(question->header.message));
	a->author = *author;
	/* Checks are answered in order. */
	if (question->header.message == KARMALB_MESSAGE_CHECK_SLOT)
		delay.tv_usec += 1000 * a->question.check.slot;
	event_base_once(loop, -1, EV_TIMEOUT, on_time, a, &delay);
	return 0;
}

bool
local_address_find(const struct ifaddrs *all, const struct karmalb_address *address,
	char name[LOCAL_ADDRESS_NAME_MAX])
{
	struct karmalb_endpoint vip = fake_endpoint("10.99.0.10", 0);

	(void)all;
	strcpy(name, "eth1");
	return karmalb_address_equal(address, &vip.address);
}

/* ---- pings ---- */

/* One on its way. */
struct pinged {
	struct pinger_author author;
	struct ping_result result;
};

static void
on_ping_time(evutil_socket_t fd, short what, void *arg)
{
	struct pinged *p = arg;

	(void)fd;
	(void)what;
	p->author.told(p->author.arg, &p->result);
	free(p);
}

/* m1 answers, m2 refuses, m3 hangs; nobody else is pinged at all. */
int
fake_ping(const char *mirror, const struct pinger_author *author)
{
	static const struct ping_result results[] = {
		{true, 310, NULL},
		{false, 95, "connection refused"},
		{false, 1000400, "connected, but no answer in 1.0 s"},
	};
	struct timeval delay = {.tv_usec = 2000}; /* before any SYN */
	unsigned i = (unsigned)(mirror[1] - '1');
	struct pinged *p;

	if (mirror[0] != 'm' || i >= sizeof(results) / sizeof(results[0]))
		return -EOPNOTSUPP;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		abort();
	p->author = *author;
	p->result = results[i];
	event_base_once(loop, -1, EV_TIMEOUT, on_ping_time, p, &delay);
	return 0;
}
