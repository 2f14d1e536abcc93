/* SPDX-License-Identifier: BSD-3-Clause */
/* The idle rule of pings.  No clock, no I/O. */
#include "ping_schedule.h"

#include <string.h>

void
ping_schedule_init(struct ping_schedule *s, uint64_t interval_us, uint64_t now_us)
{
	memset(s, 0, sizeof(*s));
	s->interval_us = interval_us;
	s->ping_us = now_us;
}

void
ping_schedule_query(struct ping_schedule *s, uint64_t at_us)
{
	if (at_us > s->query_us)
		s->query_us = at_us;
}

uint64_t
ping_schedule_due_us(const struct ping_schedule *s, bool is_dead)
{
	uint64_t last_us = s->ping_us;

	if (s->interval_us == 0 || s->is_running)
		return UINT64_MAX;
	if (!is_dead && s->query_us > last_us)
		last_us = s->query_us;
	return last_us + s->interval_us;
}

void
ping_schedule_begin(struct ping_schedule *s)
{
	s->is_running = true;
}

void
ping_schedule_end(struct ping_schedule *s, uint64_t now_us)
{
	s->is_running = false;
	s->ping_us = now_us;
}
