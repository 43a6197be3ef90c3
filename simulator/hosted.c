// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs one of hearth's policies as the engine would: asks at every hit and
 * miss, promotes at once if a slot is free, and evicts as the reserve (reserve.c)
 * says. With a write log (absorb.c) it decides what is absorbed, and sends home or
 * into the cache what leaves the log. It owns the slots, and must not know any
 * policy. The engine's limits on promotions are left out.
 */
#include <stdio.h>

#include "absorb.h"
#include "registry.h"
#include "model.h"
#include "reserve.h"

#define NO_SLOT		U32_MAX
#define NO_ID		U32_MAX		/* of a block that the trace never touches */
#define BATCH		64	/* victims at a time, as the engine's EVICT_BATCH */

struct hosted {
	struct model m;
	struct cache_policy *policy;
	u16 *words;
	u32 *slot_of;		/* of an id */
	u32 *id_of;		/* of a slot */
	u64 *block_of;		/* of a slot */
	u32 *by_block;		/* ids, in the order of their blocks */
	u32 *free;
	u32 nr_free;
	u32 ahead;		/* blocks */
	struct reserve reserve;
	struct absorb *log;	/* NULL: none */
	u32 trip_room;
};

/* Free up to @wanted slots. Returns whether any came free. */
static bool evict(struct hosted *h, u32 wanted)
{
	const struct cache_policy_ops *ops = h->policy->ops;
	u32 slots[BATCH];
	unsigned int nr, i;

	nr = ops->victims(h->policy, slots, min_t(u32, BATCH, wanted));
	for (i = 0; i < nr; i++) {
		u32 id = h->id_of[slots[i]];

		ops->removed(h->policy, slots[i], h->block_of[slots[i]],
			     CACHE_REMOVED_EVICTED);
		if (id != NO_ID)
			h->slot_of[id] = NO_SLOT;
		h->free[h->nr_free++] = slots[i];
	}
	return nr;
}

/* The engine's worker comes between two misses, and between two trips of the disk. */
static void work(struct hosted *h)
{
	u32 wanted = reserve_evict(&h->reserve, h->m.nr_slots, h->nr_free);

	while (wanted && evict(h, wanted))
		wanted -= min_t(u32, wanted, BATCH);
}

static void take_slot(struct hosted *h, u32 id, u64 block,
		      enum cache_verdict why)
{
	u32 slot = h->free[--h->nr_free];

	if (id != NO_ID)
		h->slot_of[id] = slot;
	h->id_of[slot] = id;
	h->block_of[slot] = block;
	h->policy->ops->inserted(h->policy, slot, block, why);
	reserve_used(&h->reserve, h->nr_free);
}

static void take_segments_back(struct hosted *h)
{
	u32 slot;

	while (h->log && absorb_take_back(h->log, &slot))
		h->free[h->nr_free++] = slot;
}

static bool has_free_slot(struct hosted *h)
{
	take_segments_back(h);
	if (!h->nr_free)
		reserve_lacks(&h->reserve);
	return h->nr_free;
}

static bool insert(struct hosted *h, u32 id, enum cache_verdict why)
{
	if (!has_free_slot(h))
		return false;
	take_slot(h, id, h->m.accesses->blocks[id], why);
	return true;
}

