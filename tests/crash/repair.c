// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs hearth-metadata repair on what a power cut left: on the metadata as it
 * is, and with one block of it spoilt.
 *
 * The test knows what was mapped and dirty, because it has read the metadata
 * and compared it with the model before.  tests/lib/repair-judge.h has the
 * rules.
 */
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "memory.h"
#include "../lib/repair-judge.h"
#include "../../persistent-data/pd-space-map.h"
#include "../../persistent-data/pd-transaction.h"

enum damage { DAMAGE_NONE, DAMAGE_ZEROS, DAMAGE_NOISE, DAMAGE_BIT, DAMAGE_OTHER };
#define NR_DAMAGES (DAMAGE_OTHER + 1)

static const char *const damage_names[NR_DAMAGES] = {
	"sound", "all zero", "noise", "one wrong bit", "another block's content"
};

/* One repair. */
struct job {
	struct crash *x;
	const struct meta_view *v;	/* the input before it was spoilt */
	struct memory in, out;
	enum damage damage;
	u64 block;			/* the block that is spoilt */
	struct content *said;
	struct repair_result result;
};

static bool faulty(const struct job *j, const char *why)
{
	printf("  repair of the metadata at the cut, block %llu %s: %s\n",
	       (unsigned long long)j->block, damage_names[j->damage], why);
	return false;
}

/* ---- Spoiling a block ---- */

/* Picks a block that the last commit uses, by the space map. */
static u64 pick_used(struct memory *m, struct rng *rng)
{
	const struct cmd_geometry any = { 0 };
	struct pd_backend be = memory_backend(m);
	struct pd_device *dev;
	const char *why;
	struct cmd *cmd;
	struct pd_sm *sm;
	u32 left, nr = 0;

	if (pd_device_open_backend(&be, true, &dev) ||
	    cmd_open(dev, &any, &cmd, &why))
		die("metadata that was read before cannot be opened");
	sm = cmd_transaction(cmd)->sm;
	left = rng_below(rng, pd_sm_nr_used(sm));
	while (!pd_sm_count(sm, nr) || left--)
		nr++;
	cmd_close(cmd);
	pd_device_close(dev);
	return nr;
}

static void spoil(struct job *j, struct rng *rng)
{
	u8 *data = j->in.data + j->block * PD_BLOCK_SIZE;
	u64 other = rng_below(rng, j->in.blocks);

	switch (j->damage) {
	case DAMAGE_ZEROS:
		memset(data, 0, PD_BLOCK_SIZE);
		break;
	case DAMAGE_NOISE:
		for (u32 i = 0; i < PD_BLOCK_SIZE; i++)
			data[i] = rng_next(rng);
		break;
	case DAMAGE_BIT:
		data[rng_below(rng, PD_BLOCK_SIZE)] ^= 1 << rng_below(rng, 8);
		break;
	case DAMAGE_OTHER:
		if (other == j->block)
			other = !other;
		memcpy(data, j->in.data + other * PD_BLOCK_SIZE, PD_BLOCK_SIZE);
		break;
	case DAMAGE_NONE:
		break;
	}
}

/* ---- Judging the result ---- */

static void content_of_view(struct content *c, const struct meta_view *v)
{
	for (u32 i = 0; i < c->nr; i++) {
		c->oblock[i] = v->oblock[i];
		c->dirty[i] = v->dirty[i];
	}
}

static bool same_geometry(const struct job *j, const struct meta_view *after)
{
	/* Only the superblock tells the format. */
	bool format_known = !j->damage || j->block;

	return after->nr_slots == j->v->nr_slots &&
	       after->block_sectors == j->v->block_sectors && after->clean &&
	       after->write_log == j->v->write_log &&
	       (!format_known || after->format == j->v->format);
}

