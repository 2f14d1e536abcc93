/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer: on the files named, else on random inputs from SEED (1 if
 * not set), so that the target stays compiled and right.
 */
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

int
main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];
	const char *text = getenv("SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	int status = EXIT_SUCCESS;

	for (int i = 1; i < argc; i++)
		status |= run_file(argv[i]);
	if (argc > 1)
		return status;
	printf("SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (unsigned i = 0; i < N_INPUTS; i++) {
		size_t size = next_random(&random) % INPUT_MAX;

		for (size_t k = 0; k < size; k++)
			data[k] = (uint8_t)next_random(&random);
		/* Mostly segments, seldom long waits. */
		for (size_t k = 0; k + 8 <= size; k += 8) {
			if (next_random(&random) % 16 != 0)
				data[k] &= 127;
			if (next_random(&random) % 8 != 0)
				data[k] &= 191;
		}
		LLVMFuzzerTestOneInput(data, size);
	}
	return EXIT_SUCCESS;
}
