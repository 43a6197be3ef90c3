/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers that several unit tests share. */

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
#include "seed.h"

/* Returns and prints the seed: from the environment, or @fallback. */
u64 test_seed(const char *what, u64 fallback);
/* Returns @n times ROUNDS from the environment. */
u32 rounds(u32 n);

#define assert_ok(e)	assert_int_equal(e, 0)

/*
 * A store without a schema: a space map, and roots that the test keeps.  This
 * struct holds the space map's root, because there is no superblock.
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
void store_abort(struct store *s);	/* returns to the last commit */
void store_reopen(struct store *s);	/* reads the disk, with an empty cache */

/* Returns the number of blocks in use that are not the space map's own. */
u32 store_used(struct store *s);

/* Metadata that is opened on a ramdev.  meta_shut() closes its device. */
struct meta {
	struct ramdev *rd;
	struct pd_device *dev;
	struct cmd *cmd;
	const char *why;
};

/*
 * @format: formats an empty device so; 0: it has to be formatted.  Returns 0, or the
 * error of cmd_open(), and @why has its reason.
 */
int meta_open(struct meta *m, struct ramdev *rd, unsigned int format);
/* The same for metadata of any geometry, which nothing changes. */
int meta_open_to_read(struct meta *m, struct ramdev *rd);
void meta_shut(struct meta *m);
void assert_sound(struct cmd *cmd);	/* metadata_check() finds no fault */

#endif
