// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table line: parsing and refusing.
 *
 *   <metadata dev> <cache dev> <origin dev> <block sectors>
 *   <#features> [<feature>]*
 *   <policy> <#policy args> [<key> <value>]*
 *
 * It opens devices and policy modules and otherwise has no effect: a table may
 * be loaded while another one with the same metadata is live.  It owns the table's
 * words and what they have opened.  It must not know of engines.
 */
#include "cache-table.h"

#include <linux/module.h>

struct parser {
	struct cache_table *t;
	struct dm_arg_set args;
};

static __printf(2, 3) int refuse(struct cache_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vscnprintf(t->why, sizeof(t->why), fmt, ap);
	va_end(ap);
	/*
	 * Logged here, because the text goes with the table, which is freed before
	 * device-mapper prints ti->error.
	 */
	DMERR("%s", t->why);
	return -EINVAL;
}

static char * const refused = "Invalid cache table (see the line above)";

void cache_table_refuse_metadata(struct cache_table *t, const char *why)
{
	refuse(t, "Metadata: %s", why);
	t->ti->error = refused;
}

static int need_args(struct parser *p, unsigned int nr, const char *what)
{
	if (p->args.argc >= nr)
		return 0;
	return refuse(p->t, "Missing argument: %s", what);
}

static int open_device(struct parser *p, const char *what, fmode_t mode,
		       struct dm_dev **dev)
{
	const char *path;
	int r;

	r = need_args(p, 1, what);
	if (r)
		return r;
	path = dm_shift_arg(&p->args);
	r = dm_get_device(p->t->ti, path, mode, dev);
	if (r) {
		refuse(p->t, "Error opening %s %s", what, path);
		return r;
	}
	return 0;
}

static int parse_devices(struct parser *p)
{
	struct cache_table *t = p->t;
	int r;

	r = open_device(p, "metadata device", FMODE_READ | FMODE_WRITE,
			&t->metadata);
	if (r)
		return r;
	r = open_device(p, "cache device", FMODE_READ | FMODE_WRITE, &t->fast);
	if (r)
		return r;
	r = open_device(p, "origin device", FMODE_READ | FMODE_WRITE,
			&t->origin);
	if (r)
		return r;

	if (bdev_nr_sectors(t->origin->bdev) < t->ti->len)
		return refuse(t, "Device size larger than cached device");
	if (t->metadata->bdev == t->fast->bdev ||
	    t->metadata->bdev == t->origin->bdev ||
	    t->fast->bdev == t->origin->bdev)
		return refuse(t, "Metadata, cache and origin must be three devices");
	return 0;
}

/*
 * Count the arrays of mappings, dirty bits and hints, each with a second copy
 * while it is rewritten, and the blocks that every metadata has.  An array block
 * has 509 mappings, 32,576 dirty bits or 1,018 hints; a node of the mapping's tree
 * points to 126 array blocks at least.
 */
static u64 metadata_blocks_needed(u32 nr_slots)
{
	return 2 * DIV_ROUND_UP(nr_slots, 509) + 2 * DIV_ROUND_UP(nr_slots, 1018) +
	       2 * DIV_ROUND_UP(nr_slots, 32576) + nr_slots / (509 * 126) + 8;
}

static int check_metadata_room(struct cache_table *t)
{
	u64 have = bdev_nr_sectors(t->metadata->bdev) / CMD_BLOCK_SECTORS;
	u64 need = metadata_blocks_needed(t->nr_slots);

	if (have >= need)
		return 0;
	return refuse(t, "Metadata device too small: %llu KiB, %u cache blocks need %llu KiB",
		      have * 4, t->nr_slots, need * 4);
}

static int parse_block_size(struct parser *p)
{
	struct cache_table *t = p->t;
	const char *word;
	unsigned int sectors;
	u64 slots;
	int r;

	r = need_args(p, 1, "block size");
	if (r)
		return r;
	word = dm_shift_arg(&p->args);
	if (kstrtouint(word, 10, &sectors) ||
	    sectors < CACHE_BLOCK_MIN_SECTORS ||
	    sectors > CACHE_BLOCK_MAX_SECTORS ||
	    sectors % CACHE_BLOCK_MULTIPLE)
		return refuse(t, "Invalid data block size '%s': must be %u..%u sectors, a multiple of %u",
			      word, CACHE_BLOCK_MIN_SECTORS,
			      CACHE_BLOCK_MAX_SECTORS, CACHE_BLOCK_MULTIPLE);

	slots = div_u64(bdev_nr_sectors(t->fast->bdev), sectors);
	if (!slots)
		return refuse(t, "Cache device too small: less than one block of %u sectors",
			      sectors);
	if (slots > SLOT_MAX_NR)
		return refuse(t, "Cache device has more than %u blocks of %u sectors",
			      SLOT_MAX_NR, sectors);
	t->block_sectors = sectors;
	t->nr_slots = slots;
	return check_metadata_room(t);
}

static int parse_feature(struct cache_table *t, const char *word, bool *mode_set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cache_mode_names); i++) {
		if (strcasecmp(word, cache_mode_names[i]))
			continue;
		if (*mode_set)
			return refuse(t, "Duplicate cache io_mode features requested");
		*mode_set = true;
		t->mode = i;
		return 0;
	}
	if (!strcasecmp(word, "metadata2")) {
		t->format = 2;
		return 0;
	}
	if (!strcasecmp(word, "no_discard_passdown")) {
		t->no_discard_passdown = true;
		return 0;
	}
	return refuse(t, "Unrecognised cache feature requested: '%s'", word);
}

