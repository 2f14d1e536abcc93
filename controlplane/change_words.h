/* SPDX-License-Identifier: BSD-3-Clause */
/* One change in words, as plan_words() says it and renderers show it.  Pure. */
#pragma once

struct change_words {
	const char *action; /* "added", "dropped", "changed", "unchanged", "ended" */
	const char
		*kind; /* "service", "mirror", "flows", "defaults", "dataplane", "controlplane" */
	const char *setting; /* NULL: the whole of it */
	/* Of plan_words(): its own; elsewhere the author's. */
	char *name;                /* "web", "web.m1"; NULL: there is but one */
	char *old_text, *new_text; /* NULL: there was, or is, none */
	char *sentence;            /* all of it: "mirror web.m1: weight 1 -> 5" */
};

/* Takes NULL. */
void
change_words_free(struct change_words *list, unsigned n);
