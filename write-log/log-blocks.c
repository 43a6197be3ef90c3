// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of the write log's index: their memory, their hash table, and the room
 * for extents that is reserved in each. It does not know what the extents mean.
 */
#include "log-index-internal.h"

/* The sizes in which the kernel's allocator hands out memory. */
static const u16 class_bytes[LOG_NR_CLASSES] = {
	64, 96, 128, 192, 256, 512, 1024, 2048, 4096, LOG_MOST_BYTES
};

/*
 * While less than three eighths of the memory are in use, with the hash, blocks keep the room
 * that they have.  Above that, the room that many small blocks keep would leave memory for
 * fewer extents.  It has to be less than the half at which the engine stops going home, because
 * room alone must not keep it going.
 */
#define LOG_ROOMY_EIGHTHS	3
/*
 * Above that, blocks lose that room, those of so many buckets for each write that is recorded.
 * So all have lost it after a write for each eighth bucket; these writes take some 7 percent
 * of the memory.  They are few buckets, because a flush may wait for the record.
 */
#define LOG_SLIM_BUCKETS	8U
/*
 * Memory of small things stays for the next ones, because the kernel's allocator takes 400
 * instructions for one: so much of each size, which does not count towards
 * log_index::max_bytes.  Of 64 bytes that is as many as a batch of the ring gives back, which
 * is UNLOGGED_MAX of the engine's cache-log-io.c.
 */
#define LOG_SPARE_BYTES		(128U << 10)

/*
 * So many recorded writes are given back at a time, because each time takes a lock.  With more
 * of them, interrupts would be off for longer.  Not chosen by measurement.
 */
#define LOG_FREE_BATCH		(OS_KEEPS_MEMORY ? 16 : 1)

#define SPARE(bytes)		{ (bytes), OS_KEEPS_MEMORY ? LOG_SPARE_BYTES / (bytes) : 0 }
static const struct spare_size {
	u16 bytes;
	u16 most;		/* of them that are kept */
} spare_sizes[] = { SPARE(64), SPARE(128) };

static_assert(ARRAY_SIZE(spare_sizes) == LOG_NR_SPARES);
/* log_writes_free() relies on it that writes have a list of spares. */
static_assert(sizeof(struct log_write) > 32 && sizeof(struct log_write) <= 64);

const u16 log_class_rooms[LOG_NR_CLASSES] = {
	LOG_CLASS_ROOM(64), LOG_CLASS_ROOM(96), LOG_CLASS_ROOM(128), LOG_CLASS_ROOM(192),
	LOG_CLASS_ROOM(256), LOG_CLASS_ROOM(512), LOG_CLASS_ROOM(1024), LOG_CLASS_ROOM(2048),
	LOG_CLASS_ROOM(4096), LOG_MOST_ROOM
};

/* The least class from @class on that has room for @nr extents; or -EFBIG. */
static int class_for(u32 nr, u8 class)
{
	for (; class < LOG_NR_CLASSES; class++)
		if (log_class_rooms[class] >= nr)
			return class;
	return -EFBIG;
}

/* ---- Memory ---- */

/* Count memory that is about to be used. */
static bool charge(struct log_index *ix, size_t bytes, bool bounded)
{
	if (atomic64_add_return(bytes, &ix->bytes) <= ix->max_bytes || !bounded)
		return true;
	atomic64_sub(bytes, &ix->bytes);
	return false;
}

/* Spare memory is linked by its first word. */
struct spare {
	struct spare *next;
};

/*
 * Which spares fit @bytes, or LOG_NR_SPARES.  *@have: what is taken for them.  The kernel's
 * allocator would take as much: it has no size between, but for 96.
 */
static u32 spares_for(size_t bytes, size_t *have)
{
	u32 i;

	for (i = 0; i < LOG_NR_SPARES; i++) {
		*have = spare_sizes[i].bytes;
		if (bytes <= *have && bytes > *have - 32)
			return i;
	}
	*have = bytes;
	return i;
}

static void *take_spare(struct log_index *ix, u32 i)
{
	struct log_spares *list = &ix->spares[i];
	struct spare *s;
	unsigned long flags;

	spin_lock_irqsave(&ix->spare_lock, flags);
	s = list->first;
	if (s) {
		os_show(s, spare_sizes[i].bytes);
		list->first = s->next;
		list->nr--;
	}
	spin_unlock_irqrestore(&ix->spare_lock, flags);
	return s;
}

static bool keep_spare_locked(struct log_index *ix, u32 i, void *p)
{
	struct log_spares *list = &ix->spares[i];
	struct spare *s = p;

	lockdep_assert_held(&ix->spare_lock);
	if (list->nr >= spare_sizes[i].most)
		return false;
	s->next = list->first;
	list->first = s;
	list->nr++;
	os_hide(s, spare_sizes[i].bytes);
	return true;
}

