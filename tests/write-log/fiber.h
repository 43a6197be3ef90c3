/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that stop at fiber_yield() and go on when they are resumed. */

#ifndef LOG_TEST_FIBER_H
#define LOG_TEST_FIBER_H

#include "os/os.h"

struct fiber;

struct fiber *fiber_new(void);
void fiber_free(struct fiber *f);

/* Begin @fn in a fiber that has ended, was abandoned or is new. */
void fiber_start(struct fiber *f, void (*fn)(void *arg), void *arg);
/* Go on to its next yield; false when the function has returned. */
bool fiber_resume(struct fiber *f);
/* The fiber that runs, or NULL. */
struct fiber *fiber_current(void);
/* Outside of a fiber it does nothing. */
void fiber_yield(void);

#endif
