/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain ANSI sequences and termios; signals only set a flag. */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SCREEN_TAKE  "\033[?1049h\033[?25l" /* the other screen, no cursor */
#define SCREEN_LEAVE "\033[?25h\033[?1049l"
#define DRAW_BEGIN   "\033[H"
#define LINE_END     "\033[K"
#define DRAW_END     "\033[J"

static bool is_screen, has_keys;
static struct termios before;
static volatile sig_atomic_t is_ended, is_resized;

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGWINCH};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction actions_before[N_SIGNALS];

static void
on_end(int signal_number)
{
	(void)signal_number;
	is_ended = 1;
}

static void
on_resize(int signal_number)
{
	(void)signal_number;
	is_resized = 1;
}

static void
take_signals(void)
{
	for (unsigned i = 0; i < N_SIGNALS; i++) {
		struct sigaction action = {
			.sa_handler = signals[i] == SIGWINCH ? on_resize : on_end};

		sigaction(signals[i], &action, &actions_before[i]);
	}
}

static void
give_signals_back(void)
{
	for (unsigned i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i], &actions_before[i], NULL);
}

void
terminal_open(void)
{
	is_ended = is_resized = 0;
	take_signals();
	is_screen = isatty(STDOUT_FILENO);
	if (!is_screen)
		return;
	has_keys = tcgetattr(STDIN_FILENO, &before) == 0;
	if (has_keys) {
		struct termios raw = before;

		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped, it would leave the screen taken */
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(SCREEN_TAKE, stdout);
	fflush(stdout);
}

void
terminal_close(void)
{
	if (!is_screen)
		return;
	give_signals_back();
	fputs(SCREEN_LEAVE, stdout);
	fflush(stdout);
	if (has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	is_screen = has_keys = false;
}

bool
terminal_is_screen(void)
{
	return is_screen;
}

/* Bytes of 'line' that fill at most 'width' columns; a column a character. */
static size_t
cut(const char *line, size_t size, unsigned width)
{
	size_t at = 0;

	for (unsigned column = 0; at < size; at++) {
		if (((unsigned char)line[at] & 0xc0) == 0x80)
			continue;
		if (column++ == width)
			break;
	}
	return at;
}

void
terminal_draw(const char *text)
{
	struct winsize window;

	/* A terminal may not know its size, and then says 0. */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || window.ws_row == 0 ||
		window.ws_col == 0)
		window = (struct winsize){.ws_row = 24, .ws_col = 80};
	fputs(DRAW_BEGIN, stdout);
	for (unsigned row = 0; row < window.ws_row && *text != '\0'; row++) {
		size_t length = strcspn(text, "\n");

		fprintf(stdout, "%s%.*s" LINE_END, row == 0 ? "" : "\r\n",
			(int)cut(text, length, window.ws_col), text);
		text += length + (text[length] == '\n');
	}
	fputs(DRAW_END, stdout);
	fflush(stdout);
}

static long
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* True if one of the keys that wait says to quit.  At the end of input there are no more keys. */
static bool
is_quit_key(void)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n == 0)
		has_keys = false;
	for (ssize_t i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3)
			return true;
	return false;
}

enum terminal_event
terminal_wait(int timeout_ms)
{
	long end = now_ms() + timeout_ms;

	for (;;) {
		long left = end - now_ms();
		struct pollfd keys = {.fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN};

		if (is_ended)
			return TERMINAL_QUIT;
		if (is_resized && is_screen) {
			is_resized = 0;
			return TERMINAL_RESIZE;
		}
		if (left <= 0)
			return TERMINAL_TIME;
		if (poll(&keys, 1, (int)left) > 0 && is_quit_key())
			return TERMINAL_QUIT;
	}
}
