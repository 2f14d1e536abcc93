/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal form: every setting of the table, with a remark where the value is a default or 0 has
 * a meaning.  Remarks follow from values alone, so what is printed from the form is the same again.
 */
#include <stdarg.h>
#include <string.h>

#include "config.h"

/* Where remarks begin, so that they stand below each other. */
#define REMARK_COLUMN 40

/* Settings of one scope to print: their struct, and the one that defaults come from. */
struct source {
	enum setting_scope scope;
	const void *base;
	const void *defaults;
	const char *default_word; /* what to call a value that is as there */
};

static void
print_indent(FILE *out, unsigned depth)
{
	fprintf(out, "%*s", (int)(2 * depth), "");
}

static bool
has_value(const struct setting *s)
{
	return s->type <= SETTING_CPUS;
}

static bool
is_unused(const struct setting *s, const struct source *source)
{
	const struct service_settings *service = source->base;

	return s->scope == SETTING_SCOPE_SERVICE && service->karma_rule == KARMA_RULE_DOCUMENTED &&
	       (s->offset == offsetof(struct service_settings, karma_gain) ||
		       s->offset == offsetof(struct service_settings, karma_forget) ||
		       s->offset == offsetof(struct service_settings, karma_floor));
}

static bool
is_zero(const char *text)
{
	return text[0] == '\0' || strcmp(text, "0") == 0 || strcmp(text, "0s") == 0;
}

/* What stands behind the value: "default: off". */
static void
format_remark(const struct setting *s, const struct source *source, char *remark, size_t size)
{
	char text[SETTING_TEXT_MAX], other[SETTING_TEXT_MAX];
	const char *word = "", *meaning = "";

	setting_format(s, source->base, text, sizeof(text));
	setting_format(s, source->defaults, other, sizeof(other));
	if (s->default_text != NULL && strcmp(text, other) == 0)
		word = source->default_word;
	if (is_unused(s, source))
		meaning = "not used by karma_rule = \"documented\"";
	else if (s->zero != NULL && is_zero(text))
		meaning = s->zero;
	snprintf(remark, size, "%s%s%s", word, word[0] != '\0' && meaning[0] != '\0' ? ": " : "",
		meaning);
}

/* "name = value;" as a file has it; returns its length. */
static int
print_value(FILE *out, const struct setting *s, const void *base)
{
	char text[SETTING_TEXT_MAX];
	const char *quote;

	setting_format(s, base, text, sizeof(text));
	quote = setting_is_quoted(s, text) ? "\"" : "";
	return fprintf(out, "%s = %s%s%s;", s->name, quote, text, quote);
}

/* The settings of a group, one a line. */
static void
print_settings(FILE *out, unsigned depth, const struct source *source)
{
	char remark[SETTING_TEXT_MAX];

	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != source->scope || !has_value(s))
			continue;
		print_indent(out, depth);
		int n = print_value(out, s, source->base) + (int)(2 * depth);

		format_remark(s, source, remark, sizeof(remark));
		if (remark[0] != '\0')
			fprintf(out, "%*s # %s", n < REMARK_COLUMN ? REMARK_COLUMN - n : 0, "",
				remark);
		fputc('\n', out);
	}
}

/* The settings of a small group, all in one line. */
static void
print_short_group(FILE *out, enum setting_scope scope, const void *base)
{
	char text[UNITS_TEXT_MAX];

	fputs("{ ", out);
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope != scope || s->type == SETTING_LATER)
			continue;
		if (s->type == SETTING_ADDRESS) {
			const struct config_mirror *m = base;

			fprintf(out, "%s = \"%s\";", s->name,
				units_format_host(&m->address, m->port, text, sizeof(text)));
		} else {
			print_value(out, s, base);
		}
		fputc(' ', out);
	}
	fputc('}', out);
}