static int shift_count(struct parser *p, const char *what, unsigned int max,
		       unsigned int *count)
{
	const char *word;
	int r;

	r = need_args(p, 1, what);
	if (r)
		return r;
	word = dm_shift_arg(&p->args);
	if (kstrtouint(word, 10, count) || *count > max)
		return refuse(p->t, "Invalid number of %s '%s': must be 0..%u",
			      what, word, max);
	return need_args(p, *count, what);
}

static int parse_features(struct parser *p)
{
	bool mode_set = false;
	unsigned int nr;
	int r;

	r = shift_count(p, "feature arguments", 3, &nr);
	while (!r && nr--)
		r = parse_feature(p->t, dm_shift_arg(&p->args), &mode_set);
	return r;
}

static int parse_setting(struct cache_table *t, const char *key,
			 const char *value)
{
	struct cache_setting *s = &t->settings[t->nr_settings];
	char why[CACHE_WHY_LEN];

	s->tunable = cache_tunable_find(cache_core_tunables, key);
	if (!s->tunable)
		s->tunable = cache_tunable_find(t->policy_ops->tunables, key);
	if (s->tunable) {
		if (cache_tunable_parse(s->tunable, value, &s->value, why,
					sizeof(why)))
			return refuse(t, "Policy %s: %s", t->policy_name, why);
		t->nr_settings++;
		return 0;
	}
	/* lvm2 keeps the settings of one policy when it changes to another. */
	if (cache_policy_key_known(key))
		return 0;
	return refuse(t, "Policy %s: unknown setting '%s'", t->policy_name, key);
}

static int parse_policy(struct parser *p)
{
	struct cache_table *t = p->t;
	const char *key, *name;
	unsigned int nr;
	int r;

	r = need_args(p, 1, "policy name");
	if (r)
		return r;
	name = dm_shift_arg(&p->args);
	t->policy_ops = cache_policy_get(name);
	if (!t->policy_ops)
		return refuse(t, "Unknown cache policy '%s': no module dm-cache-%s",
			      name, name);
	strscpy(t->policy_name, name, sizeof(t->policy_name));

	r = shift_count(p, "policy arguments", 2 * CACHE_MAX_SETTINGS, &nr);
	if (r)
		return r;
	if (nr % 2)
		return refuse(t, "Policy arguments must be <key> <value> pairs");
	for (; nr; nr -= 2) {
		key = dm_shift_arg(&p->args);
		r = parse_setting(t, key, dm_shift_arg(&p->args));
		if (r)
			return r;
	}
	if (p->args.argc)
		return refuse(t, "Surplus argument '%s' after the policy's",
			      p->args.argv[0]);
	return 0;
}

static int keep_words(struct cache_table *t, unsigned int argc, char **argv)
{
	unsigned int i;

	t->argv = kcalloc(argc, sizeof(*t->argv), GFP_KERNEL);
	if (!t->argv)
		return -ENOMEM;
	t->argc = argc;
	for (i = 0; i < argc; i++) {
		t->argv[i] = kstrdup(argv[i], GFP_KERNEL);
		if (!t->argv[i])
			return -ENOMEM;
	}
	return 0;
}

static int parse(struct parser *p, unsigned int argc, char **argv)
{
	int r;

	r = parse_devices(p);
	if (r)
		return r;
	r = keep_words(p->t, p->args.argc, p->args.argv);
	if (r)
		return r;
	r = parse_block_size(p);
	if (r)
		return r;
	r = parse_features(p);
	if (r)
		return r;
	return parse_policy(p);
}

/*
 * As in the kernel's own target, an origin that takes no discards, or less than a
 * block at a time, gets none, even if the table does not forbid them.
 */
bool cache_passes_discards(const struct cache_table *t)
{
	return !t->no_discard_passdown &&
	       bdev_max_discard_sectors(t->origin->bdev) >= t->block_sectors;
}

void cache_table_free(struct cache_table *t)
{
	unsigned int i;

	for (i = 0; t->argv && i < t->argc; i++)
		kfree(t->argv[i]);
	kfree(t->argv);
	if (t->policy_ops)
		cache_policy_put(t->policy_ops);
	if (t->origin)
		dm_put_device(t->ti, t->origin);
	if (t->fast)
		dm_put_device(t->ti, t->fast);
	if (t->metadata)
		dm_put_device(t->ti, t->metadata);
	kfree(t);
}

int cache_table_parse(struct dm_target *ti, unsigned int argc, char **argv,
		      struct cache_table **result)
{
	struct parser p = { .args = { .argc = argc, .argv = argv } };
	int r;

	p.t = kzalloc(sizeof(*p.t), GFP_KERNEL);
	if (!p.t) {
		ti->error = "Cannot allocate the table";
		return -ENOMEM;
	}
	p.t->ti = ti;
	INIT_LIST_HEAD(&p.t->running);
	init_rwsem(&p.t->messages);
	p.t->format = 1;
	p.t->mode = MODE_WRITETHROUGH;

	r = parse(&p, argc, argv);
	if (r) {
		ti->error = refused;
		cache_table_free(p.t);
		return r;
	}
	*result = p.t;
	return 0;
}
