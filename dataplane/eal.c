/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's arguments.  Huge pages: --in-memory, which takes pages as they are needed and leaves no
 * file behind.  Without: --no-huge, which excludes --in-memory and maps its memory at once, so its
 * size is computed; pages come with the first touch.  EAL never looks for PCI devices unless a port
 * is one.
 */
#include "eal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "memory_left.h"
#include "ports.h"

#define EAL_ARGUMENTS_MAX     48
#define EAL_ARGUMENT_SIZE     2048       /* room for a CPU list of KARMALB_WORKERS_MAX workers */
#define EAL_MEMORY_OVERHEAD   (32 << 20) /* heaps, queues, tables of DPDK's own */
#define EAL_HUGE_PAGES_FOLDER "/sys/kernel/mm/hugepages"

/* 'texts' holds what 'argv' points to, for rte_eal_init() reorders the pointers and keeps some. */
struct arguments {
	int n;
	char *argv[EAL_ARGUMENTS_MAX + 1];
	char texts[EAL_ARGUMENTS_MAX][EAL_ARGUMENT_SIZE];
};

__attribute__((format(printf, 2, 3))) static void
add(struct arguments *a, const char *fmt, ...)
{
	va_list args;

	if (a->n == EAL_ARGUMENTS_MAX)
		return; /* PCI ports are at most KARMALB_PORTS_MAX, so there is room */
	va_start(args, fmt);
	vsnprintf(a->texts[a->n], EAL_ARGUMENT_SIZE, fmt, args);
	va_end(args);
	a->argv[a->n] = a->texts[a->n];
	a->n++;
}

static uint64_t
read_number(const char *path)
{
	uint64_t number = 0;
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%" SCNu64, &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

/* Bytes in free huge pages of all sizes, reserved ones not counted. */
static uint64_t
huge_pages_free(void)
{
	DIR *folder = opendir(EAL_HUGE_PAGES_FOLDER);
	struct dirent *entry;
	uint64_t sum = 0;

	if (folder == NULL)
		return 0;
	while ((entry = readdir(folder)) != NULL) {
		char path[sizeof(EAL_HUGE_PAGES_FOLDER) + sizeof(entry->d_name) + 32];
		uint64_t size_kb, n_free, n_reserved;

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &size_kb) != 1)
			continue;
		snprintf(path, sizeof(path), EAL_HUGE_PAGES_FOLDER "/%s/free_hugepages",
			entry->d_name);
		n_free = read_number(path);
		snprintf(path, sizeof(path), EAL_HUGE_PAGES_FOLDER "/%s/resv_hugepages",
			entry->d_name);
		n_reserved = read_number(path);
		sum += n_free > n_reserved ? (n_free - n_reserved) * size_kb * 1024 : 0;
	}
	closedir(folder);
	return sum;
}

static void
choose_pages(struct eal *eal, const struct eal_conf *conf)
{
	uint64_t n_free = huge_pages_free();

	eal->has_huge_pages = false;
	eal->notice[0] = '\0';
	if (conf->huge_pages_size == 0)
		return;
	if (conf->huge_pages_size < conf->memory_size)
		snprintf(eal->notice, sizeof(eal->notice),
			"huge pages: %" PRIu64 " MiB allowed, %" PRIu64
			" MiB needed for packets; going on without",
			conf->huge_pages_size >> 20, (conf->memory_size + (1 << 20) - 1) >> 20);
	else if (n_free < conf->huge_pages_size)
		snprintf(eal->notice, sizeof(eal->notice),
			"huge pages: %" PRIu64 " MiB asked for, %" PRIu64
			" MiB free; going on without, at some cost of speed",
			conf->huge_pages_size >> 20, n_free >> 20);
	else
		eal->has_huge_pages = true;
}

/* Appends the CPUs that we may use, as "0-3,8". */
static size_t
print_cpus(char *text, size_t room)
{
	const char *comma = "";
	size_t size = 0;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (unsigned first = 0; first < CPU_SETSIZE && size < room; first++) {
		unsigned last = first;

		if (!CPU_ISSET(first, &cpus))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus))
			last++;
		size += (size_t)snprintf(text + size, room - size, "%s%u-%u", comma, first, last);
		comma = ",";
		first = last;
	}
	return size;
}

