// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker that writes the ring of the write log, and the flushes that wait for it.
 *
 * It owns the order in which data and records become durable (W2, W3, W9).  The content of a
 * block of the ring is chosen by write-log/log-ring.c, which knows no kernel.  It must
 * not know why a write is absorbed (cache-log-io.c), nor why runs leave
 * (cache-log-home.c).
 */
#include "cache-bio.h"
#include "cache-log-ring.h"
#include "cache-log.h"

#include <linux/vmalloc.h>

/*
 * A batch that took more microseconds than this counts as one that took so many, because
 * others have joined the next batch by then.  Not chosen by measurement.
 */
#define LOG_JOIN_US	100U

/* ---- The cache device ---- */

static void describe_io(struct cache_log *log, struct dm_io_request *req,
			struct dm_io_region *where, blk_opf_t opf, u64 sector,
			u32 sectors, const void *data)
{
	*where = (struct dm_io_region) {
		.bdev = log->c->dev.fast,
		.sector = sector,
		.count = sectors,
	};
	*req = (struct dm_io_request) {
		.bi_opf = opf,
		.client = log->device.client,
	};
	if (is_vmalloc_addr(data)) {
		req->mem.type = DM_IO_VMA;
		req->mem.ptr.vma = (void *)data;
	} else {
		req->mem.type = DM_IO_KMEM;
		req->mem.ptr.addr = (void *)data;
	}
}

static int dev_io(struct cache_log *log, blk_opf_t opf, u64 sector, u32 sectors,
		  const void *data)
{
	struct dm_io_region where;
	struct dm_io_request req;

	describe_io(log, &req, &where, opf, sector, sectors, data);
	return compat_dm_io(&req, 1, &where, NULL);
}

static int dev_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	return dev_io(ctx, REQ_OP_READ, sector, sectors, data);
}

static blk_opf_t write_opf(unsigned int flags)
{
	blk_opf_t opf = REQ_OP_WRITE | REQ_SYNC | REQ_META;

	if (flags & LOG_FUA)
		opf |= REQ_FUA;
	return opf;
}

static int dev_write(void *ctx, u64 sector, u32 sectors, const void *data,
		     unsigned int flags)
{
	struct cache_log *log = ctx;
	int r;

	/*
	 * Each flush is a request of its own, and there is no FUA, because others have to
	 * know if a flush fails.
	 */
	if (flags & LOG_PREFLUSH && cache_flush_fast(log->c))
		return -EIO;
	r = dev_io(log, write_opf(0), sector, sectors, data);
	if (!r && flags & LOG_FUA)
		r = cache_flush_fast(log->c);
	return r;
}

void cache_log_init_device(struct cache_log *log)
{
	log->device.dev.read = dev_read;
	log->device.dev.write = dev_write;
	log->device.dev.ctx = log;
}

/* ---- Blocks of the ring ---- */

/* A ring block on its way. */
struct ring_write {
	struct compat_io io;
	struct cache *c;
	int error;
	struct completion done;
};

static void ring_write_ended(struct compat_io *io, unsigned long error)
{
	struct ring_write *w = container_of(io, struct ring_write, io);

	/*
	 * It counts as a flush that failed, because FUA is one on many devices.  Noted
	 * here, because the device may serve a user's flush next, which has to fail,
	 * too.
	 */
	if (error)
		WRITE_ONCE(w->c->degrade.fast_flush_failed, true);
	cache_written_release(&w->c->flushes.fast);
	w->error = error ? -EIO : 0;
	complete(&w->done);
}

static void begin_ring_write(struct cache_log *log, const struct log_io *io,
			     struct ring_write *w)
{
	struct dm_io_region where;
	struct dm_io_request req;

	w->c = log->c;
	cache_written_hold(&log->c->flushes.fast);
	init_completion(&w->done);
	describe_io(log, &req, &where, write_opf(io->flags), io->sector, io->sectors,
		    io->data);
	compat_dm_io_async(&req, &where, &w->io, ring_write_ended);
}

/*
 * *@wanted: does a user's flush wait for one of the device (W3)?  It becomes false when
 * one was tried, or is not needed.  A flush before the block is a request of its own,
 * because a device-mapper device does not report that the flush of a request with data
 * failed.  One beside the block comes second, because then it also serves a device that
 * has to flush after the block for want of FUA.
 *
 * W9: no block is tried again, because the next flush proves nothing about what a flush
 * that failed has dropped.
 */
