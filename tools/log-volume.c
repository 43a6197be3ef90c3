// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contents of a stopped volume's write log, and whether they are possible.
 *
 * Owns the words for what is wrong with a log. The rules are those of
 * write-log/log-load.h, which the module keeps as well; this file must not have
 * rules of its own.
 */

#include "log-volume.h"
#include "metadata-check.h"
#include "why.h"

struct loader {
	struct volume_log *l;
	struct log_index index;
	void (*report)(void *ctx, const char *msg);
	void *ctx;
	u64 *kept;		/* origin blocks of kept_slots; later sorted */
	u32 room;		/* of both */
	u64 room_runs;
};

static void __printf(2, 3) fault(struct loader *ld, const char *fmt, ...)
{
	va_list ap;

	ld->l->damage++;
	va_start(ap, fmt);
	say_line(ld->report, ld->ctx, fmt, ap);
	va_end(ap);
}

/* ---- The index's memory; nothing pins, because nothing reads meanwhile ---- */

static void *index_alloc(void *ctx, size_t bytes, bool nowait)
{
	(void)ctx;
	(void)nowait;
	return malloc(bytes);
}

static void index_free(void *ctx, void *p, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	free(p);
}

static void no_pin(void *ctx, u32 slot)
{
	(void)ctx;
	(void)slot;
}

static bool not_pinned(void *ctx, u32 slot)
{
	(void)ctx;
	(void)slot;
	return false;
}

const struct log_index_ops log_volume_index_ops = {
	.alloc = index_alloc,
	.free = index_free,
	.pin = no_pin,
	.pinned = not_pinned,
};

/* Doubles an array when it is full. */
static bool make_room(void **array, size_t each, u64 nr, u64 room)
{
	void *p;

	if (nr < room)
		return true;
	p = realloc(*array, 2 * room * each);
	if (p)
		*array = p;
	return p;
}

/* ---- Header and ring ---- */

static int load_header(struct loader *ld, struct cmd *cmd,
		       const struct log_dev *cache, u64 cache_sectors)
{
	u32 block_sectors = cmd_data_block_size(cmd);
	u32 nr_slots = cmd_cache_blocks(cmd);
	u64 needed = (u64)block_sectors * nr_slots;
	int r;

	if (needed > cache_sectors) {
		fault(ld, "write log: the cache device has %llu sectors, not the %llu that the metadata names",
		      cache_sectors, needed);
		return 0;
	}
	r = log_load_header(cache, block_sectors, nr_slots, &ld->l->geometry);
	if (r == -EUCLEAN)
		fault(ld, "write log: the cache device has no header of this cache's log");
	else if (r && r != -ENOMEM)
		fault(ld, "write log: its header cannot be read: %s",
		      metadata_error(r));
	return r == -ENOMEM ? r : 0;
}

static int load_ring(struct loader *ld, const struct log_dev *cache,
		     u64 origin_sectors)
{
	struct log_position pos;
	int r = log_load(cache, &ld->l->geometry, origin_sectors, LOG_RECORDS,
			 &ld->index, &pos);

	switch (r) {
	case 0:
	case -ENOMEM:
		return r;
	case -EUCLEAN:
		fault(ld, "write log: its ring is damaged");
		break;
	case -ERANGE:
		fault(ld, "write log: an extent lies past the origin's end");
		break;
	case -EFBIG:
		fault(ld, "write log: a block has more extents than it can have");
		break;
	default:
		fault(ld, "write log: its ring cannot be read: %s",
		      metadata_error(r));
	}
	return 0;
}

/* ---- Mappings ---- */

static int keep(struct loader *ld, u32 slot, u64 block)
{
	u32 nr = ld->l->nr_kept;

	if (!make_room((void **)&ld->l->kept_slots, sizeof(u32), nr, ld->room) ||
	    !make_room((void **)&ld->kept, sizeof(u64), nr, ld->room))
		return -ENOMEM;
	if (nr == ld->room)
		ld->room *= 2;
	ld->l->kept_slots[nr] = slot;
	ld->kept[nr] = block;
	ld->l->nr_kept++;
	return 0;
}

