/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches the policies' allocations and stores.  The linker (--wrap) sends this
 * program's calls of malloc() and the like to memory.c.
 */
#ifndef HEARTH_TEST_MEMORY_H
#define HEARTH_TEST_MEMORY_H

#include "os/os.h"

u64 memory_allocations(void);		/* so far */
u64 memory_in_use(void);		/* bytes */
void memory_fail_after(unsigned int nr); /* the nr-th next one fails; 0: none */
/* Remember all allocated memory; then count the 4-byte words that changed. */
void memory_snapshot(void);
u32 memory_changed_words(void);

#endif
