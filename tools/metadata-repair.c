// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repair of metadata: the writer and the report.
 *
 * Owns the order in which the output is written.  Block 0 holds no metadata from
 * the first write to the last; so no program takes an unfinished output for
 * metadata, and none formats it.  All writes go through the schema, as in the
 * kernel.
 *
 * The output is marked as shut down cleanly, because every dirty bit in it is
 * true, and needs no check, because it was verified.
 */

#include "exclusive.h"
#include "metadata-check.h"
#include "metadata-repair.h"
#include "why.h"
#include "../metadata/cache-metadata-disk.h"
#include "../persistent-data/pd-array.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- Storage whose block 0 is kept back ---- */

struct held {
	struct pd_backend below;
	u8 superblock[PD_BLOCK_SIZE];
};

static int held_read(void *ctx, u64 block, void *data)
{
	struct held *h = ctx;

	if (block)
		return h->below.read(h->below.ctx, block, data);
	memcpy(data, h->superblock, PD_BLOCK_SIZE);
	return 0;
}

static int held_write(void *ctx, u64 block, const void *data)
{
	struct held *h = ctx;

	if (block)
		return h->below.write(h->below.ctx, block, data);
	memcpy(h->superblock, data, PD_BLOCK_SIZE);
	return 0;
}

static int held_flush(void *ctx)
{
	struct held *h = ctx;

	return h->below.flush(h->below.ctx);
}

static u64 held_nr_blocks(void *ctx)
{
	struct held *h = ctx;

	return h->below.nr_blocks(h->below.ctx);
}

static int hold_superblock(struct held *h, const struct pd_backend *out,
			   struct pd_device **dev)
{
	struct pd_backend be = {
		.read = held_read,
		.write = held_write,
		.flush = held_flush,
		.nr_blocks = held_nr_blocks,
		.ctx = h,
	};

	h->below = *out;
	memset(h->superblock, 0, sizeof(h->superblock));
	return pd_device_open_backend(&be, false, dev);
}

static int write_block_0(const struct pd_backend *out, const void *data)
{
	int r = out->write(out->ctx, 0, data);

	return r ? r : out->flush(out->ctx);
}

/* ---- Room ---- */

#define NODE_ENTRIES	252u	/* a node of 4 KiB has room for 254; a multiple of 3 */

/* Nodes of a tree that was filled in ascending order, so each was split in halves. */
static u64 nodes_for(u64 entries)
{
	u64 leaves;

	if (entries <= NODE_ENTRIES)
		return 1;
	leaves = 1 + DIV_ROUND_UP(entries - NODE_ENTRIES, NODE_ENTRIES / 2);
	return leaves + nodes_for(leaves);
}

static u64 blocks_for(u64 values, u32 value_size)
{
	u32 per = (PD_BLOCK_SIZE - sizeof(struct pd_array_block)) / value_size;
	u64 n = DIV_ROUND_UP(values, per);

	return n + nodes_for(n);
}

/*
 * The blocks that the writer needs on a device of @nr_blocks: superblock and
 * overflow tree; space map and roots as formatted, which stay until a commit has
 * replaced them; and their replacement, with all arrays.
 */
static u64 blocks_needed(const struct salvage *s, u64 nr_blocks)
{
	u64 n = max(s->cache_blocks, 1u);
	u64 maps = DIV_ROUND_UP(nr_blocks, PD_BITMAP_ENTRIES);
	u64 need = 2 + 2 * (maps + 1) + 3 + (s->format == 2);

	need += blocks_for(n, 8) + blocks_for(n, CMD_HINT_SIZE);
	if (s->format == 2)
		need += blocks_for(pd_bitset_words(n), 8);
	if (s->discard_bits)
		need += blocks_for(pd_bitset_words(s->discard_bits), 8);
	return need;
}

static int check_room(struct salvage *s, u64 nr_blocks)
{
	u64 have = min_t(u64, nr_blocks, PD_MAX_BLOCKS);
	u64 need = blocks_needed(s, have);

	if (need <= have)
		return 0;
	return salvage_fail(s, -ENOSPC,
			    "the output has %llu blocks of 4 KiB, and %llu are needed; nothing was written",
			    nr_blocks, need);
}

/* ---- Writing ---- */

static u32 hint_of(void *ctx, u32 cblock)
{
	return ((struct salvage *)ctx)->hint[cblock];
}

static bool discard_of(void *ctx, u64 bit)
{
	return ((struct salvage *)ctx)->discards[bit / 64] >> (bit % 64) & 1;
}

/* A block whose dirty bit is not certain is dirty. */
static bool is_dirty(u8 state)
{
	return !(state & SALVAGE_DIRTY_CERTAIN) || state & SALVAGE_DIRTY;
}

