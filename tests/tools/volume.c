// SPDX-License-Identifier: GPL-2.0-only
/* A stopped volume with a write log, made in memory. */

#include "volume.h"

#define RING_BLOCKS	16u
#define RING_SLOT	(VOLUME_SLOTS - 3)	/* the ring takes two slots */
#define DATA_SLOTS	RING_SLOT
#define MAPPED		12u			/* the slots below are mapped */

/* ---- Disks ---- */

static void disk_make(struct disk *d, struct power *power, u64 sectors)
{
	*d = (struct disk) {
		.power = power, .sectors = sectors, .ascending = true,
		.seen = calloc(sectors, 512), .durable = calloc(sectors, 512),
	};
}

/* All that was written is durable; no op counts any more. */
static void disk_rest(struct disk *d)
{
	memcpy(d->durable, d->seen, d->sectors * 512);
	d->writes = 0;
	d->next = 0;
	d->ascending = true;
}

static void disk_copy(struct disk *to, const struct disk *from)
{
	to->sectors = from->sectors;
	memcpy(to->seen, from->seen, from->sectors * 512);
	disk_rest(to);
}

static void disk_free(struct disk *d)
{
	free(d->seen);
	free(d->durable);
}

static int disk_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	struct disk *d = ctx;

	assert_true(sector + sectors <= d->sectors);
	if (d->power->dead)
		return -EIO;
	memcpy(data, d->seen + sector * 512, (size_t)sectors * 512);
	return 0;
}

/* Counts an op.  Returns an error if it is the one that fails. */
static int disk_op(struct disk *d)
{
	u64 op = d->power->ops++;

	if (op == d->power->die_at)
		d->power->dead = true;
	return d->power->dead || op == d->power->fail_at ? -EIO : 0;
}

static int disk_flush(struct disk *d)
{
	if (disk_op(d))
		return -EIO;
	memcpy(d->durable, d->seen, d->sectors * 512);
	return 0;
}

static int disk_write(void *ctx, u64 sector, u32 sectors, const void *data,
		      unsigned int flags)
{
	struct disk *d = ctx;

	assert_true(sector + sectors <= d->sectors);
	if (flags & LOG_PREFLUSH && disk_flush(d))
		return -EIO;
	if (!sectors)
		return 0;
	/* When the power fails, the first half of the write is there. */
	if (disk_op(d)) {
		if (d->power->ops - 1 == d->power->die_at)
			memcpy(d->seen + sector * 512, data, sectors / 2 * 512);
		return -EIO;
	}
	memcpy(d->seen + sector * 512, data, (size_t)sectors * 512);
	if (flags & LOG_FUA)
		memcpy(d->durable + sector * 512, data, (size_t)sectors * 512);
	d->writes++;
	d->ascending &= sector >= d->next;
	d->next = sector + sectors;
	return 0;
}

struct log_dev disk_dev(struct disk *d)
{
	return (struct log_dev) { disk_read, disk_write, d };
}

static int md_read(void *ctx, u64 block, void *data)
{
	return disk_read(ctx, block * PD_BLOCK_SECTORS, PD_BLOCK_SECTORS, data);
}

static int md_write(void *ctx, u64 block, const void *data)
{
	return disk_write(ctx, block * PD_BLOCK_SECTORS, PD_BLOCK_SECTORS, data,
			  0);
}

static int md_flush(void *ctx)
{
	return disk_flush(ctx);
}

static u64 md_nr_blocks(void *ctx)
{
	return ((struct disk *)ctx)->sectors / PD_BLOCK_SECTORS;
}

struct pd_device *disk_open(struct disk *d, bool read_only)
{
	struct pd_backend be = {
		.read = md_read, .write = md_write, .flush = md_flush,
		.nr_blocks = md_nr_blocks, .ctx = d,
	};
	struct pd_device *dev;

	assert_ok(pd_device_open_backend(&be, read_only, &dev));
	return dev;
}

void disk_save(const struct disk *d, const char *file)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(d->seen, 512, d->sectors, f), d->sectors);
	assert_ok(fclose(f));
}

