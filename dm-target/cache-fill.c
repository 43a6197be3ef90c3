// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promotions: a block of the origin becomes a slot.
 *
 * It owns the life of a FILLING slot: publish, read the block once, serve the
 * waiting reader from that read, write the slot, have the mapping committed.
 * cache-admit.c decides what is promoted, cache-gate.c excludes writers and
 * discards.  This file must not know which blocks deserve a slot, nor how a commit
 * is made.
 */
#include "cache-bio.h"
#include "cache-fill.h"
#include "cache-trace.h"

/*
 * A block of so many pages at most, 1 MiB with pages of 4 KiB, is read into memory, and
 * its reader is served from there.  It has a bound, because a promotion has the whole
 * block in memory, and a block may have 1 GiB.  kcopyd copies larger blocks, and their
 * reader reads the origin for itself.  No measurement of the value is recorded.
 */
#define FILL_MAX_PAGES	256

struct fill {
	struct cache *c;
	u32 slot;
	u64 block;
	enum cache_verdict why;	/* CACHE_PROMOTE_AHEAD: no request missed it */
	atomic_t *room;		/* where its sectors count while it copies, or NULL */
	ktime_t began;		/* for the trace; 0: the event is off */
	bool dirty;		/* a write waits for it: commit it as an intent */
	bool written;		/* a write to the origin has just ended */
	struct bio *bio;	/* the reader to serve, or the overwriting writer */
	struct commit_op op;
	struct work_struct work;
	struct compat_io io;
	unsigned long io_error;
	bool copied;		/* memory and room are given back */
	unsigned int nr_pages;
	struct page_list pages[];
};

/* ---- Memory ---- */

/* The copy has ended: give back memory and room. */
static void fill_copied(struct fill *fill)
{
	while (fill->nr_pages)
		__free_page(fill->pages[--fill->nr_pages].page);
	if (!fill->copied && fill->room)
		atomic_sub(fill->c->geo.block_sectors, fill->room);
	fill->copied = true;
}

static void free_fill(struct fill *fill)
{
	struct cache *c = fill->c;

	fill_copied(fill);
	kfree(fill);
	cache_migration_done(c);
}

/* @room: the count that its sectors are added to; NULL if nothing is copied. */
static struct fill *alloc_fill(struct cache *c, u64 block,
			       enum cache_verdict why, atomic_t *room,
			       unsigned int nr_pages, gfp_t gfp)
{
	struct fill *fill;

	fill = kzalloc(struct_size(fill, pages, nr_pages), gfp | __GFP_NOWARN);
	if (!fill)
		return NULL;
	fill->c = c;
	fill->block = block;
	fill->why = why;
	fill->room = room;
	if (room)
		atomic_add(c->geo.block_sectors, room);
	if (trace_dm_cache_promote_enabled())
		fill->began = ktime_get();
	cache_migration_started(c);
	return fill;
}

static bool fill_add_pages(struct fill *fill, unsigned int nr_pages, gfp_t gfp)
{
	unsigned int i;

	for (i = 0; i < nr_pages; i++) {
		fill->pages[i].page = alloc_page(gfp | __GFP_NOWARN);
		if (!fill->pages[i].page)
			return false;
		fill->pages[i].next = i + 1 < nr_pages ? &fill->pages[i + 1] : NULL;
		fill->nr_pages++;
	}
	return true;
}

static unsigned int fill_pages_wanted(struct cache *c)
{
	unsigned int nr = DIV_ROUND_UP(c->geo.block_sectors, PAGE_SECTORS);

	return nr <= FILL_MAX_PAGES ? nr : 0;
}

/* ---- The slot ---- */

static void trace_fill(struct fill *fill, int error)
{
	trace_dm_cache_promote(fill->c, fill->block, fill->slot, fill->why,
			       fill->began, error);
}

