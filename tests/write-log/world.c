// SPDX-License-Identifier: GPL-2.0-only
/* The world of world.h: devices, the engine around the log, users, cuts. */

#include "world.h"

#include "fiber.h"
#include "write-log/log-load.h"

#define BLOCKS		3	/* of the origin */
#define SECTORS		8	/* in a block, and in a slot */
#define SLOTS		5	/* that may hold data */
#define RING		8	/* blocks */
#define RECORDS		3	/* in a block of the ring */
#define FIRST_SLOTS	(SLOTS + RING + 2)	/* ring and headers take one slot each */
#define ALL_SLOTS	(FIRST_SLOTS + 2)	/* when the device has grown twice */
#define PROCS		9
#define TOKENS		32

#define keeps(name)	(world_broken_rule != WORLD_##name)

enum world_rule world_broken_rule;
enum log_rule log_broken_rule;

#define X(name) #name,
const char *const world_rule_names[] = { "as designed", WORLD_RULES(X) };
const char *const log_rule_names[] = { "as designed", LOG_RULES(X) };
#undef X

/* ---- The world ---- */

/* A write that has reached the device's cache; @ended: its bio has ended. */
struct put {
	u32 address, id;
	u64 value;
	u8 *block;		/* of the ring and headers, instead of a value */
	bool ended;
};

/* Addresses with a volatile cache: sectors of data, or blocks of the log. */
struct disk {
	u32 nr, next_id;
	u64 *value;
	u8 (*block)[LOG_BLOCK_BYTES];
	u32 first_block;	/* the address of block[0] */
	struct put *puts;
	u32 nr_puts, room;
};

/* A value that a sector had: when its write began and ended (0: not yet). */
struct value {
	u64 from, to;
	bool sure, is;
};

struct seen_by_read {
	u64 from, to;
	u32 value;
};

struct history {
	struct value *values;
	struct seen_by_read *reads;
	u32 nr, nr_reads, room, reads_room, first;	/* values from first on */
	u32 discard;		/* the value of the last discard since the cut, or 0 */
};

enum kind { ALL_ALIKE, MUCH_REUSE, MUCH_FLAG, MUCH_HOME, NR_KINDS };
/* COPY: its sectors of the origin are copied, while writes to it are absorbed. */
enum state { NONE, HOME, COPY, MOVE, MAPPED, EVICT, DISCARD };
/* UNKNOWN: the flag could not be cleared; on the disk it may be. */
enum absorb { OFF, SETTING, ON, CLEARING, UNKNOWN };

struct mapping {
	u32 slot;		/* or LOG_NO_SLOT */
	bool dirty;
};

struct metadata {
	struct mapping map[BLOCKS];
	bool flag;
	u32 nr_slots;
};

struct proc {
	struct fiber *fiber;
	bool runs;
	void (*fn)(void);
};

static struct {
	u64 rng, now;
	u32 kind;
	struct world_result *result;
	struct disk origin, ssd;
	struct history history[BLOCKS][SECTORS];
	struct metadata md, md_new;
	bool md_busy, committing;

	struct host host;
	struct log_index ix;
	struct log_ring ring;
	struct log_geometry geo;
	bool has_log, has_ring, batch_runs;
	bool batch_flushed;		/* a block of the last batch had a PREFLUSH */
	struct fiber *creator;		/* writes a header, or an empty ring */
	bool growing;
	bool creation_ends;		/* by a cut */

	enum absorb absorb;
	u32 map[BLOCKS];		/* slots, or LOG_NO_SLOT */
	enum state state[BLOCKS];
	u32 origin_writes[BLOCKS];	/* in flight */
	bool used[SLOTS], segment[SLOTS];
	u32 open, fill;

	struct log_write *tokens[TOKENS];
	struct proc procs[PROCS];
} w;

static void yield(void)
{
	fiber_yield();
}

static __printf(1, 2) void fault(const char *format, ...)
{
	va_list args;

	if (!w.result->fault[0]) {
		va_start(args, format);
		vsnprintf(w.result->fault, sizeof(w.result->fault), format, args);
		va_end(args);
	}
}

/* ---- Disks ---- */

static void disk_make(struct disk *d, u32 nr, u32 first_block, u32 nr_blocks)
{
	memset(d, 0, sizeof(*d));
	d->nr = nr;
	d->value = calloc(nr, sizeof(*d->value));
	d->first_block = first_block;
	d->block = calloc(nr_blocks, LOG_BLOCK_BYTES);
}

static void forget_puts(struct disk *d)
{
	for (u32 i = 0; i < d->nr_puts; i++)
		free(d->puts[i].block);
	d->nr_puts = 0;
}

static void disk_free(struct disk *d)
{
	forget_puts(d);
	free(d->puts);
	free(d->value);
	free(d->block);
}

static u32 disk_put(struct disk *d, u32 address, u64 value, const void *block)
{
	struct put *p;

	if (d->nr_puts == d->room) {
		d->room = d->room ? 2 * d->room : 64;
		d->puts = realloc(d->puts, d->room * sizeof(*d->puts));
	}
	p = &d->puts[d->nr_puts++];
	*p = (struct put) { .address = address, .value = value, .id = ++d->next_id };
	if (block) {
		p->block = malloc(LOG_BLOCK_BYTES);
		memcpy(p->block, block, LOG_BLOCK_BYTES);
	}
	return p->id;
}

static void disk_ended(struct disk *d, u32 id)
{
	for (u32 i = 0; i < d->nr_puts; i++)
		if (d->puts[i].id == id)
			d->puts[i].ended = true;
}

static struct put *newest(struct disk *d, u32 address)
{
	for (u32 i = d->nr_puts; i; i--)
		if (d->puts[i - 1].address == address)
			return &d->puts[i - 1];
	return NULL;
}

static u64 disk_read(struct disk *d, u32 address)
{
	struct put *p = newest(d, address);

	return p ? p->value : d->value[address];
}

static void make_durable(struct disk *d, const struct put *p)
{
	if (p->block)
		memcpy(d->block[p->address - d->first_block], p->block, LOG_BLOCK_BYTES);
	else
		d->value[p->address] = p->value;
}

/* Writes that have ended become durable, and the data that they overwrote is gone. */
static void disk_flush_some(struct disk *d, u32 from, u32 nr)
{
	for (u32 a = from; a < from + nr; a++) {
		u32 end = 0, n = 0;

		for (u32 i = 0; i < d->nr_puts; i++)
			if (d->puts[i].address == a && d->puts[i].ended)
				end = i + 1;
		for (u32 i = 0; i < d->nr_puts; i++) {
			if (d->puts[i].address != a || i >= end) {
				d->puts[n++] = d->puts[i];
				continue;
			}
			if (i + 1 == end)
				make_durable(d, &d->puts[i]);
			free(d->puts[i].block);
		}
		d->nr_puts = n;
	}
}

