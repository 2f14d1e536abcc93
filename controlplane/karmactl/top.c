/* SPDX-License-Identifier: BSD-3-Clause */
/* The live table.  Knows no figures: the control plane makes the text. */
#include "top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "err.h"
#include "terminal.h"

#define INTERVAL_MS 1000

/* What was last shown. */
struct table {
	char *text;       /* the last answer; NULL: none yet */
	bool is_done;     /* it is a table, not a refusal */
	struct err error; /* why there is no newer one */
	bool is_stale;
};

static char *
make_statement(const struct top *top);
static void
refresh(struct client *client, const char *statement, enum client_form form, struct table *table);
static void
show(const struct table *table, bool is_first);

enum run_status
top_run(struct client *client, const struct top *top)
{
	char *statement = make_statement(top);
	struct table table = {.text = NULL};
	enum run_status status = RUN_DONE;

	refresh(client, statement, top->form, &table);
	if (table.is_stale || !table.is_done) {
		status = table.is_stale ? run_no_answer(&table.error) : RUN_REFUSED;
		if (!table.is_stale)
			fputs(table.text, top->form == CLIENT_JSON ? stdout : stderr);
		goto free;
	}
	terminal_open();
	for (unsigned n_shown = 0;;) {
		enum terminal_event event;

		show(&table, n_shown == 0);
		n_shown++;
		if (n_shown == top->count)
			break;
		while ((event = terminal_wait(INTERVAL_MS)) == TERMINAL_RESIZE)
			show(&table, false);
		if (event == TERMINAL_QUIT)
			break;
		refresh(client, statement, top->form, &table);
	}
	bool was_screen = terminal_is_screen();

	terminal_close();
	if (was_screen)
		fputs(table.text, stdout); /* stays when the screen is given back */

free:
	free(table.text);
	free(statement);
	return status;
}

/* The service's name in quotes, and those in it written twice. */
static char *
make_statement(const struct top *top)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	fputs("SHOW MIRRORS", out);
	if (top->service != NULL) {
		fputs(" FROM '", out);
		for (const char *c = top->service; *c != '\0'; c++)
			fputs(*c == '\'' ? "''" : (char[]){*c, '\0'}, out);
		fputc('\'', out);
	}
	fclose(out);
	return text;
}

static void
refresh(struct client *client, const char *statement, enum client_form form, struct table *table)
{
	struct client_answer answer;

	table->is_stale = true;
	if (statement == NULL) {
		err_set(&table->error, "out of memory");
		return;
	}
	if (client_ask(client, statement, form, &answer, &table->error) < 0)
		return;
	if (answer.body == NULL) {
		err_set(&table->error, "the control plane gave an empty answer");
		return;
	}
	free(table->text);
	table->text = answer.body;
	table->is_done = answer.is_done;
	table->is_stale = false;
}

static void
show(const struct table *table, bool is_first)
{
	time_t now = time(NULL);
	char *text, clock[16];

	if (!terminal_is_screen()) {
		if (table->is_stale)
			fprintf(stderr, "karmactl: %s\n", table->error.sentence);
		else
			printf("%s%s", is_first ? "" : "\n", table->text);
		fflush(stdout);
		return;
	}
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&now));
	if (asprintf(&text, "%s  every second  q ends%s%s\n\n%s", clock,
		    table->is_stale ? "   ! NOT UP TO DATE: " : "",
		    table->is_stale ? table->error.sentence : "", table->text) < 0)
		return;
	terminal_draw(text);
	free(text);
}
