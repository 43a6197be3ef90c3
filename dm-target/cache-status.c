// SPDX-License-Identifier: GPL-2.0-only
/*
 * Status lines and messages: what lvm2, dmsetup and their users read and say.
 *
 * The fields and their separators are a contract (one space each): lvm2 parses
 * the line with libdevmapper.  The words Error and Fail are never printed, because
 * lvm2 takes them to mean that nothing is left to flush.
 *
 * It owns the texts.  It must not know how what it prints has come about.
 */
#include "cache-engine.h"
#include "cache-status.h"
#include "cache-table.h"
#include "cache-verify.h"
#include "../policies/known-keys.h"

/* ---- Status ---- */

/* @format: of the metadata; @passdown: discards are passed to the origin. */
static unsigned int emit_features(struct cache_table *t, unsigned int format,
				  bool passdown, char *result,
				  unsigned int maxlen)
{
	unsigned int sz = 0;

	DMEMIT("%u ", 1 + (format == 2) + !passdown);
	if (format == 2)
		DMEMIT("metadata2 ");
	DMEMIT("%s ", cache_mode_names[t->mode]);
	if (!passdown)
		DMEMIT("no_discard_passdown ");
	return sz;
}

static unsigned int count_tunables(const struct cache_tunable *table)
{
	unsigned int nr = 0;

	while (table && table[nr].key)
		nr++;
	return nr;
}

static unsigned int emit_tunables(const struct cache_tunable *table,
				  const void *base, char *result,
				  unsigned int maxlen)
{
	const struct cache_tunable *tn;
	unsigned int sz = 0;

	for (tn = table; tn && tn->key; tn++)
		DMEMIT("%s %llu ", tn->key, cache_tunable_value(base, tn));
	return sz;
}

/*
 * The name that the table gave.  "default" is not the name of a policy: as in
 * the kernel's own target, the one that it stands for is printed.
 */
static const char *name_of_policy(const struct cache_table *t)
{
	return strcmp(t->policy_name, "default") ? t->policy_name :
						   t->policy_ops->name;
}

static unsigned int emit_policy(struct cache_table *t, struct cache *c,
				char *result, unsigned int maxlen)
{
	const struct cache_tunable *tunables;
	unsigned int nr_old, i, sz = 0;

	/* Another device may resume on the engine, with another policy. */
	spin_lock(&c->policy.lock);
	tunables = c->policy.ops->tunables;
	nr_old = strcmp(t->policy_name, "mq") ? 0 : ARRAY_SIZE(cache_stock_keys);
	DMEMIT("%s %u ", name_of_policy(t),
	       2 * (nr_old + count_tunables(tunables)));
	for (i = 0; i < nr_old; i++)
		DMEMIT("%s 0 ", cache_stock_keys[i]);
	sz += emit_tunables(tunables, c->policy.p, result + sz, maxlen - sz);
	spin_unlock(&c->policy.lock);
	return sz;
}

/* Can the cache do less than it was built for?  "ro" tells lvm2 so. */
static bool has_failed(struct cache *c)
{
	return !cache_writable(c) || READ_ONCE(c->degrade.fast_dead);
}

static void emit_info(struct cache_table *t, struct cache *c, char *result,
		      unsigned int maxlen)
{
	unsigned int sz = 0;
	u64 used, total;

	cmd_usage(c->md.cmd, &used, &total);
	DMEMIT("%u %llu/%llu %u %u/%u %u %u %u %u %u %u %u ",
	       CMD_BLOCK_SECTORS, used, total, c->geo.block_sectors,
	       cache_bypassed(c) ? 0 : atomic_read(&c->nr.resident),
	       c->map.nr_slots,
	       (u32)cache_stat_sum(c, STAT_READ_HITS),
	       (u32)cache_stat_sum(c, STAT_READ_MISSES),
	       (u32)cache_stat_sum(c, STAT_WRITE_HITS),
	       (u32)cache_stat_sum(c, STAT_WRITE_MISSES),
	       (u32)cache_stat_sum(c, STAT_DEMOTIONS),
	       (u32)cache_stat_sum(c, STAT_PROMOTIONS),
	       cache_nr_unsaved(c));
	sz += emit_features(t, cmd_format(c->md.cmd), c->state.discard_passdown,
			    result + sz, maxlen - sz);
	DMEMIT("%u ", 2 * count_tunables(cache_core_tunables));
	sz += emit_tunables(cache_core_tunables, c, result + sz, maxlen - sz);
	sz += emit_policy(t, c, result + sz, maxlen - sz);
	DMEMIT("%s %s", has_failed(c) ? "ro" : "rw",
	       cmd_needs_check(c->md.cmd) ? "needs_check " : "- ");
}

