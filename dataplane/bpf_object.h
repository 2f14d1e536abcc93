/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BPF objects and what libbpf makes of them: where our object files are, and how to reach the maps
 * of a program that somebody else loaded.  Control thread only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct bpf_prog_info;

/* The name's room in the kernel, its terminating NUL included. */
#define BPF_OBJECT_NAME_MAX 16

/*
 * Finds "steer.bpf.o" or the like: in dataplane/ beside the running program, as a build leaves it,
 * else where it is installed.  0, or -ENOENT and a sentence that names both places.
 */
int
bpf_object_path(const char *name, char path[PATH_MAX], struct err *err);

/* Another folder instead of the one beside the running program ('folder' is kept by the caller). */
void
bpf_object_look_in(const char *folder);

/*
 * Has libbpf and libxdp report to us, not to stderr: warnings are logged as debug, for whoever
 * called can say it better, with bpf_object_kernel_words().
 */
void
bpf_object_quiet(void);

/* What the kernel last gave as its reason to libbpf; empty: nothing since the last call. */
const char *
bpf_object_kernel_words(void);

/* The loaded program's name; false: no such program. */
bool
bpf_object_program_name(uint32_t program_id, char name[BPF_OBJECT_NAME_MAX]);

/*
 * Opens the map of that name that the loaded program uses.  A descriptor of the caller's, or a
 * negative errno: -ENOENT where it has none.
 */
int
bpf_object_map(uint32_t program_id, const char *map_name);