static void disk_flush(struct disk *d)
{
	disk_flush_some(d, 0, d->nr);
}

/* Some of the 512 bytes are of @p, the others are as they were. */
static void tear(struct disk *d, const struct put *p)
{
	u8 *block = d->block[p->address - d->first_block];

	for (u32 s = 0; s < LOG_BLOCK_BYTES; s += 512)
		if (one_in(&w.rng, 2))
			memcpy(block + s, p->block + s, 512);
}

/* At each address one of the puts survives, or none. */
static void disk_cut(struct disk *d)
{
	for (u32 a = 0; a < d->nr; a++) {
		struct put *here[64];
		u32 n = 0, k;

		for (u32 i = 0; i < d->nr_puts && n < 64; i++)
			if (d->puts[i].address == a)
				here[n++] = &d->puts[i];
		k = below(&w.rng, n + 1);
		if (k)
			make_durable(d, here[k - 1]);
		if (n && here[0]->block && one_in(&w.rng, 3))
			tear(d, here[below(&w.rng, n)]);
	}
	forget_puts(d);
}

/*
 * The machine is reset, but the device keeps its cache: what had ended is in it,
 * still not durable, and of what had not ended any part.
 */
static void disk_reset(struct disk *d)
{
	u32 n = 0;

	for (u32 i = 0; i < d->nr_puts; i++) {
		struct put *p = &d->puts[i];

		if (p->ended || one_in(&w.rng, 2)) {
			p->ended = true;
			d->puts[n++] = *p;
		} else {
			free(p->block);
		}
	}
	d->nr_puts = n;
}

/*
 * The device failed to flush, and lost some of the ring's blocks in its cache;
 * none of those on their way, because their writes may still end well.
 */
static void lose_ring_blocks(struct disk *d)
{
	u32 n = 0;

	for (u32 i = 0; i < d->nr_puts; i++) {
		struct put *p = &d->puts[i];

		if (p->block && p->ended && one_in(&w.rng, 2))
			free(p->block);
		else
			d->puts[n++] = *p;
	}
	d->nr_puts = n;
}

/* ---- Addresses ---- */

static u32 on_origin(u32 block, u32 sector)
{
	return block * SECTORS + sector;
}

static u32 on_ssd(u32 slot, u32 sector)
{
	return slot * SECTORS + sector;
}

/* Blocks of the log are put at the address of their slot. */
static u32 log_address(u64 sector)
{
	return SLOTS * SECTORS + sector / LOG_BLOCK_SECTORS - SLOTS;
}

static u64 token(u32 block, u32 sector, u32 value)
{
	return (u64)block << 48 | (u64)sector << 40 | value;
}

#define JUNK	U64_MAX

static int dev_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	(void)ctx;
	for (u32 i = 0; i < sectors / LOG_BLOCK_SECTORS; i++) {
		u32 a = log_address(sector) + i;
		struct put *p = newest(&w.ssd, a);

		memcpy((u8 *)data + i * LOG_BLOCK_BYTES,
		       p ? p->block : w.ssd.block[a - w.ssd.first_block],
		       LOG_BLOCK_BYTES);
	}
	return 0;
}

/* A write of the log's blocks; it may fail, and be there or not. */
static int dev_write(void *ctx, u64 sector, u32 sectors, const void *data,
		     unsigned int flags)
{
	u32 nr = sectors / LOG_BLOCK_SECTORS, ids[LOG_BURST], a = log_address(sector);
	bool may_fail = ctx;

	if (w.creation_ends)
		return -EIO;
	if (flags & LOG_PREFLUSH && may_fail && one_in(&w.rng, 25)) {
		lose_ring_blocks(&w.ssd);
		return -EIO;
	}
	if (flags & LOG_PREFLUSH && keeps(W2_PREFLUSH))
		disk_flush(&w.ssd);
	yield();
	if (w.creation_ends)
		return -EIO;
	for (u32 i = 0; i < nr; i++)
		ids[i] = disk_put(&w.ssd, a + i, 0, (const u8 *)data + i * LOG_BLOCK_BYTES);
	yield();
	if (may_fail && one_in(&w.rng, 25))
		return -EIO;
	for (u32 i = 0; i < nr; i++)
		disk_ended(&w.ssd, ids[i]);
	if (flags & LOG_FUA)
		disk_flush_some(&w.ssd, a, nr);
	return 0;
}

static const struct log_dev failing_dev = { dev_read, dev_write, &w };
static const struct log_dev good_dev = { dev_read, dev_write, NULL };

/* ---- The values that a sector may return ---- */

static u64 tick(void)
{
	return ++w.now;
}

static u32 new_value(struct history *h, u64 from)
{
	if (h->nr == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		h->values = realloc(h->values, h->room * sizeof(*h->values));
	}
	h->values[h->nr] = (struct value) { .from = from, .is = true };
	return h->nr++;
}

static void only_value(struct history *h, u32 value, u64 at)
{
	h->nr_reads = 0;
	for (u32 v = 0; v < h->nr; v++)
		h->values[v].is = false;
	h->values[value] = (struct value) { at, at, true, true };
	h->first = value;
	h->discard = 0;
}

/* @v was certainly overwritten by @u. */
static bool is_before(const struct history *h, u32 v, u32 u)
{
	u64 end = h->values[v].to;

	if (!end)
		return false;
	if (end < h->values[u].from)
		return true;
	for (u32 i = 0; i < h->nr_reads; i++)
		if (h->reads[i].value == u && end < h->reads[i].from)
			return true;
	return false;
}

/* A read that began at @from returned @token. */
static void check_read(u32 block, u32 sector, u64 got, u64 from)
{
	struct history *h = &w.history[block][sector];
	u32 v = got;

	if (got != token(block, sector, v))
		return fault("another sector: %llx in %u:%u", got, block, sector);
	/* A discard was under way meanwhile. */
	if (h->discard && (!h->values[h->discard].to || h->values[h->discard].to >= from))
		return;
	if (v >= h->nr || !h->values[v].is)
		return fault("a read goes back behind the last cut");
	for (u32 u = h->first; u < h->nr; u++) {
		const struct value *x = &h->values[u];

		if (x->is && u != v && x->to && x->to < from && is_before(h, v, u))
			return fault("a read goes back");
	}
	for (u32 i = 0; i < h->nr_reads; i++) {
		const struct seen_by_read *r = &h->reads[i];

		if (r->value != v && r->to < from && h->values[v].to &&
		    h->values[v].to < r->from)
			return fault("a read goes back after a read");
	}
	if (h->nr_reads == h->reads_room) {
		h->reads_room = h->reads_room ? 2 * h->reads_room : 16;
		h->reads = realloc(h->reads, h->reads_room * sizeof(*h->reads));
	}
	h->reads[h->nr_reads++] = (struct seen_by_read) { from, tick(), v };
}

