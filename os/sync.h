/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks, lists and the hash for portable code that runs on several processors.
 *
 * In the kernel it is a list of headers. User space gets the same words from
 * user-sync.h.
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
