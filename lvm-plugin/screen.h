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

/* There is one screen, whose state before is kept in static variables. */

/**
 * screen_on() - take the terminal of stdin and stdout
 *
 * Return: false, and nothing is changed, if one of them is no terminal. From true on, Ctrl-Z
 * and a change of size are delivered only within screen_key().
 */
bool screen_on(void);

/** screen_off() - give the shell its screen back, after screen_on() */
void screen_off(void);

/** screen_clear() - clear the screen; the next text is printed at its top left */
void screen_clear(void);

/** screen_lines() - how many lines the terminal of stdout has; 24 if it does not say */
unsigned int screen_lines(void);

/**
 * screen_key() - wait for a key
 * @seconds: at most; 0 or less does not wait
 *
 * Stops the command at Ctrl-Z, as the shell wants it.
 *
 * Return: the key; KEY_NONE if none came in time; KEY_END as well if interrupted is set, or
 * input has ended.
 */
enum key screen_key(double seconds);

#endif
