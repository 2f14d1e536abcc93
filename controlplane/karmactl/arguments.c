/* SPDX-License-Identifier: BSD-3-Clause */
/* Options and words to what is to be done; help.  Pure. */
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command_list.h"
#include "err.h"
#include "render.h"
#include "text.h"

#define COUNT_MAX 1000000

static int
read_option(int option, struct arguments *arguments, struct err *err);
static int
read_count(const char *text, unsigned *count, struct err *err);
static int
add_statement(struct arguments *arguments, char *statement, struct err *err);
static int
read_words(char *const *words, unsigned n_words, struct arguments *arguments, struct err *err);
static bool
is_one_piece(const char *word);

int
arguments_parse(int argc, char **argv, struct arguments *arguments, struct err *err)
{
	static const struct option options[] = {
		{"execute", required_argument, NULL, 'e'},
		{"socket", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"tsv", no_argument, NULL, 't'},
		{"complete", required_argument, NULL, 'c'}, /* for the shell; not in the help */
		{"count", required_argument, NULL, 'n'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	int option;

	*arguments = (struct arguments){.action = ARGUMENTS_STDIN};
	optind = 0; /* GNU: begin anew, also for a second call */
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":e:s:jtn:hV", options, NULL)) != -1) {
		char what[64];

		if (option == ':')
			return err_set(err, "%s needs a value", argv[optind - 1]);
		if (option == '?')
			return err_set(err, "there is no option %s",
				text_escape(argv[optind - 1], what, sizeof(what)));
		if (read_option(option, arguments, err) < 0)
			return -EINVAL;
	}
	if (arguments->action == ARGUMENTS_HELP || arguments->action == ARGUMENTS_VERSION ||
		arguments->action == ARGUMENTS_COMPLETE)
		return 0;
	if (optind < argc &&
		read_words(argv + optind, (unsigned)(argc - optind), arguments, err) < 0)
		return -EINVAL;
	if (arguments->count > 0 && arguments->action != ARGUMENTS_TOP)
		return err_set(err, "-n is for karmactl top only");
	return 0;
}

void
arguments_free(struct arguments *arguments)
{
	for (unsigned i = 0; i < arguments->n_statements; i++)
		free(arguments->statements[i]);
	free(arguments->statements);
}