static void disk_crash(struct disk *d, enum fate fate, u64 *rng)
{
	for (u64 s = 0; s < d->sectors; s++)
		if (fate == FATE_LOST || (fate == FATE_MIXED && one_in(rng, 2)))
			memcpy(d->seen + s * 512, d->durable + s * 512, 512);
}

/* ---- Making ---- */

struct maker {
	struct volume *v;
	struct log_index index;
	struct log_ring ring;
	struct log_dev cache;
	bool used[VOLUME_SLOTS];
	u32 slot, at;		/* where the next extent goes */
};

static void random_bytes(u64 *rng, u8 *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		u64 r = rnd(rng);

		memcpy(data + i, &r, min_t(size_t, 8, bytes - i));
	}
}

static void batch(struct maker *m)
{
	assert_ok(log_ring_write_batch(&m->ring, &m->cache));
}

static u32 free_slot(struct maker *m)
{
	u32 slot;

	do {
		slot = MAPPED + below(&m->v->rng, DATA_SLOTS - MAPPED);
	} while (m->used[slot]);
	m->used[slot] = true;
	return slot;
}

static void next_segment(struct maker *m)
{
	m->slot = free_slot(m);
	m->at = 0;
	assert_ok(log_segment_open(&m->index, m->slot, false));
}

/* A user's write is absorbed; the origin has it when the log is home. */
static void absorb(struct maker *m, u64 block, u32 sector, u32 sectors)
{
	struct log_write *w = log_index_reserve(&m->index, block, sector,
						sectors, false);
	u8 data[VOLUME_BLOCK * 512];

	assert_false(IS_ERR(w));
	assert_true(log_ring_admits(&m->ring));
	if (m->at + sectors > VOLUME_BLOCK)
		next_segment(m);
	random_bytes(&m->v->rng, data, sectors * 512);
	assert_ok(disk_write(&m->v->cache,
			     (u64)m->slot * VOLUME_BLOCK + m->at, sectors, data,
			     0));
	memcpy(m->v->home + (block * VOLUME_BLOCK + sector) * 512, data,
	       sectors * 512);
	log_write_place(&m->index, w, m->slot, m->at);
	m->at += sectors;
	log_index_seen(&m->index, w);
}

/* Sectors of a block reach the origin without the log. */
static void write_origin(struct maker *m, u64 block, u32 sector, u32 sectors,
			 const u8 *data)
{
	u64 at = block * VOLUME_BLOCK + sector;

	assert_ok(disk_write(&m->v->origin, at, sectors, data, 0));
	memcpy(m->v->home + at * 512, data, sectors * 512);
}

/* All of a block goes home; then the origin gets something newer of it. */
static void go_home(struct maker *m, u64 block)
{
	struct log_run runs[VOLUME_BLOCK];
	struct log_departure leaving = { .runs = runs };
	u8 data[VOLUME_BLOCK * 512];
	int n = log_index_collect(&m->index, block, runs, ARRAY_SIZE(runs),
				  true);

	if (!n)
		return;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		assert_ok(disk_read(&m->v->cache, (u64)runs[i].slot *
				    VOLUME_BLOCK + runs[i].at, runs[i].sectors,
				    data));
		write_origin(m, block, runs[i].sector, runs[i].sectors, data);
	}
	leaving.nr = n;
	log_ring_leave(&m->ring, &leaving);
	batch(m);
	assert_false(log_index_has(&m->index, block));
	random_bytes(&m->v->rng, data, sizeof(data));
	write_origin(m, block, below(&m->v->rng, VOLUME_BLOCK / 2),
		     VOLUME_BLOCK / 2, data);
}

/* Origin blocks 0 .. MAPPED - 1 are in the cache, the rest may be in the log. */
static u64 log_block(struct maker *m)
{
	return MAPPED + below(&m->v->rng, VOLUME_BLOCKS - MAPPED - 8);
}

