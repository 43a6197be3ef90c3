// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of the write log. See log-load.h.
 *
 * The ring is read twice: all of it to find the head, because the highest block
 * may be anywhere; then from the tail on, in order.
 */
#include "log-load.h"

/* ---- The header ---- */

static bool header_is_good(const struct log_disk_header *h, u32 block_sectors,
			   u32 nr_slots, struct log_geometry *geo)
{
	if (le64_to_cpu(h->magic) != LOG_MAGIC ||
	    le32_to_cpu(h->version) != LOG_VERSION ||
	    le32_to_cpu(h->csum) != log_header_csum(h) ||
	    le32_to_cpu(h->record_bytes) != LOG_RECORD_BYTES)
		return false;
	*geo = (struct log_geometry) {
		.id = le64_to_cpu(h->id),
		.block_sectors = le32_to_cpu(h->block_sectors),
		.nr_slots = le32_to_cpu(h->nr_slots),
		.ring_slot = le32_to_cpu(h->ring_slot),
		.ring_blocks = le32_to_cpu(h->ring_blocks),
	};
	return geo->block_sectors == block_sectors &&
	       geo->nr_slots == nr_slots && !log_geometry_check(geo);
}

int log_load_header(const struct log_dev *dev, u32 block_sectors, u32 nr_slots,
		    struct log_geometry *geo)
{
	struct log_disk_header *h;
	int r = -EUCLEAN, read = 0, copy;

	if (!block_sectors || block_sectors % LOG_BLOCK_SECTORS ||
	    (u64)block_sectors * nr_slots < 2 * LOG_BLOCK_SECTORS)
		return -EUCLEAN;
	h = os_zalloc(LOG_BLOCK_BYTES);
	if (!h)
		return -ENOMEM;
	for (copy = 0; copy < 2 && r; copy++) {
		r = dev->read(dev->ctx,
			      log_header_sector(block_sectors, nr_slots, copy),
			      LOG_BLOCK_SECTORS, h);
		read |= !r;
		if (!r && !header_is_good(h, block_sectors, nr_slots, geo))
			r = -EUCLEAN;
	}
	os_free(h);
	return r && read ? -EUCLEAN : r;
}

/* ---- Blocks ---- */

struct loader {
	const struct log_dev *dev;
	const struct log_geometry *geo;
	struct log_index *ix;
	u32 records;
	struct log_disk_block *blocks;	/* LOG_BURST */
};

/* Is this a block of the ring that may be at its place? */
static bool block_is_good(const struct loader *l, const struct log_disk_block *b,
			  u32 place)
{
	u64 seq = le64_to_cpu(b->seq), tail = le64_to_cpu(b->tail);
	u32 at;

	if (le64_to_cpu(b->id) != l->geo->id ||
	    le32_to_cpu(b->csum) != log_block_csum(b))
		return false;
	if (!seq || seq > LOG_MAX_SEQ || !tail || tail > seq ||
	    seq - tail >= l->geo->ring_blocks)
		return false;
	div_u64_rem(seq, l->geo->ring_blocks, &at);
	return at == place && le16_to_cpu(b->nr) <= l->records &&
	       le16_to_cpu(b->record_bytes) == LOG_RECORD_BYTES &&
	       !(le32_to_cpu(b->flags) & ~LOG_BLOCK_SYNC);
}

/*
 * Read blocks of the ring from @place on, at most to its end. *@nr receives how
 * many.
 */
static int read_places(struct loader *l, u32 place, u64 want, u32 *nr)
{
	*nr = min3(want, (u64)LOG_BURST, (u64)l->geo->ring_blocks - place);
	/*
	 * log_ring_sector() takes a sequence number, and one below ring_blocks is
	 * its own place.
	 */
	return l->dev->read(l->dev->ctx, log_ring_sector(l->geo, place),
			    *nr * LOG_BLOCK_SECTORS, l->blocks);
}

/*
 * For the tests, which break W11 so: the head is not the last block with SYNC, but
 * the end of the unbroken chain behind it.
 */
static int follow_chain(struct loader *l, struct log_position *pos)
{
	u32 place, nr;
	int r;

	for (;;) {
		div_u64_rem(pos->head + 1, l->geo->ring_blocks, &place);
		r = read_places(l, place, 1, &nr);
		if (r || !block_is_good(l, &l->blocks[0], place) ||
		    le64_to_cpu(l->blocks[0].seq) != pos->head + 1)
			return r;
		pos->head++;
		pos->tail = le64_to_cpu(l->blocks[0].tail);
	}
}

/* The highest block with SYNC. If a block cannot be read, the log is refused (W11). */
static int find_head(struct loader *l, struct log_position *pos)
{
	u32 place, nr, i;
	int r;

	pos->head = 0;
	for (place = 0; place < l->geo->ring_blocks; place += nr) {
		r = read_places(l, place, l->geo->ring_blocks, &nr);
		if (r)
			return r;
		for (i = 0; i < nr; i++) {
			const struct log_disk_block *b = &l->blocks[i];

			if (!block_is_good(l, b, place + i) ||
			    !(le32_to_cpu(b->flags) & LOG_BLOCK_SYNC) ||
			    le64_to_cpu(b->seq) <= pos->head)
				continue;
			pos->head = le64_to_cpu(b->seq);
			pos->tail = le64_to_cpu(b->tail);
		}
		cond_resched();
	}
	/*
	 * A head so high is refused, because recovery believes no block above
	 * LOG_MAX_SEQ, and the ring could not go on.
	 */
	if (!pos->head || pos->head > LOG_MAX_SEQ / 2)
		return -EUCLEAN;
	return log_keeps(W11_HEAD) ? 0 : follow_chain(l, pos);
}