char *
arguments_join(char *const *words, unsigned n_words)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	for (unsigned i = 0; i < n_words; i++) {
		if (i > 0)
			fputc(' ', out);
		if (n_words == 1 || is_one_piece(words[i])) {
			fputs(words[i], out);
			continue;
		}
		fputc('\'', out);
		for (const char *c = words[i]; *c != '\0'; c++)
			fputs(*c == '\'' ? "''" : (char[]){*c, '\0'}, out);
		fputc('\'', out);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void
arguments_print_help(FILE *out)
{
	static const struct render_command commands[] = {
#define X(name, kind, syntax, help, example) {syntax, help, example},
		COMMANDS(X)
#undef X
	};
	struct render_help help = {
		.commands = commands, .n_commands = sizeof(commands) / sizeof(commands[0])};

	fputs("usage: karmactl [OPTION]... STATEMENT        its words need no quotes\n"
	      "       karmactl [OPTION]... -e STATEMENT...\n"
	      "       karmactl [OPTION]... top [SERVICE]    the live table; q or Ctrl-C ends it\n"
	      "       karmactl [OPTION]... events [SINCE]   what happened of late: SHOW EVENTS\n"
	      "       karmactl [OPTION]... check [SERVICE]  do its mirrors answer: CHECK SERVICE\n"
	      "       karmactl [OPTION]... why [MIRROR]     why it has the share it has\n"
	      "       karmactl [OPTION]... why CLIENT:PORT SERVICE   why it went there: EXPLAIN\n"
	      "       karmactl [OPTION]...                  a prompt, or statements from a pipe\n"
	      "\n"
	      "Options:\n"
	      "  -e, --execute STATEMENT   run it; may be given more than once\n"
	      "  -s, --socket PATH         of the control plane; else $KARMALB_CONTROL, else the\n"
	      "                            first that answers of /run/karmalb/control.sock and\n"
	      "                            /run/karmalb-demo/control.sock\n"
	      "  -j, --json                all that the control plane says as JSON, on standard output\n"
	      "  -t, --tsv                 answers as tab-separated values, a row of names first\n"
	      "  -n, --count COUNT         tables that top shows before it ends\n"
	      "  -h, --help\n"
	      "  -V, --version\n"
	      "\n"
	      "Exit status: 0 done, 1 refused or not understood, or a service is checked of which no\n"
	      "mirror answers, 2 usage, 3 no control plane, 4 taken, but not known to be in force yet.\n"
	      "\n"
	      "Statements (in any case; several are separated by ; or lines):\n",
		out);
	render_text_help(out, &help);
}

static int
read_option(int option, struct arguments *arguments, struct err *err)
{
	switch (option) {
	case 'e':
		arguments->action = arguments->action == ARGUMENTS_STDIN ? ARGUMENTS_STATEMENTS
									 : arguments->action;
		return add_statement(arguments, strdup(optarg), err);
	case 's':
		arguments->socket = optarg;
		return 0;
	case 'j':
		arguments->form = CLIENT_JSON;
		return 0;
	case 't':
		arguments->form = CLIENT_TSV;
		return 0;
	case 'c':
		arguments->action = ARGUMENTS_COMPLETE;
		arguments->line = optarg;
		return 0;
	case 'n':
		return read_count(optarg, &arguments->count, err);
	case 'h':
		arguments->action = ARGUMENTS_HELP;
		return 0;
	default:
		arguments->action = ARGUMENTS_VERSION;
		return 0;
	}
}

static int
read_count(const char *text, unsigned *count, struct err *err)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0' || number == 0 || number > COUNT_MAX)
		return err_set(err, "-n: found \"%.32s\", expected a number from 1 to %d", text,
			COUNT_MAX);
	*count = (unsigned)number;
	return 0;
}

/* Takes 'statement', which may be NULL for want of memory. */
static int
add_statement(struct arguments *arguments, char *statement, struct err *err)
{
	char **statements = reallocarray(
		arguments->statements, arguments->n_statements + 1, sizeof(*statements));

	if (statements != NULL)
		arguments->statements = statements;
	if (statements == NULL || statement == NULL) {
		free(statement);
		return err_set(err, "out of memory");
	}
	statements[arguments->n_statements++] = statement;
	return 0;
}

static int
read_words(char *const *words, unsigned n_words, struct arguments *arguments, struct err *err)
{
	char word[64];

	if (arguments->n_statements > 0)
		return err_set(err, "found \"%s\" beside -e; expected the one or the other",
			text_escape(words[0], word, sizeof(word)));
	if (strcasecmp(words[0], "top") == 0) {
		if (n_words > 2)
			return err_set(err, "top: found \"%s\", expected at most one service",
				text_escape(words[2], word, sizeof(word)));
		arguments->action = ARGUMENTS_TOP;
		arguments->service = n_words == 2 ? words[1] : NULL;
		return 0;
	}
	arguments->action = ARGUMENTS_STATEMENTS;
	return add_statement(arguments, arguments_join(words, n_words), err);
}

/* As the statement's reader sees it: no blank and no ';' outside quotes, every quote closed. */
static bool
is_one_piece(const char *word)
{
	char quote = '\0';

	for (const char *c = word; *c != '\0'; c++) {
		if (quote != '\0')
			quote = *c == quote ? '\0' : quote;
		else if (*c == '\'' || *c == '"' || *c == '`')
			quote = *c;
		else if (isspace((unsigned char)*c) || *c == ';')
			return false;
	}
	return word[0] != '\0' && quote == '\0';
}
