/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of statements to steps of config_edit.h.  CREATE SERVICE: edit_create.c.  Pure. */
#include "edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <karmalb/clock.h>

#include "config.h"
#include "config_edit.h"
#include "edit_parts.h"
#include "statement.h"
#include "units.h"

#define DRAIN_MAX_US (24 * 60 * KARMALB_MINUTE)

static const char *
argument(const struct edit *e, const char *name)
{
	return statement_argument(e->statement, name);
}

int
edit_set_service(struct edit *e, struct err *err)
{
	struct setting_change change;

	return config_edit_setting(e->config, argument(e, "service"), argument(e, "setting"),
		argument(e, "value"), &change, err);
}

int
edit_set_global(struct edit *e, struct err *err)
{
	struct setting_change change;

	return config_edit_default(
		e->config, argument(e, "setting"), argument(e, "value"), &change, err);
}

int
edit_add_mirror(struct edit *e, struct err *err)
{
	struct edit_mirror m = {argument(e, "name"), argument(e, "address"), argument(e, "weight")};
	struct config_mirror mirror;

	if (edit_read_mirror(&m, &mirror, err) < 0)
		return -EINVAL;
	return config_edit_add_mirror(e->config, argument(e, "service"), &mirror, err);
}

int
edit_drop_mirror(struct edit *e, struct err *err)
{
	const char *service = argument(e, "service");
	const struct config_service *s = config_edit_find(e->config, service, err);
	const char *mirror = argument(e, "mirror");

	if (s == NULL)
		return -ENOENT;
	if (!e->is_part && s->n_mirrors == 1 && strcmp(s->mirrors[0].name, mirror) == 0)
		return err_set(err, "%s is the last mirror of %s; DROP SERVICE %s drops both",
			mirror, service, service);
	return config_edit_drop_mirror(e->config, service, mirror, err);
}

int
edit_alter_listen(struct edit *e, struct err *err)
{
	struct karmalb_endpoint listens[KARMALB_SERVICES_MAX];
	struct edit_cursor c = edit_cursor_of(e->statement, err);
	int n = edit_read_listens(&c, listens);

	if (n < 0 || edit_cursor_end(&c) < 0)
		return -EINVAL;
	return config_edit_listens(e->config, argument(e, "service"), listens, (unsigned)n, err);
}

int
edit_alter_default(struct edit *e, struct err *err)
{
	return config_edit_inherit(e->config, argument(e, "service"), argument(e, "setting"), err);
}

int
edit_drop_service(struct edit *e, struct err *err)
{
	return config_edit_drop(e->config, argument(e, "service"), err);
}

int
edit_reset_service(struct edit *e, struct err *err)
{
	const char *name = argument(e, "service");
	const struct config_service *s = config_edit_find(e->file, name, err);
	int rc;

	if (s == NULL)
		return err_set(err,
			"the configuration file has no service \"%.64s\"; DROP SERVICE drops it",
			name);
	rc = config_edit_replace(e->config, s, err);
	if (rc == -ENOENT) /* dropped by a statement: back it comes */
		rc = config_edit_add(e->config, s, err);
	return rc;
}

/* SET MIRROR mirror name = text. */
static int
set_mirror(struct edit *e, const char *name, const char *text, struct err *err)
{
	struct config_value value = {name, text};
	char service[KARMALB_NAME_MAX];
	const char *mirror = edit_split(e->config, argument(e, "mirror"), service, err);

	if (mirror == NULL)
		return -ENOENT;
	return config_edit_mirror(e->config, service, mirror, &value, err);
}

/* When WITHIN or UNTIL say that a drain ends, in whole milliseconds as it is written; 0: without.
 */
static int
read_end(const struct edit *e, uint64_t *until_us, struct err *err)
{
	const char *within = argument(e, "duration"), *until = argument(e, "time");
	uint64_t within_us = 0;

	*until_us = 0;
	if (within != NULL && until != NULL)
		return err_set(err, "WITHIN or UNTIL, not both");
	if (until != NULL)
		return units_parse_time(until, until_us, err) < 0
			       ? err_prefix(err, "UNTIL %.40s: ", until)
			       : 0;
	if (within == NULL)
		return 0;
	if (units_parse_duration(within, KARMALB_SECOND, &within_us, err) < 0)
		return err_prefix(err, "WITHIN %.40s: ", within);
	if (within_us == 0 || within_us > DRAIN_MAX_US)
		return err_set(err, "WITHIN %.40s: expected more than 0, at most 1d", within);
	*until_us = e->now_unix_us + within_us + KARMALB_MILLISECOND - 1;
	*until_us -= *until_us % KARMALB_MILLISECOND;
	return 0;
}

