/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine's reserve of free slots, as dm-target/cache-reserve.c keeps it: nothing
 * at first, twice as many when a block has found no free slot, half as many after
 * each second in which none did.
 *
 * An eviction's commit is a flush of the cache device, so its slots are free when the
 * next miss comes. This file must not know which blocks come in, nor which leave.
 */
#ifndef HEARTH_SIMULATOR_RESERVE_H
#define HEARTH_SIMULATOR_RESERVE_H

#include "../os/os.h"

struct reserve {
	u32 most;		/* slots */
	u32 nr;			/* slots; what it was at short_s */
	double now_s;
	double short_s;		/* when it was last too small */
	bool evicting;		/* slots are free when the next miss comes */
	bool lacking;		/* a block has found no free slot since the last one */
};

/** reserve_init() - begin without a reserve, for a cache of @nr_slots */
void reserve_init(struct reserve *r, u32 nr_slots);

/** reserve_has_more() - whether more than the reserve is free, if @nr_free is */
bool reserve_has_more(const struct reserve *r, u32 nr_free);

/** reserve_used() - a block took a slot, which left @nr_free */
void reserve_used(struct reserve *r, u32 nr_free);

/** reserve_lacks() - a block found no free slot */
void reserve_lacks(struct reserve *r);

/** reserve_clock() - it is @now_s */
void reserve_clock(struct reserve *r, double now_s);

/**
 * reserve_evict() - the commit of an eviction ends, if there is one
 * @r: the reserve
 * @nr_slots: of the cache
 * @nr_free: slots
 *
 * Return: how many slots the caller shall free now.
 */
u32 reserve_evict(struct reserve *r, u32 nr_slots, u32 nr_free);

#endif
