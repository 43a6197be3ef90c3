// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terminal of hearth top.  It must not know what is drawn.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "util.h"

static struct termios before;
static sigset_t signals_before;

/* ---- Signals: Ctrl-Z and a change of size are delivered only during a wait for a key ---- */

static volatile sig_atomic_t to_stop, resized;

static void on_signal(int signal)
{
	if (signal == SIGTSTP)
		to_stop = 1;
	else
		resized = 1;
}

static void hold_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGTSTP);
	sigaddset(&held, SIGWINCH);
	sigprocmask(SIG_BLOCK, &held, &signals_before);
	sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

/* ---- The screen ---- */

static void take_screen(void)
{
	struct termios raw;

	tcgetattr(0, &before);
	raw = before;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(0, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
}

bool screen_on(void)
{
	if (!isatty(0) || !isatty(1))
		return false;
	take_screen();
	hold_signals();
	return true;
}

void screen_off(void)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(0, TCSANOW, &before);
}

void screen_clear(void)
{
	fputs("\033[H\033[J", stdout);
}

unsigned int screen_lines(void)
{
	struct winsize size;

	return ioctl(1, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row;
}

/* Stops the process, as Ctrl-Z does.  Returns when the shell continues it. */
static void stop(void)
{
	to_stop = 0;
	screen_off();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigprocmask(SIG_SETMASK, &signals_before, NULL);
	hold_signals();
	take_screen();
}

/* ---- Keys ---- */

static const struct {
	const char *bytes;	/* as a terminal sends them */
	enum key key;
} keys[] = {
	{ "q", KEY_END }, { "Q", KEY_END },
	{ "\033[A", KEY_UP }, { "\033OA", KEY_UP }, { "k", KEY_UP },
	{ "\033[B", KEY_DOWN }, { "\033OB", KEY_DOWN }, { "j", KEY_DOWN },
	{ "\033[5~", KEY_PAGE_UP }, { "\033[6~", KEY_PAGE_DOWN }, { " ", KEY_PAGE_DOWN },
	{ "\033[H", KEY_FIRST }, { "\033OH", KEY_FIRST }, { "\033[1~", KEY_FIRST },
	{ "g", KEY_FIRST },
	{ "\033[F", KEY_LAST }, { "\033OF", KEY_LAST }, { "\033[4~", KEY_LAST },
	{ "G", KEY_LAST },
	{ "\033[D", KEY_LEFT }, { "\033OD", KEY_LEFT }, { "<", KEY_LEFT },
	{ "\033[C", KEY_RIGHT }, { "\033OC", KEY_RIGHT }, { ">", KEY_RIGHT },
	{ "r", KEY_REVERSE },
};

/* Bytes that have been read, and that next_key() has not taken yet. */
static char typed[32];
static size_t nr_typed;

/* Takes the key at the beginning of the typed bytes; KEY_NONE if there are none. */
static enum key next_key(void)
{
	size_t i, len = 1;
	enum key key = KEY_REDRAW;

	if (!nr_typed)
		return KEY_NONE;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strncmp(keys[i].bytes, typed, strlen(keys[i].bytes)))
			continue;
		len = strlen(keys[i].bytes);
		key = keys[i].key;
		break;
	}
	nr_typed -= len;
	memmove(typed, typed + len, nr_typed + 1);
	return key;
}

enum key screen_key(double seconds)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	enum key key = next_key();
	struct timespec t;
	ssize_t n;

	if (key != KEY_NONE)
		return key;
	if (seconds < 0)
		seconds = 0;
	t.tv_sec = seconds;
	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	resized = 0;
	if (ppoll(&in, 1, &t, &signals_before) > 0) {
		n = read(0, typed, sizeof(typed) - 1);
		if (n < 1)
			return KEY_END;
		nr_typed = n;
		typed[n] = '\0';
		return interrupted ? KEY_END : next_key();
	}
	if (interrupted)
		return KEY_END;
	if (!to_stop)
		return resized ? KEY_REDRAW : KEY_NONE;
	stop();
	return KEY_REDRAW;
}
