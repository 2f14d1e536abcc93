/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of transactions as they were sent. */
#include "epochs.h"

#include <stdlib.h>

#include <karmalb/wire.h>

#include "transaction.h"

void
epochs_add(struct epochs *e, struct transaction *t)
{
	struct epochs_entry *entry = &e->entries[e->n++ % EPOCHS_MAX];

	free(entry->transaction);
	*entry = (struct epochs_entry){.transaction = t};
}

void
epochs_fini(struct epochs *e)
{
	for (unsigned i = 0; i < EPOCHS_MAX; i++)
		free(e->entries[i].transaction);
	*e = (struct epochs){.n = 0};
}

void
epochs_note(struct epochs *e, uint32_t epoch, uint64_t in_force_us)
{
	for (unsigned i = 0; i < EPOCHS_MAX; i++)
		if (e->entries[i].transaction != NULL && e->entries[i].transaction->epoch == epoch)
			e->entries[i].in_force_us = in_force_us;
}

const struct epochs_entry *
epochs_find(const struct epochs *e, uint32_t epoch)
{
	for (unsigned i = 0; i < EPOCHS_MAX; i++)
		if (e->entries[i].transaction != NULL && e->entries[i].transaction->epoch == epoch)
			return &e->entries[i];
	return NULL;
}

bool
epochs_share(const struct epochs_entry *entry, const struct karmalb_endpoint *listen,
	const struct karmalb_endpoint *address, double *share)
{
	const struct transaction *t = entry->transaction;
	bool is_service = false;

	for (size_t at = 0; at < t->size;) {
		const struct karmalb_header *m = (const void *)((const uint8_t *)t->bytes + at);

		if (m->message == KARMALB_MESSAGE_SERVICE)
			is_service = karmalb_endpoint_equal(
				&((const struct karmalb_service *)m)->listen, listen);
		if (m->message == KARMALB_MESSAGE_MIRROR && is_service &&
			karmalb_endpoint_equal(
				&((const struct karmalb_mirror *)m)->address, address)) {
			*share = ((const struct karmalb_mirror *)m)->share;
			return true;
		}
		at += m->size;
	}
	return false;
}
