// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log's ring: batches, blocks, rounds and the tail. See log-ring.h for
 * what it owns, and docs/write-log.md for the rules that are named here.
 */
#include "log-ring.h"

/* ---- Shape ---- */

u32 log_ring_blocks_for(u64 runs)
{
	u64 blocks = 4 * div_u64(runs + LOG_RECORDS - 1, LOG_RECORDS);

	return clamp_t(u64, blocks, (1 << 20) / LOG_BLOCK_BYTES, LOG_MAX_RING);
}

int log_geometry_check(const struct log_geometry *geo)
{
	u64 first, end;

	if (!geo->block_sectors || geo->block_sectors > LOG_MAX_BLOCK ||
	    geo->block_sectors % LOG_BLOCK_SECTORS)
		return -EINVAL;
	if (!geo->ring_slot || geo->ring_slot > geo->nr_slots ||
	    geo->nr_slots > LOG_SLOT_MASK)
		return -EINVAL;
	if (geo->ring_blocks < LOG_MIN_RING || geo->ring_blocks > LOG_MAX_RING)
		return -EINVAL;

	first = (u64)geo->ring_slot * geo->block_sectors;
	end = (u64)geo->nr_slots * geo->block_sectors;
	if (first + (geo->ring_blocks + 2) * LOG_BLOCK_SECTORS > end)
		return -EINVAL;
	return 0;
}

bool log_geometry_takes(const struct log_geometry *geo, u32 slot)
{
	u64 first = (u64)slot * geo->block_sectors;
	u64 end = log_ring_sector(geo, 0) +
		  (u64)geo->ring_blocks * LOG_BLOCK_SECTORS;

	return (slot >= geo->ring_slot && first < end) ||
	       first + geo->block_sectors >
	       log_header_sector(geo->block_sectors, geo->nr_slots, true);
}

/* ---- Making a log ---- */

int log_header_write(const struct log_dev *dev, const struct log_geometry *geo)
{
	struct log_disk_header *h;
	int r = log_geometry_check(geo), copy;

	if (r)
		return r;
	h = os_zalloc(LOG_BLOCK_BYTES);
	if (!h)
		return -ENOMEM;
	h->version = cpu_to_le32(LOG_VERSION);
	h->magic = cpu_to_le64(LOG_MAGIC);
	h->id = cpu_to_le64(geo->id);
	h->block_sectors = cpu_to_le32(geo->block_sectors);
	h->nr_slots = cpu_to_le32(geo->nr_slots);
	h->ring_slot = cpu_to_le32(geo->ring_slot);
	h->ring_blocks = cpu_to_le32(geo->ring_blocks);
	h->record_bytes = cpu_to_le32(LOG_RECORD_BYTES);
	h->csum = cpu_to_le32(log_header_csum(h));
	for (copy = 1; copy >= 0 && !r; copy--)
		r = dev->write(dev->ctx,
			       log_header_sector(geo->block_sectors,
						 geo->nr_slots, copy),
			       LOG_BLOCK_SECTORS, h, LOG_FUA);
	os_free(h);
	return r;
}

static void start_block(struct log_disk_block *b, const struct log_geometry *geo,
			u64 seq)
{
	memset(b, 0, sizeof(*b));
	b->id = cpu_to_le64(geo->id);
	b->seq = cpu_to_le64(seq);
	b->record_bytes = cpu_to_le16(LOG_RECORD_BYTES);
}

static void seal_block(struct log_disk_block *b, u64 tail, bool sync)
{
	b->tail = cpu_to_le64(tail);
	b->flags = cpu_to_le32(sync ? LOG_BLOCK_SYNC : 0);
	b->csum = cpu_to_le32(log_block_csum(b));
}

/* Write all of the ring's place, because a part that cannot be written is found now. */
static int wipe_ring(const struct log_dev *dev, const struct log_geometry *geo,
		     const void *zeros, u32 blocks)
{
	u32 at, n;
	int r = 0;

	for (at = 0; at < geo->ring_blocks && !r; at += n) {
		n = min(blocks, geo->ring_blocks - at);
		r = dev->write(dev->ctx, log_ring_sector(geo, at),
			       n * LOG_BLOCK_SECTORS, zeros, 0);
	}
	return r;
}

