/* SPDX-License-Identifier: BSD-3-Clause */
/* The metrics of services and mirrors that have a label of their own besides whom they are about:
 * states, outcomes, directions, and histograms.  Pure. */
#pragma once

#include <stdio.h>

struct status;

/* All families of the services, then of the mirrors. */
void
render_traffic(FILE *out, const struct status *st);
