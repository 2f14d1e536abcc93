/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for the build alone: prints the tables of settings, statements, outcomes, counters and
 * kinds of events, one row a line, fields parted by tabs, so that manuals are made from them and
 * checked against them.  See scripts/lib/manual.py.
 */
#include <stdio.h>
#include <string.h>

#include <karmalb/counters.h>

#include "command_list.h"
#include "history.h"
#include "settings.h"

static const char *const scopes[] = {
	[SETTING_SCOPE_FILE] = "file",
	[SETTING_SCOPE_DATAPLANE] = "dataplane",
	[SETTING_SCOPE_PORT] = "port",
	[SETTING_SCOPE_NEIGHBOUR] = "neighbour",
	[SETTING_SCOPE_CONTROLPLANE] = "controlplane",
	[SETTING_SCOPE_SERVICE] = "service",
	[SETTING_SCOPE_SERVICE_ONLY] = "service_only",
	[SETTING_SCOPE_MIRROR] = "mirror",
};

static const char *
expected(const struct setting *s, char *text, size_t size)
{
	switch (s->type) {
	case SETTING_GROUP:
		return "a group { }";
	case SETTING_GROUPS:
		return "a list of groups ( { }, { } )";
	case SETTING_STRINGS:
		return "a list of texts [ \"\", \"\" ]";
	case SETTING_ADDRESS:
		return "\"address\" or \"address:port\"";
	case SETTING_CPUS:
		return "a list of CPUs such as \"2-3,6\", or \"last\"";
	default:
		return setting_expected(s, text, size);
	}
}

/* setting, scope, name, quoted, default, expected, live, help */
static void
print_setting(const struct setting *s)
{
	char text[SETTING_EXPECTED_MAX];

	if (s->type == SETTING_LATER)
		return;
	printf("setting\t%s\t%s\t%d\t%s\t%s\t%d\t%s\n", scopes[s->scope], s->name,
		setting_is_quoted(s, s->default_text != NULL ? s->default_text : ""),
		s->default_text != NULL ? s->default_text : "\\", expected(s, text, sizeof(text)),
		s->is_live, s->help);
}

int
main(void)
{
	for (const struct setting *s = settings; s->name != NULL; s++)
		print_setting(s);
#define X(name, kind, syntax, help, example) \
	printf("statement\t%s\t%s\t%s\t%s\n", #kind, syntax, help, example);
	COMMANDS(X)
#undef X
#define X(member, name, help) printf("outcome\t%s\t%s\n", #name, help);
	KARMALB_OUTCOMES(X)
#undef X
#define X(member, name, help) printf("counter\t%s\t%s\n", #name, help);
	KARMALB_WORKER_COUNTERS(X)
#undef X
	for (unsigned i = 0; i < HISTORY_N_KINDS; i++)
		printf("event\t%s\n", history_kind_name(i));
	return 0;
}