static bool keep_spare(struct log_index *ix, u32 i, void *p)
{
	unsigned long flags;
	bool kept;

	spin_lock_irqsave(&ix->spare_lock, flags);
	kept = keep_spare_locked(ix, i, p);
	spin_unlock_irqrestore(&ix->spare_lock, flags);
	return kept;
}

void log_index_trim(struct log_index *ix)
{
	void *p;
	u32 i;

	for (i = 0; i < LOG_NR_SPARES; i++)
		while ((p = take_spare(ix, i)))
			ix->ops->free(ix->ctx, p, spare_sizes[i].bytes);
}

/* Inline because the compiler finds the spares of a write, whose size it knows. */
static __always_inline void *alloc_memory(struct log_index *ix, size_t bytes, bool nowait,
					  bool bounded, int *error)
{
	size_t have;
	u32 spares = spares_for(bytes, &have);
	void *p = NULL;

	*error = -ENOSPC;
	if (!charge(ix, have, bounded))
		return NULL;
	*error = -ENOMEM;
	if (spares < LOG_NR_SPARES)
		p = take_spare(ix, spares);
	if (!p)
		p = ix->ops->alloc(ix->ctx, have, nowait);
	if (!p)
		atomic64_sub(have, &ix->bytes);
	return p;
}

void *log_index_alloc(struct log_index *ix, size_t bytes, bool nowait,
		      bool bounded, int *error)
{
	return alloc_memory(ix, bytes, nowait, bounded, error);
}

struct log_write *log_write_alloc(struct log_index *ix, bool nowait)
{
	int error;
	struct log_write *w = alloc_memory(ix, sizeof(*w), nowait, true, &error);

	return w ?: ERR_PTR(error);
}

void log_index_free(struct log_index *ix, void *p, size_t bytes)
{
	size_t have;
	u32 spares = spares_for(bytes, &have);

	if (spares == LOG_NR_SPARES || !keep_spare(ix, spares, p))
		ix->ops->free(ix->ctx, p, have);
	atomic64_sub(have, &ix->bytes);
}

/* Keep the memory of recorded writes, while there is room. Returns the other writes. */
static struct log_write *keep_writes(struct log_index *ix, u32 spares)
{
	struct log_write *w, *left = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ix->spare_lock, flags);
	while ((w = ix->put)) {
		ix->put = w->next;
		if (keep_spare_locked(ix, spares, w))
			continue;
		w->next = left;
		left = w;
	}
	spin_unlock_irqrestore(&ix->spare_lock, flags);
	return left;
}

void log_writes_free(struct log_index *ix)
{
	struct log_write *w, *left;
	size_t have;
	u32 spares = spares_for(sizeof(*w), &have);

	if (!ix->put)
		return;
	atomic64_sub(have * ix->nr_put, &ix->bytes);
	ix->nr_put = 0;
	left = keep_writes(ix, spares);
	while ((w = left)) {
		left = w->next;
		os_show(w, have);
		ix->ops->free(ix->ctx, w, have);
	}
}

void log_write_free_later(struct log_index *ix, struct log_write *w)
{
	w->next = ix->put;
	ix->put = w;
	os_hide(&w->run, sizeof(*w) - offsetof(struct log_write, run));
	if (++ix->nr_put >= LOG_FREE_BATCH)
		log_writes_free(ix);
}

/*
 * Log2 of a number of buckets: there is one for @bytes_each to twice as many bytes of
 * @max_bytes. So a bucket of the hash has 2 to 4 blocks, if all are of the least
 * class. There are 64 at least, which is a word of log_index::used.
 */
static unsigned int bits_for(u64 max_bytes, u32 bytes_each)
{
	u64 nr = div_u64(max_bytes, bytes_each);

	return clamp(nr ? ilog2(nr) : 0, 6, 24);
}

