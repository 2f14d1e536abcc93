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

/* A saved statement. */
struct line {
	char *text;
	bool is_left_out;
	struct err why;
};

struct lines {
	unsigned n;
	struct line *lines;
};

static void
lines_fini(struct lines *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->lines[i].text);
	free(l->lines);
}

/* Takes 'text' in any case; 0 or -ENOMEM. */
static int
add_line(struct lines *l, char *text)
{
	struct line *lines;

	text[strcspn(text, "\n")] = '\0';
	if (text[strspn(text, " \t")] == '\0' || text[0] == '#') {
		free(text);
		return 0;
	}
	lines = reallocarray(l->lines, l->n + 1, sizeof(*lines));
	if (lines == NULL) {
		free(text);
		return -ENOMEM;
	}
	l->lines = lines;
	lines[l->n++] = (struct line){.text = text, .is_left_out = true};
	return 0;
}

/* 0 or a negative errno; what was read until then is to be freed. */
static int
read_lines(struct lines *l, FILE *input)
{
	size_t size = 0;
	char *text = NULL;
	int rc = 0;

	while (rc == 0 && getline(&text, &size, input) > 0) {
		rc = add_line(l, text);
		text = NULL;
		size = 0;
	}
	free(text);
	if (rc == 0 && ferror(input))
		rc = -EIO;
	return rc;
}

/* Those that are left out so far. */
static void
apply(struct lines *l, struct config **config, const struct edit_base *base)
{
	for (unsigned i = 0; i < l->n; i++) {
		struct line *line = &l->lines[i];

		if (line->is_left_out)
			line->is_left_out = edit_text(config, base, line->text, &line->why) < 0;
	}
}

/* They are good together, as they were written, or else each for itself: the file is another one
 * now.  Then one that needs what comes behind it gets a second chance. */
static int
apply_all(struct lines *l, struct config **config, struct edit_base *base, struct err *err)
{
	struct config *together = config_copy(*config);

	if (together == NULL) {
		err_set(err, "out of memory");
		return -ENOMEM;
	}
	base->is_part = true;
	apply(l, &together, base);
	if (config_edit_check(together, err) == 0) {
		config_free(*config);
		*config = together;
		return 0;
	}
	config_free(together);
	base->is_part = false;
	for (unsigned i = 0; i < l->n; i++)
		l->lines[i].is_left_out = true;
	apply(l, config, base);
	apply(l, config, base);
	return 0;
}

static void
report_lines(const struct lines *l, struct state_report *report)
{
	for (unsigned i = 0; i < l->n; i++) {
		const struct line *line = &l->lines[i];
		int length = (int)strcspn(line->text, ";");

		if (!line->is_left_out) {
			report->n_applied++;
			continue;
		}
		log_warning("saved statement left out: %.*s: %s", length, line->text,
			line->why.sentence);
		if (report->n_refused++ == 0)
			snprintf(report->first_refused, sizeof(report->first_refused),
				"%.*s: %.300s", length < 200 ? length : 200, line->text,
				line->why.sentence);
	}
}

int
state_file_apply(const char *path, struct config **config, const struct config *file,
	struct state_report *report, struct err *err)
{
	struct edit_base base = {.file = file, .now_unix_us = karmalb_unix_now_us()};
	FILE *input = fopen(path, "re");
	struct lines lines = {0};
	int rc;

	if (report != NULL)
		*report = (struct state_report){0};
	if (input == NULL && errno == ENOENT)
		return 0;
	rc = input == NULL ? -errno : read_lines(&lines, input);
	if (rc < 0)
		err_set(err, "%s cannot be read: %s", path, strerror(-rc));
	else
		rc = apply_all(&lines, config, &base, err);
	if (rc == 0 && report != NULL)
		report_lines(&lines, report);
	lines_fini(&lines);
	if (input != NULL)
		fclose(input);
	return rc;
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
