/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A metadata device in this program's memory, for the user-space build of the
 * metadata library.
 *
 * It is no disk: the replay has a disk's content at one instant in one piece, and
 * looks at thousands of them, so nothing is copied into the RAM disk of tests/lib,
 * which can lose writes.
 */
#ifndef CRASH_MEMORY_H
#define CRASH_MEMORY_H

#include "../../metadata/cache-metadata.h"

struct memory {
	u8 *data;
	u64 blocks;
	u64 writes;		/* number of writes so far */
};

/* The backend needs no close; @m must stay while the backend is used. */
struct pd_backend memory_backend(struct memory *m);

#endif
