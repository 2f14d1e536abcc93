/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet process's command line out of the 'dataplane' group: one argument a line, as its
 * --arguments FILE takes them.  Pure. */
#pragma once

#include <stdio.h>

struct config_dataplane;

void
dataplane_arguments_print(const struct config_dataplane *dataplane, FILE *out);
