/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The expected contents of a cache's metadata, kept as plain tables, and random
 * changes that are applied to the tables and to the metadata.
 */

#ifndef MODEL_H
#define MODEL_H

#include "util.h"

#define MODEL_BLOCKS	3000u
#define MODEL_DISCARDS	2000u

struct model {
	u32 cache_blocks;
	bool mapped[MODEL_BLOCKS];
	u64 oblock[MODEL_BLOCKS];
	bool dirty[MODEL_BLOCKS];
	bool hints_valid;
	char policy[CMD_POLICY_NAME_SIZE];
	u32 hint[MODEL_BLOCKS];
	u64 discard_size;
	u64 nr_discards;
	bool discard[MODEL_DISCARDS];
	struct cmd_stats stats;
	u32 record_length;
	u8 record[CMD_RECORD_MAX];
	bool clean;
	u64 salt;	/* makes each oblock unique */
};

extern const u32 model_version[3];

void model_init(struct model *m);

/* Applies one random change to both.  Returns 0 or the metadata's error. */
int model_step(struct model *m, struct cmd *cmd, u64 *rng);

/*
 * Is the metadata exactly the model?  Discards and hints count only if the
 * metadata was opened clean.
 */
bool model_matches(const struct model *m, struct cmd *cmd);

#endif
