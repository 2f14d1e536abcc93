/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: any bytes as a frame.  What is parsed lies within it, and both parsers agree. */
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "sums.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static void
check_view(const struct packet_view *view, unsigned size)
{
	unsigned end = view->l4_offset + view->l4_size;

	must(end <= size && view->frame_size <= size && end <= view->frame_size);
	must(view->ip_offset < view->l4_offset && view->l4_size >= PACKET_UDP_SIZE);
	if (view->kind & PACKET_IS_ICMP)
		must(view->inner_l4_offset + 8u <= end && view->inner_offset > view->l4_offset);
	else
		must(view->payload_size < view->l4_size);
}

/* In memory of just its size, at an odd address. */
static void
parse(const uint8_t *data, unsigned size)
{
	uint8_t *room = malloc(size + 1), *frame = room + 1;
	struct packet_view view, other;

	memcpy(frame, data, size);
	enum karmalb_worker_counter reason = packet_parse(frame, size, &view);

	must(packet_parse_any(frame, size, &other) == reason);
	if (reason == 0) {
		must(memcmp(&view.key, &other.key, sizeof(view.key)) == 0);
		must(view.l4_offset == other.l4_offset && view.payload_size == other.payload_size);
		check_view(&view, size);
		if ((view.kind & PACKET_IS_ICMP) == 0 && packet_is_checksum_partial(frame, &view)) {
			packet_complete_checksum(frame, &view);
			must(sums_are_right(frame, size));
		}
	}
	free(room);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t finished[9018];

	if (size > sizeof(finished))
		return 0;
	parse(data, (unsigned)size);
	/* And as one whose checksums let it further in. */
	memcpy(finished, data, size);
	sums_finish(finished, (unsigned)size);
	parse(finished, (unsigned)size);
	return 0;
}