static void emit_table(struct cache_table *t, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, i;

	DMEMIT("%s %s %s", t->metadata->name, t->fast->name, t->origin->name);
	for (i = 0; i < t->argc; i++)
		DMEMIT(" %s", t->argv[i]);
}

static char yes_no(bool value)
{
	return value ? 'y' : 'n';
}

static void emit_ima(struct cache_table *t, struct cache *c, char *result,
		     unsigned int maxlen)
{
	unsigned int sz = 0;

	DMEMIT_TARGET_NAME_VERSION(t->ti->type);
	DMEMIT(",metadata_mode=%s", c && !cache_writable(c) ? "ro" : "rw");
	DMEMIT(",cache_metadata_device=%s", t->metadata->name);
	DMEMIT(",cache_device=%s", t->fast->name);
	DMEMIT(",cache_origin_device=%s", t->origin->name);
	DMEMIT(",writethrough=%c", yes_no(t->mode == MODE_WRITETHROUGH));
	DMEMIT(",writeback=%c", yes_no(t->mode == MODE_WRITEBACK));
	DMEMIT(",passthrough=%c", yes_no(t->mode == MODE_PASSTHROUGH));
	DMEMIT(",writearound=%c", yes_no(t->mode == MODE_WRITEAROUND));
	DMEMIT(",writeonly=%c", yes_no(t->mode == MODE_WRITEONLY));
	DMEMIT(",metadata2=%c", yes_no(t->format == 2));
	DMEMIT(",no_discard_passdown=%c;", yes_no(t->no_discard_passdown));
}

/*
 * The table is loaded and not resumed (yet, or because that failed), so nothing is
 * known of the metadata.  All may be dirty; never let lvm2 believe otherwise.
 */
static void emit_inactive_info(struct cache_table *t, char *result,
			       unsigned int maxlen)
{
	unsigned int sz = 0;

	DMEMIT("%u 0/0 %u %u/%u 0 0 0 0 0 0 %u ", CMD_BLOCK_SECTORS,
	       t->block_sectors, t->nr_slots, t->nr_slots, t->nr_slots);
	sz += emit_features(t, t->format, cache_passes_discards(t),
			    result + sz, maxlen - sz);
	DMEMIT("0 %s 0 ro - ", name_of_policy(t));
}

static void status_of(struct cache_table *t, struct cache *c,
		      status_type_t type, unsigned int flags, char *result,
		      unsigned int maxlen)
{
	switch (type) {
	case STATUSTYPE_INFO:
		if (!c) {
			emit_inactive_info(t, result, maxlen);
			return;
		}
		/*
		 * As in the kernel's own target: without noflush the status shows whether
		 * a commit works.
		 */
		if (!(flags & DM_STATUS_NOFLUSH_FLAG) && !dm_suspended(t->ti))
			cache_commit_sync(c);
		emit_info(t, c, result, maxlen);
		return;
	case STATUSTYPE_TABLE:
		emit_table(t, result, maxlen);
		return;
	case STATUSTYPE_IMA:
		emit_ima(t, c, result, maxlen);
		return;
	}
}

void cache_status(struct dm_target *ti, status_type_t type,
		  unsigned int flags, char *result, unsigned int maxlen)
{
	struct cache_table *t = ti->private;
	struct cache *c = cache_engine_borrow(t);

	status_of(t, c, type, flags, result, maxlen);
	if (c)
		cache_engine_return(c);
}

