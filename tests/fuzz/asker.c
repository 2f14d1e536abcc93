/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions and the book of them; all real but for the link. */
#include "asker.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "craft.h"
#include "instance.h"
#include "link.h"
#include "modes.h"
#include "question.h"
#include "sums.h"
#include "worker.h"

#define ASKED_MAX 2000 /* in one input; more are not asked */
#define CONF      (&(struct modes_conf){.max_flows = 16, .max_half_open = 8})
#define TCP_SYN   2
#define TCP_ACK   16

struct asked {
	union {
		struct karmalb_question any;
		struct karmalb_list_flows list;
		struct karmalb_find_flow find;
		struct karmalb_reset_flows reset;
		struct karmalb_check_slot check;
	} message;
	bool is_open;
	uint64_t n; /* parts of the answer */
};

struct link {
	unsigned room;
};

static struct modes modes;
static struct worker worker;
static struct instance instance;
static struct link link_;
static struct questions *questions; /* NULL: none asked yet */
static struct asked asked[ASKED_MAX];
static unsigned n_asked;

static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* ---- the book ---- */

static bool
is_check(const struct asked *a)
{
	return a->message.any.header.message == KARMALB_MESSAGE_CHECK_SLOT;
}

static unsigned
n_open(bool is_check_meant, unsigned end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < end; i++)
		n += asked[i].is_open && is_check(&asked[i]) == is_check_meant;
	return n;
}

static void
book_flow(struct asked *a, const struct karmalb_flow *m)
{
	const struct karmalb_list_flows *list = &a->message.list;
	const struct karmalb_find_flow *find = &a->message.find;

	must(m->slot < MODES_N_SLOTS && m->worker == 0 && m->state < KARMALB_N_FLOW_STATES);
	must(karmalb_endpoint_equal(&m->listen, &modes.slots[m->slot].listen));
	if (list->header.message == KARMALB_MESSAGE_LIST_FLOWS) {
		must(list->slots[m->slot / 64] >> m->slot % 64 & 1);
		must(a->n < list->limit);
	} else {
		must(find->header.message == KARMALB_MESSAGE_FIND_FLOW && a->n == 0);
		must(karmalb_address_equal(&find->client.address, &m->client.address));
		must(find->client.port_be == m->client.port_be);
		must(karmalb_address_equal(&find->listen.address, &m->listen.address));
		must(find->listen.port_be == m->listen.port_be);
		must(find->listen.protocol == m->listen.protocol);
	}
	a->n++;
}

static void
book_answered(struct asked *a, const struct karmalb_answered *m)
{
	if (m->error != 0)
		must(m->n == 0 && a->n == 0);
	if (m->error == -EBUSY)
		must(n_open(is_check(a), n_asked) > (is_check(a) ? 0 : QUESTIONS_MAX));
	else if (m->error == -ENOENT)
		must(is_check(a));
	else {
		must(m->error == 0);
		must(is_check(a) || n_open(false, m->request) == 0); /* in their order */
		if (a->message.any.header.message != KARMALB_MESSAGE_RESET_FLOWS)
			must(m->n == a->n);
	}
	a->is_open = false;
}

int
link_send(struct link *l, const struct karmalb_header *message, int fd)
{
	const struct karmalb_question *any = (const struct karmalb_question *)message;

	must(fd == -1 && message->version == KARMALB_PROTOCOL_VERSION);
	must(message->size == karmalb_message_size(message->message));
	must(any->request < n_asked && asked[any->request].is_open);
	struct asked *a = &asked[any->request];

	if (l->room == 0)
		return -EAGAIN;
	l->room--;
	switch (message->message) {
	case KARMALB_MESSAGE_FLOW:
		book_flow(a, (const struct karmalb_flow *)message);
		break;
	case KARMALB_MESSAGE_CHECKED:
		must(is_check(a) && a->n++ == 0);
		must(((const struct karmalb_checked *)message)->slot == a->message.check.slot);
		must(((const struct karmalb_checked *)message)->result < KARMALB_N_CHECK_RESULTS);
		break;
	default:
		must(message->message == KARMALB_MESSAGE_ANSWERED);
		book_answered(a, (const struct karmalb_answered *)message);
	}
	return 0;
}

/* ---- the worker and its flows ---- */

static void
put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* A client's packet over IPv4, without payload; returns its size. */
static unsigned
put_packet(uint8_t *frame, uint8_t protocol, unsigned client_port)
{
	const uint8_t addresses[8] = {10, 9, 0, 1, 10, 0, 0, 1};
	unsigned l4_size = protocol == IPPROTO_UDP ? 8 : 20, size = 14 + 20 + l4_size;

	memset(frame, 0, size);
	frame[0] = 2;
	put16(frame + 12, 0x0800);
	frame[14] = 0x45;
	put16(frame + 14 + 2, 20 + l4_size);
	frame[14 + 8] = 64;
	frame[14 + 9] = protocol;
	memcpy(frame + 14 + 12, addresses, sizeof(addresses));
	put16(frame + 34, client_port);
	put16(frame + 36, protocol == IPPROTO_UDP ? 53 : 80);
	if (protocol == IPPROTO_UDP)
		put16(frame + 38, l4_size);
	else {
		frame[34 + 12] = 0x50;
		frame[34 + 13] = TCP_SYN;
	}
	sums_finish(frame, size);
	return size;
}