static u32 id_by_block(struct hosted *h, u64 block)
{
	u32 low = 0, high = h->m.accesses->nr_blocks;

	while (low < high) {
		u32 middle = low + (high - low) / 2;
		u32 id = h->by_block[middle];

		if (h->m.accesses->blocks[id] == block)
			return id;
		if (h->m.accesses->blocks[id] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return NO_ID;
}

/* ---- The write log ---- */

static bool in_log(const struct hosted *h, u32 id)
{
	return h->log && absorb_has(h->log, id);
}

static void add_trip(struct hosted *h, const struct trip *trip)
{
	if (h->m.nr_trips == h->trip_room) {
		h->trip_room = 2 * h->trip_room + 64;
		h->m.trips = realloc(h->m.trips,
				     h->trip_room * sizeof(*h->m.trips));
		if (!h->m.trips)
			abort();
	}
	h->m.trips[h->m.nr_trips++] = *trip;
}

/*
 * A block has left the log: what the policy wants goes into the cache, all else
 * home. @head is the sector at which the disk's head is.
 */
static void leave(struct hosted *h, const struct absorbed *left, u64 *head)
{
	u32 sectors = h->m.accesses->block_sectors;
	u64 start = h->m.accesses->blocks[left->id] * sectors;
	bool kept = left->keep && insert(h, left->id, left->why);
	u64 from = kept ? start : start + left->first;
	u64 to = kept ? start + sectors : start + left->end;
	struct trip trip = { .kept = kept, .source = left->source };

	if (!kept || !left->whole) {
		trip.bytes = 512 * (to - from);
		trip.seeks = from < *head || from - *head > CACHE_STREAM_GAP;
		*head = to;
	}
	add_trip(h, &trip);
}

static void empty_log(struct hosted *h, bool all)
{
	const struct absorbed *batch;
	u64 head = U64_MAX;	/* elsewhere */
	u32 nr, i;

	batch = absorb_oldest(h->log, &nr, all);
	for (i = 0; i < nr; i++) {
		leave(h, &batch[i], &head);
		work(h);
	}
}

/*
 * A block that has extents takes every write. Other writes are taken if they
 * are part of a block, and not of a stream of large requests.
 */
static bool log_wants(const struct hosted *h, const struct access *a)
{
	if (!h->log || a->op != CACHE_OP_WRITE || h->slot_of[a->id] != NO_SLOT)
		return false;
	return absorb_has(h->log, a->id) ||
	       !((a->flags & CACHE_IO_FULL_BLOCK) || a->large);
}

/* May send a batch out of the log, and the block itself with it. */
static void make_room(struct hosted *h, const struct access *a)
{
	if (!log_wants(h, a) || absorb_fits(h->log, a))
		return;
	take_segments_back(h);
	if (absorb_is_full(h->log))
		empty_log(h, false);
	take_segments_back(h);
	if (!log_wants(h, a) || absorb_is_full(h->log) || !has_free_slot(h))
		return;
	absorb_lend(h->log, h->free[--h->nr_free]);
	reserve_used(&h->reserve, h->nr_free);
}

static enum outcome absorb(struct hosted *h, const struct access *a,
			   enum cache_verdict verdict)
{
	bool again = absorb_has(h->log, a->id);

	absorb_write(h->log, a);
	if (verdict <= CACHE_PROMOTE_HOT)
		absorb_keep(h->log, a->id, verdict);
	return again ? HIT : ABSORBED;
}

/* A write that the log cannot take goes to the origin when its block is home. */
static void leave_alone(struct hosted *h, u32 id)
{
	struct absorbed left;
	u64 head = U64_MAX;

	absorb_remove(h->log, id, &left);
	left.keep = false;
	leave(h, &left, &head);
}

/* ---- Accesses ---- */

/*
 * Promote the blocks behind @block, as the engine's promote_behind() does. A
 * block that the trace never touches may come more than once, because it has no
 * id to find it by.
 */
static void insert_behind(struct hosted *h, u64 block)
{
	u32 nr = h->ahead, id;

	while (nr-- && h->nr_free > h->m.nr_slots / CACHE_AHEAD_SPARES &&
	       reserve_has_more(&h->reserve, h->nr_free)) {
		id = id_by_block(h, ++block);
		if (id != NO_ID && (h->slot_of[id] != NO_SLOT || in_log(h, id)))
			return;
		take_slot(h, id, block, CACHE_PROMOTE_AHEAD);
		h->m.nr_ahead++;
	}
}

/* The policy's answer to a request that found no slot. */
static enum cache_verdict ask(struct hosted *h, const struct access *a,
			      struct cache_io *io, bool absorbs)
{
	if (absorbs)
		io->flags |= CACHE_IO_NO_FETCH;
	if (reserve_has_more(&h->reserve, h->nr_free))
		io->flags |= CACHE_IO_FREE_SLOTS;
	return h->policy->ops->miss(h->policy, h->m.accesses->blocks[a->id], io);
}

/* Promote a block. The extents that the log has of it are laid over it. */
static enum outcome promote(struct hosted *h, u32 id, enum cache_verdict verdict)
{
	struct absorbed left;

	if (!insert(h, id, verdict == CACHE_PROMOTE_AHEAD ? CACHE_PROMOTE :
							    verdict))
		return BYPASSED;
	if (in_log(h, id))
		absorb_remove(h->log, id, &left);
	if (verdict == CACHE_PROMOTE_AHEAD)
		insert_behind(h, h->m.accesses->blocks[id]);
	return PROMOTED;
}

/* As is_settled() of the engine's cache-log-io.c. */
static bool is_settled(const struct hosted *h, u32 id)
{
	return absorb_keeps(h->log, id) && h->nr_free > h->m.nr_slots / CACHE_SETTLED_SHARE;
}

static enum outcome missed(struct hosted *h, const struct access *a,
			   struct cache_io *io)
{
	bool absorbs = log_wants(h, a) && absorb_fits(h->log, a);
	enum cache_verdict verdict;

	work(h);
	if (absorbs && is_settled(h, a->id))
		return absorb(h, a, CACHE_BYPASS_POLICY);
	verdict = ask(h, a, io, absorbs);
	if (absorbs)
		return absorb(h, a, verdict);
	if (a->op == CACHE_OP_WRITE && in_log(h, a->id))
		leave_alone(h, a->id);
	if (verdict <= CACHE_PROMOTE_HOT)
		return promote(h, a->id, verdict);
	return a->op == CACHE_OP_READ && h->log && absorb_covers(h->log, a) ?
	       HIT : BYPASSED;
}

static enum outcome hosted_access(struct model *m, u32 index)
{
	struct hosted *h = container_of(m, struct hosted, m);
	const struct access *a = &m->accesses->all[index];
	struct cache_io io = {
		.op = a->op,
		.flags = a->flags,
		.sectors = a->sectors,
		.stream_sectors = a->stream_sectors,
	};

	if (a->flags & CACHE_IO_FULL_BLOCK)
		io.flags |= CACHE_IO_NO_FETCH;
	reserve_clock(&h->reserve, m->disk_s);
	make_room(h, a);
	if (h->slot_of[a->id] == NO_SLOT)
		return missed(h, a, &io);
	h->policy->ops->hit(h->policy, h->slot_of[a->id],
			    m->accesses->blocks[a->id], &io);
	return HIT;
}

static void hosted_finish(struct model *m)
{
	empty_log(container_of(m, struct hosted, m), true);
}

static void hosted_destroy(struct model *m)
{
	struct hosted *h = container_of(m, struct hosted, m);

	if (h->policy)
		h->policy->ops->destroy(h->policy);
	free(h->words);
	free(h->slot_of);
	free(h->id_of);
	free(h->block_of);
	free(h->by_block);
	free(h->free);
	free(h->m.trips);
	absorb_destroy(h->log);
	free(h);
}

/* key=value,key=value */
static int apply(struct hosted *h, const char *settings)
{
	unsigned long long value;
	char key[32];
	int n, r;

	while (settings && *settings) {
		if (sscanf(settings, "%31[^=]=%llu%n", key, &value, &n) != 2) {
			fprintf(stderr, "%s: not key=number\n", settings);
			return -1;
		}
		r = policy_set(h->policy, key, value);
		if (r == -ERANGE || (r && !policy_key_known(key))) {
			fprintf(stderr, "%s: %s\n", key, r == -ERANGE ?
				"out of range" : "no such setting");
			return -1;
		}
		settings += n;
		settings += *settings == ',';
	}
	return 0;
}

static const u64 *sorted_blocks;

static int by_block(const void *a, const void *b)
{
	u64 x = sorted_blocks[*(const u32 *)a], y = sorted_blocks[*(const u32 *)b];

	return x < y ? -1 : x > y;
}

static u32 *sort_ids(const struct accesses *as)
{
	u32 *ids = malloc(max(as->nr_blocks, 1u) * sizeof(*ids)), i;

	for (i = 0; i < as->nr_blocks; i++)
		ids[i] = i;
	sorted_blocks = as->blocks;
	qsort(ids, as->nr_blocks, sizeof(*ids), by_block);
	return ids;
}

struct model *hosted_create(const char *name, const struct model_params *params)
{
	const struct cache_policy_ops *ops = policy_find(name);
	u32 nr = max(params->accesses->nr_blocks, 1u), i, segments;
	struct hosted *h;

	if (!ops)
		return NULL;
	h = calloc(1, sizeof(*h));
	h->m.access = hosted_access;
	h->m.destroy = hosted_destroy;
	h->m.accesses = params->accesses;
	h->m.nr_slots = params->nr_slots;
	h->words = calloc(params->nr_slots, sizeof(*h->words));
	h->slot_of = malloc(nr * sizeof(*h->slot_of));
	memset(h->slot_of, 0xff, nr * sizeof(*h->slot_of));
	h->id_of = malloc(params->nr_slots * sizeof(*h->id_of));
	h->block_of = malloc(params->nr_slots * sizeof(*h->block_of));
	h->ahead = params->ahead;
	if (h->ahead)
		h->by_block = sort_ids(params->accesses);
	if (params->absorb) {
		segments = (u64)params->nr_slots * params->absorb / 100;
		h->log = absorb_create(params->accesses, max(segments, 1u));
		h->m.finish = hosted_finish;
	}
	reserve_init(&h->reserve, params->nr_slots);
	h->free = malloc(params->nr_slots * sizeof(*h->free));
	for (i = 0; i < params->nr_slots; i++)
		h->free[h->nr_free++] = params->nr_slots - 1 - i;
	h->policy = policy_make(ops, &(struct cache_policy_params) {
		.nr_slots = params->nr_slots,
		.block_sectors = params->accesses->block_sectors,
		.origin_blocks = 1ull << 40,
		.rotational = params->rotational,
		.words = h->words,
		.word_stride = sizeof(*h->words),
	});
	if (!h->policy || apply(h, params->settings)) {
		hosted_destroy(&h->m);
		return NULL;
	}
	return &h->m;
}
