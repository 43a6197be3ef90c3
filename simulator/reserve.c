// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many slots the engine would keep free; see reserve.h.
 *
 * It must not know policies.
 */
#include "reserve.h"
#include "../dm-target/cache-reserve-size.h"

void reserve_init(struct reserve *r, u32 nr_slots)
{
	*r = (struct reserve) {
		.most = reserve_most(nr_slots),
	};
}

static u32 reserve_now(const struct reserve *r)
{
	return reserve_left(r->nr, r->now_s - r->short_s);
}

bool reserve_has_more(const struct reserve *r, u32 nr_free)
{
	return nr_free && nr_free > reserve_now(r);
}

void reserve_used(struct reserve *r, u32 nr_free)
{
	if (nr_free < reserve_now(r))
		r->evicting = true;
}

void reserve_lacks(struct reserve *r)
{
	r->lacking = true;
	r->evicting = true;
}

static void grow(struct reserve *r)
{
	r->nr = reserve_grown(reserve_now(r), r->most);
	r->short_s = r->now_s;
	r->lacking = false;
}

void reserve_clock(struct reserve *r, double now_s)
{
	r->now_s = now_s;
}

u32 reserve_evict(struct reserve *r, u32 nr_slots, u32 nr_free)
{
	if (!r->evicting)
		return 0;
	r->evicting = false;
	if (r->lacking)
		grow(r);
	return reserve_wanted(reserve_now(r), nr_slots, nr_free);
}