/* Take the slot back: nothing about it is on disk. */
static void abort_fill(struct fill *fill)
{
	trace_fill(fill, -ECANCELED);
	cache_gate_unpublish(fill->c, fill->slot);
	slot_map_free(&fill->c->map, fill->slot);
	cache_stat_inc(fill->c, STAT_PROMOTIONS_ABORTED);
	free_fill(fill);
}

/*
 * The slot could not be written: as long as this engine lives it is not tried
 * again.
 */
static void retire_slot(struct fill *fill)
{
	trace_fill(fill, -EIO);
	cache_gate_unpublish(fill->c, fill->slot);
	atomic_set(&slot_at(&fill->c->map, fill->slot)->word, SLOT_RETIRED);
	cache_stat_inc(fill->c, STAT_PROMOTIONS_ABORTED);
	cache_stat_inc(fill->c, STAT_RETIRED_BLOCKS);
	cache_fast_error(fill->c, STAT_CACHE_WRITE_ERRORS);
	free_fill(fill);
}

/*
 * If the write log has some of the block, and a request asked for it, it comes in
 * from there.
 */
static void give_way(struct fill *fill)
{
	if (fill->why == CACHE_PROMOTE_AHEAD || !cache_log_want(fill->c, fill->block))
		cache_admit_raced(fill->c, fill->why);
}

/*
 * Publish a FILLING slot for the block.  Returns 0; -EEXIST when the block has
 * a slot; -ENOSPC without a free one; -EBUSY when a write or a discard of the
 * origin is in flight, or when the write log has some of the block.
 */
static int publish_slot(struct fill *fill)
{
	struct cache *c = fill->c;
	u32 slot = cache_admit_slot(c, fill->why);
	int r;

	if (slot == SLOT_NONE)
		return -ENOSPC;
	r = cache_gate_publish(c, slot, fill->block);
	if (r == -EBUSY)
		give_way(fill);
	if (r) {
		slot_map_free(&c->map, slot);
		return r;
	}
	fill->slot = slot;
	return 0;
}

/* ---- Commit ---- */

/* A write could not be its own promotion: map it again, for the origin. */
static void redirect_to_origin(struct cache *c, struct bio *bio)
{
	cache_rewind_bio(bio);
	cache_bio(bio)->verdict = CACHE_BYPASS_LIMIT;
	cache_defer_bio(c, bio, STEP_MAP);
}

static void serve_overwrite(struct fill *fill, int error)
{
	struct bio *bio = fill->bio;

	fill->bio = NULL;
	if (!bio)
		return;
	bio->bi_status = errno_to_blk_status(error);
	bio_endio(bio);
}

/* Nothing was committed: an overwriting bio goes to the origin instead. */
static void take_back(struct fill *fill)
{
	struct cache *c = fill->c;
	struct bio *bio = fill->bio;

	fill->bio = NULL;
	abort_fill(fill);
	if (bio)
		redirect_to_origin(c, bio);
}

/*
 * The commit failed and the metadata can no longer be written, so it is unknown
 * whether the mapping is on the disk.  I1: the origin alone must not be written
 * any more, so the slot stays, for reading; a write asks for an intent and is
 * refused.  An overwriting bio was not acknowledged: it fails, or waits with all
 * other writes for a fence.
 */
static void fill_uncertain(struct fill *fill, int error)
{
	struct cache *c = fill->c;
	u32 old = cache_policy_insert(c, fill->slot, fill->why, SLOT_VALID);

	atomic_inc(&c->nr.resident);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, fill->slot);
	if (fill->bio && READ_ONCE(c->state.health) == HEALTH_HOLDING)
		redirect_to_origin(c, fill->bio);
	else
		serve_overwrite(fill, error);
	free_fill(fill);
}