/* Was nothing flushed since a discard began? Then there may be anything older. */
static bool is_undefined(const struct history *h)
{
	if (!h->discard)
		return false;
	for (u32 u = h->first; u < h->nr; u++)
		if (h->values[u].is && h->values[u].sure &&
		    (u == h->discard || is_before(h, h->discard, u)))
			return false;
	return true;
}

/* After a cut: what is there is as new as what was sure. */
static void check_after_cut(u32 block, u32 sector, u64 got)
{
	struct history *h = &w.history[block][sector];
	u32 v = got;

	if (got != token(block, sector, v))
		return fault("another sector after a cut: %llx in %u:%u", got, block, sector);
	if (v < h->nr && is_undefined(h))
		return only_value(h, v, tick());
	if (v >= h->nr || !h->values[v].is)
		return fault("lost: older than the last cut");
	for (u32 u = h->first; u < h->nr; u++)
		if (h->values[u].is && h->values[u].sure && u != v && is_before(h, v, u))
			return fault("lost: what was flushed");
	only_value(h, v, tick());
}

/* ---- Metadata ---- */

static void commit_new(void)
{
	w.committing = true;
	yield();
	yield();
	w.md = w.md_new;
	w.committing = w.md_busy = false;
}

static void commit_begin(void)
{
	while (w.md_busy)
		yield();
	w.md_busy = true;
	w.md_new = w.md;
}

static void commit_mapping(u32 block, u32 slot, bool dirty)
{
	commit_begin();
	w.md_new.map[block] = (struct mapping) { slot, dirty };
	commit_new();
}

static void commit_flag(bool flag)
{
	commit_begin();
	w.md_new.flag = flag;
	commit_new();
}

/* ---- The ring, and its mutants of the world ---- */

static bool is_seen(const struct log_disk_record *rec)
{
	u64 origin = le64_to_cpu(rec->origin);
	u32 slot = le32_to_cpu(rec->place) & LOG_SLOT_MASK;

	for (u32 i = 0; i <= le16_to_cpu(rec->last); i++) {
		struct log_run run;

		log_index_lookup(&w.ix, origin / SECTORS, origin % SECTORS + i, 1, &run);
		if (run.slot != LOG_NO_SLOT)
			w.host.pins[run.slot]--;
		if (run.slot == slot && run.at == le16_to_cpu(rec->at) + i)
			return true;
	}
	return false;
}

static bool is_among(const struct log_disk_record *rec, struct list_head *departures)
{
	u64 origin = le64_to_cpu(rec->origin);
	u32 slot = le32_to_cpu(rec->place) & LOG_SLOT_MASK;
	struct log_departure *d;

	for (d = list_first_entry(departures, struct log_departure, node);
	     &d->node != departures;
	     d = list_first_entry(&d->node, struct log_departure, node))
		for (u32 i = 0; i < d->nr; i++) {
			const struct log_run *run = &d->runs[i];

			if (run->slot == slot && run->sectors &&
			    origin >= run->block * SECTORS + run->sector &&
			    origin + le16_to_cpu(rec->last) <
			    run->block * SECTORS + run->sector + run->sectors)
				return true;
		}
	return false;
}

/* Has the batch a GONE of all of this? */
static bool is_leaving(const struct log_disk_record *rec)
{
	return is_among(rec, &w.ring.leaving) || is_among(rec, &w.ring.put);
}

static void drop_record(struct log_disk_block *b, u32 i)
{
	u32 nr = le16_to_cpu(b->nr) - 1;

	memmove(&b->records[i], &b->records[i + 1], (nr - i) * sizeof(b->records[0]));
	memset(&b->records[nr], 0, sizeof(b->records[0]));
	b->nr = cpu_to_le16(nr);
}

/* Break a rule in a block whose first @seen records are of fresh extents. */
static void spoil(struct log_disk_block *b, u32 seen)
{
	if (!keeps(W8_ORDER))
		for (u32 i = 0; i < seen / 2; i++) {
			struct log_disk_record rec = b->records[i];

			b->records[i] = b->records[seen - 1 - i];
			b->records[seen - 1 - i] = rec;
		}
	for (u32 i = seen; i; i--)
		if ((!keeps(W8_WHOLE) && !is_seen(&b->records[i - 1])) ||
		    (!keeps(W10_VALID_FIRST) && is_leaving(&b->records[i - 1])))
			drop_record(b, i - 1);
	b->csum = cpu_to_le32(log_block_csum(b));
}

/* Are all data that this block names durable already? */
static bool is_without_flush(const struct log_io *io)
{
	const struct log_disk_block *b = io->data;

	return le32_to_cpu(b->flags) & LOG_BLOCK_SYNC && !(io->flags & LOG_PREFLUSH);
}

/* Waits for the batch that runs, then begins one; false if none was needed. */
static bool write_batch(const struct log_dev *dev)
{
	struct log_io io;
	u32 blocks = 0;
	bool began;
	s64 before;
	int r;

	while (w.batch_runs)
		yield();
	w.batch_runs = true;
	w.batch_flushed = false;
	yield();
	began = log_ring_begin(&w.ring);
	if (one_in(&w.rng, 2))
		yield();
	if (began) {
		for (;;) {
			bool again = w.ring.writing;

			before = atomic64_read(&w.ix.nr_unlogged);
			r = log_ring_next(&w.ring, &io);
			if (r <= 0)
				break;
			if (!again && io.flags & LOG_FUA)
				spoil((struct log_disk_block *)io.data,
				      before - atomic64_read(&w.ix.nr_unlogged));
			r = dev->write(dev->ctx, io.sector, io.sectors, io.data, io.flags);
			w.result->ring_blocks += io.sectors / LOG_BLOCK_SECTORS;
			w.result->without_flush += is_without_flush(&io);
			w.batch_flushed |= !r && io.flags & LOG_PREFLUSH;
			log_ring_end(&w.ring, r);
			if (++blocks == 100 * RING) {
				fault("a batch that never ends");
				break;
			}
		}
		if (r < 0)
			fault("ring full");
	}
	w.batch_runs = false;
	return began;
}

struct departure {
	struct log_departure log;
	bool ended;
};

static void departed(struct log_departure *d)
{
	container_of(d, struct departure, log)->ended = true;
}

