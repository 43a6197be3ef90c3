// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring and recovery: what was written is kept as a plain list of records,
 * and what recovery finds must be what the list says.
 */

#include "util.h"

#include "write-log/log-load.h"

#define BLOCKS		24	/* of the origin */
#define SECTORS		8	/* in a block, and in a slot */
#define SLOTS		400	/* that hold data */
#define MAX_RING	64
#define ALL_SLOTS	(SLOTS + MAX_RING + 2)
#define NOWHERE		(-1)

enum log_rule log_broken_rule;

struct rig {
	u64 rng;
	u8 (*disk)[LOG_BLOCK_BYTES];	/* behind the data slots */
	u32 fail_one_in;		/* 0: no write fails */
	u32 bad_read;			/* a block that can't be read, or 0 */
	u8 failed[LOG_BURST][LOG_BLOCK_BYTES];
	u64 failed_at;			/* sector, or 0 */
	struct host host;
	struct log_index ix;
	struct log_ring ring;
	struct log_geometry geo;
	u32 slot, at;
	u32 writes;
};

static u32 disk_block(u64 sector)
{
	return sector / LOG_BLOCK_SECTORS - SLOTS;
}

static int rig_read(void *ctx, u64 sector, u32 sectors, void *data)
{
	struct rig *r = ctx;
	u32 first = disk_block(sector), nr = sectors / LOG_BLOCK_SECTORS;

	assert_true(sector + sectors <= ALL_SLOTS * SECTORS);
	/* A hostile header may name slots of data: there is something else. */
	if (sector < SLOTS * SECTORS) {
		memset(data, 0x5a, nr * LOG_BLOCK_BYTES);
		return 0;
	}
	if (r->bad_read && r->bad_read - 1 >= first && r->bad_read - 1 < first + nr)
		return -EIO;
	memcpy(data, r->disk[first], nr * LOG_BLOCK_BYTES);
	return 0;
}

static int rig_write(void *ctx, u64 sector, u32 sectors, const void *data, unsigned int flags)
{
	struct rig *r = ctx;
	u32 bytes = sectors / LOG_BLOCK_SECTORS * LOG_BLOCK_BYTES;

	(void)flags;
	assert_true(disk_block(sector) + sectors / LOG_BLOCK_SECTORS <= MAX_RING + 2);
	/* W9: what failed comes again, byte for byte, before anything else. */
	if (r->failed_at) {
		assert_int_equal(sector, r->failed_at);
		assert_memory_equal(data, r->failed, bytes);
	}
	r->failed_at = 0;
	if (r->fail_one_in && one_in(&r->rng, r->fail_one_in)) {
		r->failed_at = sector;
		memcpy(r->failed, data, bytes);
		return -EIO;
	}
	memcpy(r->disk[disk_block(sector)], data, bytes);
	r->writes++;
	return 0;
}

static struct log_dev rig_dev(struct rig *r)
{
	return (struct log_dev) { rig_read, rig_write, r };
}

static void rig_make(struct rig *r, u64 seed, u32 ring_blocks, u32 records)
{
	struct log_dev dev = rig_dev(r);

	memset(r, 0, sizeof(*r));
	r->rng = seed;
	r->disk = calloc(MAX_RING + 2, LOG_BLOCK_BYTES);
	r->slot = LOG_NO_SLOT;
	host_make(&r->host, ALL_SLOTS);
	r->geo = (struct log_geometry) {
		.id = rnd(&r->rng), .block_sectors = SECTORS, .nr_slots = ALL_SLOTS,
		.ring_slot = SLOTS, .ring_blocks = ring_blocks,
	};
	assert_ok(log_ring_create(&dev, &r->geo));
	assert_ok(log_index_init(&r->ix, &host_ops, &r->host, SECTORS, 1 << 22));
	/* Half of them have no memory to spare. */
	if (seed & 1)
		r->ix.roomy_bytes = 0;
	assert_ok(log_ring_init(&r->ring, &r->ix, &r->geo, 1, 1));
	r->ring.records = records;
}

static void rig_free(struct rig *r)
{
	log_ring_exit(&r->ring);
	log_index_exit(&r->ix);
	host_free(&r->host);
	free(r->disk);
}

/* ---- Operations ---- */