static void fill_log(struct maker *m)
{
	u64 *rng = &m->v->rng;

	next_segment(m);
	for (u32 i = 0; i < 150; i++) {
		u32 sector = below(rng, VOLUME_BLOCK);
		u32 sectors = 1 + below(rng, min(8u, VOLUME_BLOCK - sector));

		absorb(m, log_block(m), sector, sectors);
		if (one_in(rng, 8))
			batch(m);
		if (one_in(rng, 12))
			go_home(m, log_block(m));
	}
	/* Blocks that are next to each other go home in one write. */
	for (u32 i = 0; i < 3; i++)
		absorb(m, 30 + i, 0, VOLUME_BLOCK / 2);
	for (u32 i = 0; i < 3; i++)
		absorb(m, 30 + i, VOLUME_BLOCK / 2, VOLUME_BLOCK / 2);
	batch(m);
	m->v->segment = m->slot;
}

static void map(struct maker *m, struct cmd *cmd, u32 slot, u64 block,
		bool dirty)
{
	assert_ok(cmd_insert(cmd, slot, block, dirty));
	m->v->oblock[slot] = block;
	m->v->dirty[slot] = dirty;
}

/*
 * A power cut came between the mapping's commit and GONE (W5): one block of the log
 * was copied to a slot, one is mapped in place. Both are dirty. The origin does not
 * get their data by the log's way.
 */
static void map_recorded(struct maker *m, struct cmd *cmd)
{
	struct volume *v = m->v;
	u64 copied = VOLUME_BLOCKS - 1, in_place = VOLUME_BLOCKS - 2;
	u64 from = in_place * VOLUME_BLOCK * 512;

	m->at = VOLUME_BLOCK;
	absorb(m, copied, 5, 9);
	m->at = VOLUME_BLOCK;
	absorb(m, in_place, 0, VOLUME_BLOCK);
	batch(m);
	map(m, cmd, free_slot(m), copied, true);
	/* A write that hits made the slot newer than what was logged. */
	random_bytes(&v->rng, v->cache.seen + (u64)m->slot * VOLUME_BLOCK * 512,
		     8 * 512);
	map(m, cmd, m->slot, in_place, true);
	memcpy(v->home + from, v->origin.seen + from,
	       2 * VOLUME_BLOCK * 512);
}

static u32 hint_of(void *ctx, u32 cblock)
{
	(void)ctx;
	return cblock * 3;
}

static struct cmd *make_metadata(struct maker *m,
				 const struct volume_kind *kind,
				 struct pd_device **dev)
{
	static const u32 version[3] = { 2, 0, 0 };
	struct cmd_geometry g = {
		.data_block_size = VOLUME_BLOCK, .format = kind->format,
		.may_format = true,
	};
	struct cmd_stats stats = { 11, 22, 33, 44 };
	struct cmd *cmd;
	const char *why;

	*dev = disk_open(&m->v->metadata, false);
	assert_ok(cmd_open(*dev, &g, &cmd, &why));
	assert_ok(cmd_resize(cmd, VOLUME_SLOTS));
	for (u32 i = 0; i < VOLUME_SLOTS; i++)
		m->v->oblock[i] = U64_MAX;
	for (u32 i = 0; i < MAPPED; i++) {
		m->used[i] = true;
		map(m, cmd, i, MAPPED - 1 - i, i % 3 == 0);
	}
	assert_ok(cmd_write_hints(cmd, "smq", version, hint_of, NULL));
	assert_ok(cmd_set_discard_geometry(cmd, VOLUME_BLOCK, VOLUME_BLOCKS));
	for (u32 i = 0; kind->discards && i < VOLUME_BLOCKS; i += 2)
		assert_ok(cmd_discard_set(cmd, i, true));
	assert_ok(cmd_record_set(cmd, VOLUME_RECORD, strlen(VOLUME_RECORD)));
	cmd_set_stats(cmd, &stats);
	return cmd;
}