/* All of these leave, durably. */
static void leave(const struct log_run *runs, u32 nr, const struct log_dev *dev)
{
	struct departure d = { .log = { .runs = runs, .nr = nr, .ended = departed } };

	if (!nr)
		return;
	log_ring_leave(&w.ring, &d.log);
	while (!d.ended && !w.result->fault[0])
		write_batch(dev);
}

/* For broken rules: readers do not find these any more, recovery does. */
static void leave_unrecorded(const struct log_run *runs, int n)
{
	for (int i = 0; i < n; i++)
		log_index_leave(&w.ix, &runs[i]);
}

/* ---- Help for processes ---- */

static u32 look_up(u32 block, u32 sector, u32 *at)
{
	struct log_run run;

	log_index_lookup(&w.ix, block, sector, 1, &run);
	*at = run.at;
	return run.slot;
}

static int collect(u32 block, struct log_run *runs, bool leaving)
{
	int n = log_index_collect(&w.ix, block, runs, SECTORS, leaving);

	if (n < 0)
		fault("collect: %d", n);
	return max(n, 0);
}

static void unpin(const struct log_run *runs, int n)
{
	while (n--)
		w.host.pins[runs[n].slot]--;
}

static bool has_extents(u32 block)
{
	struct log_run runs[SECTORS];
	int n = collect(block, runs, false);

	unpin(runs, n);
	return n;
}

static u32 free_slot(void)
{
	u32 slot = below(&w.rng, SLOTS);

	return w.used[slot] ? LOG_NO_SLOT : slot;
}

static void close_open_segment(void)
{
	if (w.open != LOG_NO_SLOT)
		log_segment_let_go(&w.ix, w.open, w.fill);
	w.open = LOG_NO_SLOT;
}

/* Room at the end of the open segment, or in another. */
static bool take_room(u32 n, u32 *slot, u32 *at)
{
	if (w.open == LOG_NO_SLOT || w.fill + n > SECTORS) {
		u32 segments = 0, s = free_slot();

		for (u32 i = 0; i < SLOTS; i++)
			segments += w.segment[i];
		if (s == LOG_NO_SLOT || segments >= SLOTS - 1)
			return false;
		if (log_segment_open(&w.ix, s, true))
			return false;
		w.used[s] = w.segment[s] = true;
		close_open_segment();
		log_segment_hold(&w.ix, s);
		w.open = s;
		w.fill = 0;
	}
	*slot = w.open;
	*at = w.fill;
	w.fill += n;
	return true;
}

static void hold_token(struct log_write *t)
{
	for (u32 i = 0; i < TOKENS; i++)
		if (!w.tokens[i]) {
			w.tokens[i] = t;
			return;
		}
	fault("too many tokens");
}

static void drop_token(struct log_write *t)
{
	for (u32 i = 0; i < TOKENS; i++)
		if (w.tokens[i] == t)
			w.tokens[i] = NULL;
}

/* ---- Users ---- */

struct user_write {
	u32 block, sector, n;
	u32 value[SECTORS];
	bool fua;
};

static void put_values(const struct user_write *u, struct disk *d, u32 address, u32 *ids)
{
	for (u32 i = 0; i < u->n; i++)
		ids[i] = disk_put(d, address + i, token(u->block, u->sector + i, u->value[i]), NULL);
}

static void end_values(const struct user_write *u, struct disk *d, const u32 *ids)
{
	for (u32 i = 0; i < u->n; i++)
		disk_ended(d, ids[i]);
}

static void write_hit(const struct user_write *u)
{
	u32 slot = w.map[u->block], ids[SECTORS];

	w.host.pins[slot]++;
	yield();
	put_values(u, &w.ssd, on_ssd(slot, u->sector), ids);
	yield();
	end_values(u, &w.ssd, ids);
	w.host.pins[slot]--;
	if (u->fua)
		disk_flush(&w.ssd);
}

/* Counted in, or NULL: there is no room, or the block is closed. */
static struct log_write *count_in(const struct user_write *u)
{
	struct log_write *t;
	u32 slot, at;

	/* Counted in, then the state is read; or the other way round. */
	if (!keeps(W1_ABSORBERS)) {
		if (w.absorb != ON)
			return NULL;
		yield();
	}
	if (!w.has_ring)
		return NULL;
	t = log_index_reserve(&w.ix, u->block, u->sector, u->n, true);
	if (IS_ERR(t))
		return NULL;
	hold_token(t);
	if (keeps(W1_ABSORBERS) && one_in(&w.rng, 4))
		yield();
	if ((w.absorb != ON && keeps(W1_ABSORBERS)) ||
	    !log_ring_admits(&w.ring) || !take_room(u->n, &slot, &at)) {
		drop_token(t);
		log_index_cancel(&w.ix, t);
		return NULL;
	}
	log_write_place_held(t, slot, at);
	return t;
}

static bool write_absorbed(const struct user_write *u, struct log_write *t)
{
	bool fails = one_in(&w.rng, 30), durable = below(&w.rng, 3);
	u32 at = on_ssd(t->run.slot, t->run.at), ids[SECTORS];

	yield();
	put_values(u, &w.ssd, at, ids);
	yield();
	drop_token(t);
	if (fails) {
		log_index_cancel(&w.ix, t);
	} else {
		end_values(u, &w.ssd, ids);
		if (durable)
			disk_flush_some(&w.ssd, at, u->n);
		t->durable = durable;
		log_index_seen(&w.ix, t);
		w.result->absorbed++;
	}
	yield();
	if (!fails && u->fua)
		write_batch(&failing_dev);
	return !fails;
}

static void write_origin(const struct user_write *u)
{
	u32 ids[SECTORS];

	w.origin_writes[u->block]++;
	yield();
	put_values(u, &w.origin, on_origin(u->block, u->sector), ids);
	yield();
	yield();
	end_values(u, &w.origin, ids);
	if (u->fua)
		disk_flush_some(&w.origin, on_origin(u->block, u->sector), u->n);
	w.origin_writes[u->block]--;
}

/* Try once; false if the write has to wait. */
static bool try_write(const struct user_write *u)
{
	enum state state = w.state[u->block];
	struct log_write *t;
	bool has;

	if (w.map[u->block] != LOG_NO_SLOT && (state == NONE || state == MAPPED)) {
		write_hit(u);
		return true;
	}
	if (state == EVICT || state == MAPPED || state == DISCARD ||
	    (state == MOVE && keeps(W5_CLOSED)))
		return false;
	has = has_extents(u->block) || log_index_writes(&w.ix, u->block);
	t = has || below(&w.rng, w.kind == MUCH_HOME ? 2 : 5) ? count_in(u) : NULL;
	if (t)
		return write_absorbed(u, t);
	if (has_extents(u->block))
		return false;
	write_origin(u);
	return true;
}