static int write_ring_block(struct cache_log *log, const struct log_io *io, bool *wanted)
{
	bool first = io->flags & LOG_PREFLUSH;
	bool beside = *wanted && !first && cache_flush_needed(log->c, true);
	struct ring_write w;
	int r;

	*wanted = false;
	r = first ? cache_flush_fast(log->c) : 0;
	if (r)
		return r;
	begin_ring_write(log, io, &w);
	if (beside)
		r = cache_flush_fast(log->c);
	wait_for_completion_io(&w.done);
	return r ? r : w.error;
}

/* ---- Batches ---- */

/* W2, W9: after a flush that failed nothing is recorded any more. */
static bool ring_is_well(struct cache_log *log)
{
	/* Pairs with ring_failed(): then the flush that failed is seen, too. */
	return !smp_load_acquire(&log->life.failed) &&
	       !READ_ONCE(log->c->degrade.fast_flush_failed);
}

/* Did a single writer flush after a single write?  @waiters: bios that wait for the batch */
static void look_for_pairs(struct cache_log *log, u32 waiters)
{
	const struct log_write *w = log->ring.pending;
	u32 nr = 0;

	for (; w && nr <= LOG_FUA_WRITES; w = w->next)
		nr += w->nr;
	if (nr > LOG_FUA_WRITES)
		WRITE_ONCE(log->recorder.has_pairs, false);
	else if (nr && waiters && READ_ONCE(log->recorder.before_flush) <= LOG_FUA_WRITES)
		WRITE_ONCE(log->recorder.has_pairs, true);
}

/* @wanted: as for write_ring_block() */
static int write_batch(struct cache_log *log, u32 waiters, bool *wanted)
{
	struct log_io io;
	ktime_t began;
	int r;

	if (!ring_is_well(log))
		return -EIO;
	/*
	 * A flush may come so late that the log is off: then there is no ring, or one
	 * that is being made.  Pairs with set_state().
	 */
	if (smp_load_acquire(&log->life.state) == CACHE_LOG_OFF)
		return 0;
	if (!log_ring_begin(&log->ring))
		return 0;
	began = ktime_get();
	look_for_pairs(log, waiters);
	while ((r = log_ring_next(&log->ring, &io)) > 0) {
		/* A flush of others may have failed since, and lost the data. */
		r = ring_is_well(log) ? write_ring_block(log, &io, wanted) : -EIO;
		log_ring_end(&log->ring, r);
		if (r)
			return r;
		cache_stat_add(log->c, STAT_LOG_RING_SECTORS, io.sectors);
	}
	log->recorder.batch_us = min_t(s64, ktime_us_delta(ktime_get(), began), UINT_MAX);
	if (!r && !ring_is_well(log))
		return -EIO;
	return r;
}

/* Take all bios of @from, which is a list of log.waiting. */
static struct bio_list take_bios(struct cache_log *log, struct bio_list *from)
{
	struct bio_list bios;

	spin_lock_irq(&log->waiting.lock);
	bios = *from;
	bio_list_init(from);
	spin_unlock_irq(&log->waiting.lock);
	return bios;
}

static void end_logged(struct bio *bio, int error)
{
	bio->bi_status = errno_to_blk_status(error);
	bio_endio(bio);
}

/*
 * If the batch did not flush the device, the device itself serves the flush, if it has
 * something to flush.
 */
static void end_flush(struct cache *c, struct bio *bio, int error, bool flushed)
{
	if (error) {
		cache_bio(bio)->kind = BIO_PLAIN;
		cache_hold_bio(c, bio, STEP_END_FLUSH);
		return;
	}
	if (flushed) {
		cache_bio(bio)->kind = BIO_PLAIN;
		bio_endio(bio);
		return;
	}
	if (cache_point_flush(c, bio, true))
		submit_bio_noacct(bio);
	else
		cache_end_needless(bio);
}

/*
 * End the flushes that have joined the batch.  The device has served them, or had nothing
 * to flush.  They find that no batch runs from here on.  Returns their number.
 */
static u32 end_joined(struct cache_log *log, int error)
{
	struct bio_list bios = take_bios(log, &log->waiting.joined);
	u32 nr = bio_list_size(&bios);
	struct bio *bio;

	while ((bio = bio_list_pop(&bios)))
		end_flush(log->c, bio, error, true);
	return nr;
}

static void end_flushes(struct cache_log *log, struct bio_list *bios, int error,
			bool flushed)
{
	struct bio *bio;

	while ((bio = bio_list_pop(bios))) {
		if (cache_bio(bio)->kind == BIO_FLUSH) {
			end_flush(log->c, bio, error, flushed);
			continue;
		}
		cache_bio(bio)->kind = BIO_PLAIN;
		end_logged(bio, error);
	}
}

