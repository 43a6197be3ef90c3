// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running a model and keeping the account; see run.h.
 *
 * It must not know how a model decides.
 */
#include "run.h"

/* Half a turn at 7200 rpm and a short seek; the rate in mid-platter, about. */
#define SEEK_S		.008
#define BYTES_PER_S	150e6

static double origin_s(bool seeks, double bytes)
{
	return (seeks ? SEEK_S : 0) + bytes / BYTES_PER_S;
}

static void charge_promotion(struct account *acc, const struct access *a,
			     bool has_log, double block_bytes)
{
	double read = origin_s(!(a->flags & CACHE_IO_STREAM), block_bytes);

	acc->fills++;
	acc->ssd_bytes += block_bytes;
	if (a->op == CACHE_OP_READ) {
		acc->fetch_s += read;
		acc->partial_s += read;
	} else if (!(a->flags & CACHE_IO_FULL_BLOCK)) {
		acc->fetch_s += origin_s(true, block_bytes);
		/* A write that the log does not take has its block fetched at once. */
		if (has_log)
			acc->partial_s += origin_s(true, block_bytes);
	}
}

/* Blocks promoted behind another: the head is there, so only bytes count. */
static void charge_ahead(struct account *acc, double bytes)
{
	acc->ssd_bytes += bytes;
	acc->fetch_s += origin_s(false, bytes);
	acc->partial_s += origin_s(false, bytes);
}

/*
 * Charge the blocks that leave the write log. For "partial" the disk's head is
 * there already.
 */
static void charge_trips(struct account *acc, struct model *m,
			 double block_bytes)
{
	u32 i;

	for (i = 0; i < m->nr_trips; i++) {
		const struct trip *t = &m->trips[i];
		struct account *to = &acc[t->source];
		double trip_s = origin_s(t->seeks, t->bytes);

		m->disk_s += trip_s;
		to->fetch_s += trip_s;
		to->partial_s += origin_s(t->seeks && !t->kept, t->bytes);
		if (t->kept) {
			to->fills++;
			to->ssd_bytes += block_bytes;
		}
	}
}

static void charge(struct account *acc, const struct access *a,
		   enum outcome outcome, const struct model *m,
		   double block_bytes)
{
	double bytes = 512. * a->sectors;
	bool alone = !(a->flags & CACHE_IO_STREAM);
	double plain = origin_s(alone, bytes);

	acc->accesses++;
	acc->ns_accesses += alone;
	acc->user_bytes += bytes;
	acc->plain_s += plain;
	switch (outcome) {
	case HIT:
		acc->hits++;
		acc->ns_hits += alone;
		if (a->op == CACHE_OP_WRITE)
			acc->ssd_bytes += bytes;
		break;
	case PROMOTED:
		charge_promotion(acc, a, m->finish, block_bytes);
		charge_ahead(acc, m->nr_ahead * block_bytes);
		break;
	case BYPASSED:
		acc->fetch_s += plain;
		acc->partial_s += plain;
		break;
	case ABSORBED:
		acc->ssd_bytes += bytes;
		break;
	}
}

void run(struct model *m, struct account *acc, void (*progress)(double done))
{
	const struct accesses *as = m->accesses;
	double block_bytes = 512. * as->block_sectors;
	u32 i;

	for (i = 0; i < as->nr; i++) {
		const struct access *a = &as->all[i];
		struct account *to = &acc[a->source];
		double before_s = to->fetch_s;
		enum outcome outcome;

		m->nr_ahead = m->nr_trips = 0;
		outcome = m->access(m, i);
		charge(to, a, outcome, m, block_bytes);
		m->disk_s += to->fetch_s - before_s;
		charge_trips(acc, m, block_bytes);
		if (progress && !(i & 0xffff))
			progress((double)i / as->nr);
	}
	m->nr_trips = 0;
	if (m->finish)
		m->finish(m);
	charge_trips(acc, m, block_bytes);
	if (progress)
		progress(1);
}

void account_add(struct account *to, const struct account *from)
{
	to->accesses += from->accesses;
	to->hits += from->hits;
	to->ns_accesses += from->ns_accesses;
	to->ns_hits += from->ns_hits;
	to->fills += from->fills;
	to->user_bytes += from->user_bytes;
	to->ssd_bytes += from->ssd_bytes;
	to->plain_s += from->plain_s;
	to->fetch_s += from->fetch_s;
	to->partial_s += from->partial_s;
}

static double ratio(double a, double b)
{
	return b ? a / b : 0;
}

struct figures account_figures(const struct account *acc)
{
	return (struct figures) {
		.hit_ratio = ratio(acc->hits, acc->accesses),
		.ns_hit_ratio = ratio(acc->ns_hits, acc->ns_accesses),
		.fills = 1000 * ratio(acc->fills, acc->accesses),
		.fetch_saved = 1 - ratio(acc->fetch_s, acc->plain_s),
		.partial_saved = 1 - ratio(acc->partial_s, acc->plain_s),
		.ssd_per_user = ratio(acc->ssd_bytes, acc->user_bytes),
	};
}