/* A write is absorbed, if the ring admits it; false if not. */
static bool absorb(struct rig *r)
{
	u32 sector = below(&r->rng, SECTORS), n = 1 + below(&r->rng, SECTORS - sector);
	struct log_write *w = log_index_reserve(&r->ix, below(&r->rng, BLOCKS), sector, n, true);

	assert_false(IS_ERR(w));
	if (log_ring_admits(&r->ring) && (r->slot == LOG_NO_SLOT || r->at + n > SECTORS)) {
		u32 i, s = below(&r->rng, SLOTS);

		for (i = 0; i < SLOTS && log_segment_open(&r->ix, s, true); i++)
			s = (s + 1) % SLOTS;
		assert_true(i < SLOTS);
		r->slot = s;
		r->at = 0;
	}
	if (!log_ring_admits(&r->ring)) {
		log_index_cancel(&r->ix, w);
		return false;
	}
	log_write_place(&r->ix, w, r->slot, r->at);
	w->durable = one_in(&r->rng, 2);
	r->at += n;
	log_index_seen(&r->ix, w);
	return true;
}

struct leaving {
	struct log_departure log;
	struct log_run runs[SECTORS];
	u32 *count;
};

static void has_left(struct log_departure *d)
{
	struct leaving *l = container_of(d, struct leaving, log);

	--*l->count;
	free(l);
}

/* Have a block leave with the next batch. */
static void leave(struct rig *r, u32 *count)
{
	struct leaving *l = calloc(1, sizeof(*l));
	int n = log_index_collect(&r->ix, below(&r->rng, BLOCKS), l->runs, SECTORS, true);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		r->host.pins[l->runs[i].slot]--;
	if (!n) {
		free(l);
		return;
	}
	l->log = (struct log_departure) { .runs = l->runs, .nr = n, .ended = has_left };
	l->count = count;
	++*count;
	log_ring_leave(&r->ring, &l->log);
}

static void free_segments(struct rig *r)
{
	for (u32 s = 0; s < SLOTS; s++)
		if (s != r->slot)
			log_segment_close(&r->ix, s, false);
}

/* ---- Recovery against the list ---- */

static int load(struct rig *r, struct log_index *ix, struct host *h, struct log_position *pos)
{
	struct log_dev dev = rig_dev(r);
	struct log_geometry geo;
	int result;

	host_make(h, ALL_SLOTS);
	assert_ok(log_index_init(ix, &host_ops, h, SECTORS, 1 << 20));
	result = log_load_header(&dev, SECTORS, ALL_SLOTS, &geo);
	if (!result)
		result = log_load(&dev, &geo, BLOCKS * SECTORS, r->ring.records, ix, pos);
	return result;
}

static void unload(struct log_index *ix, struct host *h)
{
	log_index_exit(ix);
	host_free(h);
}

struct list {
	struct log_disk_block blocks[3000];
	u32 nr;				/* block n is seq n + 1 */
};

/* Play the whole list back, from the first block to @seq; nothing is obsolete. */
static void play(const struct list *list, u64 seq, int *map)
{
	for (u32 i = 0; i < BLOCKS * SECTORS; i++)
		map[i] = NOWHERE;
	for (u32 i = 0; i < seq; i++) {
		const struct log_disk_block *b = &list->blocks[i];

		for (u32 k = 0; k < le16_to_cpu(b->nr); k++) {
			const struct log_disk_record *rec = &b->records[k];
			u32 kind = le32_to_cpu(rec->place) >> LOG_SLOT_BITS;
			int place = (le32_to_cpu(rec->place) & LOG_SLOT_MASK) * SECTORS +
				le16_to_cpu(rec->at);
			u64 origin = le64_to_cpu(rec->origin);

			for (u32 j = 0; j <= le16_to_cpu(rec->last); j++)
				if (kind == LOG_VALID)
					map[origin + j] = place + j;
				else if (kind == LOG_GONE && map[origin + j] == place + (int)j)
					map[origin + j] = NOWHERE;
		}
	}
}

static void assert_finds(struct log_index *ix, const int *map)
{
	for (u32 i = 0; i < BLOCKS * SECTORS; i++) {
		struct log_run run;
		int place;

		log_index_lookup(ix, i / SECTORS, i % SECTORS, 1, &run);
		place = run.slot == LOG_NO_SLOT ? NOWHERE : (int)(run.slot * SECTORS + run.at);
		assert_int_equal(place, map[i]);
	}
}