static void begin_values(struct user_write *u)
{
	u64 now = tick();

	for (u32 i = 0; i < u->n; i++)
		u->value[i] = new_value(&w.history[u->block][u->sector + i], now);
}

static void finish_values(const struct user_write *u)
{
	u64 now = tick();

	for (u32 i = 0; i < u->n; i++) {
		struct value *v = &w.history[u->block][u->sector + i].values[u->value[i]];

		v->to = now;
		v->sure |= u->fua;
	}
}

static void user_write(void)
{
	struct user_write u = { .block = below(&w.rng, BLOCKS), .fua = one_in(&w.rng, 4) };

	u.sector = below(&w.rng, SECTORS);
	u.n = one_in(&w.rng, 3) ? SECTORS - u.sector : 1 + below(&w.rng, SECTORS - u.sector);
	if (one_in(&w.rng, 10)) {
		u.sector = 0;
		u.n = SECTORS;
	}
	begin_values(&u);
	do {
		yield();
	} while (!try_write(&u));
	finish_values(&u);
}

static void user_flush(void)
{
	bool early = one_in(&w.rng, 2);
	u64 from = tick();

	yield();
	if (!w.has_ring || !keeps(W3_RING) ||
	    (!w.ix.unlogged && (!w.batch_runs || !keeps(W3_IN_FLIGHT)))) {
		disk_flush(&w.ssd);
	} else if (!w.ix.unlogged && one_in(&w.rng, 2)) {
		/* The batch that runs records all, so the flush only joins it. */
		disk_flush(&w.ssd);
		do {
			yield();
		} while (w.batch_runs && keeps(W3_JOINED));
	} else {
		/* The ring's block and the flush are on their way together. */
		if (early && keeps(W3_DEVICE))
			disk_flush(&w.ssd);
		if (!write_batch(&failing_dev) ||
		    (!early && !w.batch_flushed && keeps(W3_DEVICE)))
			disk_flush(&w.ssd);
	}
	yield();
	disk_flush(&w.origin);
	yield();
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 s = 0; s < SECTORS; s++) {
			struct history *h = &w.history[b][s];

			for (u32 v = h->first; v < h->nr; v++)
				if (h->values[v].is && h->values[v].to && h->values[v].to < from)
					h->values[v].sure = true;
		}
}

/* Where a sector is, with a pin; LOG_NO_SLOT for the origin. */
static u32 find_and_pin(u32 block, u32 sector, u32 *at)
{
	u32 slot = w.map[block];

	*at = sector;
	if (slot == LOG_NO_SLOT) {
		/* Long enough, now and then, for the block to be moved into the cache. */
		for (u32 i = one_in(&w.rng, 4) ? 12 : below(&w.rng, 3); i; i--)
			yield();
		slot = look_up(block, sector, at);
		if (slot != LOG_NO_SLOT)
			return slot;
		if (!keeps(W14_SLOT_AGAIN))
			return LOG_NO_SLOT;
		slot = w.map[block];
		*at = sector;
	}
	if (slot != LOG_NO_SLOT)
		w.host.pins[slot]++;
	return slot;
}

static void user_read(void)
{
	u32 block = below(&w.rng, BLOCKS), sector = below(&w.rng, SECTORS), slot, at;
	static const u8 waits[] = { 1, 1, 3, 12 };
	u64 from = tick(), got;

	yield();
	slot = find_and_pin(block, sector, &at);
	if (slot != LOG_NO_SLOT && !keeps(W14_PIN))
		w.host.pins[slot]--;
	for (u32 i = waits[below(&w.rng, ARRAY_SIZE(waits))]; i; i--)
		yield();
	got = slot == LOG_NO_SLOT ? disk_read(&w.origin, on_origin(block, sector)) :
	      disk_read(&w.ssd, on_ssd(slot, at));
	yield();
	if (slot != LOG_NO_SLOT && keeps(W14_PIN))
		w.host.pins[slot]--;
	check_read(block, sector, got, from);
}

static void lay_over(const struct log_run *runs, int n, u64 *got)
{
	for (int i = 0; i < n; i++)
		for (u32 k = 0; k < runs[i].sectors; k++)
			got[runs[i].sector + k] =
				disk_read(&w.ssd, on_ssd(runs[i].slot, runs[i].at + k));
}

/* A read of a whole block: extents pinned, the origin read, the extents laid over it. */
static void user_mixed(void)
{
	u32 block = below(&w.rng, BLOCKS);
	struct log_run runs[SECTORS];
	u64 from = tick(), got[SECTORS];
	int n = 0;

	yield();
	if (w.map[block] != LOG_NO_SLOT)
		return;
	if (keeps(W14_PIN_FIRST))
		n = collect(block, runs, false);
	yield();
	for (u32 i = 0; i < SECTORS; i++) {
		got[i] = disk_read(&w.origin, on_origin(block, i));
		yield();
	}
	if (!keeps(W14_PIN_FIRST))
		n = collect(block, runs, false);
	lay_over(runs, n, got);
	yield();
	unpin(runs, n);
	for (u32 i = 0; i < SECTORS; i++)
		check_read(block, i, got[i], from);
}

/* ---- Background ---- */

static u32 idle_block(bool with_extents, bool mapped)
{
	u32 block = below(&w.rng, BLOCKS);

	if (w.state[block] != NONE || (w.map[block] != LOG_NO_SLOT) != mapped ||
	    (with_extents && !has_extents(block)))
		return BLOCKS;
	return block;
}

static void copy_home(u32 block, const struct log_run *runs, int n)
{
	u32 ids[SECTORS], nr = 0;

	for (int i = 0; i < n; i++)
		for (u32 k = 0; k < runs[i].sectors; k++) {
			ids[nr++] = disk_put(&w.origin, on_origin(block, runs[i].sector + k),
					     disk_read(&w.ssd, on_ssd(runs[i].slot, runs[i].at + k)),
					     NULL);
			yield();
		}
	while (nr)
		disk_ended(&w.origin, ids[--nr]);
}

static void go_home(u32 block, bool recorded)
{
	struct log_run runs[SECTORS];
	int n;

	w.state[block] = HOME;
	while (w.origin_writes[block] && keeps(W13_HOME_GATE))
		yield();
	n = collect(block, runs, true);
	yield();
	copy_home(block, runs, n);
	unpin(runs, n);
	if (!keeps(W4_FLUSH_FIRST))
		leave(runs, n, &failing_dev);
	yield();
	disk_flush(&w.origin);
	yield();
	if (!recorded)
		leave_unrecorded(runs, n);
	else if (keeps(W4_FLUSH_FIRST))
		leave(runs, n, &failing_dev);
	w.state[block] = NONE;
	w.result->homes++;
}

