/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The region that flow.h lays out, as shared memory: a memfd, of huge pages where wanted and to be
 * had, all pages present from the start, so that no worker ever faults.  Control thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"

struct flow_memory {
	struct flow_header *header; /* mapped; begins the region */
	size_t size;                /* mapped bytes */
	int fd;                     /* the memfd, close-on-exec; may be passed on with SCM_RIGHTS */
	bool is_huge;
};

/*
 * Creates and maps the region of 'conf' (its hash_key is not read: the keys are drawn here).
 * With 'wants_huge' 2 MiB pages are tried first.  'promised_size': bytes of ordinary pages that
 * others have been given and have not touched yet, and that must be left.  Returns 0; -EINVAL when
 * 'conf' is out of bounds, -ENOMEM when too little is left, else the negative errno of the plain
 * memfd.
 */
int
flow_memory_create(struct flow_memory *memory, const struct flow_conf *conf, bool wants_huge,
	uint64_t promised_size);

/* Unmaps and closes; the region lives on while another process holds the descriptor. */
void
flow_memory_destroy(struct flow_memory *memory);