int log_index_init(struct log_index *ix, const struct log_index_ops *ops,
		   void *ctx, u32 block_sectors, u64 max_bytes)
{
	u32 i;

	memset(ix, 0, sizeof(*ix));
	if (!block_sectors || block_sectors > LOG_MAX_BLOCK ||
	    max_bytes > S64_MAX)
		return -EINVAL;

	ix->ops = ops;
	ix->ctx = ctx;
	ix->block_sectors = block_sectors;
	ix->max_bytes = max_bytes;
	ix->bucket_bits = bits_for(max_bytes, 2 * class_bytes[0]);
	ix->segment_bits = bits_for(max_bytes, 64 * class_bytes[0]);
	ix->slim_left = 1U << ix->bucket_bits;
	ix->buckets = os_zalloc(sizeof(*ix->buckets) << ix->bucket_bits);
	ix->used = os_zalloc(sizeof(*ix->used) << ix->bucket_bits >> 6);
	ix->segments = os_zalloc(sizeof(*ix->segments) << ix->segment_bits);
	if (!ix->buckets || !ix->used || !ix->segments) {
		os_free(ix->buckets);
		os_free(ix->used);
		os_free(ix->segments);
		/* The caller looks at it to see whether there is an index. */
		ix->buckets = NULL;
		return -ENOMEM;
	}
	atomic64_set(&ix->bytes, (sizeof(*ix->buckets) << ix->bucket_bits) +
		     (sizeof(*ix->used) << ix->bucket_bits >> 6) +
		     (sizeof(*ix->segments) << ix->segment_bits));
	ix->roomy_bytes = max_bytes / 8 * LOG_ROOMY_EIGHTHS;
	for (i = 0; i < LOG_NR_LOCKS; i++)
		spin_lock_init(&ix->locks[i]);
	for (i = 0; i < LOG_NR_SEGMENT_LOCKS; i++)
		spin_lock_init(&ix->segment_locks[i]);
	spin_lock_init(&ix->round_lock);
	INIT_LIST_HEAD(&ix->round);
	spin_lock_init(&ix->unlogged_lock);
	spin_lock_init(&ix->spare_lock);
	return 0;
}

static void free_block(struct log_index *ix, struct log_block *b)
{
	log_index_free(ix, b, class_bytes[b->class]);
}

static void free_chains(struct log_index *ix)
{
	struct log_segment *s;
	struct log_block *b;
	u32 i;

	for (i = 0; i < 1U << ix->bucket_bits; i++)
		while ((b = ix->buckets[i])) {
			ix->buckets[i] = b->next;
			free_block(ix, b);
		}
	for (i = 0; i < 1U << ix->segment_bits; i++)
		while ((s = ix->segments[i])) {
			ix->segments[i] = s->next;
			log_index_free(ix, s, sizeof(*s));
		}
}

void log_index_exit(struct log_index *ix)
{
	struct log_write *w;

	while ((w = ix->unlogged)) {
		ix->unlogged = w->next;
		log_index_free(ix, w, sizeof(*w));
	}
	log_writes_free(ix);
	free_chains(ix);
	log_index_trim(ix);
	os_free(ix->buckets);
	os_free(ix->used);
	os_free(ix->segments);
	memset(ix, 0, sizeof(*ix));
}

/* ---- Blocks ---- */

/* Put @new, which has another class, in the place of *@link. */
static void replace_block(struct log_index *ix, struct log_block **link,
			  struct log_block *new, u8 class)
{
	struct log_block *old = *link;

	/* Interrupts are off, because the caller holds the block's lock. */
	lockdep_assert_held(log_block_lock(ix, old->block));
	spin_lock(&ix->round_lock);
	memcpy(new, old, sizeof(*old) + old->nr * sizeof(old->extents[0]));
	new->class = class;
	INIT_LIST_HEAD(&new->round);
	if (!list_empty(&old->round)) {
		/* It takes the old one's place in the round, because it may be next. */
		list_add_tail(&new->round, &old->round);
		list_del_init(&old->round);
	}
	spin_unlock(&ix->round_lock);
	*link = new;
	free_block(ix, old);
}

/* Has the block's bucket blocks?  The chain has just changed. */
static void note_use(struct log_index *ix, u64 block)
{
	u32 bucket = log_index_bucket(ix, block);
	u64 *word = &ix->used[bucket / 64], bit = 1ULL << bucket % 64;

	lockdep_assert_held(log_bucket_lock(ix, bucket));
	WRITE_ONCE(*word, ix->buckets[bucket] ? *word | bit : *word & ~bit);
}

static void init_block(struct log_block *b, u64 block, u8 class)
{
	memset(b, 0, sizeof(*b));
	b->block = block;
	b->class = class;
	INIT_LIST_HEAD(&b->round);
}

/* Room for the block's extents and @more. */
static u32 room_needed(struct log_index *ix, const struct log_block *b, u32 more)
{
	/* The first write to a block meets no extent, so it splits none, and needs one. */
	if (!b || (!b->nr && !b->reserved && more >= LOG_WRITE_ROOM)) {
		if (more > LOG_WRITE_ROOM)
			return more - LOG_WRITE_ROOM + 1;
		return more ? 1 : 0;
	}
	/*
	 * A sector is SEEN in one extent at most, and RING in one, so there are
	 * never more.
	 */
	return min(b->nr + b->reserved + more, 2 * ix->block_sectors);
}

