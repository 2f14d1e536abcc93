/* SPDX-License-Identifier: BSD-3-Clause */
/* What one does with a status once it is taken; how it is taken stands in status_take.c. */
#include "status.h"

#include <stdlib.h>
#include <string.h>

const unsigned status_report_periods[STATUS_REPORTS] = {1, 5, 15};

uint64_t
status_histogram_edge_us(unsigned bucket)
{
	return UINT64_C(64) << bucket;
}

const char *
status_mirror_state(const struct status_mirror *mirror)
{
	return mirror->wanted == SETTINGS_MIRROR_ACTIVE
		       ? mirror_state_name(mirror->state)
		       : settings_mirror_state_name(mirror->wanted);
}

void
status_free(struct status *status)
{
	if (status == NULL)
		return;
	for (unsigned i = 0; status->services != NULL && i < status->n_services; i++) {
		free(status->services[i].listens);
		free(status->services[i].mirrors);
		free(status->services[i].slots);
		free(status->services[i].endpoints);
	}
	free(status->services);
	free(status->workers);
	free(status->ports);
	free(status);
}

const struct status_service *
status_find_service(const struct status *status, const char *name)
{
	for (unsigned i = 0; i < status->n_services; i++) {
		if (strcmp(status->services[i].name, name) == 0)
			return &status->services[i];
	}
	return NULL;
}

const struct status_service *
status_find_slot(const struct status *status, uint16_t slot, unsigned *mirror, unsigned *listen)
{
	for (unsigned i = 0; slot != STATUS_SLOT_NONE && i < status->n_services; i++) {
		const struct status_service *s = &status->services[i];

		for (unsigned k = 0; k < s->n_mirrors * s->n_listens; k++) {
			if (s->slots[k] != slot)
				continue;
			*mirror = k / s->n_listens;
			if (listen != NULL)
				*listen = k % s->n_listens;
			return s;
		}
	}
	return NULL;
}
