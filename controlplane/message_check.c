/* SPDX-License-Identifier: BSD-3-Clause */
/* One function per message that has something to check besides its size. */
#include "message_check.h"

#include <string.h>

#include <karmalb/wire.h>

#define FIRST_UPWARD 16 /* numbers below go down */

static bool
is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static const char *
check_welcome(const void *bytes)
{
	const struct karmalb_welcome *m = bytes;

	if (m->n_workers == 0 || m->n_workers > KARMALB_WORKERS_MAX)
		return "WELCOME with a number of workers out of range";
	if (m->n_slots > KARMALB_SLOTS_MAX)
		return "WELCOME with too many slots";
	return NULL;
}

static const char *
check_applied(const void *bytes)
{
	const struct karmalb_applied *m = bytes;

	if (m->error > 0)
		return "APPLIED with an error above 0";
	return is_terminated(m->sentence, sizeof(m->sentence)) ? NULL
							       : "APPLIED with an endless sentence";
}

static const char *
check_slot(const void *bytes)
{
	const struct karmalb_slot *m = bytes;

	if (m->slot >= KARMALB_SLOTS_MAX)
		return "SLOT with a number out of range";
	if (m->next_hop > KARMALB_NEXT_HOP_FAILED)
		return "SLOT with an unknown state of its next hop";
	return m->share >= 0 && m->share <= 1 ? NULL : "SLOT with a share outside 0 .. 1";
}

static const char *
check_slot_totals(const void *bytes)
{
	const struct karmalb_slot_totals *m = bytes;

	if (m->slot >= KARMALB_SLOTS_MAX)
		return "SLOT_TOTALS with a number out of range";
	return m->last_error < KARMALB_N_OUTCOMES ? NULL : "SLOT_TOTALS with an unknown error";
}

static const char *
check_worker_totals(const void *bytes)
{
	const struct karmalb_worker_totals *m = bytes;

	return m->worker < KARMALB_WORKERS_MAX ? NULL : "WORKER_TOTALS with a number out of range";
}

static const char *
check_port_status(const void *bytes)
{
	const struct karmalb_port_status *m = bytes;

	if (m->port >= KARMALB_PORTS_MAX)
		return "PORT_STATUS with a number out of range";
	return is_terminated(m->name, sizeof(m->name)) &&
			       is_terminated(m->device, sizeof(m->device))
		       ? NULL
		       : "PORT_STATUS with an endless name";
}

static const char *
check_refused(const void *bytes)
{
	const struct karmalb_refused *m = bytes;

	return is_terminated(m->sentence, sizeof(m->sentence)) ? NULL
							       : "REFUSED with an endless sentence";
}

static const char *
check_flow(const void *bytes)
{
	const struct karmalb_flow *m = bytes;

	if (m->slot >= KARMALB_SLOTS_MAX)
		return "FLOW with a slot out of range";
	if (m->worker >= KARMALB_WORKERS_MAX)
		return "FLOW with a worker out of range";
	return m->state < KARMALB_N_FLOW_STATES ? NULL : "FLOW with an unknown state";
}

static const char *
check_checked(const void *bytes)
{
	const struct karmalb_checked *m = bytes;

	if (m->slot >= KARMALB_SLOTS_MAX)
		return "CHECKED with a slot out of range";
	return m->result < KARMALB_N_CHECK_RESULTS ? NULL : "CHECKED with an unknown result";
}

static const char *
check_answered(const void *bytes)
{
	const struct karmalb_answered *m = bytes;

	return m->error <= 0 ? NULL : "ANSWERED with an error above 0";
}

static const struct {
	uint16_t message;
	const char *(*check)(const void *bytes);
} checks[] = {
	{KARMALB_MESSAGE_WELCOME, check_welcome},
	{KARMALB_MESSAGE_APPLIED, check_applied},
	{KARMALB_MESSAGE_SLOT, check_slot},
	{KARMALB_MESSAGE_SLOT_TOTALS, check_slot_totals},
	{KARMALB_MESSAGE_WORKER_TOTALS, check_worker_totals},
	{KARMALB_MESSAGE_PORT_STATUS, check_port_status},
	{KARMALB_MESSAGE_REFUSED, check_refused},
	{KARMALB_MESSAGE_FLOW, check_flow},
	{KARMALB_MESSAGE_CHECKED, check_checked},
	{KARMALB_MESSAGE_ANSWERED, check_answered},
};

const char *
message_check(const void *bytes, size_t size)
{
	const struct karmalb_header *header = bytes;

	if (size < sizeof(*header))
		return "a message shorter than its header";
	if (header->version != KARMALB_PROTOCOL_VERSION)
		return "another protocol version than ours";
	if (header->message < FIRST_UPWARD || karmalb_message_size(header->message) == 0)
		return "a message that is unknown or not for us";
	if (size != header->size || size != karmalb_message_size(header->message))
		return "a message of the wrong size";
	for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i].message == header->message)
			return checks[i].check(bytes);
	}
	return NULL;
}
