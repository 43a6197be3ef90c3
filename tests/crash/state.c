// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disks at a cut, and what a reader may find then.
 *
 * A write is certain to survive in two cases: it was done before a flush of the
 * same disk was submitted, and that flush is done; or it is FUA and done.
 * Every other write may be there, be missing, or be there in part, a sector at
 * a time.  The disks are independent of each other.
 *
 * The same rules hold for writes to the cache from above.  There the code
 * chooses nothing, but compares.
 */
#include <stdlib.h>
#include <string.h>

#include "crash.h"

#define MAX_REPORTS 6
#define RUN 64u		/* sectors that one comparison covers */

/* Returns the submission of the latest flush that is done. */
static uint32_t last_flush(const struct log *log, int disk, uint32_t cut)
{
	uint32_t latest = 0;

	for (uint32_t i = 0; i < log->nr_ops[disk]; i++) {
		const struct op *op = &log->ops[disk][i];

		if (op->done >= cut)
			break;
		if (op->kind == LOG_FLUSH && op->submit > latest)
			latest = op->submit;
	}
	return latest;
}

static bool durable(const struct op *op, uint32_t cut, uint32_t flush)
{
	return op->done < flush || (op->fua && op->done < cut);
}

/* Returns the event before which everything done is on the disk. */
static uint32_t certain_before(const struct replay *r, int disk, uint32_t cut)
{
	return r->nothing_volatile ? cut : last_flush(r->log, disk, cut);
}

/* ---- The disks ---- */

void chunks_mark(struct chunks *c, uint64_t sector, uint32_t sectors)
{
	for (uint64_t i = sector / CHUNK; i <= (sector + sectors - 1) / CHUNK; i++)
		c->set[i] = 1;
}

static void apply(uint8_t *to, const struct op *op)
{
	uint8_t *where = to + op->sector * SECTOR;

	if (op->kind == LOG_WRITE)
		memcpy(where, op->data, op->sectors * (size_t)SECTOR);
	else if (op->kind == LOG_DISCARD)
		memset(where, 0, op->sectors * (size_t)SECTOR);
}

static void apply_torn(uint8_t *to, const struct op *op, struct rng *rng)
{
	uint8_t *where = to + op->sector * SECTOR;

	for (uint32_t s = 0; s < op->sectors; s++) {
		if (rng_next(rng) >> 63)
			continue;
		if (op->kind == LOG_WRITE)
			memcpy(where + s * SECTOR, op->data + s * SECTOR, SECTOR);
		else if (op->kind == LOG_DISCARD)
			memset(where + s * SECTOR, 0, SECTOR);
	}
}

enum fate {
	FATE_LOST,		/* nothing after the last flush survives */
	FATE_KEPT,		/* all survives, also what is in flight */
	FATE_FIRST,		/* the first ones survive, the next is torn */
	FATE_SHUFFLED,		/* some survive, whole */
	FATE_TORN,		/* some survive, and some in part */
	NR_FATES
};

static bool in_doubt(const struct replay *r, const struct op *op, uint32_t flush)
{
	return op->submit < r->cut && op->kind != LOG_FLUSH &&
	       !durable(op, r->cut, flush);
}

static uint32_t nr_in_doubt(const struct replay *r, int disk, uint32_t flush)
{
	uint32_t nr = 0;

	for (uint32_t i = r->disk[disk].next; i < r->log->nr_ops[disk]; i++)
		nr += in_doubt(r, &r->log->ops[disk][i], flush);
	return nr;
}

static void apply_by_fate(uint8_t *to, const struct op *op, enum fate fate,
			  int32_t left, struct rng *rng)
{
	uint32_t dice = rng_below(rng, 100);

	switch (fate) {
	case FATE_KEPT:
		apply(to, op);
		break;
	case FATE_FIRST:
		if (left > 0)
			apply(to, op);
		else if (!left)
			apply_torn(to, op, rng);
		break;
	case FATE_SHUFFLED:
		if (dice < 50)
			apply(to, op);
		break;
	case FATE_TORN:
		if (dice < 40)
			apply(to, op);
		else if (dice < 70)
			apply_torn(to, op, rng);
		break;
	case FATE_LOST:
	case NR_FATES:
		break;
	}
}

