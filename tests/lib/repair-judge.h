/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules for a repair of metadata, which hold whatever was wrong with its input.
 *
 * This file owns the rules, and reads the lines that the repair prints.  It knows
 * nothing of how the input was made or damaged: tests/tools damages devices of
 * its own, and the power-cut tests take the device that a cut left.
 */
#ifndef HEARTH_TEST_REPAIR_JUDGE_H
#define HEARTH_TEST_REPAIR_JUDGE_H

#include "../../tools/metadata-repair.h"

/**
 * struct content - the contents of a cache's metadata, and a repair's messages
 * @nr: cache blocks; each array below has as many entries
 * @oblock: the origin block; U64_MAX if the cache block is not mapped
 * @lost: the repair named the block as lost, because it was dirty or may have been
 * @gone: the repair named the block as unmapped now, and clean
 * @guessed: the repair named the block as dirty, because nothing tells its state
 * @malformed: the repair printed a line about cache blocks that do not exist
 */
struct content {
	u32 nr;
	u64 *oblock;
	bool *dirty;
	u32 *hint;
	bool *lost;
	bool *gone;
	bool *guessed;
	bool malformed;
};

/* All @nr blocks are unmapped, and no message was read.  Aborts without memory. */
struct content *content_new(u32 nr);
void content_free(struct content *c);

/* For cmd_load(): @ctx is a struct content.  -EINVAL for a block past its end. */
int content_take_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid);
/* For repair_options.say: @ctx is a struct content. */
void content_take_line(void *ctx, const char *msg);

/**
 * struct repair_outcome - numbers of cache blocks that a repair did not keep
 * @lost_dirty: dirty blocks that are named as lost
 * @gone: mapped blocks that are named as unmapped now
 * @guessed: blocks named as dirty because nothing tells their state
 * @other_hints: blocks with another hint than before
 */
struct repair_outcome {
	u32 lost_dirty;
	u32 gone;
	u32 guessed;
	u32 other_hints;
};

/**
 * repair_judge() - compare a repair's output with the truth
 * @was: the truth: the contents before the damage
 * @after: the output, and the repair's messages
 * @clean: if false, every block that is mapped in @was counts as dirty
 * @o: receives the numbers
 * @fault: receives one line if the function returns false
 *
 * No block may be mapped to another place, or be mapped now and not before.  A
 * dirty block must be dirty or named as lost, and each change must be named.
 */
bool repair_judge(const struct content *was, const struct content *after,
		  bool clean, struct repair_outcome *o, char *fault,
		  size_t len);

#endif