int
edit_set_mirror_state(struct edit *e, struct err *err)
{
	const char *state = argument(e, "state");
	char service[KARMALB_NAME_MAX];
	const char *mirror;
	uint64_t until_us;
	int rc = read_end(e, &until_us, err);

	if (rc < 0)
		return rc;
	if (until_us == 0)
		return set_mirror(e, "state", state, err);
	if (strcmp(state, "drain") != 0)
		return err_set(err, "WITHIN and UNTIL are for STATE = drain only");
	if (until_us <= e->now_unix_us)
		return set_mirror(e, "state", "maintenance", err); /* it is over */
	mirror = edit_split(e->config, argument(e, "mirror"), service, err);
	if (mirror == NULL)
		return -ENOENT;
	return config_edit_drain(e->config, service, mirror, until_us, err);
}

int
edit_set_mirror_weight(struct edit *e, struct err *err)
{
	return set_mirror(e, "weight", argument(e, "weight"), err);
}

const char *
edit_split(const struct config *config, const char *text, char *service, struct err *err)
{
	const char *dot = strchr(text, '.');
	const struct config_service *found = NULL;

	for (; dot != NULL; dot = strchr(dot + 1, '.')) {
		size_t length = (size_t)(dot - text);

		if (length >= KARMALB_NAME_MAX)
			break;
		memcpy(service, text, length);
		service[length] = '\0';
		found = config_edit_find(config, service, err);
		if (found != NULL && config_edit_find_mirror(found, dot + 1, err) != NULL)
			return dot + 1;
	}
	if (strchr(text, '.') == NULL)
		err_set(err, "found \"%.64s\", expected service.mirror, such as web.m1", text);
	return NULL;
}

/* ---- from a text ---- */

struct row {
	const char *syntax;
	int (*edit)(struct edit *e, struct err *err);
};

#define EDIT_OF_READ(name, syntax)
#define EDIT_OF_CHANGE(name, syntax)
#define EDIT_OF_EDIT(name, syntax) {syntax, edit_##name},
static const struct row rows[] = {
#define X(name, kind, syntax, help, example) EDIT_OF_##kind(name, syntax)
	COMMANDS(X)
#undef X
		{"SET SERVICE service setting = 'value'", edit_set_service},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Edits 'config'. */
static int
run(struct edit *e, struct statement *statement, const char *text, struct err *err)
{
	const char *syntaxes[N_ROWS];
	int row, rc;

	for (unsigned i = 0; i < N_ROWS; i++)
		syntaxes[i] = rows[i].syntax;
	if (statement_read(statement, text, strlen(text), err) < 0)
		return -EINVAL;
	row = statement_match(statement, syntaxes, N_ROWS, err);
	if (row < 0)
		return -EINVAL;
	rc = rows[row].edit(e, err);
	return rc < 0 || e->is_part ? rc : config_edit_check(e->config, err);
}

int
edit_text(struct config **config, const struct edit_base *base, const char *text, struct err *err)
{
	struct statement *statement = malloc(sizeof(*statement));
	struct edit e = {
		/* A saved statement is one step, which fails as a whole; a copy for each of
		 * thousands would take long. */
		.config = base->is_part ? *config : config_copy(*config),
		.file = base->file,
		.statement = statement,
		.now_unix_us = base->now_unix_us,
		.is_part = base->is_part,
	};
	int rc = -ENOMEM;

	err_set(err, "out of memory");
	if (statement != NULL && e.config != NULL)
		rc = run(&e, statement, text, err);
	free(statement);
	if (base->is_part)
		return rc;
	config_free(rc < 0 ? e.config : *config);
	if (rc == 0)
		*config = e.config;
	return rc;
}
