/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_left.h"
#include "suite.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/karmalb-memory-XXXXXX";

static void
put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(narrowest_limit_counts)
{
	ck_assert_uint_eq(memory_left(root), UINT64_MAX); /* nobody can tell */
	put("proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable: 1024000 kB\nBuffers: 1 kB\n");
	ck_assert_uint_eq(memory_left(root), 1000 * MIB);
	put("proc/self/cgroup", "12:pids:/x\n0::/a.slice/b.service\n");
	ck_assert_uint_eq(memory_left(root), 1000 * MIB);
	put("sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	put("sys/fs/cgroup/a.slice/b.service/memory.current", "1048576\n");
	ck_assert_uint_eq(memory_left(root), 1000 * MIB);
	put("sys/fs/cgroup/a.slice/memory.max", "104857600\n");
	put("sys/fs/cgroup/a.slice/memory.current", "10485760\n");
	ck_assert_uint_eq(memory_left(root), 90 * MIB);
	put("sys/fs/cgroup/a.slice/b.service/memory.max", "2097152\n");
	ck_assert_uint_eq(memory_left(root), MIB);
	put("sys/fs/cgroup/a.slice/b.service/memory.current", "3145728\n");
	ck_assert_uint_eq(memory_left(root), 0);
}
END_TEST

/* A group that has just built something has its limit full of files that nobody needs any more. */
START_TEST(caches_of_files_are_not_in_the_way)
{
	put("proc/self/cgroup", "0::/ci\n");
	put("sys/fs/cgroup/ci/memory.max", "104857600\n");
	put("sys/fs/cgroup/ci/memory.current", "103809024\n");
	put("sys/fs/cgroup/ci/memory.stat",
		"anon 20971520\nfile 82837504\ninactive_anon 20971520\nactive_anon 0\n"
		"inactive_file 62914560\nactive_file 10485760\nslab_reclaimable 1048576\n"
		"slab_unreclaimable 2097152\nslab 3145728\nworkingset_refault_file 5\n");
	ck_assert_uint_eq(memory_left(root), (1 + 60 + 10 + 1) * MIB);
	/* The two files are not of one moment. */
	put("sys/fs/cgroup/ci/memory.current", "1048576\n");
	ck_assert_uint_eq(memory_left(root), 100 * MIB);
}
END_TEST

int
main(void)
{
	const TTest *tests[] = {narrowest_limit_counts, caches_of_files_are_not_in_the_way, NULL};
	char command[64];

	if (mkdtemp(root) == NULL)
		return EXIT_FAILURE;
	int status = suite_run("memory_left", tests);

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) == 0 ? status : EXIT_FAILURE;
}