/* Turns the forwarded SYN into the mirror's answer. */
static void
turn_round(uint8_t *frame, unsigned size)
{
	uint8_t addresses[8], ports[4];

	memcpy(addresses, frame + 26, 8);
	memcpy(frame + 26, addresses + 4, 4);
	memcpy(frame + 30, addresses, 4);
	memcpy(ports, frame + 34, 4);
	memcpy(frame + 34, ports + 2, 2);
	memcpy(frame + 36, ports, 2);
	frame[34 + 11] = 1; /* the SYN had 0 */
	frame[34 + 13] = TCP_SYN | TCP_ACK;
	sums_finish(frame, size);
}

/* Two of UDP, two half-open ones, two whose mirror has answered. */
static void
open_flows(void)
{
	static struct modes_result result;
	uint8_t frame[64];

	for (unsigned i = 0; i < 6; i++) {
		unsigned size = put_packet(frame, i < 2 ? IPPROTO_UDP : IPPROTO_TCP, 2000 + i);

		modes_send(&modes, 0, frame, size, &result);
		must(result.is_sent);
		if (i < 4)
			continue;
		memcpy(frame, result.bytes, size);
		turn_round(frame, size);
		modes_send(&modes, 1, frame, size, &result);
		must(result.is_sent);
	}
}

static void
begin(void)
{
	if (modes.header == NULL)
		modes_open(&modes, CONF);
	modes_restart(&modes);
	modes.now_us = karmalb_now_us(); /* questions are told with the clock's time */
	open_flows();
	memset(&worker.errands, 0, sizeof(worker.errands));
	worker.flows = modes.workers[0].flows;
	modes.workers[0].pipeline.errands = &worker.errands;
	instance.workers = &worker;
	instance.n_workers = 1;
	atomic_store(&instance.snapshots.current, &modes.tables);
	questions = questions_create(&instance, &link_);
	must(questions != NULL);
	n_asked = 0;
}

static bool
run_errands(unsigned room)
{
	static uint8_t places[CRAFT_FRAMES_MAX][CRAFT_SIZE_MAX];
	struct craft_frames out = {.n_max = room};

	for (unsigned i = 0; i < room; i++)
		out.data[i] = places[i];
	bool is_more = pipeline_run_errands(&modes.workers[0].pipeline, &out, modes.now_us);

	modes_take_samples(&modes);
	must(out.n <= room);
	for (unsigned i = 0; i < out.n; i++)
		must(out.ports[i] < 2 && sums_are_right(out.data[i], out.sizes[i]));
	return is_more;
}

/* ---- asking ---- */

/* What goes on after a question. */
static void
go_on(uint32_t wish)
{
	modes_pass(&modes, (wish >> 8 & 255) * KARMALB_MILLISECOND);
	link_.room = wish & 7;
	if (wish >> 4 & 15)
		run_errands((wish >> 4 & 15) - 1);
	if (wish >> 3 & 1)
		questions_step(questions, karmalb_now_us());
}

int
asker_ask(void *message)
{
	struct karmalb_question *any = message;
	uint32_t wish = any->request;
	struct err err;

	if (questions == NULL)
		begin();
	if (n_asked == ASKED_MAX)
		return 0;
	struct asked *a = &asked[n_asked];

	any->request = n_asked++;
	*a = (struct asked){.is_open = true};
	memcpy(&a->message, message, any->header.size);
	int rc = questions_take(questions, &any->header, &err);

	if (rc < 0)
		a->is_open = false;
	else
		go_on(wish);
	return rc;
}

void
asker_leave(void)
{
	if (questions == NULL)
		return;
	questions_forget(questions);
	for (unsigned i = 0; i < n_asked; i++)
		asked[i].is_open = false;
}

void
asker_finish(void)
{
	if (questions == NULL)
		return;
	link_.room = UINT32_MAX;
	/* What was ordered is done, then what was sent has waited for too long. */
	for (unsigned i = 0; i < 2 * QUESTIONS_MAX + 4; i++) {
		unsigned n = 0;

		while (questions_step(questions, 0) == 0)
			must(n++ < 1000);
		while (run_errands(CRAFT_FRAMES_MAX))
			must(n++ < 1000);
		modes.now_us += KARMALB_CHECK_TIMEOUT_MAX_MS * KARMALB_MILLISECOND;
	}
	must(n_open(false, n_asked) == 0 && n_open(true, n_asked) == 0);
	questions_free(questions);
	questions = NULL;
}