/* Recovery finds what the list says up to block @seq. */
static void assert_replays(struct rig *r, const struct list *list, u64 seq)
{
	int map[BLOCKS * SECTORS];
	struct log_position pos;
	struct log_index ix;
	struct host h;

	assert_ok(load(r, &ix, &h, &pos));
	assert_int_equal(pos.head, seq);
	log_index_check(&ix);
	play(list, seq, map);
	assert_finds(&ix, map);
	memset(h.pins, 0, ALL_SLOTS * sizeof(*h.pins));
	unload(&ix, &h);
}

/* Write a batch by hand; after each block, and with it torn, recovery is right. */
static void batch_with_cuts(struct rig *r, struct list *list, u64 *head)
{
	static u8 old[LOG_BURST][LOG_BLOCK_BYTES];
	struct log_io io;
	int left;

	if (!log_ring_begin(&r->ring))
		return;
	while ((left = log_ring_next(&r->ring, &io)) > 0) {
		u32 nr = io.sectors / LOG_BLOCK_SECTORS, at = disk_block(io.sector);
		const struct log_disk_block *b = io.data;

		memcpy(old, r->disk[at], nr * LOG_BLOCK_BYTES);
		for (u32 torn = 512; torn < LOG_BLOCK_BYTES; torn += 512) {
			memcpy(r->disk[at], b, torn);
			if (memcmp(r->disk[at], b, LOG_BLOCK_BYTES))
				assert_replays(r, list, *head);
		}
		memcpy(r->disk[at], b, nr * LOG_BLOCK_BYTES);
		for (u32 i = 0; i < nr; i++) {
			assert_true(list->nr < ARRAY_SIZE(list->blocks));
			assert_int_equal(le64_to_cpu(b[i].seq), list->nr + 1);
			list->blocks[list->nr++] = b[i];
		}
		if (le32_to_cpu(b->flags) & LOG_BLOCK_SYNC)
			*head = list->nr;
		assert_replays(r, list, *head);
		log_ring_end(&r->ring, 0);
	}
	assert_ok(left);
}

static void test_replay(void **state)
{
	static const u32 shapes[][2] = { { 8, 3 }, { 16, 5 }, { 64, 3 } };
	u64 seed = test_seed("ring, replay after each block", 1);
	struct list *list = malloc(sizeof(*list));

	(void)state;
	for (u32 i = 0; i < rounds(6); i++) {
		const u32 *shape = shapes[i % 3];
		u32 leaving = 0;
		u64 head = 1;
		struct rig r;

		rig_make(&r, rnd(&seed), shape[0], shape[1]);
		memcpy(&list->blocks[0], r.disk[1], LOG_BLOCK_BYTES);
		list->nr = 1;
		/* With some seeds the blocks are full, and a ring takes more batches. */
		for (u32 n = 0; n < 60 || (head <= 2 * shape[0] && n < 600); n++) {
			for (u32 k = 1 + below(&r.rng, 6); k && absorb(&r); k--)
				;
			if (one_in(&r.rng, 3))
				leave(&r, &leaving);
			batch_with_cuts(&r, list, &head);
			free_segments(&r);
			log_index_check(&r.ix);
		}
		assert_int_equal(leaving, 0);
		assert_true(head > 2 * shape[0]);
		rig_free(&r);
	}
	free(list);
}

/* ---- Near full, with failing writes ---- */

/*
 * Whatever is admitted fits: rounds over rounds at the bound, on rings of several
 * shapes. Going on after recovery is part of it, because a cut forgets a round.
 */
static void test_near_full(void **state)
{
	static const u32 shapes[][2] = { { 8, 3 }, { 8, 8 }, { 16, 4 }, { 64, 3 }, { 20, 12 } };
	u64 seed = test_seed("ring, near full", 1);

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(shapes) * rounds(2); i++) {
		const u32 *shape = shapes[i % ARRAY_SIZE(shapes)];
		u32 leaving = 0, refused = 0;
		struct log_dev dev;
		struct rig r;

		rig_make(&r, rnd(&seed), shape[0], shape[1]);
		dev = rig_dev(&r);
		r.fail_one_in = i & 1 ? 5 : 0;
		for (u32 n = 0; n < 1200; n++) {
			int result;

			for (u32 k = below(&r.rng, 40); k; k--)
				if (!absorb(&r)) {
					refused++;
					break;
				}
			if (one_in(&r.rng, 6))
				leave(&r, &leaving);
			do {
				result = log_ring_write_batch(&r.ring, &dev);
				assert_int_not_equal(result, -ENOSPC);
			} while (result);
			free_segments(&r);
			if (one_in(&r.rng, 50)) {
				struct log_position pos = { 0 };

				log_ring_exit(&r.ring);
				log_index_exit(&r.ix);
				free(r.host.pins);
				assert_ok(load(&r, &r.ix, &r.host, &pos));
				assert_ok(log_ring_init(&r.ring, &r.ix, &r.geo, pos.head, pos.tail));
				r.ring.records = shape[1];
				r.slot = LOG_NO_SLOT;
			}
		}
		assert_int_equal(leaving, 0);
		assert_true(refused > 100);
		printf("note: a ring of %u blocks of %u records, near full: %llu blocks were written\n",
		       shape[0], shape[1], r.ring.seq);
		assert_true(r.ring.seq > 10 * shape[0]);
		rig_free(&r);
	}
}

