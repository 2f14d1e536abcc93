/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the data plane's socket decoder.  Datagrams of a control plane, see datagrams.h; one
 * that is refused ends its transaction, as closing the link does.  Of what is put in force the
 * snapshot is built; questions are put to a worker of their own, see asker.h.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "asker.h"
#include "datagrams.h"
#include "err.h"
#include "intent.h"
#include "message_check.h"
#include "tables.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct intent_draft draft;
static struct intent *in_force;
static uint32_t last_epoch;
static struct table_slot slots[KARMALB_SLOTS_MAX];
static uint16_t numbers[KARMALB_SLOTS_MAX];

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static void
check_tables(const struct tables *t, const struct intent *intent)
{
	must(t->n_services == intent->n_services);
	for (unsigned i = 0; i < t->n_services; i++) {
		const struct table_service *s = &t->services[i];

		must(intent_has_listen(intent, &s->listen));
		for (unsigned k = 0; k < s->n_columns; k++) {
			const struct table_alias *a = &t->columns[s->first_column + k];

			must(a->slot < t->n_slots && a->alias < t->n_slots);
		}
	}
}

static void
put_in_force(struct intent *intent, const struct karmalb_address *sources)
{
	struct err err;

	for (unsigned i = 0; i < intent->n_mirrors; i++) {
		numbers[i] = (uint16_t)(intent->n_mirrors - 1 - i);
		slots[numbers[i]] = (struct table_slot){
			.address = intent->mirrors[i].address, .has_next_hop = i % 5 != 4};
	}
	struct table_port port = {.is_up = true};
	struct tables *t = tables_build(
		&(struct tables_parts){
			.intent = intent,
			.mirror_slots = numbers,
			.slots = slots,
			.n_slots = intent->n_mirrors,
			.ports = &port,
			.n_ports = 1,
			.sources = sources,
			.n_sources = 2,
		},
		&err);

	must(t != NULL);
	check_tables(t, intent);
	tables_free(t);
}

static void
commit(const struct karmalb_commit *message, struct err *err)
{
	const struct karmalb_address sources[2] = {
		karmalb_address_from_v4(htonl(0x0a0000f0)), {.bytes = {0x20, 1, [15] = 1}}};
	struct intent *intent;

	if (intent_draft_commit(&draft, message, &intent, err) != 0)
		return;
	must(intent->epoch > last_epoch && intent->n_services <= KARMALB_SERVICES_MAX);
	last_epoch = intent->epoch;
	if (intent_check(intent, sources, 2, err) != 0) {
		intent_free(intent);
		return;
	}
	put_in_force(intent, sources);
	if (in_force != NULL && intent_has_same_mirrors(in_force, intent))
		must(intent_is_part_of(intent, in_force));
	intent_free(in_force);
	in_force = intent;
}

static int
take(void *bytes, size_t size)
{
	const struct karmalb_header *header = bytes;
	struct err err;

	if (message_check(bytes, size, &err) < 0)
		return -1;
	switch (header->message) {
	case KARMALB_MESSAGE_BEGIN:
		return intent_draft_begin(&draft, bytes, last_epoch, &err);
	case KARMALB_MESSAGE_SERVICE:
		return intent_draft_service(&draft, bytes, &err);
	case KARMALB_MESSAGE_MIRROR:
		return intent_draft_mirror(&draft, bytes, &err);
	case KARMALB_MESSAGE_COMMIT:
		commit(bytes, &err);
		break;
	case KARMALB_MESSAGE_LIST_FLOWS:
	case KARMALB_MESSAGE_FIND_FLOW:
	case KARMALB_MESSAGE_RESET_FLOWS:
	case KARMALB_MESSAGE_CHECK_SLOT:
		return asker_ask(bytes);
	}
	return 0;
}

/* As closing the link does. */
static void
leave(void)
{
	intent_draft_abort(&draft);
	asker_leave();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t messages[] = {KARMALB_MESSAGE_HELLO, KARMALB_MESSAGE_BEGIN,
		KARMALB_MESSAGE_SERVICE, KARMALB_MESSAGE_MIRROR, KARMALB_MESSAGE_COMMIT,
		KARMALB_MESSAGE_LIST_FLOWS, KARMALB_MESSAGE_FIND_FLOW, KARMALB_MESSAGE_RESET_FLOWS,
		KARMALB_MESSAGE_CHECK_SLOT};
	static struct datagrams d;

	size_t bytes_size;
	void *bytes;

	d = (struct datagrams){data, size, messages, sizeof(messages) / sizeof(messages[0]), {{0}}};
	last_epoch = 0;
	while ((bytes = datagrams_next(&d, &bytes_size)) != NULL) {
		if (take(bytes, bytes_size) < 0)
			leave();
		free(bytes);
	}
	asker_finish();
	intent_draft_abort(&draft);
	intent_free(in_force);
	in_force = NULL;
	return 0;
}
