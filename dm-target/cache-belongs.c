// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a cache that was loaded from disk still belong to its origin?  If it does
 * not, the mapping is emptied, or the table is refused.
 *
 * It owns what follows from the comparison: a mapping whose clean blocks are not the
 * origin's becomes void before the first hit (I2), and nobody but the administrator
 * gives up what only the cache has (I3).  It must not know which blocks are compared
 * (cache-origin.c), and it does not commit: its caller does.
 */
#include "cache-belongs.h"
#include "cache-answer.h"
#include "cache-log-load.h"
#include "cache-table.h"

#include <linux/dm-ioctl.h>

/* ---- Blocks that leave the cache before it runs ---- */

/*
 * Free the slot in memory; the caller changes the metadata.  policy.lock is not
 * needed, because no request runs.
 */
static void release_slot(struct cache *c, u32 slot)
{
	struct slot *s = slot_at(&c->map, slot);

	c->policy.p->ops->removed(c->policy.p, slot, slot_block(s),
				  CACHE_REMOVED_INVALID);
	if (slot_word(s) & SLOT_DIRTY)
		atomic_dec(&c->nr.dirty);
	if (slot_word(s) & SLOT_INTENT)
		atomic_dec(&c->nr.intents);
	slot_map_remove(&c->map, slot);
	atomic_set(&s->word, SLOT_FREE);
	atomic_dec(&c->nr.resident);
}

int cache_forget_slot(struct cache *c, u32 slot)
{
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cmd_remove(c->md.cmd, slot);
	if (!r)
		release_slot(c, slot);
	return r;
}

/*
 * Empty the mapping and the write log.  The next commit of the metadata makes that
 * durable.
 */
static int forget_all(struct cache *c)
{
	u32 i;
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cmd_unmap_all(c->md.cmd);
	if (!r)
		r = cmd_resize(c->md.cmd, c->map.nr_slots);
	if (!r)
		r = cache_log_give_up(c);
	if (!r)
		r = cache_settings_note_own(c);
	for (i = 0; !r && i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		if (slot_state(slot_word(slot_at(&c->map, i))) == SLOT_VALID)
			release_slot(c, i);
	}
	return r;
}

/* ---- Another origin ---- */

/* Messages name the volume as device-mapper does, because it has no number yet. */
static void name_of(struct cache_table *t, char name[DM_NAME_LEN])
{
	if (dm_copy_name_and_uuid(dm_table_get_md(t->ti->table), name, NULL))
		strscpy(name, "?", DM_NAME_LEN);
}

/*
 * May a block be newer in the cache although the disk calls it clean?  In writeback
 * the kernel's own target forgets dirty bits when it crashes after a suspend, and
 * cache_repair 0.9 forgets them all.  The metadata does not show either.  But
 * hearth's record says whether hearth has promoted all that is mapped.  After
 * passthrough (was_put_off) no block is newer, because nothing was dirty then, and
 * users have read the origin all the time.
 */
static bool clean_may_be_newer(struct cache *c, struct cache_table *t)
{
	return !c->settings.own && !c->checked.was_put_off &&
	       cache_mode_keeps_dirty(t->mode);
}

/*
 * The number of blocks whose newest content only the cache has: dirty blocks, and
 * blocks with extents in the write log.  A block that is mapped, too, is dirty
 * (load_slot()), and counts twice.
 */
static u64 nr_newer(struct cache *c)
{
	return atomic_read(&c->nr.dirty) + cache_log_nr_blocks(c);
}

/* I3: nobody can tell which is right, and what only the cache has would be lost. */
static int refuse_origin(struct cache *c, const char *name,
			 const struct origin_result *result)
{
	if (nr_newer(c))
		DMERR("%s: the origin was written without the cache, and %llu blocks are dirty: refused, until 'hearth origin' says which is right; %u of %u blocks differ, the first is origin block %llu",
		      name, nr_newer(c), result->nr_differ,
		      result->nr_compared, result->first);
	else
		DMERR("%s: blocks differ from the origin, and may be newer, because not only hearth has used the cache: refused, until 'hearth origin' says which is right; %u of %u blocks differ, the first is origin block %llu",
		      name, result->nr_differ, result->nr_compared,
		      result->first);
	return -ESTALE;
}

/*
 * A few blocks may differ although nobody wrote the origin, because their content
 * changed while both devices were being written.
 */
static int forget_odd_blocks(struct cache *c, const char *name,
			     const struct origin_result *result)
{
	u32 i;
	int r = 0;

	DMWARN("%s: %u of %u blocks differ from their copies, which leave the cache; the first is origin block %llu",
	       name, result->nr_differ, result->nr_compared, result->first);
	for (i = 0; !r && i < result->nr_differ; i++)
		r = cache_forget_slot(c, result->odd[i]);
	return r;
}

/*
 * The kernel's own target leaves discarded blocks in its cache, and nothing says
 * what the origin returns for them.  A volume must not be refused for that when
 * hearth activates it for the first time.  If more than half of the blocks differ,
 * discards are not the reason, because users discard only a part of what is cached.
 */
