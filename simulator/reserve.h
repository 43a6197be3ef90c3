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
	u32 most;		/* slots; the largest reserve */
	u32 nr;			/* slots; the reserve at short_s */
	double now_s;		/* seconds of the disk's time */
	double short_s;		/* time when the reserve last grew */
	bool evicting;		/* an eviction is under way; its slots are free at the next miss */
	bool lacking;		/* a block has found no free slot since the last eviction */
};

/**
 * reserve_init() - begin without a reserve
 * @r: the reserve
 * @nr_slots: slots of the cache
 */
void reserve_init(struct reserve *r, u32 nr_slots);

/**
 * reserve_has_more() - whether more slots are free than the reserve keeps
 * @r: the reserve
 * @nr_free: free slots
 *
 * Return: true if a slot is free, and not needed for the reserve.
 */
bool reserve_has_more(const struct reserve *r, u32 nr_free);

/**
 * reserve_used() - a block has taken a slot
 * @r: the reserve
 * @nr_free: slots that are free after that
 *
 * An eviction begins if fewer slots than the reserve are free.
 */
void reserve_used(struct reserve *r, u32 nr_free);

/**
 * reserve_lacks() - a block has found no free slot
 * @r: the reserve
 *
 * An eviction begins. The reserve grows when it ends.
 */
void reserve_lacks(struct reserve *r);

/**
 * reserve_clock() - set the present time
 * @r: the reserve
 * @now_s: seconds of the disk's time; never less than before
 */
void reserve_clock(struct reserve *r, double now_s);

/**
 * reserve_evict() - if an eviction is under way, its commit ends
 * @r: the reserve
 * @nr_slots: slots of the cache
 * @nr_free: free slots
 *
 * Return: how many slots the caller shall free now.
 */
u32 reserve_evict(struct reserve *r, u32 nr_slots, u32 nr_free);

#endif