static void home(void)
{
	u32 block = w.has_ring ? idle_block(true, false) : BLOCKS;

	if (block < BLOCKS)
		go_home(block, true);
}

/* All data are on @slot and durable: map the block, then its extents leave. */
static void publish(u32 block, u32 slot, const struct log_run *runs, int n)
{
	if (!keeps(W5_COMMIT_FIRST))
		leave(runs, n, &failing_dev);
	disk_flush(&w.ssd);
	disk_flush(&w.origin);
	yield();
	commit_mapping(block, slot, keeps(W5_DIRTY) || !n);
	w.map[block] = slot;
	w.state[block] = keeps(W5_KEEP_MAPPED) ? MAPPED : NONE;
	yield();
	if (keeps(W5_COMMIT_FIRST))
		leave(runs, n, &failing_dev);
	unpin(runs, n);
	w.result->moves++;
}

static void read_block(u32 block, u64 *image)
{
	for (u32 i = 0; i < SECTORS; i++) {
		image[i] = disk_read(&w.origin, on_origin(block, i));
		yield();
	}
}

/* @image: the block as it is on the origin, or NULL. */
static void copy_into(u32 block, u32 slot, const struct log_run *runs, int n, u64 *image)
{
	u32 ids[SECTORS];
	u64 whole[SECTORS];

	if (!image) {
		image = whole;
		read_block(block, image);
	}
	lay_over(runs, n, image);
	for (u32 i = 0; i < SECTORS; i++)
		ids[i] = disk_put(&w.ssd, on_ssd(slot, i), image[i], NULL);
	yield();
	for (u32 i = 0; i < SECTORS; i++)
		disk_ended(&w.ssd, ids[i]);
	yield();
}

static bool fills_segment(const struct log_run *runs, int n)
{
	return n == 1 && runs[0].sectors == SECTORS && !runs[0].at;
}

/* The slot of the block's only extent becomes the block's own, in place. */
static void move_in_place(u32 block, const struct log_run *runs, int n)
{
	u32 slot = runs[0].slot;

	if (slot == w.open)
		close_open_segment();
	publish(block, slot, runs, n);
	while (log_segment_close(&w.ix, slot, true) == -EBUSY)
		yield();
	w.segment[slot] = false;
}

/*
 * While a block has extents, nothing changes it on the origin (W13). So it may be read
 * there before new writes have to wait.
 */
static bool read_early(u32 block, u64 *image)
{
	if (keeps(W13_EARLY_COPY) && !has_extents(block))
		return false;
	if (one_in(&w.rng, 3))
		return false;
	w.state[block] = COPY;
	while (w.origin_writes[block] && keeps(W13_KEEP_GATE))
		yield();
	read_block(block, image);
	return true;
}

/* Into the cache: a promotion if the block has no extents. */
static void move(void)
{
	u32 block = idle_block(false, false), slot = LOG_NO_SLOT;
	struct log_run runs[SECTORS];
	bool close = keeps(W5_CLOSED), early;
	u64 image[SECTORS];
	int n;

	if (block == BLOCKS)
		return;
	early = read_early(block, image);
	w.state[block] = MOVE;
	if (close && log_index_close(&w.ix, block))
		fault("close");
	while ((w.origin_writes[block] || log_index_writes(&w.ix, block)) &&
	       keeps(W13_KEEP_GATE))
		yield();
	n = collect(block, runs, true);
	if (fills_segment(runs, n)) {
		move_in_place(block, runs, n);
	} else {
		/* It waits for a slot, while other segments are emptied. */
		for (u32 i = 0; slot == LOG_NO_SLOT && i < 8; i++) {
			slot = free_slot();
			if (slot == LOG_NO_SLOT)
				yield();
		}
		if (slot != LOG_NO_SLOT) {
			w.used[slot] = true;
			copy_into(block, slot, runs, n, early ? image : NULL);
			publish(block, slot, runs, n);
		} else {
			unpin(runs, n);
			/* Not after all: the room to leave is given back. */
			for (int i = 0; i < n; i++)
				log_index_stay(&w.ix, &runs[i]);
		}
	}
	if (close)
		log_index_open(&w.ix, block);
	if (w.state[block] == MOVE || w.state[block] == MAPPED)
		w.state[block] = NONE;
}

static void evict(void)
{
	u32 block = idle_block(false, true), slot, ids[SECTORS], nr = 0;

	if (block == BLOCKS)
		return;
	slot = w.map[block];
	w.state[block] = EVICT;
	while (w.host.pins[slot])
		yield();
	for (u32 i = 0; i < SECTORS && w.md.map[block].dirty; i++) {
		ids[nr++] = disk_put(&w.origin, on_origin(block, i),
				     disk_read(&w.ssd, on_ssd(slot, i)), NULL);
		yield();
	}
	while (nr)
		disk_ended(&w.origin, ids[--nr]);
	disk_flush(&w.origin);
	yield();
	if (!keeps(W13_UNMAPPED)) {
		w.map[block] = LOG_NO_SLOT;
		w.state[block] = NONE;
	}
	commit_mapping(block, LOG_NO_SLOT, false);
	if (keeps(W13_UNMAPPED)) {
		w.map[block] = LOG_NO_SLOT;
		w.state[block] = NONE;
	}
	while (w.host.pins[slot])
		yield();
	w.used[slot] = false;
}

/*
 * All of a block is overwritten on the origin alone. The content of what is
 * discarded is undefined until that is flushed.
 */
static void discard(void)
{
	u32 block = w.has_ring ? idle_block(true, false) : BLOCKS;
	struct user_write u = { .block = block, .n = SECTORS };
	struct log_run runs[SECTORS];
	int n;

	if (block == BLOCKS)
		return;
	begin_values(&u);
	for (u32 s = 0; s < SECTORS; s++)
		w.history[block][s].discard = u.value[s];
	w.state[block] = DISCARD;
	if (log_index_close(&w.ix, block))
		fault("close");
	while (w.origin_writes[block] || log_index_writes(&w.ix, block))
		yield();
	n = collect(block, runs, true);
	unpin(runs, n);
	if (keeps(W6_DISCARD))
		leave(runs, n, &failing_dev);
	else
		leave_unrecorded(runs, n);
	write_origin(&u);
	log_index_open(&w.ix, block);
	w.state[block] = NONE;
	finish_values(&u);
}

