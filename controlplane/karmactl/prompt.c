/* SPDX-License-Identifier: BSD-3-Clause */
/* libedit in front of run.h. */
#include "prompt.h"

#include <errno.h>
#include <histedit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "complete.h"
#include "err.h"
#include "shortcut.h"
#include "top.h"

#define HISTORY_FILE ".karmactl_history" /* at home */
#define HISTORY_MAX  1000

struct prompt {
	struct client *client;
	EditLine *edit;
	History *history;
	char history_path[4096]; /* empty: nowhere to keep it */
	bool is_interrupted;
};

/* libedit's callbacks get no argument of ours that they could use. */
static struct prompt prompt;

static int
setup(void);
static void
cleanup(void);
static void
read_lines(enum client_form form);
static void
run_line(const char *line, enum client_form form);
static bool
is_end(const char *line);
static char *
prompt_text(EditLine *edit);
static unsigned char
on_tab(EditLine *edit, int key);
static unsigned char
on_interrupt(EditLine *edit, int key);

enum run_status
prompt_run(struct client *client, enum client_form form)
{
	prompt.client = client;
	if (setup() < 0) {
		struct err err;

		err_set(&err, "cannot set up the terminal");
		return run_no_answer(&err);
	}
	puts("HELP lists the statements, Tab completes, Ctrl-D ends.");
	read_lines(form);
	cleanup();
	return RUN_DONE;
}

static int
setup(void)
{
	const char *home = getenv("HOME");
	HistEvent event;

	prompt.edit = el_init("karmactl", stdin, stdout, stderr);
	prompt.history = history_init();
	if (prompt.edit == NULL || prompt.history == NULL)
		return -ENOMEM;
	history(prompt.history, &event, H_SETSIZE, HISTORY_MAX);
	history(prompt.history, &event, H_SETUNIQUE, 1);
	if (home != NULL && snprintf(prompt.history_path, sizeof(prompt.history_path), "%s/%s",
				    home, HISTORY_FILE) >= (int)sizeof(prompt.history_path))
		prompt.history_path[0] = '\0';
	if (prompt.history_path[0] != '\0')
		history(prompt.history, &event, H_LOAD, prompt.history_path);
	el_set(prompt.edit, EL_PROMPT, prompt_text);
	el_set(prompt.edit, EL_EDITOR, "emacs");
	el_set(prompt.edit, EL_SIGNAL, 1);
	el_set(prompt.edit, EL_HIST, history, prompt.history);
	el_set(prompt.edit, EL_ADDFN, "karmactl-complete", "Complete", on_tab);
	el_set(prompt.edit, EL_BIND, "^I", "karmactl-complete", NULL);
	el_set(prompt.edit, EL_ADDFN, "karmactl-interrupt", "Forget the line", on_interrupt);
	el_set(prompt.edit, EL_BIND, "^C", "karmactl-interrupt", NULL);
	el_source(prompt.edit, NULL); /* the user's ~/.editrc */
	el_set(prompt.edit, EL_SETTY, "-d", "-isig", NULL);
	return 0;
}

static void
cleanup(void)
{
	history_end(prompt.history);
	el_end(prompt.edit);
}

/* Kept at once, so that nothing is lost however this ends; for nobody else's eyes. */
static void
remember(const char *line)
{
	HistEvent event;
	mode_t before = umask(0077);

	history(prompt.history, &event, H_ENTER, line);
	if (prompt.history_path[0] != '\0')
		history(prompt.history, &event, H_SAVE, prompt.history_path);
	umask(before);
}

static void
read_lines(enum client_form form)
{
	for (;;) {
		int length = 0;
		const char *line = el_gets(prompt.edit, &length);

		if (prompt.is_interrupted) { /* forget the line, as a shell does */
			prompt.is_interrupted = false;
			putchar('\n');
			el_reset(prompt.edit);
			continue;
		}
		if (line == NULL || length <= 0) {
			putchar('\n');
			return;
		}
		if (is_end(line))
			return;
		if (line[strspn(line, " \t\r\n;")] != '\0')
			remember(line);
		run_line(line, form);
		fflush(stdout);
	}
}

static void
run_line(const char *line, enum client_form form)
{
	char *service;

	if (shortcut_is_top(line, &service))
		top_run(prompt.client, &(struct top){.service = service, .form = form});
	else
		run_text(prompt.client, line, form);
	free(service);
}

static bool
is_end(const char *line)
{
	line += strspn(line, " \t");
	size_t length = strcspn(line, " \t\r\n;");

	return length == 4 &&
	       (strncasecmp(line, "quit", 4) == 0 || strncasecmp(line, "exit", 4) == 0);
}

static char *
prompt_text(EditLine *edit)
{
	static char text[] = "karmalb> ";

	(void)edit;
	return text;
}

/* What may stand there now: asked anew each time, since services come and go. */
static struct complete *
ask_complete(void)
{
	struct client_answer answer;
	struct complete *complete = NULL;
	struct err err;

	if (client_ask(prompt.client, "HELP", CLIENT_JSON, &answer, &err) < 0)
		return NULL;
	if (answer.is_done && answer.body != NULL)
		complete = complete_create(answer.body);
	client_answer_free(&answer);
	return complete;
}

static void
list(const struct completions *completions)
{
	putchar('\n');
	for (unsigned i = 0; i < completions->n_words; i++)
		printf("%s%s", i == 0 ? "" : "  ", completions->words[i]);
	putchar('\n');
	fflush(stdout);
}

/* Inserts what is certain; shows the choice where nothing is. */
static unsigned char
on_tab(EditLine *edit, int key)
{
	const LineInfo *line = el_line(edit);
	struct complete *complete = ask_complete();
	struct completions completions;
	char rest[COMPLETE_WORD_MAX + 2];

	(void)key;
	if (complete == NULL)
		return CC_ERROR;
	complete_text(complete, line->buffer, (size_t)(line->cursor - line->buffer), &completions);
	complete_free(complete);
	if (completions.n_words == 0)
		return CC_ERROR;
	snprintf(rest, sizeof(rest), "%.*s", (int)(completions.common - completions.typed),
		completions.words[0] + completions.typed);
	if (completions.n_words == 1)
		snprintf(rest + strlen(rest), sizeof(rest) - strlen(rest), "%.*s ",
			completions.is_open, &completions.quote);
	else if (rest[0] == '\0')
		list(&completions);
	if (rest[0] == '\0')
		return CC_REDISPLAY;
	return el_insertstr(edit, rest) < 0 ? CC_ERROR : CC_REFRESH;
}

/* Ctrl-C, a key like any other while a line is edited. */
static unsigned char
on_interrupt(EditLine *edit, int key)
{
	(void)edit;
	(void)key;
	prompt.is_interrupted = true;
	return CC_EOF;
}