static void fill_committed(struct cache *c, struct commit_op *op, int error)
{
	struct fill *fill = container_of(op, struct fill, op);
	bool overwritten = fill->bio;
	u32 old, new = SLOT_VALID;

	if (error && !cache_writable(c) && !cache_bypassed(c)) {
		fill_uncertain(fill, error);
		return;
	}
	if (error) {
		take_back(fill);
		return;
	}

	if (fill->dirty)
		new |= SLOT_INTENT;
	if (overwritten)
		new |= SLOT_ALL_DIRTY;
	atomic_inc(&c->nr.resident);
	if (new & SLOT_INTENT)
		atomic_inc(&c->nr.intents);
	if (new & SLOT_DIRTY)
		atomic_inc(&c->nr.dirty);
	cache_stat_inc(c, STAT_PROMOTIONS);
	trace_fill(fill, 0);
	if (fill->written)
		cache_lately_note(c, fill->block);

	old = cache_policy_insert(c, fill->slot, fill->why, new);
	if (old & SLOT_WAITERS)
		cache_wake_waiters(c, fill->slot);
	serve_overwrite(fill, 0);
	free_fill(fill);
}

/* I1: the slot has been written, so its mapping may be queued. */
static void commit_fill(struct fill *fill)
{
	fill->op.kind = fill->dirty ? COMMIT_MAP_DIRTY : COMMIT_MAP_CLEAN;
	fill->op.slot = fill->slot;
	fill->op.block = fill->block;
	fill->op.done = fill_committed;
	fill_copied(fill);
	if (fill->dirty || fill->bio)
		cache_commit_queue(fill->c, &fill->op);
	else
		cache_commit_linger(fill->c, &fill->op);
}

/* ---- Copying ---- */

static void fill_io(struct fill *fill, blk_opf_t opf,
		    struct block_device *bdev, sector_t sector, compat_io_fn fn)
{
	struct dm_io_region where = {
		.bdev = bdev,
		.sector = sector,
		.count = fill->c->geo.block_sectors,
	};
	struct dm_io_request req = {
		.bi_opf = opf,
		.mem.type = DM_IO_PAGE_LIST,
		.mem.ptr.pl = fill->pages,
		.client = fill->c->clients.io,
	};

	compat_dm_io_async(&req, &where, &fill->io, fn);
}

static void slot_written_work(struct work_struct *work)
{
	struct fill *fill = container_of(work, struct fill, work);
	struct cache *c = fill->c;

	if (fill->io_error) {
		retire_slot(fill);
		return;
	}
	cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN, c->geo.block_sectors);
	commit_fill(fill);
}

static void slot_written(struct compat_io *io, unsigned long error)
{
	struct fill *fill = container_of(io, struct fill, io);

	cache_admit_write_ends(fill->c);
	fill->io_error = error;
	INIT_WORK(&fill->work, slot_written_work);
	queue_work(fill->c->wq.main, &fill->work);
}

/* Copy what the reader asked for out of the block. */
static void serve_reader(struct fill *fill)
{
	struct bio *bio = fill->bio;
	struct bvec_iter iter;
	struct bio_vec bv;
	size_t pos;

	pos = (bio->bi_iter.bi_sector -
	       cache_block_start(fill->c, fill->block)) << SECTOR_SHIFT;
	bio_for_each_segment(bv, bio, iter) {
		size_t done = 0;

		while (done < bv.bv_len) {
			struct page *page = fill->pages[pos >> PAGE_SHIFT].page;
			size_t in = offset_in_page(pos);
			size_t n = min_t(size_t, bv.bv_len - done,
					 PAGE_SIZE - in);

			memcpy_page(bv.bv_page, bv.bv_offset + done, page, in, n);
			done += n;
			pos += n;
		}
	}
	fill->bio = NULL;
	bio_endio(bio);
}