static bool is_unsure(struct cache *c, const struct origin_result *result)
{
	return !c->settings.own && bdev_max_discard_sectors(c->dev.origin) &&
	       result->nr_differ <= result->nr_compared / 2;
}

static int overlook(const char *name, const struct origin_result *result)
{
	DMWARN("%s: %u of %u blocks differ from the origin, perhaps because the kernel's own target has discarded them; the first is origin block %llu; 'hearth verify' compares all",
	       name, result->nr_differ, result->nr_compared, result->first);
	return 0;
}

/*
 * Would something be lost if the mapping and the write log were made void?  If the
 * dirty bits are only intents (settings.through), the origin has all that they stand
 * for.
 */
static bool may_be_newer(struct cache *c, struct cache_table *t)
{
	if (cache_log_nr_blocks(c))
		return true;
	if (atomic_read(&c->nr.dirty))
		return !c->settings.through;
	return clean_may_be_newer(c, t);
}

/*
 * Call all that is mapped dirty.  The next commit of the metadata makes that
 * durable.
 */
static int take_all_as_dirty(struct cache *c)
{
	struct slot *s;
	u32 i;
	int r;

	lockdep_assert_held(&c->md.lock);
	r = cmd_set_all_dirty(c->md.cmd);
	for (i = 0; !r && i < c->map.nr_slots; i++) {
		slot_scan_step(i);
		s = slot_at(&c->map, i);
		if (slot_state(slot_word(s)) != SLOT_VALID ||
		    (slot_word(s) & SLOT_DIRTY))
			continue;
		atomic_or(SLOT_ALL_DIRTY | SLOT_INTENT, &s->word);
		atomic_inc(&c->nr.dirty);
		atomic_inc(&c->nr.intents);
	}
	return r;
}

/*
 * The administrator knows which is right.  If it is the cache, all that is resident
 * goes home, because a clean block that differs would be lost when it is evicted.
 */
static int do_as_told(struct cache *c, const char *name, enum cache_answer answer)
{
	lockdep_assert_held(&c->md.lock);
	c->checked.untold = true;
	if (answer == ANSWER_CACHE) {
		c->settings.through = false;
		DMWARN("%s: the cache is kept, as the administrator says: %u blocks are written over the origin",
		       name, atomic_read(&c->nr.resident));
		c->checked.state = ORIGIN_CACHE_KEPT;
		return take_all_as_dirty(c);
	}
	DMWARN("%s: the origin is kept, as the administrator says: starting with an empty cache, %llu dirty blocks are given up",
	       name, nr_newer(c));
	c->checked.state = ORIGIN_KEPT;
	return forget_all(c);
}

static int act_on(struct cache *c, struct cache_table *t, const char *name,
		  const struct origin_result *result)
{
	enum cache_answer answer = cache_answer_of(t, ANSWER_TO_ALL);

	lockdep_assert_held(&c->md.lock);
	if (!cache_origin_is_another(result))
		return clean_may_be_newer(c, t) ? 0 :
		       forget_odd_blocks(c, name, result);
	if (answer)
		return do_as_told(c, name, answer);
	if (may_be_newer(c, t))
		return is_unsure(c, result) ? overlook(name, result) :
					      refuse_origin(c, name, result);
	DMWARN("%s: the origin was written without the cache: starting with an empty cache; %u of %u blocks differ, the first is origin block %llu",
	       name, result->nr_differ, result->nr_compared, result->first);
	c->checked.state = ORIGIN_CHANGED;
	c->checked.untold = true;
	return forget_all(c);
}

static int compare_origin(struct cache *c, struct cache_table *t, const char *name)
{
	struct origin_result result;

	lockdep_assert_held(&c->md.lock);
	/* A volume is not refused for want of memory. */
	if (cache_origin_compare(c, &result)) {
		DMWARN("%s: no memory to compare the cache with the origin", name);
		return 0;
	}
	if (!result.nr_compared)
		return 0;
	c->checked.state = ORIGIN_SAME;
	return result.nr_differ ? act_on(c, t, name, &result) : 0;
}

/*
 * Before the first hit: does the cache still belong to this origin?  Three cases
 * are not compared.  Metadata with NEEDS_CHECK is not written, so its mapping could
 * not be made void.  If the suspended engine has used this origin up to now
 * (followed), the origin was never without its cache, and a volume in use must not
 * be refused.  In passthrough nothing hits, so the comparison is put off.
 */
int cache_check_origin(struct cache *c, struct cache_table *t, struct cache *before)
{
	enum cache_answer answer = cache_answer_of(t, ANSWER_TO_NAME);
	char name[DM_NAME_LEN];

	lockdep_assert_held(&c->md.lock);
	if (cmd_needs_check(c->md.cmd))
		return 0;
	if (c->checked.followed) {
		c->checked.state = before->checked.state;
		return 0;
	}
	name_of(t, name);
	if (answer)
		return do_as_told(c, name, answer);
	c->checked.put_off = t->mode == MODE_PASSTHROUGH;
	return c->checked.put_off ? 0 : compare_origin(c, t, name);
}
