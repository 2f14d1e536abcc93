/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terminal as a live table needs it: its own screen, keys at once and not shown, and everything
 * as it was afterwards, also when a signal ends the program.  One at a time.
 */
#pragma once

#include <stdbool.h>

/* Takes the screen if standard output is a terminal, and the keys if standard input is one.  The
 * signals that end a program only make terminal_wait() say so from here on. */
void
terminal_open(void);
void
terminal_close(void);

bool
terminal_is_screen(void);

/* Draws 'text' from the top, cut to the window, in place of what was there. */
void
terminal_draw(const char *text);

enum terminal_event {
	TERMINAL_TIME,   /* so much has passed */
	TERMINAL_RESIZE, /* the window has another size */
	TERMINAL_QUIT,   /* q, Ctrl-C, or a signal to end */
};

enum terminal_event
terminal_wait(int timeout_ms);
