/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which blocks are witnesses of the origin check, of many that are offered.
 *
 * Half of the witnesses are those with the greatest worth: the blocks that were
 * written last, and then those that the policy would keep longest.  The other half,
 * and the order of equal worth, are left to chance.  Block 0 is always among them,
 * because many a superblock is there.
 *
 * User-space tests compile it as well.  It must not know of slots' words, devices or
 * what is compared.
 */
#ifndef HEARTH_CACHE_WITNESS_H
#define HEARTH_CACHE_WITNESS_H

#include "../os/os.h"

/* A policy's hints go to 63; above are 64 places for blocks that were written last. */
#define WITNESS_WORTH_MAX	127U
/* The worth stands in front of random bits. */
#define WITNESS_WORTH_SHIFT	25

struct witness {
	u32 slot;
	u32 key;		/* the larger, the rather it is chosen */
	u32 chance;		/* random */
	u64 block;
};

/* The witnesses with the largest keys, as many as there is room for. */
struct witness_choice {
	struct witness *all;
	u32 nr, max;
	u32 least;		/* the one that goes first, when all are there */
};

struct witnesses {
	struct witness_choice kept, others;
};

/* @all has room for @max, at least one.  Context: any, as for all functions here. */
static inline void witnesses_begin(struct witnesses *ws, struct witness *all,
				   u32 max)
{
	*ws = (struct witnesses) {
		.kept = { .all = all, .max = max / 2 },
		.others = { .all = all + max / 2, .max = max - max / 2 },
	};
}

static inline void witness_find_least(struct witness_choice *ch)
{
	u32 i;

	ch->least = 0;
	for (i = 1; i < ch->nr; i++)
		if (ch->all[i].key < ch->all[ch->least].key)
			ch->least = i;
}

/* Returns true if a witness is left over, the new one or another, in *@w. */
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

/* Each block is offered once; @worth goes to WITNESS_WORTH_MAX, @chance is random. */
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

/* Moves all to the beginning of the array; returns how many they are. */
static inline u32 witnesses_end(struct witnesses *ws)
{
	memmove(ws->kept.all + ws->kept.nr, ws->others.all,
		ws->others.nr * sizeof(*ws->others.all));
	return ws->kept.nr + ws->others.nr;
}

#endif