/* A ring in which everything is live ends with a failure, not with a loop. */
static void test_full(void **state)
{
	struct log_dev dev;
	struct rig r;
	int result = 0;

	(void)state;
	rig_make(&r, 5, 8, 3);
	dev = rig_dev(&r);
	for (u32 n = 0; n < BLOCKS && !result; n++) {
		struct log_write *w = log_index_reserve(&r.ix, n, 0, 1, true);

		assert_ok(log_segment_open(&r.ix, n, true));
		log_write_place(&r.ix, w, n, 0);
		log_index_seen(&r.ix, w);
		result = log_ring_write_batch(&r.ring, &dev);
	}
	assert_int_equal(result, -ENOSPC);
	rig_free(&r);
}

/* ---- Refusals ---- */

static int try_load(struct rig *r)
{
	struct log_position pos;
	struct log_index ix;
	struct host h;
	int result = load(r, &ix, &h, &pos);

	unload(&ix, &h);
	return result;
}

static void fill(struct rig *r, u32 batches)
{
	struct log_dev dev = rig_dev(r);

	for (u32 i = 0; i < batches; i++) {
		for (u32 k = 0; k < 3 && absorb(r); k++)
			;
		assert_ok(log_ring_write_batch(&r->ring, &dev));
		free_segments(r);
	}
}

/* W11: a block that can't be read refuses; so does a bad one that is needed. */
static void test_bad_blocks(void **state)
{
	u32 refused = 0, place;
	struct rig r;

	(void)state;
	rig_make(&r, 7, 16, 5);
	fill(&r, 40);
	assert_ok(try_load(&r));
	for (place = 0; place < 16; place++) {
		u64 seq = le64_to_cpu(((struct log_disk_block *)r.disk[place])->seq);
		int result;

		r.bad_read = place + 1;
		assert_int_equal(try_load(&r), -EIO);
		r.bad_read = 0;
		r.disk[place][100] ^= 1;
		result = try_load(&r);
		/* Without the head the block before it is: as if it were torn. */
		if (seq >= r.ring.tail && seq < r.ring.seq)
			assert_int_equal(result, -EUCLEAN);
		if (seq < r.ring.tail)
			assert_ok(result);
		refused += result == -EUCLEAN;
		r.disk[place][100] ^= 1;
	}
	assert_true(refused);
	assert_ok(try_load(&r));
	rig_free(&r);
}

static void test_header(void **state)
{
	struct log_geometry geo;
	struct log_dev dev;
	struct rig r;

	(void)state;
	rig_make(&r, 9, 16, 5);
	dev = rig_dev(&r);
	/* Either of the two is enough. */
	for (u32 i = 0; i < 2; i++) {
		u8 *block = r.disk[MAX_RING + i];

		block[20] ^= 1;
		assert_ok(log_load_header(&dev, SECTORS, ALL_SLOTS, &geo));
		assert_memory_equal(&geo, &r.geo, sizeof(geo));
		block[20] ^= 1;
		r.bad_read = MAX_RING + i + 1;
		assert_ok(log_load_header(&dev, SECTORS, ALL_SLOTS, &geo));
		r.bad_read = 0;
	}
	r.disk[MAX_RING][20] ^= 1;
	r.disk[MAX_RING + 1][20] ^= 1;
	assert_int_equal(log_load_header(&dev, SECTORS, ALL_SLOTS, &geo), -EUCLEAN);
	r.bad_read = MAX_RING + 1;
	assert_int_equal(log_load_header(&dev, SECTORS, ALL_SLOTS, &geo), -EUCLEAN);
	r.disk[MAX_RING][20] ^= 1;
	r.disk[MAX_RING + 1][20] ^= 1;
	r.bad_read = 0;
	/* Another cache's. */
	assert_int_equal(log_load_header(&dev, 2 * SECTORS, ALL_SLOTS / 2, &geo), -EUCLEAN);
	rig_free(&r);
}