/* "0@(0-3),1@2,2@3": the control thread on every CPU that we may use, the workers on theirs. */
static void
add_lcores(struct arguments *a, const struct eal_conf *conf)
{
	char list[EAL_ARGUMENT_SIZE] = "0@(";
	size_t size = strlen(list);

	size += print_cpus(list + size, sizeof(list) - size);
	if (size < sizeof(list))
		size += (size_t)snprintf(list + size, sizeof(list) - size, ")");
	for (uint16_t w = 0; w < conf->n_workers && size < sizeof(list); w++)
		size += (size_t)snprintf(list + size, sizeof(list) - size, ",%u@%u",
			eal_worker_lcore(w), conf->worker_cpus[w]);
	add(a, "--lcores");
	add(a, "%s", list);
}

static void
add_devices(struct arguments *a, const struct ports *ports)
{
	bool has_pci = false;

	for (unsigned i = 0; i < ports->n; i++) {
		if (ports->port[i].kind != PORT_PCI)
			continue;
		has_pci = true;
		add(a, "-a");
		add(a, "%s", ports->port[i].conf.device);
	}
	if (!has_pci) {
		/* All memory is ours alone, so virtual addresses serve as I/O addresses. */
		add(a, "--no-pci");
		add(a, "--iova-mode=va");
	}
}

static void
add_memory(struct arguments *a, const struct eal *eal, const struct eal_conf *conf)
{
	if (eal->has_huge_pages) {
		add(a, "--in-memory");
		return;
	}
	add(a, "--no-huge");
	add(a, "--no-shconf");
	add(a, "-m");
	add(a, "%" PRIu64, (conf->plain_size + EAL_MEMORY_OVERHEAD) >> 20);
}

static int
check_cpus(const struct eal_conf *conf, struct err *err)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (uint16_t w = 0; w < conf->n_workers; w++) {
		unsigned cpu = conf->worker_cpus[w];

		if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &cpus))
			return err_set(err, -EINVAL,
				"workers: CPU %u does not exist or is not ours to use", cpu);
	}
	return 0;
}

/* Huge pages were counted already. */
static int
check_memory(const struct eal *eal, const struct eal_conf *conf, struct err *err)
{
	uint64_t size = conf->plain_size + EAL_MEMORY_OVERHEAD, left = memory_left("");

	if (eal->has_huge_pages || size <= left)
		return 0;
	return err_set(err, -ENOMEM,
		"packets need %" PRIu64 " MiB of memory, and %" PRIu64
		" MiB can be had: free some, "
		"or use fewer queues and workers",
		size >> 20, left >> 20);
}

int
eal_start(struct eal *eal, const struct eal_conf *conf, struct err *err)
{
	static struct arguments arguments; /* EAL starts once, and lasts as long as the process */
	struct arguments *a = &arguments;
	int error = check_cpus(conf, err);

	if (error != 0)
		return error;
	choose_pages(eal, conf);
	error = check_memory(eal, conf, err);
	if (error != 0)
		return error;
	add(a, "karmalb-dataplane");
	add(a, "--no-telemetry");
	/* One empty folder for all instances: neither kind of memory puts a file into it. */
	add(a, "--file-prefix=karmalb");
	add(a, "--log-level=error");
	add_memory(a, eal, conf);
	add_lcores(a, conf);
	add_devices(a, conf->ports);
	if (rte_eal_init(a->n, a->argv) < 0)
		return err_set(err, rte_errno != 0 ? -rte_errno : -EIO,
			"DPDK does not start: %s (its own words are above)",
			rte_errno != 0 ? rte_strerror(rte_errno) : "unknown reason");
	return 0;
}

unsigned
eal_worker_lcore(uint16_t worker)
{
	return worker + 1u;
}

void
eal_stop(void)
{
	/* A port that had to stay open would be closed here, with what that does to its interface.
	 */
	if (rte_eth_dev_count_avail() == 0)
		rte_eal_cleanup();
}
