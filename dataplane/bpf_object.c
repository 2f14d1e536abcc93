/* SPDX-License-Identifier: BSD-3-Clause */
/* Object files and loaded programs, through libbpf. */
#include "bpf_object.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "log.h"

/* steer.bpf.o has five maps, guard.bpf.o as many. */
#define BPF_OBJECT_MAPS_MAX 16

static const char *other_folder; /* NULL: beside the running program */

void
bpf_object_look_in(const char *folder)
{
	other_folder = folder;
}

/* "dataplane" beside the running program. */
static void
folder_beside_us(char folder[PATH_MAX])
{
	static const char name[] = "/dataplane";
	ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - sizeof(name));

	folder[size > 0 ? size : 0] = '\0';
	char *slash = strrchr(folder, '/');

	strcpy(slash != NULL ? slash : folder, name);
}

static bool
is_in(const char *folder, const char *name, char path[PATH_MAX])
{
	int size = snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return size > 0 && size < PATH_MAX && access(path, R_OK) == 0;
}

int
bpf_object_path(const char *name, char path[PATH_MAX], struct err *err)
{
	char folder[PATH_MAX];

	if (other_folder != NULL)
		snprintf(folder, sizeof(folder), "%s", other_folder);
	else
		folder_beside_us(folder);
	if (is_in(folder, name, path) || is_in(KARMALB_BPF_DIR, name, path))
		return 0;
	return err_set(err, -ENOENT, "BPF object %s is neither in %.80s nor in %s", name, folder,
		KARMALB_BPF_DIR);
}

static char kernel_words[KARMALB_SENTENCE_MAX];

__attribute__((format(printf, 1, 0))) static void
report(const char *fmt, va_list args)
{
	static const char mark[] = "Kernel error message: ";
	char text[KARMALB_SENTENCE_MAX];
	int size = vsnprintf(text, sizeof(text), fmt, args);

	if (size > 0 && (size_t)size < sizeof(text) && text[size - 1] == '\n')
		text[size - 1] = '\0';
	log_debug("%s", text);
	const char *words = strstr(text, mark);

	if (words != NULL)
		snprintf(kernel_words, sizeof(kernel_words), "%s", words + strlen(mark));
}

__attribute__((format(printf, 2, 0))) static int
report_libbpf(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN)
		report(fmt, args);
	return 0;
}

__attribute__((format(printf, 2, 0))) static int
report_libxdp(enum libxdp_print_level level, const char *fmt, va_list args)
{
	if (level == LIBXDP_WARN)
		report(fmt, args);
	return 0;
}

void
bpf_object_quiet(void)
{
	libbpf_set_print(report_libbpf);
	libxdp_set_print(report_libxdp);
}

const char *
bpf_object_kernel_words(void)
{
	static char words[KARMALB_SENTENCE_MAX];

	strcpy(words, kernel_words);
	kernel_words[0] = '\0';
	return words;
}

/* 'map_ids' (NULL: not wanted) has BPF_OBJECT_MAPS_MAX of room, as info->nr_map_ids says after. */
static int
program_info(uint32_t program_id, struct bpf_prog_info *info, uint32_t *map_ids)
{
	uint32_t size = sizeof(*info);
	int fd = bpf_prog_get_fd_by_id(program_id);

	if (fd < 0)
		return -errno;
	memset(info, 0, sizeof(*info));
	if (map_ids != NULL) {
		info->nr_map_ids = BPF_OBJECT_MAPS_MAX;
		info->map_ids = (uint64_t)(uintptr_t)map_ids;
	}
	int error = bpf_obj_get_info_by_fd(fd, info, &size) == 0 ? 0 : -errno;

	close(fd);
	return error;
}

bool
bpf_object_program_name(uint32_t program_id, char name[BPF_OBJECT_NAME_MAX])
{
	struct bpf_prog_info info;

	if (program_info(program_id, &info, NULL) != 0)
		return false;
	snprintf(name, BPF_OBJECT_NAME_MAX, "%s", info.name);
	return true;
}

int
bpf_object_map(uint32_t program_id, const char *map_name)
{
	uint32_t map_ids[BPF_OBJECT_MAPS_MAX] = {0};
	struct bpf_prog_info program;
	int error = program_info(program_id, &program, map_ids);

	if (error != 0)
		return error;
	for (uint32_t i = 0; i < program.nr_map_ids && i < BPF_OBJECT_MAPS_MAX; i++) {
		struct bpf_map_info map = {0};
		uint32_t size = sizeof(map);
		int fd = bpf_map_get_fd_by_id(map_ids[i]);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &map, &size) == 0 && strcmp(map.name, map_name) == 0)
			return fd;
		close(fd);
	}
	return -ENOENT;
}