/* ---- Messages ---- */

struct block_range {
	u64 begin, end;
};

static int parse_range(struct cache *c, const char *word, struct block_range *r)
{
	char dummy;

	/* 18 digits cannot overflow. */
	if (sscanf(word, "%18llu-%18llu%c", &r->begin, &r->end, &dummy) == 2) {
		if (r->begin >= r->end) {
			DMERR("invalidate_cblocks: '%s' ends before it begins", word);
			return -EINVAL;
		}
	} else if (sscanf(word, "%18llu%c", &r->begin, &dummy) == 1) {
		r->end = r->begin + 1;
	} else {
		DMERR("invalidate_cblocks: '%s' is not a cache block or a range",
		      word);
		return -EINVAL;
	}
	if (r->begin >= c->map.nr_slots || r->end > c->map.nr_slots) {
		DMERR("invalidate_cblocks: '%s' is out of range, there are %u blocks",
		      word, c->map.nr_slots);
		return -EINVAL;
	}
	return 0;
}

static int invalidate_range(struct cache *c, const struct block_range *r)
{
	int error = 0;
	u32 slot;

	for (slot = r->begin; slot < r->end && !error; slot++) {
		if (!cache_unmap_has_room(c))
			error = cache_commit_sync(c);
		cache_begin_unmap(c, slot, ANY_BLOCK, false,
				  CACHE_REMOVED_INVALID);
		cond_resched();
	}
	return error;
}

/* As in the kernel's own target, a range is half open: 5-8 is 5, 6 and 7. */
static int invalidate_blocks(struct cache_table *t, struct cache *c,
			     unsigned int nr, char **words)
{
	struct block_range r;
	unsigned int i;
	int error = 0;

	if (t->mode != MODE_PASSTHROUGH) {
		DMERR("invalidate_cblocks: only in passthrough mode");
		return -EPERM;
	}
	for (i = 0; i < nr; i++)
		if (parse_range(c, words[i], &r))
			return -EINVAL;
	for (i = 0; i < nr && !error; i++) {
		parse_range(c, words[i], &r);
		error = invalidate_range(c, &r);
	}
	return error ? error : cache_commit_sync(c);
}

static int set_value(struct cache_table *t, struct cache *c, const char *key,
		     const char *value)
{
	const struct cache_tunable *tn;
	char why[CACHE_WHY_LEN], number[24];
	void *base;
	u64 v;

	if (!strcasecmp(key, "mode"))
		return cache_set_mode(t, value);
	tn = cache_setting_find(c, key, &base);
	if (!tn) {
		if (cache_policy_key_loaded(key))
			return 0;
		DMERR("unknown message or setting '%s'", key);
		return -EINVAL;
	}
	if (cache_tunable_parse(tn, value, &v, why, sizeof(why))) {
		DMERR("%s", why);
		return -EINVAL;
	}
	cache_tunable_set(base, tn, v);
	/* The number as parsed, because leading zeros take room in the record. */
	snprintf(number, sizeof(number), "%llu", v);
	return cache_setting_save(c, tn->key, number);
}