/* The device grows: a header at the new end names the ring where it is. */
static void test_grow(void **state)
{
	struct log_geometry geo;
	struct log_dev dev;
	struct rig r;

	(void)state;
	rig_make(&r, 11, 16, 5);
	dev = rig_dev(&r);
	geo = r.geo;
	geo.nr_slots = ALL_SLOTS - 10;
	assert_ok(log_header_write(&dev, &geo));
	assert_ok(log_load_header(&dev, SECTORS, ALL_SLOTS - 10, &geo));
	assert_int_equal(geo.ring_slot, SLOTS);
	assert_int_equal(geo.id, r.geo.id);
	assert_ok(log_load_header(&dev, SECTORS, ALL_SLOTS, &geo));
	/* A ring that does not fit in front of the headers is refused. */
	geo.ring_blocks = MAX_RING + 1;
	assert_int_equal(log_header_write(&dev, &geo), -EINVAL);
	geo.ring_blocks = LOG_MIN_RING - 1;
	assert_int_equal(log_geometry_check(&geo), -EINVAL);
	assert_int_equal(log_ring_blocks_for(0), 256);
	assert_int_equal(log_ring_blocks_for(1000 * LOG_RECORDS), 4000);
	assert_int_equal(log_ring_blocks_for(U32_MAX), LOG_MAX_RING);
	rig_free(&r);
}

/*
 * The ring of a device that has grown lies in the middle. The slots behind it
 * are like those before it: they hold extents, and they may be mapped.
 */
static void test_grown(void **state)
{
	const u32 behind = SLOTS + 16, end = behind + 20;
	struct log_position pos;
	struct log_index ix;
	struct log_write *w;
	struct log_dev dev;
	struct log_run run;
	struct host h;
	struct rig r;

	(void)state;
	rig_make(&r, 21, 16, 5);
	dev = rig_dev(&r);
	r.geo.nr_slots = end;
	assert_ok(log_header_write(&dev, &r.geo));
	for (u32 slot = 0; slot < ALL_SLOTS; slot++)
		assert_int_equal(log_geometry_takes(&r.geo, slot),
				 (slot >= SLOTS && slot < behind) || slot >= end - 2);

	assert_ok(log_segment_open(&r.ix, behind, true));
	w = log_index_reserve(&r.ix, 3, 0, SECTORS, true);
	log_write_place(&r.ix, w, behind, 0);
	log_index_seen(&r.ix, w);
	assert_ok(log_ring_write_batch(&r.ring, &dev));

	host_make(&h, ALL_SLOTS);
	assert_ok(log_index_init(&ix, &host_ops, &h, SECTORS, 1 << 20));
	assert_ok(log_load(&dev, &r.geo, BLOCKS * SECTORS, 5, &ix, &pos));
	log_index_lookup(&ix, 3, 0, SECTORS, &run);
	assert_int_equal(run.slot, behind);
	h.pins[run.slot]--;
	assert_ok(log_load_mapping(&ix, &r.geo, end - 3, 5));
	assert_int_equal(log_load_mapping(&ix, &r.geo, behind, 3), 1);
	assert_int_equal(log_load_mapping(&ix, &r.geo, behind - 1, 5), -EUCLEAN);
	assert_int_equal(log_load_mapping(&ix, &r.geo, end - 2, 5), -EUCLEAN);
	assert_int_equal(log_load_mapping(&ix, &r.geo, end - 1, 5), -EUCLEAN);
	unload(&ix, &h);
	rig_free(&r);
}

/* ---- Hostile rings ---- */

static void seal(struct log_disk_block *b)
{
	b->csum = cpu_to_le32(log_block_csum(b));
}

