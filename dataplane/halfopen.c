/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half-open flows: array of entries, lists by index, hierarchical timer wheel.  Owning worker only.
 *
 * worker->wheel_ms is the last millisecond that is done with.  Lists of level 0 hold deadlines up
 * to 256 ms after it, those of level 1 up to 65,536 ms; each list of a higher level is spread over
 * the lower ones when its time begins.  Work proceeds entry by entry from a list's head, so it can
 * stop anywhere and go on later.
 */
#include "halfopen.h"

#include "counter.h"

#define LEVEL_1 256
#define LEVEL_2 512

static void
list_push(struct flow_table *table, unsigned list, uint32_t entry);
static void
list_unlink(struct flow_table *table, uint32_t entry);
static unsigned
list_for(uint32_t deadline_ms, uint32_t done_ms);
static bool
spread(struct flow_table *table, unsigned list, uint32_t at_ms, unsigned *budget);

void
half_open_init(struct flow_table *table)
{
	table->worker->n_half_open = 0;
	table->worker->half_open_free = 0;
	for (uint32_t i = 0; i < table->max_half_open; i++)
		table->half_opens[i].next = i + 1 < table->max_half_open ? i + 1 : FLOW_NONE;
	for (unsigned i = 0; i < HALF_OPEN_WHEEL_LISTS; i++)
		table->wheel[i] = FLOW_NONE;
}

uint32_t
half_open_add(struct flow_table *table, uint32_t record, uint32_t deadline_ms, uint32_t now_ms)
{
	struct flow_worker *worker = table->worker;
	uint32_t entry = worker->half_open_free;

	if (entry == FLOW_NONE)
		return FLOW_NONE;
	if (worker->n_half_open == 0)
		worker->wheel_ms = now_ms - 1;
	worker->half_open_free = table->half_opens[entry].next;
	counter_add32(&worker->n_half_open, 1);
	table->half_opens[entry].record = record;
	table->half_opens[entry].deadline_ms = deadline_ms;
	list_push(table, list_for(deadline_ms, worker->wheel_ms), entry);
	return entry;
}

void
half_open_move(struct flow_table *table, uint32_t entry, uint32_t deadline_ms)
{
	list_unlink(table, entry);
	table->half_opens[entry].deadline_ms = deadline_ms;
	list_push(table, list_for(deadline_ms, table->worker->wheel_ms), entry);
}

void
half_open_remove(struct flow_table *table, uint32_t entry)
{
	list_unlink(table, entry);
	table->half_opens[entry].next = table->worker->half_open_free;
	table->worker->half_open_free = entry;
	counter_add32(&table->worker->n_half_open, -1u);
}

uint32_t
half_open_due(struct flow_table *table, uint32_t now_ms, unsigned *budget)
{
	struct flow_worker *worker = table->worker;

	/* Bounded by '*budget'. */
	while (worker->n_half_open > 0 && (int32_t)(now_ms - worker->wheel_ms) > 0 && *budget > 0) {
		uint32_t at_ms = worker->wheel_ms + 1;

		if ((at_ms & 0xffff) == 0 &&
			!spread(table, LEVEL_2 + (at_ms >> 16 & 63), at_ms, budget))
			return FLOW_NONE;
		if ((at_ms & 0xff) == 0 &&
			!spread(table, LEVEL_1 + (at_ms >> 8 & 255), at_ms, budget))
			return FLOW_NONE;
		if (*budget > 0)
			--*budget;
		if (table->wheel[at_ms & 255] != FLOW_NONE)
			return table->half_opens[table->wheel[at_ms & 255]].record;
		worker->wheel_ms = at_ms;
	}
	return FLOW_NONE;
}

static void
list_push(struct flow_table *table, unsigned list, uint32_t entry)
{
	uint32_t next = table->wheel[list];

	table->half_opens[entry].next = next;
	table->half_opens[entry].prev = ~list;
	if (next != FLOW_NONE)
		table->half_opens[next].prev = entry;
	table->wheel[list] = entry;
}

static void
list_unlink(struct flow_table *table, uint32_t entry)
{
	uint32_t next = table->half_opens[entry].next, prev = table->half_opens[entry].prev;

	if (next != FLOW_NONE)
		table->half_opens[next].prev = prev;
	if (prev >= ~(uint32_t)HALF_OPEN_WHEEL_LISTS)
		table->wheel[~prev] = next;
	else
		table->half_opens[prev].next = next;
}

/* What is overdue goes where it is found next. */
static unsigned
list_for(uint32_t deadline_ms, uint32_t done_ms)
{
	int32_t ahead = (int32_t)(deadline_ms - done_ms);

	if (ahead < 1)
		return (done_ms + 1) & 255;
	if (ahead <= 256)
		return deadline_ms & 255;
	if (ahead <= 65536)
		return LEVEL_1 + (deadline_ms >> 8 & 255);
	if (ahead > (int32_t)HALF_OPEN_AHEAD_MAX)
		deadline_ms = done_ms + HALF_OPEN_AHEAD_MAX;
	return LEVEL_2 + (deadline_ms >> 16 & 63);
}

/* Returns false when the budget ended before the list did. */
static bool
spread(struct flow_table *table, unsigned list, uint32_t at_ms, unsigned *budget)
{
	/* Bounded by '*budget': no entry returns to this list, see list_for(). */
	while (table->wheel[list] != FLOW_NONE) {
		uint32_t entry = table->wheel[list];

		if (*budget == 0)
			return false;
		--*budget;
		list_unlink(table, entry);
		list_push(table, list_for(table->half_opens[entry].deadline_ms, at_ms - 1), entry);
	}
	return true;
}