#define STAT_NAME(symbol, name, help, ...)				\
	[STAT_##symbol] = #name,
static const char * const stat_names[NR_CACHE_STATS] = {
	CACHE_COUNTERS(STAT_NAME, STAT_NAME)
};

#define LATENCY_NAME(symbol, name)					\
	[CACHE_LATENCY_##symbol] = #name,
static const char * const latency_names[NR_CACHE_LATENCIES] = {
	CACHE_LATENCIES(LATENCY_NAME)
};

static const char *health_name(struct cache *c)
{
	switch (READ_ONCE(c->state.health)) {
	case HEALTH_GOOD:
		break;
	case HEALTH_READ_ONLY:
		return "read-only";
	case HEALTH_HOLDING:
		return "holding";
	case HEALTH_BYPASS:
		return READ_ONCE(c->degrade.unfenced) ? "bypass-unfenced" :
							"bypass";
	}
	return READ_ONCE(c->degrade.fast_dead) ? "cache-device-failed" : "good";
}

static const char * const origin_names[] = {
	[ORIGIN_UNCHECKED] = "unchecked",
	[ORIGIN_SAME] = "same",
	[ORIGIN_CHANGED] = "changed",
	[ORIGIN_CACHE_KEPT] = "cache-kept",
	[ORIGIN_KEPT] = "origin-kept",
};

static const char * const log_state_names[] = {
	[CACHE_LOG_OFF] = "off",
	[CACHE_LOG_ON] = "on",
	[CACHE_LOG_DRAINS] = "drains",
	[CACHE_LOG_UNKNOWN] = "unknown",
};

/*
 * Slots that may hold blocks now: all but those that the write log has, that were
 * retired, or that the reserve keeps free.
 */
static u32 data_slots(struct cache *c)
{
	struct cache_log *log = READ_ONCE(c->log);
	u64 others = cache_reserve_now(c) + slot_map_nr_kept(&c->map) +
		     cache_stat_sum(c, STAT_RETIRED_BLOCKS);

	if (log)
		others += atomic_read(&log->room.nr_segments);
	return c->map.nr_slots - min_t(u64, others, c->map.nr_slots);
}

static unsigned int emit_log(struct cache *c, char *result, unsigned int maxlen)
{
	struct cache_log *log = READ_ONCE(c->log);
	unsigned int sz = 0;

	if (!log)
		return 0;
	DMEMIT("log %s\n", READ_ONCE(log->life.failed) ? "failed" :
	       log_state_names[READ_ONCE(log->life.state)]);
	DMEMIT("log_segments %d\n", atomic_read(&log->room.nr_segments));
	DMEMIT("log_blocks %lld\n", (s64)atomic64_read(&log->ix.nr_blocks));
	DMEMIT("log_extents %llu\n", READ_ONCE(log->ix.nr_ring));
	DMEMIT("log_unlogged %lld\n", (s64)atomic64_read(&log->ix.nr_unlogged));
	DMEMIT("log_bytes %lld\n", (s64)atomic64_read(&log->ix.bytes));
	return sz;
}

static unsigned int emit_latencies(struct cache *c, char *result,
				   unsigned int maxlen)
{
	unsigned int sz = 0, kind, i;

	for (kind = 0; kind < NR_CACHE_LATENCIES; kind++) {
		DMEMIT("latency_%s", latency_names[kind]);
		for (i = 0; i < CACHE_LATENCY_BUCKETS; i++)
			DMEMIT(" %llu", cache_latency_sum(c, kind, i));
		DMEMIT("\n");
	}
	return sz;
}

static int report_stats(struct cache *c, char *result, unsigned int maxlen)
{
	unsigned int sz = 0, i;

	DMEMIT("mode %s\n", cache_mode_names[READ_ONCE(c->state.mode)]);
	DMEMIT("health %s\n", health_name(c));
	DMEMIT("origin %s\n", origin_names[c->checked.state]);
	for (i = 0; i < NR_CACHE_STATS; i++)
		DMEMIT("%s %llu\n", stat_names[i], cache_stat_sum(c, i));
	DMEMIT("intents_held %u\n", atomic_read(&c->nr.intents));
	DMEMIT("free_slots %u\n", READ_ONCE(c->map.nr_free));
	DMEMIT("data_slots %u\n", data_slots(c));
	sz += emit_latencies(c, result + sz, maxlen - sz);
	emit_log(c, result + sz, maxlen - sz);
	return 1;
}

struct stats_text {
	char *result;
	unsigned int maxlen, sz;
};

static void emit_policy_stat(void *ctx, const char *name, s64 value)
{
	struct stats_text *text = ctx;
	char *result = text->result;
	unsigned int maxlen = text->maxlen, sz = text->sz;

	DMEMIT("%s %lld\n", name, value);
	text->sz = sz;
}

/* The policy stays, because the device is not suspended; see message_to_running(). */
static int report_policy_stats(struct cache *c, char *result,
			       unsigned int maxlen)
{
	struct stats_text text = { result, maxlen, 0 };
	unsigned int sz = 0;

	DMEMIT("policy %s\n", c->policy.ops->name);
	text.sz = sz;
	if (!c->policy.ops->stats)
		return 1;
	spin_lock(&c->policy.lock);
	c->policy.ops->stats(c->policy.p, emit_policy_stat, &text);
	spin_unlock(&c->policy.lock);
	return 1;
}

/* "verify FIRST [drop]" */
static int verify(struct cache *c, unsigned int argc, char **argv, char *result,
		  unsigned int maxlen)
{
	bool drop = argc == 3 && !strcasecmp(argv[2], "drop");
	struct verify_result found;
	unsigned int sz = 0;
	u32 first;
	int r;

	if (argc != 2 + drop || kstrtou32(argv[1], 10, &first) ||
	    first >= c->map.nr_slots) {
		DMERR("message 'verify': takes a cache block below %u, and perhaps 'drop'",
		      c->map.nr_slots);
		return -EINVAL;
	}
	r = cache_verify(c, first, drop, &found);
	if (r)
		return r;
	DMEMIT("next %u\ntotal %u\nequal %u\nskipped %u\nunreadable %u\ndiffer %u\ndropped %u\n",
	       found.next, c->map.nr_slots, found.nr_equal, found.nr_skipped,
	       found.nr_unreadable, found.nr_differ, found.nr_dropped);
	if (found.slot != SLOT_NONE)
		DMEMIT("slot %u\nblock %llu\n", found.slot, found.block);
	return 1;
}

/* A cache that has failed takes only one message that changes something. */
static int message_to_failed(struct cache *c, unsigned int argc, char **argv)
{
	if (READ_ONCE(c->state.health) == HEALTH_HOLDING && argc == 2 &&
	    !strcasecmp(argv[0], "fail_open") && !strcmp(argv[1], "1")) {
		cache_set_fail_open(c);
		return 0;
	}
	DMERR("message '%s': the cache has failed and takes no settings",
	      argv[0]);
	return -EINVAL;
}

/* A suspend waits for this call, and so does a new engine. */
static int message_to_running(struct cache_table *t, struct cache *c,
			      unsigned int argc, char **argv, char *result,
			      unsigned int maxlen)
{
	if (dm_suspended(t->ti)) {
		DMERR("message '%s': the device is suspended", argv[0]);
		return -EBUSY;
	}
	if (argc == 1 && !strcasecmp(argv[0], "policy_stats"))
		return report_policy_stats(c, result, maxlen);
	if (has_failed(c))
		return message_to_failed(c, argc, argv);
	if (!strcasecmp(argv[0], "verify"))
		return verify(c, argc, argv, result, maxlen);
	if (!strcasecmp(argv[0], "invalidate_cblocks"))
		return invalidate_blocks(t, c, argc - 1, argv + 1);
	if (argc != 2) {
		DMERR("message '%s': takes one value", argv[0]);
		return -EINVAL;
	}
	return set_value(t, c, argv[0], argv[1]);
}

static int message_to(struct cache_table *t, struct cache *c,
		      unsigned int argc, char **argv, char *result,
		      unsigned int maxlen)
{
	int r;

	if (argc == 1 && !strcasecmp(argv[0], "stats"))
		return report_stats(c, result, maxlen);

	down_read(&t->messages);
	r = message_to_running(t, c, argc, argv, result, maxlen);
	up_read(&t->messages);
	return r;
}

int cache_message(struct dm_target *ti, unsigned int argc, char **argv,
		  char *result, unsigned int maxlen)
{
	struct cache_table *t = ti->private;
	struct cache *c = cache_engine_borrow(t);
	int r;

	if (!c) {
		DMERR("message '%s': the table was never resumed", argv[0]);
		return -EINVAL;
	}
	r = message_to(t, c, argc, argv, result, maxlen);
	cache_engine_return(c);
	return r;
}
