/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer, so that it stays compiled and right: on a file; or on all
 * files of a folder, then on random inputs from SEED (1 if not set).
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_INPUTS  3000
#define INPUT_MAX 4096

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int
run_file(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");

	if (file == NULL) {
		perror(path);
		return EXIT_FAILURE;
	}
	size_t size = fread(data, 1, sizeof(data), file);

	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	return EXIT_SUCCESS;
}

/* Says which file it is at, for the case that it is the last. */
static int
run_folder(DIR *folder, const char *path)
{
	int status = EXIT_SUCCESS;
	unsigned n = 0;

	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		printf("%s\n", name);
		fflush(stdout);
		status |= run_file(name);
		n++;
	}
	if (n == 0) {
		fprintf(stderr, "%s: no inputs\n", path);
		status = EXIT_FAILURE;
	}
	return status;
}

static void
run_random(uint64_t seed)
{
	static uint8_t data[INPUT_MAX];
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;

	printf("SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (unsigned i = 0; i < N_INPUTS; i++) {
		size_t size = next_random(&random) % INPUT_MAX;

		for (size_t k = 0; k < size; k++)
			data[k] = (uint8_t)next_random(&random);
		/* For inputs made of items: mostly simple and short ones. */
		for (size_t k = 0; k + 8 <= size; k += 8) {
			if (next_random(&random) % 16 != 0)
				data[k] &= 63;
			if (next_random(&random) % 8 != 0)
				data[k + 7] = 0;
		}
		LLVMFuzzerTestOneInput(data, size);
	}
}

int
main(int argc, char **argv)
{
	const char *text = getenv("SEED");
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE | FOLDER\n", argv[0]);
		return EXIT_FAILURE;
	}
	if (folder == NULL)
		return run_file(argv[1]);
	status = run_folder(folder, argv[1]);
	closedir(folder);
	run_random(text != NULL ? strtoull(text, NULL, 0) : 1);
	return status;
}
