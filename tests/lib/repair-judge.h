/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a repair of metadata must have kept, whatever was wrong with its input.
 *
 * Owns the rules, and the reading of the lines that the repair prints.  Knows
 * nothing of how the input was made or damaged: the unit tests damage devices
 * of their own, the power-cut tests take what a cut left.
 */
#ifndef HEARTH_TEST_REPAIR_JUDGE_H
#define HEARTH_TEST_REPAIR_JUDGE_H

#include "../../tools/metadata-repair.h"

/**
 * struct content - what a cache's metadata holds, and what a repair said of it
 * @nr: cache blocks; each array below has as many entries
 * @oblock: the origin block; U64_MAX if the cache block is not mapped
 * @lost: named as lost, because the block was dirty or may have been
 * @gone: named as not mapped any more, and clean
 * @guessed: named as dirty because nothing says what it was
 * @malformed: a line of the repair names cache blocks that do not exist
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

/* All @nr blocks are unmapped, and nothing was said.  Aborts without memory. */
struct content *content_new(u32 nr);
void content_free(struct content *c);

/* For cmd_load(): @ctx is a struct content.  -EINVAL for a block past its end. */
int content_take_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid);
/* For repair_options.say: @ctx is a struct content. */
void content_take_line(void *ctx, const char *msg);

/**
 * struct repair_outcome - how much a repair did not keep, in cache blocks
 * @lost_dirty: were dirty, and are named as lost
 * @gone: were mapped, and are named as not mapped any more
 * @guessed: are named as dirty because nothing says what they were
 * @other_hints: have another hint than before
 */
struct repair_outcome {
	u32 lost_dirty;
	u32 gone;
	u32 guessed;
	u32 other_hints;
};

/**
 * repair_judge() - compare a repair's output with what was true before
 * @was: the truth
 * @after: the output, and what the repair said
 * @clean: if not, all that is mapped in @was counts as dirty
 * @o: receives the numbers
 * @fault: receives one line, when false is returned
 *
 * No block may be mapped to another place, or be mapped that was not.  A dirty
 * block must be dirty or named as lost, and each change must be named.
 */
bool repair_judge(const struct content *was, const struct content *after,
		  bool clean, struct repair_outcome *o, char *fault,
		  size_t len);

#endif
