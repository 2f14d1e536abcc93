/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An input as a row of datagrams for one of the two socket decoders.  Each has a head of three
 * bytes:
 *
 *   kind      lowest 4 bits: which of the messages.  Bit 7: a datagram of any bytes instead, its
 *             size n_words and as many bytes more as the lowest 3 bits say.  Bit 6: not sent yet
 *   first     the word of 8 bytes of the message's body where ...
 *   n_words   ... the words that follow the head are put
 *
 * A message has its proper header and size, and says what the last one of its kind said (the first:
 * zeros) but for what is put there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/wire.h>

#define DATAGRAMS_IS_RAW  128
#define DATAGRAMS_IS_PART 64
#define DATAGRAMS_KINDS   16

struct datagrams {
	const uint8_t *at;
	size_t left;
	const uint16_t *messages; /* enum karmalb_message */
	unsigned n_messages;      /* at most DATAGRAMS_KINDS */
	uint8_t last[DATAGRAMS_KINDS][KARMALB_MESSAGE_SIZE_MAX];
};

/* A copy in memory of just its size. */
static inline void *
datagrams_copy(const uint8_t *bytes, size_t size)
{
	void *copy = malloc(size > 0 ? size : 1);

	memcpy(copy, bytes, size);
	return copy;
}

/* The next datagram, to be freed; NULL: that was all. */
static inline void *
datagrams_next(struct datagrams *d, size_t *size)
{
	while (d->left >= 3) {
		uint8_t kind = d->at[0];
		size_t offset = (1 + d->at[1]) * 8u, given = d->at[2] * 8u;
		const uint8_t *bytes = d->at + 3;

		if (kind & DATAGRAMS_IS_RAW)
			given += kind & 7;
		if (given > d->left - 3)
			given = d->left - 3;
		d->at += 3 + given;
		d->left -= 3 + given;
		*size = given;
		if (kind & DATAGRAMS_IS_RAW)
			return datagrams_copy(bytes, given);

		unsigned which = kind % DATAGRAMS_KINDS % d->n_messages;
		struct karmalb_header header = {.message = d->messages[which],
			.version = KARMALB_PROTOCOL_VERSION,
			.size = karmalb_message_size(d->messages[which])};

		*size = header.size;
		memcpy(d->last[which], &header, sizeof(header));
		if (offset < *size)
			memcpy(d->last[which] + offset, bytes,
				given < *size - offset ? given : *size - offset);
		if ((kind & DATAGRAMS_IS_PART) == 0)
			return datagrams_copy(d->last[which], *size);
	}
	return NULL;
}