void replay_survivors(struct replay *r, int disk, uint8_t *to,
		      struct chunks *changed, struct rng *rng)
{
	enum fate fate = rng_below(rng, NR_FATES);
	uint32_t flush = certain_before(r, disk, r->cut);
	int32_t left = rng_below(rng, nr_in_doubt(r, disk, flush) + 1);

	for (uint32_t i = r->disk[disk].next; i < r->log->nr_ops[disk]; i++) {
		const struct op *op = &r->log->ops[disk][i];

		if (op->submit < r->cut && op->kind != LOG_FLUSH)
			chunks_mark(changed, op->sector, op->sectors);
		if (in_doubt(r, op, flush))
			apply_by_fate(to, op, fate, left--, rng);
		else if (durable(op, r->cut, flush))
			apply(to, op);
	}
}

static void advance_disk(struct replay *r, int disk, uint32_t cut,
			 struct chunks *changed)
{
	struct disk_image *d = &r->disk[disk];
	uint32_t flush = certain_before(r, disk, cut);

	while (d->next < r->log->nr_ops[disk] &&
	       durable(&r->log->ops[disk][d->next], cut, flush)) {
		const struct op *op = &r->log->ops[disk][d->next++];

		apply(d->data, op);
		if (op->kind != LOG_FLUSH)
			chunks_mark(changed, op->sector, op->sectors);
	}
}

/* ---- The top ---- */

/* The cache passes only the whole blocks of a discard to the origin. */
static bool discard_reaches(const struct replay *r, const struct op *op,
			    uint64_t sector)
{
	uint64_t begin, end = op->sector + op->sectors;
	uint64_t last = r->origin_sectors / r->block_sectors;

	begin = (op->sector + r->block_sectors - 1) / r->block_sectors;
	end /= r->block_sectors;
	if (end > last)
		end = last;
	return sector >= begin * r->block_sectors && sector < end * r->block_sectors;
}

static void apply_top(struct replay *r, const struct op *op)
{
	if (op->kind == LOG_WRITE) {
		apply(r->top.data, op);
		memset(r->unknown + op->sector, 0, op->sectors);
		return;
	}
	if (op->kind != LOG_DISCARD)
		return;
	for (uint64_t s = op->sector; s < op->sector + op->sectors; s++) {
		if (!discard_reaches(r, op, s))
			continue;
		memset(r->top.data + s * SECTOR, 0, SECTOR);
		r->unknown[s] = !r->passdown;
	}
}

static void advance_top(struct replay *r, uint32_t cut)
{
	uint32_t flush = last_flush(r->log, DISK_TOP, cut);

	while (r->top.next < r->log->nr_ops[DISK_TOP] &&
	       durable(&r->log->ops[DISK_TOP][r->top.next], cut, flush))
		apply_top(r, &r->log->ops[DISK_TOP][r->top.next++]);
}

void replay_advance(struct replay *r, uint32_t cut, struct chunks *changed)
{
	for (int i = 0; i < NR_DISKS; i++)
		advance_disk(r, i, cut, &changed[i]);
	advance_top(r, cut);
	r->cut = cut;
}

static bool covers(const struct op *op, uint64_t sector)
{
	return op->kind != LOG_FLUSH && sector >= op->sector &&
	       sector < op->sector + op->sectors;
}

static bool is_zero(const uint8_t *data)
{
	static const uint8_t zero[SECTOR];

	return !memcmp(data, zero, SECTOR);
}

/* Could the sector hold this, if the request was the last to reach it? */
static bool explains(const struct replay *r, const struct op *op,
		     uint64_t sector, const uint8_t *have, bool certain)
{
	if (op->kind == LOG_WRITE)
		return !memcmp(have, op->data + (sector - op->sector) * SECTOR, SECTOR);
	/* A discarded sector may hold anything until the discard is certain. */
	if (!certain || !r->passdown)
		return true;
	return is_zero(have);
}