static void origin_read_work(struct work_struct *work)
{
	struct fill *fill = container_of(work, struct fill, work);
	struct cache *c = fill->c;
	struct bio *bio = fill->bio;

	if (fill->io_error) {
		/* The reader may succeed: its own range may be readable. */
		fill->bio = NULL;
		if (bio) {
			cache_remap_origin(c, bio);
			submit_bio_noacct(bio);
		}
		cache_stat_inc(c, STAT_ORIGIN_ERRORS);
		abort_fill(fill);
		return;
	}

	if (bio)
		serve_reader(fill);
	cache_admit_write_begins(c);
	fill_io(fill, REQ_OP_WRITE, c->dev.fast,
		cache_block_start(c, fill->slot), slot_written);
}

static void origin_read(struct compat_io *io, unsigned long error)
{
	struct fill *fill = container_of(io, struct fill, io);

	fill->io_error = error;
	INIT_WORK(&fill->work, origin_read_work);
	queue_work(fill->c->wq.main, &fill->work);
}

static void block_copied(int read_err, unsigned long write_err, void *context)
{
	struct fill *fill = context;

	fill->io_error = write_err;
	if (read_err) {
		cache_stat_inc(fill->c, STAT_ORIGIN_ERRORS);
		abort_fill(fill);
		return;
	}
	slot_written_work(&fill->work);
}

static void copy_large_block(struct fill *fill)
{
	struct cache *c = fill->c;
	struct dm_io_region from = {
		.bdev = c->dev.origin,
		.sector = cache_block_start(c, fill->block),
		.count = c->geo.block_sectors,
	};
	struct dm_io_region to = {
		.bdev = c->dev.fast,
		.sector = cache_block_start(c, fill->slot),
		.count = c->geo.block_sectors,
	};
	struct bio *bio = fill->bio;

	fill->bio = NULL;
	dm_kcopyd_copy(c->clients.copier, &from, 1, &to, 0, block_copied, fill);
	if (bio) {
		cache_remap_origin(c, bio);
		submit_bio_noacct(bio);
	}
}

static void start_copy(struct fill *fill)
{
	struct cache *c = fill->c;

	if (!fill->nr_pages) {
		copy_large_block(fill);
		return;
	}
	fill_io(fill, REQ_OP_READ, c->dev.origin,
		cache_block_start(c, fill->block), origin_read);
}

/* ---- Promotion by a bio.  Worker context ---- */

/* A write of the whole block is its own promotion: nothing is read. */
static bool promote_overwrite(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);
	struct fill *fill;

	fill = alloc_fill(c, cb->block, cb->verdict, NULL, 0, GFP_NOWAIT);
	if (!fill)
		return false;
	if (publish_slot(fill)) {
		free_fill(fill);
		return false;
	}

	fill->bio = bio;
	fill->dirty = true;
	cb->fill = fill;
	cb->kind = BIO_OVERWRITE;
	bio->bi_iter.bi_sector = cache_block_start(c, fill->slot);
	bio_set_dev(bio, c->dev.fast);
	submit_bio_noacct(bio);
	return true;
}

/* The write to the slot has ended.  Any context. */
void cache_overwrite_done(struct cache *c, struct bio *bio, blk_status_t error)
{
	struct cache_bio *cb = cache_bio(bio);
	struct fill *fill = cb->fill;

	cb->fill = NULL;
	if (!error) {
		cache_stat_add(c, STAT_CACHE_SECTORS_WRITTEN,
			       c->geo.block_sectors);
		commit_fill(fill);
		return;
	}

	retire_slot(fill);
	redirect_to_origin(c, bio);
}

/* A fill with its memory and its slot, or NULL.  @gfp: may it sleep? */
static struct fill *begin_fill(struct cache *c, u64 block,
			       enum cache_verdict why, atomic_t *room,
			       gfp_t gfp)
{
	unsigned int nr_pages = fill_pages_wanted(c);
	struct fill *fill;

	fill = alloc_fill(c, block, why, room, nr_pages, gfp);
	if (!fill)
		return NULL;
	if (fill_add_pages(fill, nr_pages, gfp) && !publish_slot(fill))
		return fill;
	free_fill(fill);
	return NULL;
}