static void make_log(struct maker *m, struct cmd *cmd)
{
	struct volume *v = m->v;

	v->geo = (struct log_geometry) {
		.id = rnd(&v->rng), .block_sectors = VOLUME_BLOCK,
		.nr_slots = VOLUME_SLOTS, .ring_slot = RING_SLOT,
		.ring_blocks = RING_BLOCKS,
	};
	assert_ok(log_ring_create(&m->cache, &v->geo));
	assert_ok(cmd_set_log_flag(cmd, true));
	assert_ok(cmd_commit(cmd, true));
	assert_ok(log_index_init(&m->index, &log_volume_index_ops, NULL, VOLUME_BLOCK,
				 1 << 20));
	assert_ok(log_ring_init(&m->ring, &m->index, &v->geo, 1, 1));
	fill_log(m);
	map_recorded(m, cmd);
	log_ring_exit(&m->ring);
	log_index_exit(&m->index);
}

static void rest(struct volume *v)
{
	v->power = (struct power) { .die_at = U64_MAX, .fail_at = U64_MAX };
	disk_rest(&v->metadata);
	disk_rest(&v->cache);
	disk_rest(&v->origin);
}

static void make_disks(struct volume *v)
{
	disk_make(&v->metadata, &v->power, VOLUME_METADATA * PD_BLOCK_SECTORS);
	disk_make(&v->cache, &v->power, VOLUME_SLOTS * VOLUME_BLOCK);
	disk_make(&v->origin, &v->power, VOLUME_BLOCKS * VOLUME_BLOCK);
	v->home = malloc(v->origin.sectors * 512);
	rest(v);
}

void volume_make(struct volume *v, u64 seed, const struct volume_kind *kind)
{
	struct maker m = { .v = v, .cache = disk_dev(&v->cache) };
	struct pd_device *dev;
	struct cmd *cmd;

	memset(v, 0, sizeof(*v));
	v->rng = seed;
	make_disks(v);
	random_bytes(&v->rng, v->cache.seen, v->cache.sectors * 512);
	random_bytes(&v->rng, v->origin.seen, v->origin.sectors * 512);
	memcpy(v->home, v->origin.seen, v->origin.sectors * 512);
	cmd = make_metadata(&m, kind, &dev);
	if (!kind->no_log)
		make_log(&m, cmd);
	assert_ok(cmd_commit(cmd, !kind->unclean));
	volume_shut(cmd, dev);
	rest(v);
}

void volume_copy(struct volume *to, const struct volume *from)
{
	to->rng = from->rng;
	to->geo = from->geo;
	memcpy(to->oblock, from->oblock, sizeof(to->oblock));
	memcpy(to->dirty, from->dirty, sizeof(to->dirty));
	to->segment = from->segment;
	disk_copy(&to->metadata, &from->metadata);
	disk_copy(&to->cache, &from->cache);
	disk_copy(&to->origin, &from->origin);
	memcpy(to->home, from->home, from->origin.sectors * 512);
	rest(to);
}

void volume_clone(struct volume *copy, const struct volume *v)
{
	memset(copy, 0, sizeof(*copy));
	make_disks(copy);
	volume_copy(copy, v);
}

void volume_free(struct volume *v)
{
	disk_free(&v->metadata);
	disk_free(&v->cache);
	disk_free(&v->origin);
	free(v->home);
}

void volume_crash(struct volume *v, enum fate fate)
{
	disk_crash(&v->metadata, fate, &v->rng);
	disk_crash(&v->cache, fate, &v->rng);
	disk_crash(&v->origin, fate, &v->rng);
	rest(v);
}

void volume_save(const struct volume *v, const char *dir)
{
	char file[100];

	snprintf(file, sizeof(file), "%s/metadata", dir);
	disk_save(&v->metadata, file);
	snprintf(file, sizeof(file), "%s/cache", dir);
	disk_save(&v->cache, file);
	snprintf(file, sizeof(file), "%s/origin", dir);
	disk_save(&v->origin, file);
}

struct cmd *volume_open(struct volume *v, bool read_only,
			struct pd_device **dev)
{
	const struct cmd_geometry any = { 0 };
	const char *why;
	struct cmd *cmd;

	*dev = disk_open(&v->metadata, read_only);
	assert_ok(cmd_open(*dev, &any, &cmd, &why));
	return cmd;
}

void volume_shut(struct cmd *cmd, struct pd_device *dev)
{
	cmd_close(cmd);
	pd_device_close(dev);
}