/* Change a field of a block to something a checksum does not catch. */
static void corrupt(struct rig *r, struct log_disk_block *b)
{
	struct log_disk_record *rec = &b->records[below(&r->rng, 6)];
	u64 any = rnd(&r->rng) >> below(&r->rng, 64);

	switch (below(&r->rng, 11)) {
	case 0:
		b->seq = cpu_to_le64(any);
		break;
	case 1:
		b->seq = cpu_to_le64(le64_to_cpu(b->seq) + below(&r->rng, 5) * r->geo.ring_blocks);
		break;
	case 2:
		b->tail = cpu_to_le64(any);
		break;
	case 3:
		b->tail = cpu_to_le64(le64_to_cpu(b->tail) - below(&r->rng, 8));
		break;
	case 4:
		b->nr = cpu_to_le16(any);
		break;
	case 5:
		b->flags = cpu_to_le32(any);
		break;
	case 6:
		rec->place = cpu_to_le32(any);
		break;
	case 7:
		rec->place = cpu_to_le32(below(&r->rng, SLOTS) |
					 below(&r->rng, 5) << LOG_SLOT_BITS);
		break;
	case 8:
		rec->at = cpu_to_le16(one_in(&r->rng, 2) ? any : below(&r->rng, SECTORS));
		break;
	case 9:
		rec->last = cpu_to_le16(one_in(&r->rng, 2) ? any : below(&r->rng, SECTORS));
		break;
	default:
		rec->origin = cpu_to_le64(one_in(&r->rng, 2) ? any :
					  below(&r->rng, BLOCKS * SECTORS));
	}
	seal(b);
}

/*
 * Loads @r as it is. Whatever it holds, the result is a refusal or an index in
 * the devices' bounds, with which the ring goes on. Returns whether it loaded.
 */
static bool survives(struct rig *r)
{
	struct log_dev dev = rig_dev(r);
	struct log_position pos;
	struct log_ring ring;
	struct log_index ix;
	struct host h;
	int result = load(r, &ix, &h, &pos);

	if (!result) {
		log_index_check(&ix);
		assert_in_range(ix.nr_ring, 0, r->geo.ring_blocks * r->ring.records / 2);
		assert_ok(log_ring_init(&ring, &ix, &r->geo, pos.head, pos.tail));
		ring.records = r->ring.records;
		for (u32 b = 0; b < BLOCKS; b++) {
			struct log_run runs[SECTORS];
			int n = log_index_collect(&ix, b, runs, SECTORS, false);

			assert_in_range(n, 0, SECTORS);
			for (int i = 0; i < n; i++) {
				assert_true(runs[i].slot < SLOTS);
				assert_true(runs[i].at + runs[i].sectors <= SECTORS);
				h.pins[runs[i].slot]--;
				log_load_mapping(&ix, &r->geo, runs[i].slot, b);
			}
		}
		if (log_ring_admits(&ring)) {
			struct log_write *w = log_index_reserve(&ix, 1, 0, 1, true);

			assert_false(IS_ERR(w));
			if (!log_segment_open(&ix, 0, true)) {
				log_write_place(&ix, w, 0, 0);
				log_index_seen(&ix, w);
				log_ring_write_batch(&ring, &dev);
			} else {
				log_index_cancel(&ix, w);
			}
		}
		log_ring_exit(&ring);
	}
	unload(&ix, &h);
	return !result;
}

static void test_hostile(void **state)
{
	u64 seed = test_seed("ring, hostile", 1);
	u32 loaded = 0, refused = 0;
	u8 (*good)[LOG_BLOCK_BYTES] = malloc((MAX_RING + 2) * LOG_BLOCK_BYTES);
	struct rig r;

	(void)state;
	rig_make(&r, 13, 16, 5);
	fill(&r, 60);
	memcpy(good, r.disk, (MAX_RING + 2) * LOG_BLOCK_BYTES);
	r.rng = seed;
	for (u32 i = 0; i < rounds(6000); i++) {
		u32 changes = 1 + below(&r.rng, 3);

		memcpy(r.disk, good, (MAX_RING + 2) * LOG_BLOCK_BYTES);
		while (changes--) {
			u32 block = below(&r.rng, 16);

			if (one_in(&r.rng, 10))
				memcpy(r.disk[block], r.disk[below(&r.rng, 16)], LOG_BLOCK_BYTES);
			else if (one_in(&r.rng, 10))
				r.disk[block][below(&r.rng, LOG_BLOCK_BYTES)] = rnd(&r.rng);
			else
				corrupt(&r, (struct log_disk_block *)r.disk[block]);
		}
		if (survives(&r))
			loaded++;
		else
			refused++;
	}
	printf("note: of the hostile rings %u were loaded and %u refused\n", loaded, refused);
	assert_true(loaded && refused);

	/* Headers, and nothing but chance. */
	for (u32 i = 0; i < rounds(1000); i++) {
		struct log_disk_header *header = (void *)r.disk[MAX_RING + 1];

		memcpy(r.disk, good, (MAX_RING + 2) * LOG_BLOCK_BYTES);
		((u8 *)header)[below(&r.rng, 48)] = rnd(&r.rng);
		if (one_in(&r.rng, 2))
			header->csum = cpu_to_le32(log_header_csum(header));
		memset(r.disk[MAX_RING], 0, LOG_BLOCK_BYTES);
		if (one_in(&r.rng, 4))
			for (u32 k = 0; k < LOG_BLOCK_BYTES; k++)
				r.disk[below(&r.rng, MAX_RING)][k] = rnd(&r.rng);
		try_load(&r);
	}
	rig_free(&r);
	free(good);
}

