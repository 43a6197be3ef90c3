/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal whose screen is redrawn: its lines, its keys, and Ctrl-Z.  It must not know what
 * is drawn.
 */
#ifndef HEARTH_PLUGIN_SCREEN_H
#define HEARTH_PLUGIN_SCREEN_H

#include <stdbool.h>

enum key {
	KEY_NONE,	/* no key came in time */
	KEY_REDRAW,	/* the terminal changed, Ctrl-Z is over, or a key has no meaning */
	KEY_END,
	KEY_UP, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_FIRST, KEY_LAST,
	KEY_LEFT, KEY_RIGHT, KEY_REVERSE,
};

/* There is one screen.  Static variables keep the state that it had before screen_on(). */

/**
 * screen_on() - take the terminal of stdin and stdout
 *
 * Return: false, and nothing is changed, if one of them is no terminal. After true, the signals
 * of Ctrl-Z and of a change of the terminal's size are delivered only within screen_key().
 */
bool screen_on(void);

/** screen_off() - give the shell its screen back; only after screen_on() returned true */
void screen_off(void);

/** screen_clear() - clear the screen; the next text is printed at its top left */
void screen_clear(void);

/** screen_lines() - how many lines the terminal of stdout has; 24 if it does not say */
unsigned int screen_lines(void);

/**
 * screen_key() - wait for a key
 * @seconds: the longest wait; with 0 or less it does not wait
 *
 * At Ctrl-Z it stops the process, and goes on when the shell continues it.
 *
 * Return: the key; KEY_NONE if no key came in time; KEY_END also if interrupted is set, or
 * input has ended.
 */
enum key screen_key(double seconds);

#endif
