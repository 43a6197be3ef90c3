/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal whose screen is redrawn: its size, its keys, and Ctrl-Z.
 */
#ifndef HEARTH_PLUGIN_SCREEN_H
#define HEARTH_PLUGIN_SCREEN_H

#include <stdbool.h>

enum key {
	KEY_NONE,	/* none came in time */
	KEY_REDRAW,	/* another size, back from Ctrl-Z, or a key without a meaning */
	KEY_END,
	KEY_UP, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_FIRST, KEY_LAST,
	KEY_LEFT, KEY_RIGHT, KEY_REVERSE,
};

/* False, and nothing is changed, if stdin and stdout are no terminal. */
bool screen_on(void);
/* Gives the shell its screen back. */
void screen_off(void);
void screen_clear(void);
unsigned int screen_lines(void);
/* Waits at most @seconds.  KEY_END as well if interrupted is set, or input has ended. */
enum key screen_key(double seconds);

#endif
