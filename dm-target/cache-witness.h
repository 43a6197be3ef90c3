/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The choice of witnesses for the origin check among the blocks that are offered.
 *
 * Half of the witnesses are the blocks with the greatest worth: the blocks that were
 * written last, and then the blocks that the policy would keep longest.  Chance decides
 * between blocks of equal worth.  It also chooses the other half.  If block 0 is
 * offered, it is always a witness, because many a superblock lies there.
 *
 * All functions here may be called in any context.  User-space tests compile this file,
 * too.  It must not know of slots' words, devices or what is compared.
 */
#ifndef HEARTH_CACHE_WITNESS_H
#define HEARTH_CACHE_WITNESS_H

#include "../os/os.h"

/* A policy's hints go to 63.  The 64 above are for blocks that were written last. */
#define WITNESS_WORTH_MAX	127U
/* In a key the worth stands above 25 random bits. */
#define WITNESS_WORTH_SHIFT	25

struct witness {
	u32 slot;
	u32 key;		/* the witnesses with the largest keys are chosen */
	u32 chance;		/* a random number */
	u64 block;
};

/* The witnesses with the largest keys, as many as there is room for. */
struct witness_choice {
	struct witness *all;
	u32 nr, max;		/* how many there are, and how many there may be */
	u32 least;		/* if @nr is @max: the index of the one with the least key */
};

/* The half that is chosen by worth, and the half that is left to chance. */
struct witnesses {
	struct witness_choice kept, others;
};

/**
 * witnesses_begin() - begin to choose
 * @ws: the choice
 * @all: room for @max witnesses
 * @max: how many are chosen at most, at least one
 */
static inline void witnesses_begin(struct witnesses *ws, struct witness *all,
				   u32 max)
{
	*ws = (struct witnesses) {
		.kept = { .all = all, .max = max / 2 },
		.others = { .all = all + max / 2, .max = max - max / 2 },
	};
}

/**
 * witness_find_least() - find the witness with the least key anew
 * @ch: a half, which has witnesses
 */
static inline void witness_find_least(struct witness_choice *ch)
{
	u32 i;

	ch->least = 0;
	for (i = 1; i < ch->nr; i++)
		if (ch->all[i].key < ch->all[ch->least].key)
			ch->least = i;
}

/**
 * witness_offer() - offer a witness to a half
 * @ch: the half
 * @w: the witness; if one is left over, receives that one, which may be another
 *
 * Return: true if a witness is left over.
 */
static inline bool witness_offer(struct witness_choice *ch, struct witness *w)
{
	struct witness least;

	if (ch->nr < ch->max) {
		ch->all[ch->nr++] = *w;
		if (ch->nr == ch->max)
			witness_find_least(ch);
		return false;
	}
	if (ch->max && w->key > ch->all[ch->least].key) {
		least = ch->all[ch->least];
		ch->all[ch->least] = *w;
		*w = least;
		witness_find_least(ch);
	}
	return true;
}

/**
 * witnesses_offer() - offer a block, once
 * @ws: the choice
 * @slot: the block's slot
 * @block: the block
 * @worth: WITNESS_WORTH_MAX at most
 * @chance: a random number
 */
static inline void witnesses_offer(struct witnesses *ws, u32 slot, u64 block,
				   u32 worth, u32 chance)
{
	struct witness w = {
		.slot = slot,
		.key = min(worth, WITNESS_WORTH_MAX) << WITNESS_WORTH_SHIFT |
		       chance >> (32 - WITNESS_WORTH_SHIFT),
		.chance = chance,
		.block = block,
	};

	if (!witness_offer(&ws->kept, &w))
		return;
	w.key = w.block ? w.chance : U32_MAX;
	witness_offer(&ws->others, &w);
}

/**
 * witnesses_end() - move all witnesses to the beginning of the array
 * @ws: the choice
 *
 * Return: how many they are.
 */
static inline u32 witnesses_end(struct witnesses *ws)
{
	memmove(ws->kept.all + ws->kept.nr, ws->others.all,
		ws->others.nr * sizeof(*ws->others.all));
	return ws->kept.nr + ws->others.nr;
}

#endif
