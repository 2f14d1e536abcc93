/* SPDX-License-Identifier: BSD-3-Clause */
/* From the model to the wire. */
#include "transaction.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/wire.h>

#include "model.h"
#include "strategy.h"

static size_t
size_of(const struct model *model)
{
	size_t size = sizeof(struct karmalb_begin) + sizeof(struct karmalb_commit);

	for (unsigned i = 0; i < model->n_services; i++) {
		const struct model_service *s = &model->services[i];

		size += s->n_listens * (sizeof(struct karmalb_service) +
					       s->n_mirrors * sizeof(struct karmalb_mirror));
	}
	return size;
}

/* The place for the next message, zeroed, with its header filled in. */
static void *
add_message(struct transaction *t, enum karmalb_message message)
{
	struct karmalb_header *header = (void *)((uint8_t *)t->bytes + t->size);

	header->message = (uint16_t)message;
	header->version = KARMALB_PROTOCOL_VERSION;
	header->size = karmalb_message_size((uint16_t)message);
	t->size += header->size;
	return header;
}

/* By port, where the file does not say it: those that the protocols are known by. */
static enum karmalb_reply_check
reply_check_of(const struct model_service *s, const struct karmalb_endpoint *listen)
{
	static const enum karmalb_reply_check checks[] = {
		[REPLY_CHECK_NONE] = KARMALB_REPLY_CHECK_NONE,
		[REPLY_CHECK_HTTP] = KARMALB_REPLY_CHECK_HTTP,
		[REPLY_CHECK_SPHINXAPI] = KARMALB_REPLY_CHECK_SPHINXAPI,
		[REPLY_CHECK_MYSQL] = KARMALB_REPLY_CHECK_MYSQL,
	};

	if (s->settings.reply_check != REPLY_CHECK_AUTO)
		return checks[s->settings.reply_check];
	if (listen->protocol != IPPROTO_TCP)
		return KARMALB_REPLY_CHECK_NONE;
	switch (ntohs(listen->port_be)) {
	case 80:
	case 8080:
		return KARMALB_REPLY_CHECK_HTTP;
	case 9312:
		return KARMALB_REPLY_CHECK_SPHINXAPI;
	case 3306:
	case 9306:
		return KARMALB_REPLY_CHECK_MYSQL;
	}
	return KARMALB_REPLY_CHECK_NONE;
}

static void
add_service(struct transaction *t, const struct model_service *s, unsigned listen, uint16_t number)
{
	struct karmalb_service *service = add_message(t, KARMALB_MESSAGE_SERVICE);

	service->listen = s->listens[listen];
	service->service = number;
	service->n_mirrors = (uint16_t)s->n_mirrors;
	service->connect_timeout_ms = (uint32_t)s->settings.agent_connect_timeout_ms;
	service->query_timeout_ms = (uint32_t)s->settings.agent_query_timeout_ms;
	service->idle_timeout_ms = (uint32_t)(s->listens[listen].protocol == IPPROTO_UDP
						      ? s->settings.udp_idle_timeout_ms
						      : s->settings.idle_timeout_ms);
	service->is_one_way =
		s->listens[listen].protocol == IPPROTO_UDP && !s->settings.udp_answers;
	service->reply_check = (uint8_t)reply_check_of(s, &s->listens[listen]);
	service->selector = strategy_at(s->settings.ha_strategy)->selector;
	snprintf(service->name, sizeof(service->name), "%s", s->name);
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		struct karmalb_mirror *mirror = add_message(t, KARMALB_MESSAGE_MIRROR);

		mirror->address = s->mirrors[i].slots[listen].address;
		mirror->service = number;
		mirror->mirror = (uint16_t)i;
		mirror->share = s->mirrors[i].share;
		snprintf(mirror->name, sizeof(mirror->name), "%s", s->mirrors[i].conf.name);
	}
}

struct transaction *
transaction_build(const struct model *model, uint32_t epoch)
{
	size_t size = size_of(model);
	struct transaction *t = calloc(1, sizeof(*t) + size);
	struct karmalb_begin *begin;
	struct karmalb_commit *commit;
	uint16_t n_services = 0;

	if (t == NULL)
		return NULL;
	t->epoch = epoch;
	begin = add_message(t, KARMALB_MESSAGE_BEGIN);
	begin->epoch = epoch;
	for (unsigned i = 0; i < model->n_services; i++) {
		for (unsigned l = 0; l < model->services[i].n_listens; l++)
			add_service(t, &model->services[i], l, n_services++);
	}
	begin->n_services = n_services;
	commit = add_message(t, KARMALB_MESSAGE_COMMIT);
	commit->epoch = epoch;
	assert(t->size == size);
	return t;
}

bool
transaction_equal(const struct transaction *a, const struct transaction *b)
{
	size_t begin = sizeof(struct karmalb_begin), commit = sizeof(struct karmalb_commit);

	return a->size == b->size &&
	       memcmp((const uint8_t *)a->bytes + begin, (const uint8_t *)b->bytes + begin,
		       a->size - begin - commit) == 0;
}