int log_ring_create(const struct log_dev *dev, const struct log_geometry *geo)
{
	struct log_disk_block *b;
	int r = log_geometry_check(geo);

	if (r)
		return r;
	b = os_zalloc(LOG_BURST * sizeof(*b));
	if (!b)
		return -ENOMEM;
	r = wipe_ring(dev, geo, b, LOG_BURST);
	if (r)
		goto out;
	start_block(b, geo, 1);
	seal_block(b, 1, true);
	r = dev->write(dev->ctx, log_ring_sector(geo, 1), LOG_BLOCK_SECTORS, b,
		       LOG_PREFLUSH | LOG_FUA);
out:
	os_free(b);
	return r ? r : log_header_write(dev, geo);
}

int log_ring_init(struct log_ring *ring, struct log_index *ix,
		  const struct log_geometry *geo, u64 head, u64 tail)
{
	memset(ring, 0, sizeof(*ring));
	if (log_geometry_check(geo) || !tail || tail > head ||
	    head - tail >= geo->ring_blocks)
		return -EINVAL;
	ring->blocks = os_zalloc(LOG_BURST * sizeof(*ring->blocks));
	if (!ring->blocks)
		return -ENOMEM;
	ring->ix = ix;
	ring->geo = *geo;
	ring->records = LOG_RECORDS;
	ring->seq = head;
	ring->tail = tail;
	INIT_LIST_HEAD(&ring->leaving);
	INIT_LIST_HEAD(&ring->put);
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->queued);
	return 0;
}

void log_ring_exit(struct log_ring *ring)
{
	/* Forget the writes that were taken from the index and are not put yet. */
	while (ring->pending) {
		struct log_write *w = ring->pending;

		ring->pending = w->next;
		log_index_forget(ring->ix, w);
	}
	os_free(ring->blocks);
	ring->blocks = NULL;
}

/* ---- Room ---- */

static u32 blocks_for(const struct log_ring *ring, u64 runs)
{
	return div_u64(runs + ring->records - 1, ring->records);
}

/*
 * May a block with records be written? The free blocks must exceed what ends this
 * round and one round more, because a power cut forgets the round that is under
 * way. The block's own records count twice: each may split a run.
 */
static bool has_reserve(const struct log_ring *ring)
{
	u64 used = ring->seq - ring->tail + 1;
	u64 need = blocks_for(ring, ring->in_round ? ring->ix->nr_old : 0) +
		   blocks_for(ring, ring->ix->nr_ring + 2 * ring->records);

	return used + need < ring->geo.ring_blocks || !log_keeps(W7_RESERVE);
}

/* Would @nr more blocks overwrite only what a durable tail calls obsolete (W7)? */
static bool has_blocks(const struct log_ring *ring, u32 nr)
{
	return ring->seq + nr < ring->tail + ring->geo.ring_blocks;
}

/* ---- Records ---- */

static void add_record(struct log_disk_block *b, enum log_kind kind,
		       const struct log_run *run, u32 block_sectors)
{
	u16 nr = le16_to_cpu(b->nr);
	struct log_disk_record *rec = &b->records[nr];

	rec->place = cpu_to_le32(run->slot | (u32)kind << LOG_SLOT_BITS);
	if (kind != LOG_FREE) {
		rec->at = cpu_to_le16(run->at);
		rec->last = cpu_to_le16(run->sectors - 1);
		rec->origin = cpu_to_le64(run->block * block_sectors +
					  run->sector);
	}
	b->nr = cpu_to_le16(nr + 1);
}

static u32 room_in(const struct log_ring *ring, const struct log_disk_block *b)
{
	return ring->records - le16_to_cpu(b->nr);
}

/* Add VALID records of what was seen, as long as room for @keep records is left. */
static void add_seen(struct log_ring *ring, struct log_disk_block *b, u32 keep)
{
	while (ring->pending && room_in(ring, b) > keep) {
		struct log_write *w = ring->pending;

		ring->pending = w->next;
		add_record(b, LOG_VALID, &w->run, ring->geo.block_sectors);
		ring->durable &= w->durable || !log_keeps(W2_DURABLE);
		log_index_put(ring->ix, w);
	}
}

static void add_departed(struct log_ring *ring, struct log_disk_block *b,
			 const struct log_run *run)
{
	if (!run->sectors) {
		if (log_segment_free(ring->ix, run->slot))
			add_record(b, LOG_FREE, run, ring->geo.block_sectors);
		return;
	}
	add_record(b, LOG_GONE, run, ring->geo.block_sectors);
	log_index_put_gone(ring->ix, run);
	if (!log_keeps(W6_ORIGIN))
		log_index_leave(ring->ix, run);
}

