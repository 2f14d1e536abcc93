/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the control plane's socket decoder.  Datagrams of a data plane, see datagrams.h, go
 * into a model of two listens and four mirrors, which decides after each; one that is refused
 * closes the link.  At the end all of it is shown.
 */
#include <stdio.h>
#include <stdlib.h>

#include "datagrams.h"
#include "loop.h"
#include "message_check.h"
#include "observe.h"
#include "render_prometheus.h"
#include "shares.h"
#include "status.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool condition)
{
	if (!condition)
		abort();
}

static void
check_shares(void)
{
	double sum = 0;

	for (unsigned i = 0; i < loop.web->n_mirrors; i++) {
		double share = loop.web->mirrors[i].share;

		must(share >= 0 && share <= 1);
		sum += share;
	}
	must(sum < 1e-6 || (sum > 1 - 1e-6 && sum < 1 + 1e-6));
}

/* As the link does: WELCOME first and once, nothing after REFUSED. */
static bool
is_acceptable(const void *bytes, size_t size)
{
	const struct karmalb_header *header = bytes;

	if (message_check(bytes, size) != NULL || header->message == KARMALB_MESSAGE_REFUSED)
		return false;
	return (header->message == KARMALB_MESSAGE_WELCOME) != loop.model->dataplane.is_connected;
}

static void
take(const struct karmalb_header *header)
{
	switch (header->message) {
	case KARMALB_MESSAGE_WELCOME:
		observe_welcome(loop.model, (const void *)header, loop.now_us);
		break;
	case KARMALB_MESSAGE_APPLIED:
		observe_applied(loop.model, (const void *)header);
		break;
	case KARMALB_MESSAGE_SLOT:
		observe_slot(loop.model, (const void *)header);
		break;
	case KARMALB_MESSAGE_SLOT_TOTALS:
		observe_totals(loop.model, (const void *)header);
		break;
	case KARMALB_MESSAGE_WORKER_TOTALS:
		observe_worker(loop.model, (const void *)header);
		break;
	case KARMALB_MESSAGE_PORT_STATUS:
		observe_port(loop.model, (const void *)header);
	}
}

static void
show(void)
{
	struct status *status = status_take(loop.model, loop.now_us);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(status != NULL && out != NULL);
	render_prometheus(out, status);
	fclose(out);
	free(text);
	status_free(status);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t messages[] = {KARMALB_MESSAGE_WELCOME, KARMALB_MESSAGE_APPLIED,
		KARMALB_MESSAGE_SLOT, KARMALB_MESSAGE_SLOT_TOTALS, KARMALB_MESSAGE_WORKER_TOTALS,
		KARMALB_MESSAGE_PORT_STATUS, KARMALB_MESSAGE_REFUSED};
	static struct datagrams d;

	size_t bytes_size;
	void *bytes;

	d = (struct datagrams){data, size, messages, sizeof(messages) / sizeof(messages[0]), {{0}}};
	loop_set_up();
	/* Not loop_begin(), which asserts as only a unit test can. */
	loop.service_conf.n_listens = LOOP_N_LISTENS;
	loop.model = model_create(&loop.config, loop.now_us);
	must(loop.model != NULL);
	loop.web = &loop.model->services[0];
	struct model_dataplane *dataplane = &loop.model->dataplane;

	while ((bytes = datagrams_next(&d, &bytes_size)) != NULL) {
		/* A period passes between any two, and now and then more. */
		uint64_t now_us = loop.now_us + S + (bytes_size % 3 == 0 ? LOOP_PERIOD_US : 0);

		if (is_acceptable(bytes, bytes_size))
			take(bytes);
		else
			observe_closed(loop.model, "refused", loop.now_us);
		if (observe_synced(loop.model, loop.now_us)) {
			if (!dataplane->was_synced && dataplane->welcome.epoch != 0)
				shares_adopt(loop.model, loop.now_us);
			dataplane->was_synced = true;
		}
		loop_decide_at(now_us);
		check_shares();
		free(bytes);
	}
	show();
	loop_tear_down();
	return 0;
}