/*
 * The sector may hold any request that no certain write has replaced since. It
 * may hold the base if nothing certain was written since.
 */
static bool sector_allowed(const struct replay *r, uint64_t sector,
			   const uint8_t *have, uint32_t flush)
{
	const struct log *log = r->log;
	uint32_t superseded = 0;
	bool certain = false;

	for (uint32_t i = r->top.next; i < log->nr_ops[DISK_TOP]; i++) {
		const struct op *op = &log->ops[DISK_TOP][i];

		if (!covers(op, sector) || !durable(op, r->cut, flush) ||
		    (op->kind == LOG_DISCARD && !discard_reaches(r, op, sector)))
			continue;
		certain = true;
		if (op->submit > superseded)
			superseded = op->submit;
	}
	if (!certain && (r->unknown[sector] ||
			 !memcmp(have, r->top.data + sector * SECTOR, SECTOR)))
		return true;
	for (uint32_t i = r->top.next; i < log->nr_ops[DISK_TOP]; i++) {
		const struct op *op = &log->ops[DISK_TOP][i];

		if (op->kind == LOG_DISCARD && !discard_reaches(r, op, sector))
			continue;
		if (covers(op, sector) && op->submit < r->cut &&
		    op->done >= superseded &&
		    explains(r, op, sector, have, durable(op, r->cut, flush)))
			return true;
	}
	return false;
}

void print_sector(const char *what, const uint8_t *data)
{
	const uint64_t *w = (const uint64_t *)data;

	printf("    %s: version %llu of sector %llu%s\n", what,
	       (unsigned long long)w[0], (unsigned long long)w[1],
	       is_zero(data) ? " (zeros)" : "");
}

static void report(const struct replay *r, uint64_t sector, const uint8_t *have,
		   uint32_t flush, const char *when)
{
	printf("  %s: sector %llu is wrong\n", when, (unsigned long long)sector);
	print_sector("found", have);
	print_sector("certain before the window", r->top.data + sector * SECTOR);
	for (uint32_t i = r->top.next; i < r->log->nr_ops[DISK_TOP]; i++) {
		const struct op *op = &r->log->ops[DISK_TOP][i];

		if (!covers(op, sector) || op->submit >= r->cut)
			continue;
		printf("    %s%s, events %u to %d\n",
		       op->kind == LOG_WRITE ? "write" : "discard",
		       durable(op, r->cut, flush) ? ", certain" : "",
		       op->submit, (int)op->done);
		if (op->kind == LOG_WRITE)
			print_sector("  it wrote", op->data + (sector - op->sector) * SECTOR);
	}
}

uint64_t replay_check_top(struct replay *r, const uint8_t *have,
			  uint64_t sectors, const char *when)
{
	uint32_t flush = last_flush(r->log, DISK_TOP, r->cut);
	uint8_t *look = calloc(sectors, 1);
	uint64_t faults = 0;

	for (uint32_t i = r->top.next; i < r->log->nr_ops[DISK_TOP]; i++) {
		const struct op *op = &r->log->ops[DISK_TOP][i];

		for (uint64_t s = op->sector; op->submit < r->cut &&
		     s < op->sector + op->sectors && s < sectors; s++)
			look[s] = 1;
	}
	for (uint64_t s = 0; s < sectors; s++) {
		const uint8_t *h = have + s * SECTOR;

		if (!(s % RUN) && s + RUN <= sectors && !memchr(look + s, 1, RUN) &&
		    !memcmp(h, r->top.data + s * SECTOR, RUN * SECTOR)) {
			s += RUN - 1;
			continue;
		}
		if (!look[s] && !memcmp(h, r->top.data + s * SECTOR, SECTOR))
			continue;
		if (sector_allowed(r, s, h, flush))
			continue;
		if (faults++ < MAX_REPORTS)
			report(r, s, h, flush, when);
	}
	free(look);
	return faults;
}
