/* SPDX-License-Identifier: BSD-3-Clause */
/* SHOW STATUS: both programs as named values.  Pure. */
#pragma once

struct pairs;
struct status;

void
program_status(struct pairs *pairs, const struct status *status);
