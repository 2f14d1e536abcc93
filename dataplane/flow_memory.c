/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memfd that holds the flow memory.  Control thread, at start and end.  No DMA ever touches
 * this memory, so any kind of page will do.
 */
#include "flow_memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "memory_left.h"

#define HUGE_PAGE      ((size_t)2 << 20)
#define MEMFD_HUGE_2MB (21u << 26) /* as MFD_HUGE_2MB: log2 of the size, shifted */

static int
map_huge(struct flow_memory *memory, size_t size);
static int
map_plain(struct flow_memory *memory, size_t size, uint64_t promised_size);

int
flow_memory_create(struct flow_memory *memory, const struct flow_conf *conf, bool wants_huge,
	uint64_t promised_size)
{
	struct flow_conf with_keys = *conf;
	size_t size = flow_region_size(conf);
	int error = -EINVAL;

	if (size == 0)
		return -EINVAL;
	if (getrandom(with_keys.hash_key, sizeof(with_keys.hash_key), 0) !=
		sizeof(with_keys.hash_key))
		return -errno;
	if (wants_huge)
		error = map_huge(memory, size);
	if (error < 0)
		error = map_plain(memory, size, promised_size);
	if (error < 0)
		return error;
	flow_region_init(memory->header, &with_keys);
	return 0;
}

void
flow_memory_destroy(struct flow_memory *memory)
{
	munmap(memory->header, memory->size);
	close(memory->fd);
	memset(memory, 0, sizeof(*memory));
	memory->fd = -1;
}

/* A hugetlb fault with an empty pool is a SIGBUS, hence MAP_POPULATE; it fails here instead. */
static int
map_huge(struct flow_memory *memory, size_t size)
{
	size = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	int fd = memfd_create("karmalb-flows", MFD_CLOEXEC | MFD_HUGETLB | MEMFD_HUGE_2MB);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0)
		goto fail;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

	if (at == MAP_FAILED)
		goto fail;
	*memory = (struct flow_memory){.header = at, .size = size, .fd = fd, .is_huge = true};
	return 0;

fail:;
	int error = -errno;

	close(fd);
	return error;
}

/* Transparent huge pages where the kernel gives them to shared memory; then every page. */
static int
map_plain(struct flow_memory *memory, size_t size, uint64_t promised_size)
{
	uint64_t left = memory_left("");

	if (promised_size > left || size > left - promised_size)
		return -ENOMEM; /* else the kernel would kill somebody to populate it */
	int fd = memfd_create("karmalb-flows", MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0)
		goto fail;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		goto fail;
	(void)madvise(at, size, MADV_HUGEPAGE);
	if (madvise(at, size, MADV_POPULATE_WRITE) < 0)
		goto fail;
	*memory = (struct flow_memory){.header = at, .size = size, .fd = fd};
	return 0;

fail:;
	int error = -errno;

	if (at != MAP_FAILED)
		munmap(at, size);
	close(fd);
	return error;
}