static int write_mappings(struct salvage *s, struct cmd *cmd)
{
	int r = 0;

	for (u32 i = 0; i < s->cache_blocks && !r; i++) {
		if (i % 65536 == 0)
			salvage_progress(s, "write", i, s->cache_blocks);
		if (s->state[i] & SALVAGE_MAPPED)
			r = cmd_insert(cmd, i, s->oblock[i],
				       is_dirty(s->state[i]));
	}
	return r;
}

static int write_all(struct salvage *s, struct cmd *cmd)
{
	int r = cmd_resize(cmd, max(s->cache_blocks, 1u));

	if (!r)
		r = write_mappings(s, cmd);
	if (!r && s->hint)
		r = cmd_write_hints(cmd, s->policy, s->policy_version, hint_of,
				    s);
	if (!r && s->discard_bits)
		r = cmd_set_discard_geometry(cmd, s->discard_sectors,
					     s->discard_bits);
	if (!r && s->discard_bits)
		r = cmd_write_discards(cmd, discard_of, s);
	if (!r && s->record_length)
		r = cmd_record_set(cmd, s->record, s->record_length);
	if (!r)
		r = cmd_set_log_flag(cmd, s->write_log);
	if (r)
		return r;
	cmd_set_stats(cmd, &s->stats);
	return cmd_commit(cmd, true);
}

/* ---- Verifying ---- */

struct verifier {
	const struct salvage *s;
	u32 nr;
};

static int compare(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		   bool hint_valid)
{
	struct verifier *v = ctx;
	const struct salvage *s = v->s;

	v->nr++;
	if (cblock >= s->cache_blocks ||
	    !(s->state[cblock] & SALVAGE_MAPPED) ||
	    s->oblock[cblock] != oblock || is_dirty(s->state[cblock]) != dirty ||
	    hint_valid != !!s->hint || (hint_valid && s->hint[cblock] != hint))
		return -EILSEQ;
	return 0;
}

static int verify(const struct salvage *s, struct cmd *cmd)
{
	struct verifier v = { .s = s };
	struct metadata_faults f;
	int r = metadata_find_faults(cmd, NULL, NULL, &f);

	if (!r && (f.damage || f.leaks || cmd_log_flag(cmd) != s->write_log))
		r = -EILSEQ;
	if (!r)
		r = cmd_load(cmd, s->policy, s->policy_version, compare, &v);
	if (!r && v.nr != s->result->mapped)
		r = -EILSEQ;
	return r;
}

static int open_again(struct salvage *s, struct pd_device *dev)
{
	const struct cmd_geometry any = { 0 };
	struct cmd *cmd;
	const char *why;
	int r = cmd_open(dev, &any, &cmd, &why);

	if (!r) {
		r = verify(s, cmd);
		cmd_close(cmd);
	}
	if (r)
		return salvage_fail(s, r, "the output does not read as it was written: %s; it holds no metadata",
				    metadata_error(r));
	return 0;
}

static int write_output(struct salvage *s, struct pd_device *dev)
{
	struct cmd_geometry g = {
		.data_block_size = s->block_size,
		.format = s->format,
		.may_format = true,
	};
	struct cmd *cmd;
	const char *why;
	int r = cmd_open(dev, &g, &cmd, &why);

	if (r)
		return salvage_fail(s, r, "the output cannot be written: %s: %s",
				    why, metadata_error(r));
	r = write_all(s, cmd);
	cmd_close(cmd);
	if (r)
		return salvage_fail(s, r, "the output cannot be written: %s; it holds no metadata",
				    metadata_error(r));
	salvage_progress(s, "write", 1, 1);
	return open_again(s, dev);
}

static int write_safely(struct salvage *s, const struct pd_backend *out)
{
	static const char unfinished[PD_BLOCK_SIZE] =
		"hearth-metadata repair began to write here and did not finish.\n";
	struct pd_device *dev;
	struct held *h = malloc(sizeof(*h));
	int r;

	if (!h || hold_superblock(h, out, &dev)) {
		free(h);
		return salvage_fail(s, -ENOMEM, "no memory");
	}
	r = write_block_0(out, unfinished);
	if (r)
		salvage_fail(s, r, "the output cannot be written: %s",
			     metadata_error(r));
	else
		r = write_output(s, dev);
	if (!r) {
		r = write_block_0(out, h->superblock);
		if (r)
			salvage_fail(s, r, "the output's superblock cannot be written: %s",
				     metadata_error(r));
	}
	pd_device_close(dev);
	free(h);
	return r;
}

/* ---- The report ---- */

static bool is_lost_dirty(u8 state)
{
	return !(state & SALVAGE_CERTAIN) && state & SALVAGE_DIRTY &&
	       state & SALVAGE_DIRTY_CERTAIN;
}

