/* SPDX-License-Identifier: GPL-2.0-only */
/* What all the unit tests need. */

#ifndef UTIL_H
#define UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "persistent-data/pd-array.h"
#include "metadata/cache-metadata.h"
#include "metadata/cache-metadata-disk.h"
#include "tools/metadata-check.h"
#include "ramdev.h"
#include "rng.h"

/* The seed from the environment, or @fallback; printed. */
u64 test_seed(const char *what, u64 fallback);
/* @n times ROUNDS from the environment. */
u32 rounds(u32 n);

#define assert_ok(e)	assert_int_equal(e, 0)

/*
 * A store without a schema: a space map and roots that the test keeps.  The
 * space map's root is kept here instead of in a superblock.
 */
struct store {
	struct ramdev *rd;
	struct pd_device *dev;
	struct pd_tm tm;
	struct pd_sm_root root;
	u64 overflow;
};

void store_make(struct store *s, u64 nr_blocks);
void store_free(struct store *s);
void store_commit(struct store *s);
void store_abort(struct store *s);	/* back to the last commit */
void store_reopen(struct store *s);	/* from the disk, nothing cached */

/* Blocks the space map has in use that are not its own. */
u32 store_used(struct store *s);

/* Opens metadata on a ramdev; the device is closed by shut(). */
struct meta {
	struct ramdev *rd;
	struct pd_device *dev;
	struct cmd *cmd;
	const char *why;
};

int meta_open(struct meta *m, struct ramdev *rd, unsigned int format);
void meta_shut(struct meta *m);
void assert_sound(struct cmd *cmd);	/* metadata_check() finds no fault */

#endif