static bool judge(struct job *j)
{
	static struct meta_view after;
	struct content *was = content_new(j->v->nr_slots);
	struct repair_outcome o;
	char fault[128];
	bool ok;

	if (!meta_read(&after, j->out.data, j->out.blocks * (PD_BLOCK_SIZE / SECTOR)) ||
	    !after.formatted || !same_geometry(j, &after)) {
		content_free(was);
		return faulty(j, "the result is damaged, or describes another cache");
	}
	content_of_view(was, j->v);
	content_of_view(j->said, &after);
	/* The view marks as dirty what an unclean stop makes dirty. */
	ok = repair_judge(was, j->said, true, &o, fault, sizeof(fault));
	if (!ok)
		faulty(j, fault);
	else if (!j->damage && o.lost_dirty + o.gone + o.guessed)
		ok = faulty(j, "the repair of sound metadata has lost something");
	j->x->tally.repair_lost += o.lost_dirty;
	j->x->tally.repair_guessed += o.guessed;
	content_free(was);
	return ok;
}

/*
 * A repair may only refuse a lost superblock, with a reason, and must write
 * nothing.
 */
static bool refused_well(struct job *j)
{
	if (!j->damage || j->block)
		return faulty(j, j->result.why);
	if (!j->result.why[0] || j->out.writes)
		return faulty(j, "the repair refused without a reason, or after a write");
	j->x->tally.repairs_refused++;
	return true;
}

/* ---- One repair ---- */

static bool repair(struct job *j)
{
	struct repair_options o = { .say = content_take_line, .ctx = j->said };
	struct pd_backend in = memory_backend(&j->in);
	struct pd_backend out = memory_backend(&j->out);
	struct pd_device *dev;
	int r;

	if (j->damage && !j->block) {
		o.block_size = j->v->block_sectors;
		o.cache_blocks = j->v->nr_slots;
		o.write_log = j->v->write_log;
	}
	if (pd_device_open_backend(&in, true, &dev))
		die("no memory");
	os_quiet = true;
	r = metadata_repair(dev, &out, &o, &j->result);
	os_quiet = false;
	pd_device_close(dev);
	j->x->tally.repairs++;
	return r ? refused_well(j) : judge(j);
}

static u8 *copy_of(const u8 *data, size_t bytes)
{
	u8 *copy = malloc(bytes);

	if (!copy)
		die("no memory");
	return memcpy(copy, data, bytes);
}

/* Leaves the result in x->repaired, if it has all blocks that were dirty. */
static bool repair_one(struct crash *x, const struct meta_view *v,
		       enum damage damage, struct rng *rng)
{
	size_t bytes = x->w.head->disk_sectors[DISK_META] * SECTOR;
	struct job j = { .x = x, .v = v, .damage = damage };
	bool ok;

	j.in.data = copy_of(x->w.memory[DISK_META], bytes);
	j.out.data = malloc(bytes);
	if (!j.out.data)
		die("no memory");
	memset(j.out.data, 0x5a, bytes);
	j.in.blocks = j.out.blocks = bytes / PD_BLOCK_SIZE;
	j.said = content_new(v->nr_slots);
	if (damage) {
		/*
		 * The superblock is spoilt more often, because it has rules of
		 * its own.
		 */
		j.block = rng_below(rng, 8) ? pick_used(&j.in, rng) : 0;
		spoil(&j, rng);
	}
	ok = repair(&j);
	if (ok && !j.result.why[0] && !j.result.lost_dirty)
		memcpy(x->repaired, j.out.data, bytes);
	content_free(j.said);
	free(j.in.data);
	free(j.out.data);
	return ok;
}

bool repair_keeps(struct crash *x, const struct meta_view *v)
{
	struct rng rng = { mix64(x->rng.state ^ 0x4e9a1400000000ull) };
	enum damage damage = 1 + rng_below(&rng, NR_DAMAGES - 1);

	/*
	 * The first commit writes metadata; before it there is nothing to
	 * repair.
	 */
	if (!v->formatted)
		return true;
	return repair_one(x, v, DAMAGE_NONE, &rng) &&
	       repair_one(x, v, damage, &rng);
}

void repair_take(struct crash *x)
{
	memcpy(x->w.memory[DISK_META], x->repaired,
	       x->w.head->disk_sectors[DISK_META] * SECTOR);
	memset(x->changed[DISK_META].set, 1, x->changed[DISK_META].nr);
	x->tally.repairs_opened++;
}
