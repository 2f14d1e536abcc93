/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model as the messages of one transaction, BEGIN to COMMIT, ready to be sent.  Each listen of
 * a service becomes one SERVICE on the wire.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

/* Messages one after the other, each with its size in its header. */
struct transaction {
	uint32_t epoch;
	size_t size;      /* of 'bytes' */
	uint64_t bytes[]; /* aligned for any message */
};

/* NULL when out of memory.  The caller frees it with free(). */
struct transaction *
transaction_build(const struct model *model, uint32_t epoch);

/* Whether both say the same but for the epoch. */
bool
transaction_equal(const struct transaction *a, const struct transaction *b);
