/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc/meminfo and the limits of control groups.  Any thread. */
#include "memory_left.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GROUPS "/sys/fs/cgroup"

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
left_on_host(const char *root)
{
	char path[PATH_MAX], line[256];
	uint64_t left_kb, left = UINT64_MAX;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return left;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &left_kb) == 1)
			left = left_kb * 1024;
	fclose(file);
	return left;
}

static FILE *
open_in_group(const char *root, const char *group, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s" GROUPS "%s/%s", root, group, name) >=
		(int)sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/* False where the file has no number, as in "max". */
static bool
read_number(const char *root, const char *group, const char *name, uint64_t *number)
{
	FILE *file = open_in_group(root, group, name);

	if (file == NULL)
		return false;
	bool is_read = fscanf(file, "%" SCNu64, number) == 1;

	fclose(file);
	return is_read;
}

/* What the kernel gives up before it kills: files read or written, and what it remembers of them.
 */
static uint64_t
reclaimable_in_group(const char *root, const char *group)
{
	static const char *const names[] = {"active_file", "inactive_file", "slab_reclaimable"};
	char line[256], name[64];
	uint64_t sum = 0, size;
	FILE *file = open_in_group(root, group, "memory.stat");

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%63s %" SCNu64, name, &size) != 2)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strcmp(name, names[i]) == 0)
				sum += size;
	}
	fclose(file);
	return sum;
}

static uint64_t
left_in_group(const char *root, const char *group)
{
	uint64_t limit, used, reclaimable;

	if (!read_number(root, group, "memory.max", &limit) ||
		!read_number(root, group, "memory.current", &used))
		return UINT64_MAX;
	reclaimable = reclaimable_in_group(root, group);
	used -= least(used, reclaimable);
	return limit > used ? limit - used : 0;
}

/* Our group's path, "/system.slice/..."; empty for the topmost, or where there is no cgroup v2. */
static void
read_group(const char *root, char *group, size_t size)
{
	char path[PATH_MAX], line[PATH_MAX];

	group[0] = '\0';
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) == 0 && line[4] != '\0')
			snprintf(group, size, "%s", line + 3);
	}
	fclose(file);
}

uint64_t
memory_left(const char *root)
{
	uint64_t left = left_on_host(root);
	char group[PATH_MAX];

	read_group(root, group, sizeof(group));
	for (;;) {
		char *end = strrchr(group, '/');

		left = least(left, left_in_group(root, group));
		if (end == NULL)
			return left;
		*end = '\0';
	}
}