/* Does a bio wait for a flush, and not only for the record of its own data? */
static bool has_flush(struct bio_list *bios)
{
	struct bio *bio;

	bio_list_for_each(bio, bios)
		if (cache_bio(bio)->kind == BIO_FLUSH)
			return true;
	return false;
}

static void ring_failed(struct cache_log *log, int error)
{
	struct cache *c = log->c;

	if (READ_ONCE(log->life.failed))
		return;
	WRITE_ONCE(c->degrade.fast_flush_failed, true);
	/* Pairs with ring_is_well(). */
	smp_store_release(&log->life.failed, true);
	/* During recovery the table is refused instead, and the disk keeps the log. */
	if (!log->life.begun)
		return;
	DMERR("write log: its ring cannot be written: error %d; nothing is absorbed any more, and all goes home",
	      error);
	queue_work(c->wq.commit, &c->degrade.work);
	queue_work(c->wq.bg, &log->worker.work);
}

static bool all_have_joined(struct cache_log *log)
{
	return atomic_read(&log->recorder.nr_waiting) >= log->recorder.nr_expected;
}

/*
 * If several writers flush, a batch first waits for those that flushed lately, because
 * then they share a ring block and a flush.  The limit is twice the time of the last
 * batch: a limit of once that time made 16 writers slower by 10 percent, and one of
 * three times by 1 percent.  With an fsync after each write, 2, 4 and 16 writers were
 * faster by 25, 23 and 8 percent than when each batch waited for 1 to 1.5 such times.
 */
static void let_others_join(struct cache_log *log)
{
	unsigned int us = 2 * min(log->recorder.batch_us, LOG_JOIN_US);

	if (log->recorder.has_company && us && atomic_read(&log->recorder.nr_waiting))
		wait_event_hrtimeout(log->recorder.all_wait, all_have_joined(log),
				     ns_to_ktime(us * NSEC_PER_USEC));
}

/*
 * @nr: the bios that waited for the batch, and those that came while it ran.  A batch for
 * which none waits says nothing about writers.
 */
static void note_company(struct cache_log *log, u32 nr)
{
	bool company = nr > 1;
	u32 lately = log->recorder.nr_expected;

	if (!nr)
		return;
	/* A writer that does not flush any more is forgotten after some batches. */
	WRITE_ONCE(log->recorder.nr_expected, max(nr, lately * 7 / 8));
	WRITE_ONCE(log->recorder.has_company, company);
	if (company)
		WRITE_ONCE(log->recorder.has_pairs, false);
}

void cache_log_ring_work(struct work_struct *work)
{
	struct cache_log *log = container_of(work, struct cache_log, recorder.work);
	struct bio_list bios;
	bool has, wanted;
	u32 waiters, others;
	int r;

	let_others_join(log);
	/*
	 * If a flush does not see this, the writes that it waits for are unlogged, or
	 * durable.
	 */
	WRITE_ONCE(log->recorder.batch_runs, true);
	/* Pairs with what_is_recorded(). */
	smp_mb();
	bios = take_bios(log, &log->waiting.flushes);
	waiters = bio_list_size(&bios);
	atomic_sub(waiters, &log->recorder.nr_waiting);
	has = has_flush(&bios);
	wanted = has;
	r = write_batch(log, waiters, &wanted);
	if (r)
		ring_failed(log, r);
	/* A bio that ends may be followed by its writer's next one. */
	others = atomic_read(&log->recorder.nr_waiting);
	/*
	 * All of the batch is durable, or the ring has failed.  Pairs with
	 * what_is_recorded() and join_batch().
	 */
	smp_store_release(&log->recorder.batch_runs, false);
	waiters += end_joined(log, r);
	note_company(log, waiters + others);
	end_flushes(log, &bios, r, has && !wanted);
	wake_up_all(&log->worker.wait);
}

void cache_log_write_ring(struct cache_log *log)
{
	queue_work(log->recorder.wq, &log->recorder.work);
	flush_work(&log->recorder.work);
}

/* ---- Runs leave ---- */

static void departure_ended(struct log_departure *d)
{
	struct cache_log *log = container_of(d, struct cache_log,
						recorder.departure);

	WRITE_ONCE(log->recorder.departed, true);
}

int cache_log_leave_runs(struct cache_log *log, struct log_run *runs, u32 nr)
{
	if (READ_ONCE(log->life.failed))
		return -EIO;
	log->recorder.departed = false;
	log->recorder.departure.runs = runs;
	log->recorder.departure.nr = nr;
	log->recorder.departure.ended = departure_ended;
	log_ring_leave(&log->ring, &log->recorder.departure);
	while (!READ_ONCE(log->recorder.departed) && !READ_ONCE(log->life.failed))
		cache_log_write_ring(log);
	return READ_ONCE(log->recorder.departed) ? 0 : -EIO;
}