/* ---- Records ---- */

static bool decode(const struct loader *l, const struct log_disk_record *rec,
		   enum log_kind *kind, struct log_run *run)
{
	u64 origin = le64_to_cpu(rec->origin);
	u32 place = le32_to_cpu(rec->place), sector;

	*kind = place >> LOG_SLOT_BITS;
	run->slot = place & LOG_SLOT_MASK;
	run->at = le16_to_cpu(rec->at);
	run->sectors = le16_to_cpu(rec->last) + 1;
	run->block = div_u64_rem(origin, l->geo->block_sectors, &sector);
	run->sector = sector;
	if (log_geometry_takes(l->geo, run->slot) || origin > LOG_ORIGIN_MASK)
		return false;
	if (*kind == LOG_FREE)
		return !origin && !run->at && run->sectors == 1;
	return (*kind == LOG_VALID || *kind == LOG_GONE) &&
	       run->at + run->sectors <= l->geo->block_sectors &&
	       sector + run->sectors <= l->geo->block_sectors;
}

static int replay_record(struct loader *l, const struct log_disk_record *rec)
{
	struct log_segment s;
	enum log_kind kind;
	struct log_run run;

	if (!decode(l, rec, &kind, &run))
		return -EUCLEAN;
	switch (kind) {
	case LOG_VALID:
		return log_index_replay_valid(l->ix, &run);
	case LOG_GONE:
		return log_index_replay_gone(l->ix, &run);
	default:
		/*
		 * Our code writes FREE only of a segment in which the ring relies
		 * on nothing.
		 */
		return log_segment_get(l->ix, run.slot, &s) && s.ring ?
		       -EUCLEAN : 0;
	}
}

/*
 * Is more than half of all records live? No ring of ours is so full, because it
 * could not go on. This is asked after each record, because that bounds the memory,
 * too. The answer is no for ours even then, because what was played back so far is a
 * part of what the ring said when the record was written.
 */
static bool is_too_full(const struct loader *l)
{
	return 2 * l->ix->nr_ring > (u64)l->geo->ring_blocks * l->records;
}

static int replay_block(struct loader *l, const struct log_disk_block *b)
{
	u32 i;
	int r = 0;

	for (i = 0; i < le16_to_cpu(b->nr) && !r; i++) {
		r = replay_record(l, &b->records[i]);
		if (!r && is_too_full(l))
			r = -EUCLEAN;
	}
	return r;
}

/* From the tail to the head; each block has to be there (W11). */
static int replay(struct loader *l, const struct log_position *pos)
{
	u32 place, nr, i;
	u64 seq;
	int r;

	for (seq = pos->tail; seq <= pos->head; seq += nr) {
		div_u64_rem(seq, l->geo->ring_blocks, &place);
		r = read_places(l, place, pos->head - seq + 1, &nr);
		for (i = 0; i < nr && !r; i++) {
			r = -EUCLEAN;
			if (block_is_good(l, &l->blocks[i], place + i) &&
			    le64_to_cpu(l->blocks[i].seq) == seq + i)
				r = replay_block(l, &l->blocks[i]);
		}
		if (r)
			return r;
		cond_resched();
	}
	return 0;
}

struct origin_end {
	u32 block_sectors;
	u64 sectors;
};

static int check_end(void *ctx, const struct log_run *run)
{
	const struct origin_end *end = ctx;

	return run->block * end->block_sectors + run->sector + run->sectors >
	       end->sectors ? -ERANGE : 0;
}

int log_load(const struct log_dev *dev, const struct log_geometry *geo,
	     u64 origin_sectors, u32 records, struct log_index *ix,
	     struct log_position *pos)
{
	struct loader l = {
		.dev = dev, .geo = geo, .ix = ix,
		.records = min(records, LOG_RECORDS),
	};
	struct origin_end end = { geo->block_sectors, origin_sectors };
	int r;

	if (log_geometry_check(geo) || ix->block_sectors != geo->block_sectors)
		return -EUCLEAN;
	l.blocks = os_zalloc(LOG_BURST * sizeof(*l.blocks));
	if (!l.blocks)
		return -ENOMEM;
	r = find_head(&l, pos);
	if (!r)
		r = replay(&l, pos);
	if (!r) {
		log_index_replayed(ix);
		r = log_index_for_each(ix, check_end, &end);
	}
	os_free(l.blocks);
	return r;
}

int log_load_mapping(struct log_index *ix, const struct log_geometry *geo,
		     u32 slot, u64 block)
{
	struct log_segment s;

	if (log_geometry_takes(geo, slot))
		return -EUCLEAN;
	if (log_segment_get(ix, slot, &s) &&
	    s.seen != log_index_in_place(ix, block, slot))
		return -EUCLEAN;
	return log_index_has(ix, block);
}