/* A ring in which everything is live is refused before all of it is in memory. */
static void test_hostile_memory(void **state)
{
	struct log_disk_block *b;
	struct log_position pos;
	struct log_index ix;
	struct log_dev dev;
	struct host h;
	struct rig r;

	(void)state;
	rig_make(&r, 23, MAX_RING, LOG_RECORDS);
	dev = rig_dev(&r);
	for (u32 seq = 1; seq <= MAX_RING; seq++) {
		b = (struct log_disk_block *)r.disk[seq % MAX_RING];
		memcpy(b, r.disk[1], LOG_BLOCK_BYTES);
		b->seq = cpu_to_le64(seq);
		b->nr = cpu_to_le16(LOG_RECORDS);
		for (u32 i = 0; i < LOG_RECORDS; i++) {
			b->records[i].place = cpu_to_le32(1 | LOG_VALID << LOG_SLOT_BITS);
			b->records[i].origin = cpu_to_le64((u64)(seq * LOG_RECORDS + i) * SECTORS);
		}
		seal(b);
	}
	host_make(&h, ALL_SLOTS);
	assert_ok(log_index_init(&ix, &host_ops, &h, SECTORS, 1 << 20));
	assert_int_equal(log_load(&dev, &r.geo, U64_MAX, LOG_RECORDS, &ix, &pos), -EUCLEAN);
	assert_true(h.rounded <= (MAX_RING / 2 * LOG_RECORDS + 1) * 64 + 64);
	unload(&ix, &h);
	rig_free(&r);
}

/* A head behind which no block would be believed is none. */
static void test_last_number(void **state)
{
	struct log_disk_block *b;
	struct rig r;

	(void)state;
	rig_make(&r, 25, 16, 5);
	b = (struct log_disk_block *)r.disk[LOG_MAX_SEQ % 16];
	memcpy(b, r.disk[1], LOG_BLOCK_BYTES);
	b->seq = b->tail = cpu_to_le64(LOG_MAX_SEQ);
	seal(b);
	assert_int_equal(try_load(&r), -EUCLEAN);
	rig_free(&r);
}

/* ---- Mapped slots ---- */

static void test_mappings(void **state)
{
	struct log_dev dev;
	struct log_write *w;
	struct rig r;

	(void)state;
	rig_make(&r, 15, 16, 5);
	dev = rig_dev(&r);
	assert_ok(log_segment_open(&r.ix, 3, true));
	assert_ok(log_segment_open(&r.ix, 4, true));
	w = log_index_reserve(&r.ix, 10, 0, SECTORS, true);
	log_write_place(&r.ix, w, 3, 0);
	log_index_seen(&r.ix, w);
	w = log_index_reserve(&r.ix, 11, 2, 2, true);
	log_write_place(&r.ix, w, 4, 0);
	log_index_seen(&r.ix, w);
	assert_ok(log_ring_write_batch(&r.ring, &dev));
	assert_ok(log_load_mapping(&r.ix, &r.geo, 7, 12));
	/* W5: elsewhere, and in place. */
	assert_int_equal(log_load_mapping(&r.ix, &r.geo, 7, 11), 1);
	assert_int_equal(log_load_mapping(&r.ix, &r.geo, 3, 10), 1);
	/* A segment that holds anything else, and the ring. */
	assert_int_equal(log_load_mapping(&r.ix, &r.geo, 3, 11), -EUCLEAN);
	assert_int_equal(log_load_mapping(&r.ix, &r.geo, 4, 11), -EUCLEAN);
	assert_int_equal(log_load_mapping(&r.ix, &r.geo, SLOTS, 12), -EUCLEAN);
	rig_free(&r);
}

