/* SPDX-License-Identifier: BSD-3-Clause */
/* A status made by hand, every figure of it chosen, so that what is shown can be compared. */
#pragma once

struct status;

/* Two services, six mirrors, two workers, one port; the same storage each time. */
struct status *
fake_status(void);

/* A copy of it for status_free(). */
struct status *
fake_status_take(void);