/* A segment is given back; now and then the ring says so. */
static void free_segment(void)
{
	u32 slot = below(&w.rng, SLOTS);
	const struct log_run all = { .slot = slot };
	struct log_segment s;

	if (!w.segment[slot] || slot == w.open)
		return;
	if (!log_segment_get(&w.ix, slot, &s) || s.seen)
		return;
	if (log_segment_free(&w.ix, slot) && below(&w.rng, 3))
		leave(&all, 1, &failing_dev);
	/* Another may have freed it meanwhile, and a write opened it again. */
	if (!w.segment[slot] || slot == w.open || log_segment_close(&w.ix, slot, false))
		return;
	w.segment[slot] = w.used[slot] = false;
}

static void new_log(void)
{
	if (w.has_ring)
		log_ring_exit(&w.ring);
	w.geo = (struct log_geometry) {
		.id = rnd(&w.rng), .block_sectors = SECTORS, .nr_slots = w.md.nr_slots,
		.ring_slot = SLOTS, .ring_blocks = RING,
	};
	assert_ok(log_ring_init(&w.ring, &w.ix, &w.geo, 1, 1));
	w.ring.records = RECORDS;
	w.has_ring = true;
}

static void set_flag(void)
{
	if (w.absorb != OFF || w.batch_runs || w.growing)
		return;
	w.absorb = SETTING;
	new_log();
	w.creator = fiber_current();
	if (log_ring_create(&good_dev, &w.geo)) {
		/* A cut: what creating has in memory is given back. */
		w.creator = NULL;
		return;
	}
	w.creator = NULL;
	if (!keeps(W1_FLAG_FIRST))
		w.absorb = ON;
	commit_flag(true);
	w.absorb = ON;
}

static bool log_has_anything(void)
{
	struct log_segment s;
	bool any = !log_index_empty(&w.ix) || w.batch_runs;

	for (u32 i = 0; i < SLOTS && !any; i++)
		any = log_segment_get(&w.ix, i, &s) &&
		      (s.released || (!s.held && s.ring));
	return any;
}

/* The commit fails: on the disk the flag is set, or not. */
static void clear_fails(void)
{
	commit_begin();
	yield();
	if (one_in(&w.rng, 2))
		w.md.flag = false;
	w.md_busy = false;
	w.absorb = keeps(W1_FAILED_CLEAR) ? UNKNOWN : ON;
}

static void clear_flag(void)
{
	if (w.absorb != ON && w.absorb != UNKNOWN)
		return;
	w.absorb = CLEARING;
	for (;;) {
		u32 block = idle_block(true, false);
		bool any = false;

		if (block < BLOCKS)
			go_home(block, keeps(W1_LAST_GONE));
		yield();
		for (u32 b = 0; b < BLOCKS; b++)
			any |= has_extents(b);
		if (!any && (!keeps(W1_LAST_GONE) || !log_has_anything()))
			break;
		/* Records the runs, too, that the runs which left have superseded. */
		if (!any && keeps(W1_LAST_GONE))
			write_batch(&failing_dev);
	}
	if (one_in(&w.rng, 3)) {
		clear_fails();
		return;
	}
	commit_flag(false);
	w.absorb = OFF;
}

static void commit_size(u32 nr_slots)
{
	commit_begin();
	w.md_new.nr_slots = nr_slots;
	commit_new();
}

/* The device grows by a slot: a header at the new end names the ring where it is. */
static void grow(void)
{
	struct log_geometry geo = w.geo;

	if (w.absorb != ON || w.growing || w.md.nr_slots == ALL_SLOTS)
		return;
	w.growing = true;
	geo.nr_slots = w.md.nr_slots + 1;
	if (!keeps(GROW_HEADER))
		commit_size(geo.nr_slots);
	w.creator = fiber_current();
	if (log_header_write(&good_dev, &geo)) {
		w.creator = NULL;
		return;
	}
	w.creator = NULL;
	if (keeps(GROW_HEADER))
		commit_size(geo.nr_slots);
	w.geo = geo;
	w.growing = false;
}

/* ---- Time ---- */

/* How often what begins, in each kind of world. */
static const struct {
	void (*fn)(void);
	u8 weight[NR_KINDS];
} chances[] = {
	{ user_write,		{ 42, 50, 40, 40 } },
	{ user_flush,		{ 12, 8, 10, 8 } },
	{ user_read,		{ 11, 12, 6, 16 } },
	{ user_mixed,		{ 4, 4, 2, 0 } },
	{ home,			{ 9, 8, 8, 25 } },
	{ move,			{ 7, 0, 3, 0 } },
	{ evict,		{ 5, 0, 3, 0 } },
	{ discard,		{ 2, 1, 2, 0 } },
	{ free_segment,		{ 5, 30, 10, 10 } },
	{ close_open_segment,	{ 1, 4, 1, 0 } },
	{ clear_flag,		{ 1, 0, 6, 0 } },
	{ set_flag,		{ 1, 1, 6, 1 } },
	{ grow,			{ 1, 0, 2, 0 } },
};

static void (*choose(void))(void)
{
	u32 sum = 0, k, i;

	for (i = 0; i < ARRAY_SIZE(chances); i++)
		sum += chances[i].weight[w.kind];
	k = below(&w.rng, sum);
	for (i = 0; k >= chances[i].weight[w.kind]; i++)
		k -= chances[i].weight[w.kind];
	return chances[i].fn;
}

static void run_proc(void *arg)
{
	((struct proc *)arg)->fn();
}

static void step(void)
{
	struct proc *p = &w.procs[below(&w.rng, PROCS)];

	if (!p->runs) {
		if (!one_in(&w.rng, 3))
			return;
		p->fn = choose();
		p->runs = true;
		fiber_start(p->fiber, run_proc, p);
	}
	for (u32 i = one_in(&w.rng, 4) ? 4 : 1; i && p->runs && !w.result->fault[0]; i--)
		p->runs = fiber_resume(p->fiber);
}

/* ---- Cuts ---- */

static void forget_engine(void)
{
	w.creation_ends = true;
	while (w.creator && fiber_resume(w.creator))
		;
	w.creation_ends = false;
	for (u32 i = 0; i < TOKENS; i++) {
		if (w.tokens[i])
			log_index_cancel(&w.ix, w.tokens[i]);
		w.tokens[i] = NULL;
	}
	if (w.has_ring)
		log_ring_exit(&w.ring);
	if (w.has_log)
		log_index_exit(&w.ix);
	w.has_ring = w.has_log = false;
	memset(w.host.pins, 0, SLOTS * sizeof(*w.host.pins));
	for (u32 i = 0; i < PROCS; i++)
		w.procs[i].runs = false;
}