/* The next departure that has a run to be put. */
static struct log_departure *first_leaving(struct log_ring *ring)
{
	struct log_departure *d;

	while (!list_empty(&ring->leaving)) {
		d = list_first_entry(&ring->leaving, struct log_departure, node);
		if (d->nr_put < d->nr)
			return d;
		list_del_init(&d->node);
		list_add_tail(&d->node, &ring->put);
	}
	return NULL;
}

/* Add GONE and FREE records of what leaves, likewise. */
static void add_leaving(struct log_ring *ring, struct log_disk_block *b,
			u32 keep)
{
	struct log_departure *d;

	while (room_in(ring, b) > keep && (d = first_leaving(ring)))
		add_departed(ring, b, &d->runs[d->nr_put++]);
}

static u32 add_repeats(struct log_ring *ring, struct log_disk_block *b, u32 max)
{
	struct log_run run;
	u32 n = 0;

	while (n < max && room_in(ring, b) && log_index_repeat(ring->ix, &run)) {
		add_record(b, LOG_VALID, &run, ring->geo.block_sectors);
		n++;
	}
	return n;
}

/* ---- Blocks ---- */

static void begin_round(struct log_ring *ring)
{
	if (ring->in_round)
		return;
	log_index_begin_round(ring->ix);
	ring->round_from = ring->seq + 1;
	ring->in_round = true;
}

/* The tail of a block with SYNC: it moves when the round is complete. */
static u64 next_tail(struct log_ring *ring, u64 seq)
{
	if (ring->ix->nr_old)
		return log_keeps(W7_TAIL) ? ring->tail : min(ring->tail + 2, seq);
	ring->in_round = false;
	return ring->round_from;
}

static void set_io(struct log_ring *ring, u32 nr, u64 tail, bool sync, bool flush)
{
	/*
	 * Repeats alone have FUA, too: a device that fails to flush may drop
	 * what it had in its cache. The flush of the block that moves the tail
	 * would succeed the next time, and the repeats would be missing.
	 */
	unsigned int fua = sync || log_keeps(W9_REPEATS_FUA) ? LOG_FUA : 0;

	ring->io = (struct log_io) {
		.sector = log_ring_sector(&ring->geo, ring->seq + 1),
		.sectors = nr * LOG_BLOCK_SECTORS,
		.flags = (flush ? LOG_PREFLUSH : 0) | fua,
		.data = ring->blocks,
	};
	ring->io_tail = tail;
}

/* For the tests: the first @nr records come last. */
static void move_to_end(struct log_ring *ring, struct log_disk_block *b, u32 nr)
{
	struct log_disk_record *spare = ring->blocks[1].records;
	u32 rest = le16_to_cpu(b->nr) - nr;

	memcpy(spare, b->records, nr * sizeof(*spare));
	memmove(b->records, b->records + nr, rest * sizeof(*spare));
	memcpy(b->records + rest, spare, nr * sizeof(*spare));
}

/* A block with records of the batch: VALID, then GONE and FREE, then repeats (W10). */
static void build_records(struct log_ring *ring)
{
	struct log_disk_block *b = &ring->blocks[0];
	u64 seq = ring->seq + 1, tail;
	u32 repeats, early = 0;

	ring->rounds_alone = 0;
	ring->durable = true;
	start_block(b, &ring->geo, seq);
	begin_round(ring);
	repeats = min_t(u64, ring->records - 1,
			div_u64(2 * ring->ix->nr_ring + ring->geo.ring_blocks - 1,
				ring->geo.ring_blocks));
	if (!log_keeps(W10_REPEATS_LAST))
		early = add_repeats(ring, b, repeats);
	if (!log_keeps(W10_GONE_LAST))
		add_leaving(ring, b, repeats);
	add_seen(ring, b, repeats);
	if (!ring->pending)
		add_leaving(ring, b, repeats);
	/* There may be more runs to repeat now, and there may be more room. */
	repeats = div_u64(2 * ring->ix->nr_ring + ring->geo.ring_blocks - 1,
			  ring->geo.ring_blocks);
	if (!early)
		add_repeats(ring, b, repeats);
	else
		move_to_end(ring, b, early);
	tail = next_tail(ring, seq);
	seal_block(b, tail, true);
	set_io(ring, 1, tail, true, !ring->durable && !ring->flushed);
	if (!log_keeps(W6_SETTLE))
		log_index_settle(ring->ix);
}

