/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading as a whole: text, its form, libconfig's tree, the value, the checks.  Owns the memory of
 * the value.  Runs on the loop's thread or before it; reads one file and nothing else.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "config_errors.h"
#include "config_reader.h"
#include "config_syntax.h"

struct block {
	struct block *next;
	alignas(max_align_t) char bytes[];
};

/* What a struct config of ours lies in; all that it points to is in the blocks. */
struct arena {
	struct config config;
	struct block *blocks;
};

static struct arena *
arena_of(const struct config *config)
{
	return (struct arena *)(uintptr_t)config; /* its first member */
}

struct config *
config_create(void)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	return arena != NULL ? &arena->config : NULL;
}

void *
config_take(struct config *config, size_t n, size_t size)
{
	struct arena *arena = arena_of(config);
	struct block *block = calloc(1, sizeof(*block) + n * size);

	if (block == NULL)
		return NULL;
	block->next = arena->blocks;
	arena->blocks = block;
	return block->bytes;
}

void *
config_reader_take(struct config_reader *r, size_t n, size_t size)
{
	void *bytes = config_take(r->config, n, size);

	if (bytes == NULL)
		config_errors_add(r->errors, r->file, 0, "not enough memory");
	return bytes;
}

void
config_free(const struct config *config)
{
	if (config == NULL)
		return;
	struct arena *arena = arena_of(config);

	while (arena->blocks != NULL) {
		struct block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	free(arena);
}

/* What libconfig finds although the form is right. */
static void
add_tree_error(struct config_reader *r)
{
	const char *text = config_error_text(&r->tree);
	unsigned line = (unsigned)config_error_line(&r->tree);

	if (strstr(text, "duplicate") != NULL)
		text = "a setting of this name stands in this group already";
	else if (strstr(text, "mismatched") != NULL)
		text = "elements of different kinds within [ ], expected all of one kind";
	config_errors_add(r->errors, r->file, line, "%s", text);
}

/* The value, or NULL with errors; 'text' ends with a newline. */
static const struct config *
parse_tree(struct config_reader *r, const char *text)
{
	r->config = config_create();
	if (r->config == NULL) {
		config_errors_add(r->errors, r->file, 0, "not enough memory");
		return NULL;
	}
	config_init(&r->tree);
	if (config_read_string(&r->tree, text) != CONFIG_TRUE) {
		add_tree_error(r);
		config_errors_quote(r->errors, text, strlen(text));
	} else {
		config_reader_fill(r);
		if (r->errors->n_errors == 0)
			config_reader_check(r);
	}
	config_destroy(&r->tree);
	if (r->errors->n_errors == 0)
		return r->config;
	config_free(r->config);
	return NULL;
}

/* As config_parse(), for a text that is followed by a newline and a byte 0. */
static const struct config *
parse_text(struct config_reader *r, const char *text, size_t size)
{
	const struct config *config = NULL;

	if (memchr(text, '\0', size) != NULL)
		config_errors_add(r->errors, r->file, 0, "holds a byte 0, expected text");
	else if (!config_syntax_check(r->file, text, size, r->errors))
		config_errors_quote(r->errors, text, size);
	else
		config = parse_tree(r, text);
	config_errors_sort(r->errors);
	return config;
}

const struct config *
config_parse(const char *name, const char *text, size_t size, struct config_errors *errors)
{
	struct config_reader reader = {.file = name, .errors = errors};

	memset(errors, 0, sizeof(*errors));
	if (size > CONFIG_SIZE_MAX) {
		config_errors_add(errors, name, 0, "is larger than %d bytes", CONFIG_SIZE_MAX);
		return NULL;
	}
	char *copy = malloc(size + 2);

	if (copy == NULL) {
		config_errors_add(errors, name, 0, "not enough memory");
		return NULL;
	}
	memcpy(copy, text, size);
	memcpy(copy + size, "\n", 2); /* libconfig takes no comment without an end of line */
	const struct config *config = parse_text(&reader, copy, size + 1);

	free(copy);
	return config;
}

/* Reads at most 'size' bytes; the number read, or a negative errno. */
static ssize_t
read_file(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		return -errno;
	errno = 0;
	size_t n = fread(text, 1, size, file);
	int error = ferror(file) ? (errno != 0 ? errno : EIO) : 0;

	fclose(file);
	return error != 0 ? -error : (ssize_t)n;
}

const struct config *
config_load(const char *path, struct config_errors *errors)
{
	const struct config *config = NULL;
	size_t size = CONFIG_SIZE_MAX + 1; /* one more, so that a larger file shows */
	char *text = malloc(size);

	memset(errors, 0, sizeof(*errors));
	if (text == NULL) {
		config_errors_add(errors, path, 0, "not enough memory");
		return NULL;
	}
	ssize_t n = read_file(path, text, size);

	if (n < 0)
		config_errors_add(errors, path, 0, "cannot be read: %s", strerror((int)-n));
	else
		config = config_parse(path, text, (size_t)n, errors);
	free(text);
	return config;
}

struct karmalb_endpoint
config_mirror_endpoint(const struct config_mirror *mirror, const struct karmalb_endpoint *listen)
{
	return (struct karmalb_endpoint){
		.address = mirror->address,
		.port_be = mirror->port != 0 ? htons(mirror->port) : listen->port_be,
		.protocol = listen->protocol,
	};
}
