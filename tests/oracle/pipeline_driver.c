/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker of modes.h, to whom packets are told by an oracle in another language.  Reads lines,
 * answers each with one line:
 *
 *   packet PORT HEX   ->  send PORT HEX | drop NAME
 *   pass MICROSECONDS ->  ok                         time goes by, with ticks
 *   partial PORT      ->  ok                         the port's checksums may be unfinished
 *   check NUMBER      ->  ok                         reply_check of all services
 *   counts            ->  JSON: counters, and each slot's outcomes and figures
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modes.h"

static const char *const counter_names[] = {
#define X(member, name, help) #name,
	KARMALB_WORKER_COUNTERS(X)
#undef X
};
static const char *const outcome_names[] = {
#define X(member, name, help) #name,
	KARMALB_OUTCOMES(X)
#undef X
};

static struct modes modes;

static void
run_packet(uint8_t port, const char *hex)
{
	static struct modes_result result;
	uint8_t bytes[MODES_FRAME_MAX];
	unsigned size = 0, value;

	for (; size < sizeof(bytes) && sscanf(&hex[2 * size], "%2x", &value) == 1; size++)
		bytes[size] = (uint8_t)value;
	modes_send(&modes, port, bytes, size, &result);
	if (!result.is_sent) {
		printf("drop %s\n", result.reason);
		return;
	}
	printf("send %u ", result.port_out);
	for (unsigned i = 0; i < result.size; i++)
		printf("%02x", result.bytes[i]);
	putchar('\n');
}

static void
tell_counts(void)
{
	printf("{\"connect_samples\": %lu, \"query_samples\": %lu, \"greetings\": %lu, \"counters\": {",
		modes.n_of_kind[SAMPLE_CONNECT], modes.n_of_kind[SAMPLE_QUERY],
		modes.n_of_kind[SAMPLE_GREETING]);
	for (unsigned i = 0; i < KARMALB_N_COUNTERS; i++)
		printf("%s\"%s\": %lu", i > 0 ? ", " : "", counter_names[i],
			modes.workers[0].pipeline.counters[i]);
	printf("}, \"slots\": [");
	for (unsigned i = 0; i < MODES_N_SLOTS; i++) {
		const struct slot_counters *s = &modes.workers[0].slot_counters[i];

		printf("%s{\"opened\": %lu, \"closed\": %lu, \"n_waiting\": %lu", i > 0 ? ", " : "",
			s->opened, s->closed, s->n_waiting);
		for (unsigned k = 0; k < KARMALB_N_OUTCOMES; k++)
			printf(", \"%s\": %lu", outcome_names[k], s->outcomes[k]);
		putchar('}');
	}
	puts("]}");
}

int
main(void)
{
	static char line[2 * MODES_FRAME_MAX + 64];

	modes_open(&modes, &(struct modes_conf){.max_flows = 5000, .max_half_open = 2000});
	while (fgets(line, sizeof(line), stdin) != NULL) {
		unsigned port;
		int at;

		if (sscanf(line, "packet %u %n", &port, &at) == 1 && port < 2)
			run_packet((uint8_t)port, &line[at]);
		else if (strncmp(line, "pass ", 5) == 0) {
			modes_pass(&modes, strtoull(&line[5], NULL, 10));
			puts("ok");
		} else if (sscanf(line, "check %u", &port) == 1 && port < KARMALB_N_REPLY_CHECKS) {
			for (unsigned i = 0; i < MODES_N_SLOTS; i++)
				modes.slots[i].reply_check = (uint8_t)port;
			puts("ok");
		} else if (sscanf(line, "partial %u", &port) == 1 && port < 2) {
			modes.tables.ports[port].is_partial_checksum = true;
			puts("ok");
		} else if (strncmp(line, "counts", 6) == 0)
			tell_counts();
		else
			return 1;
		fflush(stdout);
	}
	modes_close(&modes);
	return 0;
}