void cache_log_unpin_runs(struct cache_log *log, const struct log_run *runs, u32 nr)
{
	while (nr--)
		cache_unpin(log->c, runs[nr].slot, SLOT_PIN);
}

/* ---- Flushes ---- */

/* W3: what is known of the records of all that was absorbed and has ended? */
enum recorded {
	NOT_RECORDED,		/* some are in no batch yet */
	BEING_RECORDED,		/* the rest is in the batch that runs */
	RECORDED,		/* all are durable, as are the data */
};

static enum recorded what_is_recorded(struct cache_log *log)
{
	if (READ_ONCE(log->ix.unlogged))
		return NOT_RECORDED;
	/* Pairs with cache_log_ring_work(). */
	smp_rmb();
	/* Acquire, because the caller then looks whether the batch has failed. */
	return smp_load_acquire(&log->recorder.batch_runs) ? BEING_RECORDED : RECORDED;
}

/*
 * W3: have a flush that the device need not serve any more end with the batch that runs.
 * False if none runs.  A later batch than the flush needs does no harm.
 */
static bool join_batch(struct cache_log *log, struct bio *bio)
{
	unsigned long flags;
	bool runs;

	spin_lock_irqsave(&log->waiting.lock, flags);
	/* Pairs with cache_log_ring_work(). */
	runs = smp_load_acquire(&log->recorder.batch_runs);
	if (runs)
		bio_list_add(&log->waiting.joined, bio);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
	return runs;
}

enum log_answer cache_log_flush(struct cache *c, struct bio *bio)
{
	struct cache_log *log = c->log;

	WRITE_ONCE(log->io.nr_flushes, READ_ONCE(log->io.nr_flushes) + 1);
	WRITE_ONCE(log->recorder.before_flush, READ_ONCE(log->recorder.since_flush));
	WRITE_ONCE(log->recorder.since_flush, 0);
	if (!ring_is_well(log))
		return LOG_PASSES;
	switch (what_is_recorded(log)) {
	case NOT_RECORDED:
		break;
	case BEING_RECORDED:
		/* With company, one flush of the next batch serves several. */
		if (READ_ONCE(log->recorder.has_company))
			break;
		/*
		 * Asked once, because a flush that ends between two looks would change
		 * the answer, and this one would end before its record is durable.
		 */
		if (cache_point_flush(c, bio, true)) {
			cache_bio(bio)->kind = BIO_JOINED_FLUSH;
			return LOG_POINTED;
		}
		cache_leave_submitter(bio);
		return join_batch(log, bio) ? LOG_TAKEN : LOG_PASSES;
	case RECORDED:
		return LOG_PASSES;
	}
	cache_leave_submitter(bio);
	cache_log_add_flush(log, bio);
	return LOG_TAKEN;
}

/* W3: the device has flushed; are the records durable, too? */
int cache_log_end_flush(struct cache *c, struct bio *bio)
{
	struct cache_log *log = c->log;

	if (join_batch(log, bio))
		return DM_ENDIO_INCOMPLETE;
	if (likely(ring_is_well(log)))
		return DM_ENDIO_DONE;
	/* The batch has failed: it was acted on before it ended. */
	cache_hold_bio(c, bio, STEP_END_FLUSH);
	return DM_ENDIO_INCOMPLETE;
}

void cache_log_wrote(struct cache_log *log, bool alone)
{
	u32 nr = READ_ONCE(log->recorder.since_flush) + 1;

	WRITE_ONCE(log->recorder.since_flush, nr);
	if (!alone)
		return;
	if (nr <= LOG_FUA_WRITES)
		queue_work(log->recorder.wq, &log->recorder.work);
	else
		WRITE_ONCE(log->recorder.has_pairs, false);
}

void cache_log_add_flush(struct cache_log *log, struct bio *bio)
{
	unsigned long flags;

	/*
	 * Queued under the lock, because afterwards the last bio, and the cache,
	 * may be gone.
	 */
	spin_lock_irqsave(&log->waiting.lock, flags);
	bio_list_add(&log->waiting.flushes, bio);
	if (atomic_inc_return(&log->recorder.nr_waiting) ==
	    READ_ONCE(log->recorder.nr_expected))
		wake_up(&log->recorder.all_wait);
	queue_work(log->recorder.wq, &log->recorder.work);
	spin_unlock_irqrestore(&log->waiting.lock, flags);
}