/* log_load() refuses runs past the end of the origin. */
static void test_past_end(void **state)
{
	struct log_position pos;
	struct log_index ix;
	struct log_dev dev;
	struct host h;
	struct rig r;

	(void)state;
	rig_make(&r, 17, 16, 5);
	dev = rig_dev(&r);
	fill(&r, 10);
	host_make(&h, ALL_SLOTS);
	assert_ok(log_index_init(&ix, &host_ops, &h, SECTORS, 1 << 20));
	assert_int_equal(log_load(&dev, &r.geo, SECTORS, 5, &ix, &pos), -ERANGE);
	unload(&ix, &h);
	rig_free(&r);
}

/* A segment is released when the block that supersedes it is durable (W6). */
static void test_segment_settles(void **state)
{
	struct log_dev dev;
	struct log_io io;
	struct rig r;

	(void)state;
	rig_make(&r, 19, 16, 5);
	dev = rig_dev(&r);
	for (u32 s = 0; s < 2; s++) {
		struct log_write *w = log_index_reserve(&r.ix, 1, 0, 1, true);

		assert_ok(log_segment_open(&r.ix, s, true));
		log_write_place(&r.ix, w, s, 0);
		log_index_seen(&r.ix, w);
		if (!s)
			assert_ok(log_ring_write_batch(&r.ring, &dev));
	}
	assert_true(log_ring_begin(&r.ring));
	assert_int_equal(log_ring_next(&r.ring, &io), 1);
	assert_int_equal(log_segment_close(&r.ix, 0, false), -EBUSY);
	log_ring_end(&r.ring, -EIO);
	assert_int_equal(log_segment_close(&r.ix, 0, false), -EBUSY);
	assert_int_equal(log_ring_next(&r.ring, &io), 1);
	log_ring_end(&r.ring, 0);
	assert_ok(log_segment_close(&r.ix, 0, false));
	assert_ok(log_ring_next(&r.ring, &io));
	rig_free(&r);
}

static void see(struct rig *r, u64 block, bool durable)
{
	struct log_write *w = log_index_reserve(&r->ix, block, 0, 1, true);

	log_write_place(&r->ix, w, 0, 2 * block);
	w->durable = durable;
	log_index_seen(&r->ix, w);
}

/*
 * Writes the batch, each block first in vain.  Returns which blocks had a flush before them:
 * a character for each.
 */
static const char *flushes_of_batch(struct rig *r)
{
	static char flushes[8];
	struct log_io io, again;
	u32 n = 0;

	assert_true(log_ring_begin(&r->ring));
	while (log_ring_next(&r->ring, &io) == 1) {
		log_ring_end(&r->ring, -EIO);
		assert_int_equal(log_ring_next(&r->ring, &again), 1);
		assert_int_equal(again.flags, io.flags);
		log_ring_end(&r->ring, 0);
		flushes[n++] = io.flags & LOG_PREFLUSH ? 'f' : '-';
		assert_true(n < sizeof(flushes));
	}
	flushes[n] = '\0';
	return flushes;
}

/*
 * A batch has one flush, before the first block that names data without FUA (W2).  The
 * first block has five records, the others have four and repeat one run.
 */
static void test_one_flush(void **state)
{
	struct rig r;

	(void)state;
	rig_make(&r, 20, 32, 5);
	assert_ok(log_segment_open(&r.ix, 0, true));
	for (u32 block = 0; block < 12; block++)
		see(&r, block, block < 5);
	assert_string_equal(flushes_of_batch(&r), "-f-");
	see(&r, 12, false);
	assert_string_equal(flushes_of_batch(&r), "f");
	see(&r, 13, true);
	assert_string_equal(flushes_of_batch(&r), "-");
	rig_free(&r);
}

int main(void)
{
	const char *broken = getenv("BREAK_RULE");	/* of test-world */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_near_full),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_bad_blocks),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_grown),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_hostile_memory),
		cmocka_unit_test(test_last_number),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_past_end),
		cmocka_unit_test(test_segment_settles),
		cmocka_unit_test(test_one_flush),
	};
	const struct CMUnitTest by_step[] = {
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_segment_settles),
		cmocka_unit_test(test_one_flush),
	};

	if (broken) {
		log_broken_rule = strtoul(broken, NULL, 0);
		return cmocka_run_group_tests(by_step, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
