/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers arguments before anything looks at them.  Runs once, at start. */
#include "arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
add_argument(struct arguments *a, char *argument, struct err *err);
static int
add_file(struct arguments *a, const char *path, struct err *err);

int
arguments_gather(struct arguments *a, int argc, char **argv, struct err *err)
{
	static const char prefix[] = "--arguments";
	int rc = 0;

	for (int i = 0; rc == 0 && i < argc; i++) {
		if (strncmp(argv[i], "--arguments=", sizeof(prefix)) == 0)
			rc = add_file(a, argv[i] + sizeof(prefix), err);
		else if (strcmp(argv[i], prefix) != 0)
			rc = add_argument(a, argv[i], err);
		else if (i + 1 < argc)
			rc = add_file(a, argv[++i], err);
		else
			rc = err_set(err, -EINVAL, "--arguments needs a file");
	}
	return rc;
}

void
arguments_forget(struct arguments *a)
{
	for (int i = 0; i < a->n_owned; i++)
		free(a->owned[i]);
}

static int
add_argument(struct arguments *a, char *argument, struct err *err)
{
	if (a->n == ARGUMENTS_MAX)
		return err_set(err, -EINVAL, "more than %d arguments", ARGUMENTS_MAX);
	a->list[a->n++] = argument;
	return 0;
}

static int
add_owned_argument(struct arguments *a, const char *text, struct err *err)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return err_set(err, -ENOMEM, "no memory for arguments");
	int rc = add_argument(a, copy, err);

	if (rc < 0)
		free(copy);
	else
		a->owned[a->n_owned++] = copy;
	return rc;
}

/* One line of an arguments file: empty, a comment, "--name=value" or "--name value". */
static int
add_line(struct arguments *a, char *line, struct err *err)
{
	static const char blank[] = " \t\r\n";
	char *text = line + strspn(line, blank);
	size_t length = strlen(text);

	while (length > 0 && strchr(blank, text[length - 1]) != NULL)
		text[--length] = '\0';
	if (length == 0 || text[0] == '#')
		return 0;

	size_t name_length = strcspn(text, " \t=");
	char *value = text + name_length + strspn(text + name_length, " \t");

	if (text[0] != '-' || text[name_length] == '=' || *value == '\0')
		return add_owned_argument(a, text, err);
	text[name_length] = '\0';
	int rc = add_owned_argument(a, text, err);

	return rc < 0 ? rc : add_owned_argument(a, value, err);
}

static int
add_file(struct arguments *a, const char *path, struct err *err)
{
	char line[ARGUMENT_LINE_MAX];
	FILE *f = fopen(path, "re");
	int rc = 0;

	if (f == NULL)
		return err_set(
			err, -errno, "--arguments: cannot read %s: %s", path, strerror(errno));
	for (unsigned n = 1; rc == 0 && fgets(line, sizeof(line), f) != NULL; n++) {
		if (strchr(line, '\n') == NULL && !feof(f))
			rc = err_set(err, -EINVAL, "%s:%u: line of more than %d bytes", path, n,
				ARGUMENT_LINE_MAX - 2);
		else
			rc = add_line(a, line, err);
	}
	if (rc == 0 && ferror(f))
		rc = err_set(err, -EIO, "--arguments: cannot read %s", path);
	fclose(f);
	return rc;
}
