// SPDX-License-Identifier: GPL-2.0-only
/* The expected contents of a cache's metadata, kept as plain tables. */

#include "model.h"

const u32 model_version[3] = { 2, 0, 0 };

void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
}

static struct cmd_mapping map_block(struct model *m, u32 c, u64 *rng)
{
	m->mapped[c] = true;
	m->oblock[c] = ++m->salt << 12 | c;
	m->dirty[c] = one_in(rng, 2);
	return (struct cmd_mapping) {
		.oblock = m->oblock[c], .cblock = c, .dirty = m->dirty[c]
	};
}

static int insert(struct model *m, struct cmd *cmd, u64 *rng)
{
	struct cmd_mapping new = map_block(m, below(rng, m->cache_blocks), rng);

	return cmd_insert(cmd, new.cblock, new.oblock, new.dirty);
}

/* The last block, the one behind it, or any other. */
static u32 near_block(const struct model *m, u32 last, u64 *rng)
{
	if (one_in(rng, 10))
		return below(rng, m->cache_blocks);
	return one_in(rng, 10) ? last : (last + 1) % m->cache_blocks;
}

static int insert_many(struct model *m, struct cmd *cmd, u64 *rng)
{
	struct cmd_mapping maps[40];
	u32 nr = below(rng, ARRAY_SIZE(maps) + 1), c = below(rng, m->cache_blocks), i;

	for (i = 0; i < nr; i++) {
		c = near_block(m, c, rng);
		maps[i] = map_block(m, c, rng);
	}
	return cmd_insert_many(cmd, maps, nr);
}

static int remove_one(struct model *m, struct cmd *cmd, u64 *rng)
{
	u32 c = below(rng, m->cache_blocks);

	m->mapped[c] = false;
	m->dirty[c] = false;
	return cmd_remove(cmd, c);
}

static int set_dirty(struct model *m, struct cmd *cmd, u64 *rng)
{
	u32 c = below(rng, m->cache_blocks);
	bool dirty = one_in(rng, 2);
	int r = cmd_set_dirty(cmd, c, dirty);

	if (!m->mapped[c]) {
		assert_true(r == -ENODATA || r == -EIO);
		return r == -ENODATA ? 0 : r;
	}
	m->dirty[c] = dirty;
	return r;
}

/* A random subset of the mapped blocks among 64 neighbours. */
static int set_dirty_many(struct model *m, struct cmd *cmd, u64 *rng)
{
	u32 first = below(rng, m->cache_blocks) & ~63u;
	u64 mask = 0;

	for (u32 i = 0; i < 64 && first + i < m->cache_blocks; i++) {
		if (!m->mapped[first + i] || one_in(rng, 3))
			continue;
		mask |= 1ULL << i;
		m->dirty[first + i] = true;
	}
	return cmd_set_dirty_many(cmd, first, mask);
}

static void forget_hints(struct model *m)
{
	m->hints_valid = false;
	m->policy[0] = '\0';
}

static int resize(struct model *m, struct cmd *cmd, u64 *rng)
{
	static const u32 edges[] = { 0, 1, 509, 510, 1018, 1019, 2036 };
	u32 n = one_in(rng, 2) ? edges[below(rng, ARRAY_SIZE(edges))] :
				 below(rng, MODEL_BLOCKS);

	for (u32 c = n; c < m->cache_blocks; c++)
		m->mapped[c] = m->dirty[c] = false;
	for (u32 c = min(n, m->cache_blocks); c < MODEL_BLOCKS; c++)
		m->hint[c] = 0;
	if (!n)
		forget_hints(m);
	m->cache_blocks = n;
	return cmd_resize(cmd, n);
}

static int unmap_all(struct model *m, struct cmd *cmd)
{
	memset(m->mapped, 0, sizeof(m->mapped));
	memset(m->dirty, 0, sizeof(m->dirty));
	forget_hints(m);
	m->cache_blocks = 1;
	return cmd_unmap_all(cmd);
}

static int all_dirty(struct model *m, struct cmd *cmd)
{
	for (u32 c = 0; c < m->cache_blocks; c++)
		m->dirty[c] = m->mapped[c];
	return cmd_set_all_dirty(cmd);
}

static u32 hint_of(void *ctx, u32 cblock)
{
	struct model *m = ctx;

	return m->hint[cblock];
}

static int write_hints(struct model *m, struct cmd *cmd, u64 *rng)
{
	for (u32 c = 0; c < m->cache_blocks; c++)
		m->hint[c] = rnd(rng);
	for (u32 c = m->cache_blocks; c < MODEL_BLOCKS; c++)
		m->hint[c] = 0;
	m->hints_valid = true;
	strcpy(m->policy, one_in(rng, 2) ? "smq" : "fifteen-letters");
	return cmd_write_hints(cmd, m->policy, model_version, hint_of, m);
}

static int drop_hints(struct model *m, struct cmd *cmd)
{
	forget_hints(m);
	return cmd_drop_hints(cmd);
}

static int discard_geometry(struct model *m, struct cmd *cmd, u64 *rng)
{
	memset(m->discard, 0, sizeof(m->discard));
	/* large, so that the origin's end is behind every mapping */
	m->discard_size = 1ULL << (40 + below(rng, 4));
	m->nr_discards = below(rng, MODEL_DISCARDS);
	return cmd_set_discard_geometry(cmd, m->discard_size, m->nr_discards);
}