static void start_engine(void)
{
	assert_ok(log_index_init(&w.ix, &host_ops, &w.host, SECTORS, 1 << 20));
	/* Every second engine has no memory to spare. */
	if (w.rng >> 32 & 1)
		w.ix.roomy_bytes = 0;
	w.has_log = true;
	w.md_busy = w.committing = w.batch_runs = w.growing = false;
	w.absorb = w.md.flag ? ON : OFF;
	w.open = LOG_NO_SLOT;
	memset(w.state, 0, sizeof(w.state));
	memset(w.origin_writes, 0, sizeof(w.origin_writes));
	memset(w.used, 0, sizeof(w.used));
	memset(w.segment, 0, sizeof(w.segment));
}

static bool load_log(void)
{
	struct log_position pos;
	int r = log_load_header(&good_dev, SECTORS, w.md.nr_slots, &w.geo);

	if (r) {
		fault("header: %d", r);
		return false;
	}
	r = log_load(&good_dev, &w.geo, BLOCKS * SECTORS, RECORDS, &w.ix, &pos);
	if (r) {
		fault("load: %d", r);
		return false;
	}
	assert_ok(log_ring_init(&w.ring, &w.ix, &w.geo, pos.head, pos.tail));
	w.ring.records = RECORDS;
	w.has_ring = true;
	return true;
}

static void load_mappings(bool both[BLOCKS])
{
	for (u32 b = 0; b < BLOCKS; b++) {
		int r = 0;

		both[b] = false;
		w.map[b] = w.md.map[b].slot;
		if (w.map[b] == LOG_NO_SLOT)
			continue;
		if (w.used[w.map[b]])
			fault("two blocks in a slot");
		if (w.has_ring)
			r = log_load_mapping(&w.ix, &w.geo, w.map[b], b);
		if (r < 0)
			fault("the log names a mapped slot");
		both[b] = r > 0;
		if (both[b] && !keeps(W5_MAPPING_HOLDS)) {
			both[b] = false;
			w.md.map[b].slot = w.map[b] = LOG_NO_SLOT;
			continue;
		}
		w.used[w.map[b]] = true;
		if (both[b] && keeps(W5_DIRTY))
			w.md.map[b].dirty = true;
	}
}

/* Runs of blocks that are mapped, too, leave the log before anything is served (W5). */
static void settle_both(const bool both[BLOCKS])
{
	struct log_run runs[SECTORS];

	for (u32 b = 0; b < BLOCKS; b++) {
		int n;

		if (!both[b])
			continue;
		n = collect(b, runs, true);
		unpin(runs, n);
		leave(runs, n, &good_dev);
		w.result->mapped_and_logged++;
	}
}

static void find_segments(void)
{
	struct log_segment s;

	for (u32 slot = 0; slot < SLOTS; slot++) {
		if (!log_segment_get(&w.ix, slot, &s))
			continue;
		if (w.used[slot]) {
			if (log_segment_close(&w.ix, slot, true))
				fault("a mapped slot is still a segment");
			continue;
		}
		w.used[slot] = w.segment[slot] = true;
		w.result->replayed++;
	}
}

/*
 * After a reset what recovery finds may be in the device's cache only. The
 * origin is flushed, too, because then what is read is sure.
 */
static void flush_after_reset(void)
{
	if (keeps(RESET_FLUSH))
		disk_flush(&w.ssd);
	disk_flush(&w.origin);
}

/* The power is cut, or the machine is reset. */
static void cut(bool power)
{
	bool both[BLOCKS];

	if (!log_broken_rule && !world_broken_rule)
		log_index_check(&w.ix);
	(power ? disk_cut : disk_reset)(&w.ssd);
	(power ? disk_cut : disk_reset)(&w.origin);
	if (w.committing && one_in(&w.rng, 2))
		w.md = w.md_new;
	forget_engine();
	start_engine();
	if (w.md.flag && !load_log())
		return;
	if (!power)
		flush_after_reset();
	load_mappings(both);
	if (w.result->fault[0])
		return;
	settle_both(both);
	find_segments();
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 s = 0; s < SECTORS; s++) {
			u32 at, slot = w.map[b];

			at = s;
			if (slot == LOG_NO_SLOT) {
				slot = look_up(b, s, &at);
				if (slot != LOG_NO_SLOT)
					w.host.pins[slot]--;
			}
			check_after_cut(b, s, slot == LOG_NO_SLOT ?
					disk_read(&w.origin, on_origin(b, s)) :
					disk_read(&w.ssd, on_ssd(slot, at)));
		}
	w.result->cuts++;
}

/* ---- Worlds ---- */

static void world_make(u64 seed, struct world_result *result)
{
	struct proc procs[PROCS];

	memcpy(procs, w.procs, sizeof(procs));
	memset(&w, 0, sizeof(w));
	memcpy(w.procs, procs, sizeof(procs));
	memset(result, 0, sizeof(*result));
	w.result = result;
	w.rng = seed;
	w.kind = seed % NR_KINDS;
	disk_make(&w.origin, BLOCKS * SECTORS, 0, 0);
	disk_make(&w.ssd, SLOTS * SECTORS + ALL_SLOTS - SLOTS, SLOTS * SECTORS, ALL_SLOTS - SLOTS);
	w.md.nr_slots = FIRST_SLOTS;
	host_make(&w.host, ALL_SLOTS);
	for (u32 b = 0; b < BLOCKS; b++) {
		w.md.map[b].slot = w.map[b] = LOG_NO_SLOT;
		for (u32 s = 0; s < SECTORS; s++) {
			w.origin.value[on_origin(b, s)] = token(b, s, 0);
			new_value(&w.history[b][s], 0);
			only_value(&w.history[b][s], 0, tick());
		}
	}
	for (u32 i = 0; i < SLOTS * SECTORS; i++)
		w.ssd.value[i] = JUNK;
	for (u32 i = 0; i < PROCS; i++) {
		if (!w.procs[i].fiber)
			w.procs[i].fiber = fiber_new();
		w.procs[i].runs = false;
	}
	start_engine();
	if (below(&w.rng, 4)) {
		new_log();
		assert_ok(log_ring_create(&good_dev, &w.geo));
		w.md.flag = true;
		w.absorb = ON;
	}
}

static void world_free(void)
{
	forget_engine();
	disk_free(&w.origin);
	disk_free(&w.ssd);
	host_free(&w.host);
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 s = 0; s < SECTORS; s++) {
			free(w.history[b][s].values);
			free(w.history[b][s].reads);
		}
}

void world_run(u64 seed, u32 cuts, u32 steps, struct world_result *result)
{
	world_make(seed, result);
	for (u32 i = 0; i < cuts && !result->fault[0]; i++) {
		for (u32 n = 20 + below(&w.rng, steps); n && !result->fault[0]; n--)
			step();
		if (!result->fault[0])
			cut(below(&w.rng, 4));
	}
	world_free();
}
