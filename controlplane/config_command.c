/* SPDX-License-Identifier: BSD-3-Clause */
/* What karmalb-controlplane does with a file when it is not to run: the two look-and-tell options.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "dataplane_arguments.h"

/* The value of a good file; NULL: errors are on stderr. */
static const struct config *
load(const char *path)
{
	struct config_errors errors;
	const struct config *config = config_load(path, &errors);

	if (config == NULL)
		config_errors_print(&errors, stderr);
	return config;
}

/* A full disk or a closed pipe must not pass for success. */
static int
finish(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	fprintf(stderr, "cannot write: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

int
config_check_command(const char *path)
{
	const struct config *config = load(path);

	if (config == NULL)
		return EXIT_FAILURE;
	config_print(config, stdout);
	config_free(config);
	return finish();
}

int
config_arguments_command(const char *path)
{
	const struct config *config = load(path);

	if (config == NULL)
		return EXIT_FAILURE;
	dataplane_arguments_print(&config->dataplane, stdout);
	config_free(config);
	return finish();
}
