/* SPDX-License-Identifier: BSD-3-Clause */
/* CREATE SERVICE name LISTEN 'a'[, ...] MIRRORS ([name] 'address' [WEIGHT n][, ...])
 * [setting = value[,] ...].  Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "config_edit.h"
#include "config_reader.h"
#include "edit.h"
#include "edit_parts.h"
#include "statement.h"

/* What is being created. */
struct creation {
	struct config_service service;
	struct karmalb_endpoint listens[KARMALB_SERVICES_MAX];
	struct config_mirror mirrors[KARMALB_MIRRORS_MAX];
};

struct edit_cursor
edit_cursor_of(const struct statement *st, struct err *err)
{
	return (struct edit_cursor){st, st->arguments[st->n_arguments - 1].token, err};
}

static const char *
next(const struct edit_cursor *c)
{
	return c->at < c->st->n_tokens ? c->st->tokens[c->at].text : "the end of the statement";
}

/* Takes the next word if it is this sign. */
static bool
take_sign(struct edit_cursor *c, char sign)
{
	const struct statement_token *t = &c->st->tokens[c->at];

	if (c->at >= c->st->n_tokens || t->kind != STATEMENT_SIGN || t->text[0] != sign)
		return false;
	c->at++;
	return true;
}

static bool
is_keyword(const struct edit_cursor *c, const char *keyword)
{
	const struct statement_token *t = &c->st->tokens[c->at];

	return c->at < c->st->n_tokens && t->kind == STATEMENT_WORD &&
	       strcasecmp(t->text, keyword) == 0;
}

static bool
take_keyword(struct edit_cursor *c, const char *keyword)
{
	bool is_there = is_keyword(c, keyword);

	c->at += is_there;
	return is_there;
}

/* A word or a quoted text; NULL: something else is there. */
static const char *
take_text(struct edit_cursor *c)
{
	if (c->at >= c->st->n_tokens || c->st->tokens[c->at].kind == STATEMENT_SIGN)
		return NULL;
	return c->st->tokens[c->at++].text;
}

int
edit_cursor_end(const struct edit_cursor *c)
{
	if (c->at == c->st->n_tokens)
		return 0;
	return err_set(
		c->err, "found \"%.40s\", expected a comma or the end of the statement", next(c));
}

int
edit_read_listens(struct edit_cursor *c, struct karmalb_endpoint *listens)
{
	unsigned n = 0;

	do {
		const char *text = take_text(c);

		if (text == NULL || n == KARMALB_SERVICES_MAX)
			return err_set(c->err,
				"found \"%.40s\", expected an endpoint such as '192.0.2.10:80/tcp'",
				next(c));
		if (units_parse_endpoint(text, &listens[n], c->err) < 0 ||
			config_check_host(&listens[n].address, c->err) < 0)
			return err_prefix(c->err, "LISTEN '%.60s': ", text);
		n++;
	} while (take_sign(c, ','));
	return (int)n;
}

static int
set(struct config_mirror *mirror, const char *name, const char *text, struct err *err)
{
	return setting_parse(setting_find(SETTING_SCOPE_MIRROR, name), mirror, text, err);
}

int
edit_read_mirror(const struct edit_mirror *m, struct config_mirror *mirror, struct err *err)
{
	memset(mirror, 0, sizeof(*mirror));
	settings_set_defaults(SETTING_SCOPE_MIRROR, mirror);
	if (set(mirror, "name", m->name, err) < 0 ||
		(m->weight != NULL && set(mirror, "weight", m->weight, err) < 0))
		return -EINVAL;
	if (units_parse_host(m->address, &mirror->address, &mirror->port, err) < 0 ||
		config_check_host(&mirror->address, err) < 0)
		return err_prefix(err, "'%.60s': ", m->address);
	return 0;
}

/* WEIGHT with its number, if it is there; 0 or -EINVAL. */
static int
read_weight(struct edit_cursor *c, struct edit_mirror *m)
{
	char expected[SETTING_EXPECTED_MAX];

	if (!take_keyword(c, "WEIGHT"))
		return 0;
	m->weight = take_text(c);
	if (m->weight != NULL)
		return 0;
	return err_set(c->err, "found \"%.40s\" after WEIGHT, expected %s", next(c),
		setting_expected(
			setting_find(SETTING_SCOPE_MIRROR, "weight"), expected, sizeof(expected)));
}

/* One of the list; called by number where it has no name. */
static int
read_mirror(struct edit_cursor *c, struct creation *new)
{
	struct edit_mirror m = {.address = take_text(c)};
	char name[16];

	snprintf(name, sizeof(name), "m%u", new->service.n_mirrors + 1);
	m.name = name;
	if (m.address == NULL || new->service.n_mirrors == KARMALB_MIRRORS_MAX)
		return err_set(c->err, "found \"%.40s\", expected a mirror's address", next(c));
	if (!is_keyword(c, "WEIGHT")) {
		const char *second = take_text(c);

		if (second != NULL) {
			m.name = m.address;
			m.address = second;
		}
	}
	if (read_weight(c, &m) < 0)
		return -EINVAL;
	return edit_read_mirror(&m, &new->mirrors[new->service.n_mirrors++], c->err);
}

static int
read_mirrors(struct edit_cursor *c, struct creation *new)
{
	if (!take_keyword(c, "MIRRORS") || !take_sign(c, '('))
		return err_set(
			c->err, "found \"%.40s\", expected MIRRORS ('address', ...)", next(c));
	do {
		if (read_mirror(c, new) < 0)
			return -EINVAL;
	} while (take_sign(c, ','));
	if (!take_sign(c, ')'))
		return err_set(c->err, "found \"%.40s\", expected , or )", next(c));
	return 0;
}

static int
read_settings(struct edit_cursor *c, struct config_service *s)
{
	bool is_more = c->at < c->st->n_tokens;

	while (is_more) {
		const char *name = take_text(c), *text;
		struct setting_change change;

		if (name == NULL || !take_sign(c, '=') || (text = take_text(c)) == NULL)
			return err_set(
				c->err, "found \"%.40s\", expected setting = 'value'", next(c));
		if (settings_set(&s->settings, name, text, &change, c->err) < 0)
			return -EINVAL;
		s->own |= setting_bit(change.setting);
		is_more = take_sign(c, ',') || c->at < c->st->n_tokens;
	}
	return 0;
}

static int
read_creation(struct edit_cursor *c, struct creation *new, const char *name)
{
	int n;

	if (setting_parse(setting_find(SETTING_SCOPE_SERVICE_ONLY, "name"), &new->service, name,
		    c->err) < 0)
		return -EINVAL;
	n = edit_read_listens(c, new->listens);
	if (n < 0 || read_mirrors(c, new) < 0 || read_settings(c, &new->service) < 0)
		return -EINVAL;
	new->service.n_listens = (unsigned)n;
	new->service.listens = new->listens;
	new->service.mirrors = new->mirrors;
	return 0;
}

int
edit_create_service(struct edit *e, struct err *err)
{
	struct creation *new = calloc(1, sizeof(*new));
	struct edit_cursor c = edit_cursor_of(e->statement, err);
	int rc;

	if (new == NULL) {
		err_set(err, "out of memory");
		return -ENOMEM;
	}
	new->service.settings = e->config->defaults;
	rc = read_creation(&c, new, statement_argument(e->statement, "name"));
	if (rc == 0)
		rc = config_edit_add(e->config, &new->service, err);
	free(new);
	return rc;
}
