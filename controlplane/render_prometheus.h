/* SPDX-License-Identifier: BSD-3-Clause */
/* The status in Prometheus' text format 0.0.4.  Pure: 'out' is memory, nothing else is looked at.
 */
#pragma once

#include <stdio.h>

struct status;

#define RENDER_PROMETHEUS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

void
render_prometheus(FILE *out, const struct status *status);
