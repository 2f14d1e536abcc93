/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory there is to be had before the kernel begins to kill: what the host has to spare,
 * and what the limits of our control group (cgroup v2) and of those above it leave.  Neither counts
 * caches of files as used.  A memory that is populated at once must ask first, since the kernel
 * promises more than it has.  Reads files; for the start.
 */
#pragma once

#include <stdint.h>

/* Bytes, ordinary pages only; UINT64_MAX where nobody can tell.  'root' is put before paths: "". */
uint64_t
memory_left(const char *root);