static int set_discard(struct model *m, struct cmd *cmd, u64 *rng)
{
	u64 d;

	if (!m->nr_discards)
		return 0;
	d = below(rng, m->nr_discards);
	m->discard[d] = one_in(rng, 2);
	return cmd_discard_set(cmd, d, m->discard[d]);
}

static bool discard_of(void *ctx, u64 d)
{
	struct model *m = ctx;

	return m->discard[d];
}

static int write_discards(struct model *m, struct cmd *cmd, u64 *rng)
{
	for (u64 d = 0; d < m->nr_discards; d++)
		m->discard[d] = one_in(rng, 3);
	return cmd_write_discards(cmd, discard_of, m);
}

static int set_record(struct model *m, struct cmd *cmd, u64 *rng)
{
	m->record_length = one_in(rng, 4) ? 0 : below(rng, CMD_RECORD_MAX + 1);
	for (u32 i = 0; i < m->record_length; i++)
		m->record[i] = rnd(rng);
	return cmd_record_set(cmd, m->record, m->record_length);
}

static int set_stats(struct model *m, struct cmd *cmd, u64 *rng)
{
	m->stats.read_hits = rnd(rng);
	m->stats.write_misses = rnd(rng);
	cmd_set_stats(cmd, &m->stats);
	return 0;
}

static int rare_step(struct model *m, struct cmd *cmd, u64 *rng)
{
	switch (below(rng, 10)) {
	case 0:
		return resize(m, cmd, rng);
	case 8:
		return unmap_all(m, cmd);
	case 1:
		return all_dirty(m, cmd);
	case 2:
	case 3:
		return write_hints(m, cmd, rng);
	case 4:
		return drop_hints(m, cmd);
	case 5:
		return discard_geometry(m, cmd, rng);
	case 6:
		return write_discards(m, cmd, rng);
	case 7:
		return set_record(m, cmd, rng);
	default:
		return set_stats(m, cmd, rng);
	}
}

int model_step(struct model *m, struct cmd *cmd, u64 *rng)
{
	u64 what = below(rng, 100);

	if (what < 5)
		return rare_step(m, cmd, rng);
	if (what < 10)
		return set_discard(m, cmd, rng);
	if (!m->cache_blocks)
		return resize(m, cmd, rng);
	if (what < 45)
		return insert(m, cmd, rng);
	if (what < 50)
		return insert_many(m, cmd, rng);
	if (what < 70)
		return remove_one(m, cmd, rng);
	if (what < 75)
		return set_dirty_many(m, cmd, rng);
	return set_dirty(m, cmd, rng);
}

struct matcher {
	const struct model *m;
	bool hints_wanted;
	u64 next;
};

static int match_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid)
{
	struct matcher *x = ctx;
	const struct model *m = x->m;

	for (; x->next < cblock; x->next++)
		if (m->mapped[x->next])
			return 1;
	x->next++;
	if (cblock >= m->cache_blocks || !m->mapped[cblock] ||
	    m->oblock[cblock] != oblock || m->dirty[cblock] != dirty ||
	    hint_valid != x->hints_wanted)
		return 1;
	return hint_valid && m->hint[cblock] != hint;
}

static bool mapping_matches(const struct model *m, struct cmd *cmd)
{
	struct matcher x = {
		.m = m,
		.hints_wanted = m->hints_valid && cmd_opened_clean(cmd),
	};

	if (cmd_cache_blocks(cmd) != m->cache_blocks)
		return false;
	if (strcmp(cmd_policy_name(cmd), m->policy))
		return false;
	if (cmd_load(cmd, m->policy, model_version, match_block, &x))
		return false;
	for (; x.next < m->cache_blocks; x.next++)
		if (m->mapped[x.next])
			return false;
	return true;
}

static int match_discard(void *ctx, u64 d)
{
	struct matcher *x = ctx;

	for (; x->next < d; x->next++)
		if (x->m->discard[x->next])
			return 1;
	x->next++;
	return d >= x->m->nr_discards || !x->m->discard[d];
}

static bool discards_match(const struct model *m, struct cmd *cmd)
{
	struct matcher x = { .m = m };
	u64 size, nr;

	cmd_discard_geometry(cmd, &size, &nr);
	if (size != m->discard_size || nr != m->nr_discards)
		return false;
	if (cmd_discards_load(cmd, match_discard, &x))
		return false;
	if (!cmd_opened_clean(cmd))
		return true;
	for (; x.next < m->nr_discards; x.next++)
		if (m->discard[x.next])
			return false;
	return true;
}

static bool record_matches(const struct model *m, struct cmd *cmd)
{
	u8 buf[CMD_RECORD_MAX];
	int r = cmd_record_get(cmd, buf, sizeof(buf));

	if (!m->record_length)
		return r == -ENODATA;
	return r == (int)m->record_length && !memcmp(buf, m->record, r);
}

bool model_matches(const struct model *m, struct cmd *cmd)
{
	struct cmd_stats s;

	cmd_get_stats(cmd, &s);
	return !memcmp(&s, &m->stats, sizeof(s)) && record_matches(m, cmd) &&
	       mapping_matches(m, cmd) && discards_match(m, cmd);
}