/*
 * Promote the bio's block alone.  Returns true if the fill serves the bio, which is
 * a read then.  A write is mapped again, and waits for the slot.
 */
static bool promote_alone(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);
	bool write = bio_data_dir(bio) == WRITE;
	struct fill *fill;

	fill = begin_fill(c, cb->block, cb->verdict,
			  write ? &c->admit.migrating_sectors :
				  &c->admit.reading_sectors,
			  GFP_NOIO | __GFP_NORETRY);
	if (!fill)
		return false;

	fill->dirty = write;
	fill->bio = write ? NULL : bio;
	start_copy(fill);
	return !write;
}

/*
 * Promote the blocks behind @block, up to the first that has a slot already,
 * because the disk's head is there.  While slots are free, no block has to leave
 * for them.
 */
static void promote_behind(struct cache *c, u64 block)
{
	u32 nr = div_u64(READ_ONCE(c->limits.promote_ahead),
			 c->geo.block_sectors);
	struct fill *fill;

	while (nr-- && ++block < c->geo.origin_blocks &&
	       slot_map_find(&c->map, block) == SLOT_NONE && cache_admit_ahead(c)) {
		fill = begin_fill(c, block, CACHE_PROMOTE_AHEAD,
				  &c->admit.reading_sectors, GFP_NOWAIT);
		if (!fill)
			return;
		start_copy(fill);
	}
}

/*
 * Use up the permission to read ahead.  If the bio ends at its block's end it may
 * be one piece of a larger request, whose next piece brings the next block.
 */
static bool use_readahead(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);

	if (cb->verdict != CACHE_PROMOTE_AHEAD)
		return false;
	cb->verdict = CACHE_PROMOTE;
	return bio_data_dir(bio) == READ &&
	       bio_end_sector(bio) < cache_block_start(c, cb->block + 1);
}

bool cache_promote_bio(struct cache *c, struct bio *bio)
{
	struct cache_bio *cb = cache_bio(bio);
	bool write = bio_data_dir(bio) == WRITE;
	bool ahead = use_readahead(c, bio);
	u64 block = cb->block;
	bool started;

	if (write && bio_sectors(bio) == c->geo.block_sectors)
		return cache_admit_overwrite(c) && promote_overwrite(c, bio);
	if (!cache_admit_begin(c, !write))
		return false;
	if (!ahead)
		return promote_alone(c, bio);

	/* The bio may end at once; a suspend must wait for the blocks behind, too. */
	cache_migration_started(c);
	started = promote_alone(c, bio);
	if (started)
		promote_behind(c, block);
	cache_migration_done(c);
	return started;
}

/* ---- Promotion after a write to the origin ---- */

struct fill *cache_fill_reserve(struct cache *c, u64 block,
				enum cache_verdict why)
{
	struct fill *fill;

	if (!cache_admit_begin(c, false))
		return NULL;
	/* Writes do not trigger read-ahead. */
	if (why == CACHE_PROMOTE_AHEAD)
		why = CACHE_PROMOTE;
	fill = alloc_fill(c, block, why, &c->admit.migrating_sectors,
			  fill_pages_wanted(c), GFP_NOWAIT);
	if (fill)
		fill->written = true;
	return fill;
}

void cache_fill_forget(struct fill *fill)
{
	free_fill(fill);
}

static void fill_start_work(struct work_struct *work)
{
	struct fill *fill = container_of(work, struct fill, work);
	struct cache *c = fill->c;

	if (!cache_admit_stands(c) ||
	    !fill_add_pages(fill, fill_pages_wanted(c), GFP_NOIO | __GFP_NORETRY) ||
	    publish_slot(fill)) {
		free_fill(fill);
		return;
	}
	start_copy(fill);
}

void cache_fill_start(struct fill *fill)
{
	INIT_WORK(&fill->work, fill_start_work);
	queue_work(fill->c->wq.main, &fill->work);
}