static bool is_lost_perhaps_dirty(u8 state)
{
	return !(state & SALVAGE_CERTAIN) && !(state & SALVAGE_DIRTY_CERTAIN);
}

static bool is_lost_clean(u8 state)
{
	return !(state & SALVAGE_CERTAIN) && !is_dirty(state);
}

static bool is_made_dirty(u8 state)
{
	return state & SALVAGE_MAPPED && !(state & SALVAGE_DIRTY_CERTAIN);
}

/* Lists the blocks that @is is true for, as ranges, in lines that begin with @label. */
static u32 list(struct salvage *s, const char *label, bool (*is)(u8 state))
{
	char line[128] = "";
	u32 nr = 0, end;
	size_t len = 0;

	for (u32 i = 0; i < s->cache_blocks; i = end + 1) {
		end = i;
		if (!is(s->state[i]))
			continue;
		while (end + 1 < s->cache_blocks && is(s->state[end + 1]))
			end++;
		nr += end - i + 1;
		len += snprintf(line + len, sizeof(line) - len,
				end > i ? " %u-%u" : " %u", i, end);
		if (len > 50) {
			salvage_say(s, "%s:%s", label, line);
			len = 0;
		}
	}
	if (len)
		salvage_say(s, "%s:%s", label, line);
	return nr;
}

static void report(struct salvage *s)
{
	struct repair_result *res = s->result;
	u32 clean;

	for (u32 i = 0; i < s->cache_blocks; i++)
		if (s->state[i] & SALVAGE_MAPPED) {
			res->mapped++;
			res->dirty += is_dirty(s->state[i]);
		}
	res->made_dirty = list(s, "dirty, because that is not known",
			       is_made_dirty);
	clean = list(s, "not mapped any more, and was not dirty",
		     is_lost_clean);
	res->lost_dirty = list(s, "lost, and was dirty", is_lost_dirty);
	res->lost_dirty += list(s, "lost, and may have been dirty",
				is_lost_perhaps_dirty);
	res->lost = clean + res->lost_dirty;
}

static void summarise(struct salvage *s)
{
	const struct repair_result *res = s->result;

	salvage_say(s, "format %u, mapped %u of %u cache blocks, dirty %u, lost %u%s",
		    s->format, res->mapped, s->cache_blocks, res->dirty,
		    res->lost_dirty,
		    s->damage ? "" : "; no damage was found");
	if (s->write_log)
		salvage_say(s, "a write log is in use, and the output says so; its data stay on the cache device");
}

/* ---- The repair ---- */

int metadata_repair(struct pd_device *in, const struct pd_backend *out,
		    const struct repair_options *o,
		    struct repair_result *result)
{
	struct salvage s = { .o = o, .result = result };
	int r;

	memset(result, 0, sizeof(*result));
	r = salvage_read(&s, in);
	if (!r)
		r = check_room(&s, out->nr_blocks(out->ctx));
	if (!r) {
		report(&s);
		r = write_safely(&s, out);
	}
	if (!r)
		summarise(&s);
	salvage_free(&s);
	return r;
}

static int device_of_fd(int fd, struct pd_device **dev)
{
	struct pd_backend be;
	int r = pd_backend_of_fd(fd, &be);

	if (r)
		return r;
	r = pd_device_open_backend(&be, true, dev);
	if (r)
		free(be.ctx);
	return r;
}

static int repair_open_files(int in_fd, int out_fd,
			     const struct repair_options *o,
			     struct repair_result *result)
{
	struct pd_backend out;
	struct pd_device *in;
	int r = device_of_fd(in_fd, &in);

	if (r) {
		close(in_fd);
		close(out_fd);
		return why_failed(result->why, sizeof(result->why), r, "no memory");
	}
	r = pd_backend_of_fd(out_fd, &out);
	if (r) {
		close(out_fd);
		why_failed(result->why, sizeof(result->why), r, "no memory");
	} else {
		r = metadata_repair(in, &out, o, result);
		out.close(out.ctx);
	}
	pd_device_close(in);
	return r;
}

int metadata_repair_files(const char *in, const char *out,
			  const struct repair_options *o,
			  struct repair_result *result)
{
	int in_fd, out_fd, r;

	memset(result, 0, sizeof(*result));
	if (exclusive_same(in, out))
		return why_failed(result->why, sizeof(result->why), -EINVAL,
			      "%s and %s are the same; the output has to be another device",
			      in, out);
	r = exclusive_open(in, O_RDONLY, &in_fd, result->why,
			   sizeof(result->why));
	if (r)
		return r;
	r = exclusive_open(out, O_RDWR, &out_fd, result->why,
			   sizeof(result->why));
	if (r) {
		close(in_fd);
		return r;
	}
	return repair_open_files(in_fd, out_fd, o, result);
}