static void
print_neighbours(const struct config_dataplane *d, FILE *out)
{
	if (d->n_neighbours == 0)
		return;
	fputs("  neighbours = (", out);
	for (unsigned i = 0; i < d->n_neighbours; i++) {
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		print_short_group(out, SETTING_SCOPE_NEIGHBOUR, &d->neighbours[i]);
	}
	fputs(" );\n", out);
}

static void
print_dataplane(const struct config_dataplane *d, FILE *out)
{
	struct config_dataplane defaults;
	struct source source = {SETTING_SCOPE_DATAPLANE, d, &defaults, "default"};
	char text[UNITS_TEXT_MAX];

	memset(&defaults, 0, sizeof(defaults));
	settings_set_defaults(SETTING_SCOPE_DATAPLANE, &defaults);
	fputs("dataplane = {\n", out);
	print_settings(out, 1, &source);
	fputs("  ports = (", out);
	for (unsigned i = 0; i < d->n_ports; i++) {
		fputs(i > 0 ? ",\n    " : "\n    ", out);
		print_short_group(out, SETTING_SCOPE_PORT, &d->ports[i]);
	}
	fputs(" );\n", out);
	print_neighbours(d, out);
	fputs("  sources = [", out);
	for (unsigned i = 0; i < d->n_sources; i++)
		fprintf(out, "%s \"%s\"", i > 0 ? "," : "",
			units_format_cidr(&d->sources[i], text, sizeof(text)));
	fputs(" ];\n};\n\n", out);
}

static void
print_controlplane(const struct config_controlplane *c, FILE *out)
{
	struct config_controlplane defaults;
	struct source source = {SETTING_SCOPE_CONTROLPLANE, c, &defaults, "default"};

	memset(&defaults, 0, sizeof(defaults));
	settings_set_defaults(SETTING_SCOPE_CONTROLPLANE, &defaults);
	fputs("controlplane = {\n", out);
	print_settings(out, 1, &source);
	fputs("};\n\n", out);
}

static void
print_defaults(const struct service_settings *service, FILE *out)
{
	struct service_settings defaults;
	struct source source = {SETTING_SCOPE_SERVICE, service, &defaults, "default"};

	memset(&defaults, 0, sizeof(defaults));
	settings_set_defaults(SETTING_SCOPE_SERVICE, &defaults);
	fputs("defaults = {\n", out);
	print_settings(out, 1, &source);
	fputs("};\n\n", out);
}

static void
print_service(const struct config_service *s, const struct service_settings *defaults, FILE *out)
{
	struct source name = {SETTING_SCOPE_SERVICE_ONLY, s, s, ""};
	struct source source = {SETTING_SCOPE_SERVICE, &s->settings, defaults, "as in defaults"};
	char text[UNITS_TEXT_MAX];

	fputs("  {\n", out);
	print_settings(out, 2, &name);
	fputs("    listen = [", out);
	for (unsigned i = 0; i < s->n_listens; i++)
		fprintf(out, "%s \"%s\"", i > 0 ? "," : "",
			units_format_endpoint(&s->listens[i], text, sizeof(text)));
	fputs(" ];\n", out);
	print_settings(out, 2, &source);
	fputs("    mirrors = (", out);
	for (unsigned i = 0; i < s->n_mirrors; i++) {
		fputs(i > 0 ? ",\n      " : "\n      ", out);
		print_short_group(out, SETTING_SCOPE_MIRROR, &s->mirrors[i]);
	}
	fputs(" );\n  }", out);
}

void
config_print(const struct config *config, FILE *out)
{
	struct source file = {SETTING_SCOPE_FILE, config, config, ""};

	print_settings(out, 0, &file);
	fputc('\n', out);
	print_dataplane(&config->dataplane, out);
	print_controlplane(&config->controlplane, out);
	print_defaults(&config->defaults, out);
	fputs("services = (", out);
	for (unsigned i = 0; i < config->n_services; i++) {
		fputs(i > 0 ? ",\n" : "\n", out);
		print_service(&config->services[i], &config->defaults, out);
	}
	fputs(config->n_services > 0 ? "\n);\n" : " );\n", out);
}
