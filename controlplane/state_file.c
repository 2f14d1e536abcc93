/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing the saved statements.  On the loop's thread, at start and when asked to: a
 * few kilobytes. */
#include "state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "edit.h"
#include "err.h"
#include "log.h"

static void
apply_line(struct config **config, const struct edit_base *base, const char *line,
	struct state_report *report)
{
	struct err err;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return;
	if (edit_text(config, base, line, &err) == 0) {
		if (report != NULL)
			report->n_applied++;
		return;
	}
	if (report == NULL)
		return;
	log_warning("saved statement left out: %s: %s", line, err.sentence);
	if (report->n_refused++ == 0)
		snprintf(report->first_refused, sizeof(report->first_refused), "%.200s: %.300s",
			line, err.sentence);
}

int
state_file_apply(const char *path, struct config **config, const struct config *file,
	struct state_report *report, struct err *err)
{
	const struct edit_base base = {.file = file, .now_unix_us = karmalb_unix_now_us()};
	FILE *input = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (report != NULL)
		*report = (struct state_report){0};
	if (input == NULL && errno == ENOENT)
		return 0;
	if (input == NULL) {
		int error = errno;

		err_set(err, "%s cannot be read: %s", path, strerror(error));
		return -error;
	}
	while ((n = getline(&line, &size, input)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		apply_line(config, &base, line, report);
	}
	free(line);
	fclose(input);
	return 0;
}

/* All of it, or a negative errno. */
static int
write_all(int fd, const char *text)
{
	size_t size = strlen(text);

	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* So that the renaming itself outlives a crash. */
static int
sync_directory(const char *path)
{
	char directory[PATH_MAX];
	int fd, rc;

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int
state_file_write(const char *path, const char *text, struct err *err)
{
	char new_path[PATH_MAX];
	int fd, rc;

	snprintf(new_path, sizeof(new_path), "%s.new", path);
	fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	rc = fd < 0 ? -errno : write_all(fd, text);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(new_path, path) < 0)
		rc = -errno;
	if (rc == 0)
		rc = sync_directory(path);
	if (rc == 0)
		return 0;
	if (fd >= 0)
		unlink(new_path);
	err_set(err, "%s cannot be written: %s", path, strerror(-rc));
	return rc;
}