/*
 * The class that has room for @more extents: the block's own, if that has it; or
 * -EFBIG.
 */
static int class_needed(struct log_index *ix, const struct log_block *b, u32 more)
{
	u32 room = room_needed(ix, b, more);

	if (!b)
		return class_for(room, 0);
	if (b->reserved + more > U16_MAX)
		return -EFBIG;
	return class_for(room, b->class);
}

/* Put the block of *@link, or @block if there is none, into this memory. */
static void move_block(struct log_index *ix, struct log_block **link, u64 block,
		       struct log_block *new, u8 class)
{
	if (*link) {
		replace_block(ix, link, new, class);
		return;
	}
	init_block(new, block, class);
	*link = new;
	note_use(ix, block);
	atomic64_add(1, &ix->nr_blocks);
}

int log_block_lock_room(struct log_index *ix, u64 block, u32 more,
			bool nowait, bool bounded, struct log_block ***link,
			unsigned long *flags)
{
	struct log_block *new = NULL;
	int class, have = -1, r;

	for (;;) {
		spin_lock_irqsave(log_block_lock(ix, block), *flags);
		*link = log_block_find(ix, block);
		r = 0;
		if (**link && log_block_has_room(**link, more))
			break;
		class = class_needed(ix, **link, more);
		r = min(class, 0);
		if (r || (**link && (**link)->class >= class))
			break;
		/* Without sleep, so the lock may be held. */
		if (nowait) {
			have = class;
			new = log_index_alloc(ix, class_bytes[class], true, bounded, &r);
		}
		if (nowait && !new)
			break;
		if (new && have >= class) {
			move_block(ix, *link, block, new, have);
			new = NULL;
			r = 0;
			break;
		}
		spin_unlock_irqrestore(log_block_lock(ix, block), *flags);

		if (new)
			log_index_free(ix, new, class_bytes[have]);
		have = class;
		new = log_index_alloc(ix, class_bytes[class], false, bounded, &r);
		if (!new)
			return r;
	}
	if (!r)
		(**link)->reserved += more;
	else
		spin_unlock_irqrestore(log_block_lock(ix, block), *flags);
	if (new)
		log_index_free(ix, new, class_bytes[have]);
	return r;
}

bool log_block_is_unused(struct log_index *ix, const struct log_block *b)
{
	lockdep_assert_held(log_block_lock(ix, b->block));
	return !b->nr && !b->reserved && !b->writes && !b->closed;
}

/* Give memory back that the block needs no more: all of it, or a part. */
void log_block_shrink_idle(struct log_index *ix, struct log_block **link)
{
	struct log_block *b = *link, *new;
	u32 needed;
	int class, r;

	lockdep_assert_held(log_block_lock(ix, b->block));
	if (log_block_is_unused(ix, b)) {
		*link = b->next;
		note_use(ix, b->block);
		free_block(ix, b);
		atomic64_sub(1, &ix->nr_blocks);
		return;
	}
	needed = room_needed(ix, b, 0);
	if (!b->class || log_class_rooms[b->class - 1] < needed)
		return;
	class = class_for(needed, 0);
	new = log_index_alloc(ix, class_bytes[class], true, false, &r);
	if (new)
		replace_block(ix, link, new, class);
}

static void slim_bucket(struct log_index *ix, u32 bucket)
{
	spinlock_t *lock = log_bucket_lock(ix, bucket);
	struct log_block **link;
	unsigned long flags;

	spin_lock_irqsave(lock, flags);
	for (link = &ix->buckets[bucket]; *link;) {
		u64 block = (*link)->block;

		if (!(*link)->reserved)
			log_block_shrink_idle(ix, link);
		if (*link && (*link)->block == block)
			link = &(*link)->next;
	}
	spin_unlock_irqrestore(lock, flags);
}

static void slim_buckets(struct log_index *ix, u32 nr)
{
	u32 mask = (1U << ix->bucket_bits) - 1;

	for (; nr; nr--) {
		u32 i = ix->slim_next++ & mask;

		/* Racy: a block that comes in now has no room to lose. */
		if (READ_ONCE(ix->used[i / 64]) >> i % 64 & 1)
			slim_bucket(ix, i);
	}
}

void log_blocks_slim_all(struct log_index *ix)
{
	slim_buckets(ix, 1U << ix->bucket_bits);
}

void log_blocks_slim_some(struct log_index *ix)
{
	u32 nr = min(ix->slim_left, LOG_SLIM_BUCKETS);

	ix->slim_left -= nr;
	slim_buckets(ix, nr);
}