static int take_mapping(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
			bool hint_valid)
{
	struct loader *ld = ctx;
	int r = log_load_mapping(&ld->index, &ld->l->geometry, cblock, oblock);

	(void)dirty;
	(void)hint;
	(void)hint_valid;
	if (r > 0)
		return keep(ld, cblock, oblock);
	if (r < 0)
		fault(ld, "write log: cache block %u belongs to it, and is mapped to origin block %llu",
		      cblock, oblock);
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int load_mappings(struct loader *ld, struct cmd *cmd)
{
	int r;

	ld->room = 16;
	ld->kept = malloc(ld->room * sizeof(*ld->kept));
	ld->l->kept_slots = malloc(ld->room * sizeof(*ld->l->kept_slots));
	if (!ld->kept || !ld->l->kept_slots)
		return -ENOMEM;
	r = cmd_load(cmd, NULL, NULL, take_mapping, ld);
	if (r && r != -ENOMEM)
		fault(ld, "write log: the mapping cannot be read: %s",
		      metadata_error(r));
	qsort(ld->kept, ld->l->nr_kept, sizeof(*ld->kept), compare_u64);
	return r == -ENOMEM ? r : 0;
}

/* ---- Runs ---- */

static int take_run(void *ctx, const struct log_run *run)
{
	struct loader *ld = ctx;
	struct volume_log *l = ld->l;

	if (bsearch(&run->block, ld->kept, l->nr_kept, sizeof(*ld->kept),
		    compare_u64))
		return 0;
	if (!make_room((void **)&l->runs, sizeof(*l->runs), l->nr_runs,
		       ld->room_runs))
		return -ENOMEM;
	if (l->nr_runs == ld->room_runs)
		ld->room_runs *= 2;
	l->runs[l->nr_runs++] = *run;
	l->nr_sectors += run->sectors;
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct log_run *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->sector < y->sector ? -1 : x->sector > y->sector;
}

static int load_runs(struct loader *ld)
{
	struct volume_log *l = ld->l;
	int r;

	ld->room_runs = 1024;
	l->runs = malloc(ld->room_runs * sizeof(*l->runs));
	if (!l->runs)
		return -ENOMEM;
	r = log_index_for_each(&ld->index, take_run, ld);
	if (r)
		return r;
	qsort(l->runs, l->nr_runs, sizeof(*l->runs), compare_runs);
	for (u64 i = 0; i < l->nr_runs; i++)
		l->nr_blocks += !i || l->runs[i].block != l->runs[i - 1].block;
	return 0;
}

static int load_contents(struct loader *ld, struct cmd *cmd,
			 const struct log_dev *cache, u64 origin_sectors)
{
	int r = load_ring(ld, cache, origin_sectors);

	if (!r && !ld->l->damage)
		r = load_mappings(ld, cmd);
	if (!r && !ld->l->damage)
		r = load_runs(ld);
	return r;
}

int volume_log_load(struct volume_log *l, struct cmd *cmd,
		    const struct log_dev *cache, u64 cache_sectors,
		    u64 origin_sectors,
		    void (*report)(void *ctx, const char *msg), void *ctx)
{
	struct loader ld = { .l = l, .report = report, .ctx = ctx };
	int r;

	memset(l, 0, sizeof(*l));
	r = load_header(&ld, cmd, cache, cache_sectors);
	if (r || l->damage)
		return r;
	/* The bound decides how large the hash is: here, for a full ring. */
	r = log_index_init(&ld.index, &log_volume_index_ops, NULL,
			   l->geometry.block_sectors,
			   (u64)l->geometry.ring_blocks * LOG_BLOCK_BYTES);
	if (r)
		return r;
	r = load_contents(&ld, cmd, cache, origin_sectors);
	log_index_exit(&ld.index);
	free(ld.kept);
	return r;
}

void volume_log_free(struct volume_log *l)
{
	free(l->runs);
	free(l->kept_slots);
}
