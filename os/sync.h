/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, lists and the hash for portable code that runs on several processors.
 *
 * In the kernel it is a list of headers. In user space, user-sync.h has functions
 * and macros of the same names.
 *
 * It must not know anything about metadata, caches or policies.
 */
#ifndef HEARTH_OS_SYNC_H
#define HEARTH_OS_SYNC_H

#include "os.h"

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>

#else

#include "user-sync.h"

#endif

#endif