/* Blocks of repeats alone, up to the ring's end, or the one that moves the tail. */
static int build_repeats(struct log_ring *ring)
{
	u64 seq = ring->seq + 1, tail = ring->tail;
	u32 nr, i, place;
	bool sync;

	begin_round(ring);
	nr = blocks_for(ring, ring->ix->nr_old);
	sync = nr <= 1;
	div_u64_rem(seq, ring->geo.ring_blocks, &place);
	nr = sync ? 1 : min3(nr - 1, LOG_BURST, ring->geo.ring_blocks - place);
	if (!has_blocks(ring, nr) || ring->rounds_alone > 2)
		return -ENOSPC;
	for (i = 0; i < nr; i++) {
		start_block(&ring->blocks[i], &ring->geo, seq + i);
		add_repeats(ring, &ring->blocks[i], ring->records);
	}
	if (sync) {
		tail = next_tail(ring, seq);
		ring->rounds_alone++;
	}
	for (i = 0; i < nr; i++)
		seal_block(&ring->blocks[i], tail, sync);
	set_io(ring, nr, tail, sync, sync);
	return 0;
}

/* ---- Batches ---- */

void log_ring_leave(struct log_ring *ring, struct log_departure *d)
{
	unsigned long flags;

	d->nr_put = 0;
	spin_lock_irqsave(&ring->lock, flags);
	list_add_tail(&d->node, &ring->queued);
	spin_unlock_irqrestore(&ring->lock, flags);
}

bool log_ring_begin(struct log_ring *ring)
{
	unsigned long flags;

	/*
	 * Take the departures before the writes that were seen, because then the
	 * VALID of all that leaves is in this batch or an earlier one (W10).
	 */
	spin_lock_irqsave(&ring->lock, flags);
	list_splice_tail_init(&ring->queued, &ring->leaving);
	spin_unlock_irqrestore(&ring->lock, flags);
	ring->pending = log_index_take_unlogged(ring->ix);
	if (log_keeps(W2_BATCH))
		ring->flushed = false;
	ring->busy = ring->pending || !list_empty(&ring->leaving);
	return ring->busy;
}

/* All of the batch is durable, so the runs that left the log leave the index (W6). */
static void end_batch(struct log_ring *ring)
{
	struct log_departure *d;
	u32 i;

	while (!list_empty(&ring->put)) {
		d = list_first_entry(&ring->put, struct log_departure, node);
		list_del_init(&d->node);
		for (i = 0; i < d->nr && log_keeps(W6_ORIGIN); i++)
			if (d->runs[i].sectors)
				log_index_leave(ring->ix, &d->runs[i]);
		if (d->ended)
			d->ended(d);
	}
	ring->busy = false;
}

int log_ring_next(struct log_ring *ring, struct log_io *io)
{
	int r = 0;

	if (!ring->writing) {
		if (!ring->pending && !first_leaving(ring)) {
			end_batch(ring);
			return 0;
		}
		if (!has_reserve(ring))
			r = build_repeats(ring);
		else if (has_blocks(ring, 1))
			build_records(ring);
		else
			r = -ENOSPC;
		if (r)
			return r;
		ring->writing = true;
	}
	*io = ring->io;
	return 1;
}

void log_ring_end(struct log_ring *ring, int error)
{
	if (error && log_keeps(W9_SAME_BLOCK))
		return;
	ring->writing = false;
	ring->seq += ring->io.sectors / LOG_BLOCK_SECTORS;
	if (ring->io.flags & LOG_PREFLUSH || !log_keeps(W2_FLUSHED))
		ring->flushed = true;
	if (!(ring->io.flags & LOG_FUA))
		return;
	ring->tail = ring->io_tail;
	log_index_settle(ring->ix);
}

/* Write the batch that is under way, to its end. */
static int write_to_end(struct log_ring *ring, const struct log_dev *dev)
{
	struct log_io io;
	int r;

	while ((r = log_ring_next(ring, &io)) > 0) {
		r = dev->write(dev->ctx, io.sector, io.sectors, io.data,
			       io.flags);
		log_ring_end(ring, r);
		if (r)
			return r;
	}
	return r;
}

int log_ring_write_batch(struct log_ring *ring, const struct log_dev *dev)
{
	int r = ring->busy ? write_to_end(ring, dev) : 0;

	if (r || !log_ring_begin(ring))
		return r;
	return write_to_end(ring, dev);
}
