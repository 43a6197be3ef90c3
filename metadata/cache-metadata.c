// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cache's metadata schema: what is stored in the superblock and in the
 * arrays that hang off it (mapping, dirty bits, hints, discard bits).
 *
 * This file owns the superblock and the order of a commit. It must not know
 * about bios, slots, policies' internals or the device-mapper; the same source
 * is compiled into user-space tests and tools.
 *
 * It keeps three copies of the superblock: the one last committed, the one that
 * the calls since then made of it, and room to prepare the next one. On the
 * disk the superblock changes as a whole only, after everything that it points
 * to is durable.
 */

#include "cache-metadata.h"
#include "cache-metadata-disk.h"
#include "../persistent-data/pd-array.h"

struct cmd {
	struct pd_device *dev;
	struct pd_tm tm;
	struct pd_array_place in_mapping;	/* forgotten with the transaction */
	struct pd_array_place in_dirty;		/* likewise */
	struct cmd_superblock *sb;
	struct cmd_superblock *committed;
	struct cmd_superblock *next;
	u32 record_length;	/* 0: none */
	u8 record[CMD_RECORD_MAX];
	bool formatted;
	bool opened_clean;
	bool needs_check;
	bool failed;		/* only cmd_abort() makes it usable again */
	u32 shown_used;		/* for cmd_usage(), which takes no lock */
	u32 shown_blocks;
};

#define SB_FIXED_BYTES	offsetof(struct cmd_superblock, record)

static void check_layout(void)
{
	BUILD_BUG_ON(sizeof(struct cmd_superblock) != PD_BLOCK_SIZE);
	BUILD_BUG_ON(offsetof(struct cmd_superblock, sm_root) != 64);
	BUILD_BUG_ON(offsetof(struct cmd_superblock, mapping_root) != 192);
	BUILD_BUG_ON(offsetof(struct cmd_superblock, dirty_root) != 284);
	BUILD_BUG_ON(SB_FIXED_BYTES != 292);
	BUILD_BUG_ON(offsetof(struct cmd_superblock, unused) != 512);
	BUILD_BUG_ON(CMD_MAX_METADATA_BLOCKS != PD_MAX_BLOCKS);
	BUILD_BUG_ON(sizeof(((struct cmd_disk_record *)0)->data) !=
		     CMD_RECORD_MAX);
}

static struct pd_array mapping_array(struct cmd *cmd)
{
	struct pd_array a = { &cmd->tm, sizeof(__le64), &cmd->in_mapping };

	return a;
}

static struct pd_array dirty_array(struct cmd *cmd)
{
	struct pd_array a = { &cmd->tm, sizeof(__le64), &cmd->in_dirty };

	return a;
}

static struct pd_array discard_array(struct cmd *cmd)
{
	struct pd_array a = { &cmd->tm, sizeof(__le64), NULL };

	return a;
}

static struct pd_array hint_array(struct cmd *cmd)
{
	struct pd_array a = { &cmd->tm, CMD_HINT_SIZE, NULL };

	return a;
}

static u64 mapping_root(const struct cmd *cmd)
{
	return le64_to_cpu(cmd->sb->mapping_root);
}

static u64 dirty_root(const struct cmd *cmd)
{
	return le64_to_cpu(cmd->sb->dirty_root);
}

static u64 hint_root(const struct cmd *cmd)
{
	return le64_to_cpu(cmd->sb->hint_root);
}

static u64 discard_root(const struct cmd *cmd)
{
	return le64_to_cpu(cmd->sb->discard_root);
}

static u64 discard_bits(const struct cmd *cmd)
{
	return le64_to_cpu(cmd->sb->discard_nr_blocks);
}

static bool separate_dirty(const struct cmd *cmd)
{
	return cmd_format(cmd) == 2;
}

static int may_read(const struct cmd *cmd)
{
	return cmd->failed ? -EIO : 0;
}

static int may_change(const struct cmd *cmd)
{
	if (cmd->failed)
		return -EIO;
	return pd_device_read_only(cmd->dev) ? -EROFS : 0;
}

static void show_usage(struct cmd *cmd)
{
	WRITE_ONCE(cmd->shown_used, pd_sm_nr_used(cmd->tm.sm));
	WRITE_ONCE(cmd->shown_blocks, pd_sm_nr_blocks(cmd->tm.sm));
}

/* Ends every change. After an error nothing in memory is trusted. */
static int finish_change(struct cmd *cmd, int r)
{
	show_usage(cmd);
	if (r < 0)
		cmd->failed = true;
	return r;
}

/* ---- Extension record ---- */

static u32 fixed_checksum(const struct cmd_superblock *sb)
{
	return crc32c(~0u, (const u8 *)sb + 4, SB_FIXED_BYTES - 4);
}

static u32 record_checksum(const struct cmd_disk_record *rec)
{
	u32 crc = crc32c(~0u, rec, offsetof(struct cmd_disk_record, csum));

	return crc32c(crc, rec->data, sizeof(rec->data));
}

static bool record_is_ours(const struct cmd_disk_record *rec)
{
	return le32_to_cpu(rec->magic) == CMD_RECORD_MAGIC;
}

/* The length of a superblock's record; 0 if there is none or it is void. */
static u32 record_length(const struct cmd_superblock *sb)
{
	const struct cmd_disk_record *rec = &sb->record;
	u32 length = le32_to_cpu(rec->length);

	if (!record_is_ours(rec) || length > CMD_RECORD_MAX ||
	    le32_to_cpu(rec->csum) != record_checksum(rec) ||
	    le32_to_cpu(rec->bound) != fixed_checksum(sb))
		return 0;
	return length;
}

static void take_record(struct cmd *cmd)
{
	cmd->record_length = record_length(cmd->sb);
	memset(cmd->record, 0, sizeof(cmd->record));
	memcpy(cmd->record, cmd->sb->record.data, cmd->record_length);
}

static void write_record(struct cmd_superblock *sb, const u8 *data, u32 length)
{
	struct cmd_disk_record *rec = &sb->record;

	if (!length) {
		if (record_is_ours(rec))
			memset(rec, 0, sizeof(*rec));
		return;
	}
	memset(rec, 0, sizeof(*rec));
	memcpy(rec->data, data, length);
	rec->magic = cpu_to_le32(CMD_RECORD_MAGIC);
	rec->length = cpu_to_le32(length);
	rec->bound = cpu_to_le32(fixed_checksum(sb));
	rec->csum = cpu_to_le32(record_checksum(rec));
}

int cmd_record_get(const struct cmd *cmd, void *buf, unsigned int len)
{
	if (!cmd->record_length)
		return -ENODATA;
	memcpy(buf, cmd->record, min_t(u32, len, cmd->record_length));
	return cmd->record_length;
}

int cmd_record_set(struct cmd *cmd, const void *buf, unsigned int len)
{
	int r = may_change(cmd);

	if (r)
		return r;
	if (len > CMD_RECORD_MAX)
		return -EINVAL;
	memset(cmd->record, 0, sizeof(cmd->record));
	if (len)
		memcpy(cmd->record, buf, len);
	cmd->record_length = len;
	return 0;
}

/* ---- Commit ---- */

static void set_flag(struct cmd_superblock *sb, u32 flag, bool value)
{
	u32 flags = le32_to_cpu(sb->flags);

	sb->flags = cpu_to_le32(value ? flags | flag : flags & ~flag);
}

/* Make cmd->next the superblock that a commit would write now. */
static void prepare_superblock(const struct cmd *cmd, bool clean)
{
	memcpy(cmd->next, cmd->sb, PD_BLOCK_SIZE);
	set_flag(cmd->next, CMD_SB_CLEAN_SHUTDOWN, clean);
	write_record(cmd->next, cmd->record, cmd->record_length);
	pd_block_seal(cmd->next, 0, PD_KIND_SUPERBLOCK);
}

bool cmd_changed(const struct cmd *cmd, bool clean)
{
	if (pd_sm_changed(cmd->tm.sm))
		return true;
	prepare_superblock(cmd, clean);
	return memcmp(cmd->next, cmd->committed, PD_BLOCK_SIZE) != 0;
}

static int write_next(struct cmd *cmd)
{
	int r = pd_write_superblock(cmd->dev, cmd->next, PD_KIND_SUPERBLOCK);

	if (!r)
		memcpy(cmd->committed, cmd->next, PD_BLOCK_SIZE);
	return r;
}

static int commit_superblock(struct cmd *cmd, bool clean)
{
	int r;

	if (pd_sm_changed(cmd->tm.sm)) {
		r = pd_tm_pre_commit(&cmd->tm, &cmd->sb->sm_root);
		if (r)
			return r;
	}
	prepare_superblock(cmd, clean);
	r = write_next(cmd);
	if (r)
		return r;
	memcpy(cmd->sb, cmd->next, PD_BLOCK_SIZE);
	pd_sm_committed(cmd->tm.sm);
	return 0;
}

int cmd_commit(struct cmd *cmd, bool clean_shutdown)
{
	int r = may_change(cmd);

	if (r)
		return r;
	if (!cmd_changed(cmd, clean_shutdown))
		return 0;
	return finish_change(cmd, commit_superblock(cmd, clean_shutdown));
}

/*
 * After a failure the buffers may hold anything. They are dropped, because the
 * superblock that is written next must not depend on them.
 */
static int ready_for_superblock(struct cmd *cmd)
{
	if (pd_device_read_only(cmd->dev))
		return -EROFS;
	return cmd->failed ? pd_device_reset(cmd->dev) : 0;
}

static bool has_log(const struct cmd_superblock *sb)
{
	return le32_to_cpu(sb->incompat_flags) & CMD_INCOMPAT_LOG;
}

bool cmd_log_flag(const struct cmd *cmd)
{
	return has_log(cmd->sb);
}

int cmd_set_log_flag(struct cmd *cmd, bool in_use)
{
	int r = may_change(cmd);

	if (r)
		return r;
	if (in_use && cmd_needs_check(cmd))
		return -EBUSY;
	cmd->sb->incompat_flags = cpu_to_le32(in_use ? CMD_INCOMPAT_LOG : 0);
	return 0;
}

/*
 * cache_check 0.9 --clear-needs-check-flag clears the log's flag with
 * NEEDS_CHECK, and lvm2 runs it before each activation. So the two are never set
 * together.
 */
int cmd_set_needs_check(struct cmd *cmd)
{
	u32 length;
	int r = ready_for_superblock(cmd);

	if (r)
		return r;
	if (has_log(cmd->committed) || has_log(cmd->sb))
		return -EBUSY;
	memcpy(cmd->next, cmd->committed, PD_BLOCK_SIZE);
	length = record_length(cmd->next);
	set_flag(cmd->next, CMD_SB_NEEDS_CHECK, true);
	if (length)
		write_record(cmd->next, cmd->committed->record.data, length);
	pd_block_seal(cmd->next, 0, PD_KIND_SUPERBLOCK);
	r = write_next(cmd);
	if (r)
		return finish_change(cmd, r);

	set_flag(cmd->sb, CMD_SB_NEEDS_CHECK, true);
	WRITE_ONCE(cmd->needs_check, true);
	return 0;
}

int cmd_zero_superblock(struct cmd *cmd)
{
	int r = ready_for_superblock(cmd);

	if (r)
		return r;
	cmd->failed = true;
	memset(cmd->next, 0, PD_BLOCK_SIZE);
	return pd_write_superblock(cmd->dev, cmd->next, PD_KIND_RAW);
}

int cmd_reread_matches(struct cmd *cmd)
{
	struct pd_block b;
	int r = may_read(cmd);

	if (r)
		return r;
	pd_device_forget(cmd->dev, 0);
	r = pd_block_read(cmd->dev, 0, PD_KIND_RAW, &b);
	if (r)
		return r;
	r = !memcmp(b.data, cmd->committed, PD_BLOCK_SIZE);
	pd_block_put(&b);
	return r;
}

/* ---- Opening ---- */

static int fault(const char **why, const char *text, int r)
{
	*why = text;
	return r;
}

/* Read block 0 as it is. Return: 1 if it is all zero, 0 if not, or an error. */
static int read_superblock(struct cmd *cmd, const char **why)
{
	struct pd_block b;
	int r;

	if (!pd_device_nr_blocks(cmd->dev))
		return fault(why, "Metadata device is too small", -EINVAL);
	r = pd_block_read(cmd->dev, 0, PD_KIND_RAW, &b);
	if (r)
		return fault(why, "Cannot read the metadata superblock", r);
	memcpy(cmd->sb, b.data, PD_BLOCK_SIZE);
	pd_block_put(&b);
	return !memchr_inv(cmd->sb, 0, PD_BLOCK_SIZE);
}

static int check_intact(struct cmd *cmd, const char **why)
{
	const struct cmd_superblock *sb = cmd->sb;
	u32 version = le32_to_cpu(sb->version);

	if (le64_to_cpu(sb->magic) != CMD_SB_MAGIC)
		return fault(why, "Metadata device holds something that is not cache metadata",
			     -EILSEQ);
	memcpy(cmd->next, sb, PD_BLOCK_SIZE);
	pd_block_seal(cmd->next, 0, PD_KIND_SUPERBLOCK);
	if (sb->csum != cmd->next->csum && !sb->blocknr)
		return fault(why, "Metadata superblock has a bad checksum",
			     -EILSEQ);
	if (sb->blocknr)
		return fault(why, "Metadata superblock has a bad block number",
			     -EILSEQ);
	if (version < 1 || version > 2)
		return fault(why, "Metadata version is not supported",
			     -EINVAL);
	if (sb->policy_name[CMD_POLICY_NAME_SIZE - 1])
		return fault(why, "Metadata superblock has an unterminated policy name",
			     -EILSEQ);
	return 0;
}

static int check_features(const struct cmd *cmd, const char **why)
{
	if (cmd->sb->incompat_flags & ~cpu_to_le32(CMD_INCOMPAT_LOG))
		return fault(why, "Metadata has incompatible features that are not supported",
			     -EINVAL);
	if (cmd->sb->compat_ro_flags && !pd_device_read_only(cmd->dev))
		return fault(why, "Metadata has features that only allow reading",
			     -EINVAL);
	return 0;
}

/* Whether an array of @words 8-byte entries can exist in this metadata. */
static bool can_hold(const struct cmd *cmd, u64 words)
{
	struct pd_array a = { NULL, sizeof(__le64), NULL };

	return div_u64(words, pd_array_block_entries(&a)) <
	       pd_sm_nr_blocks(cmd->tm.sm);
}

static bool is_root(const struct cmd *cmd, __le64 root)
{
	return root && pd_sm_count(cmd->tm.sm, le64_to_cpu(root));
}

static int check_roots(const struct cmd *cmd, const char **why)
{
	const struct cmd_superblock *sb = cmd->sb;

	if (!is_root(cmd, sb->mapping_root))
		return fault(why, "Metadata mapping root is not a block in use",
			     -EILSEQ);
	if (!is_root(cmd, sb->discard_root))
		return fault(why, "Metadata discard root is not a block in use",
			     -EILSEQ);
	if (separate_dirty(cmd) && !is_root(cmd, sb->dirty_root))
		return fault(why, "Metadata dirty root is not a block in use",
			     -EILSEQ);
	if (sb->hint_root && !is_root(cmd, sb->hint_root))
		return fault(why, "Metadata hint root is not a block in use",
			     -EILSEQ);
	if (!can_hold(cmd, cmd_cache_blocks(cmd)))
		return fault(why, "Metadata cannot hold the number of cache blocks it claims",
			     -EILSEQ);
	if (!can_hold(cmd, pd_bitset_words(discard_bits(cmd))))
		return fault(why, "Metadata cannot hold the number of discard blocks it claims",
			     -EILSEQ);
	return 0;
}

/* Take over the state on the disk, whose superblock was read. */
static int load_committed(struct cmd *cmd, const char **why)
{
	struct pd_sm *sm;
	u32 flags;
	int r;

	r = check_intact(cmd, why);
	if (!r)
		r = check_features(cmd, why);
	if (!r)
		r = pd_sm_load(cmd->dev, &cmd->sb->sm_root, &sm, why);
	if (r)
		return r;
	pd_sm_destroy(cmd->tm.sm);
	cmd->tm.sm = sm;
	pd_array_forget(&cmd->in_mapping);
	pd_array_forget(&cmd->in_dirty);
	r = check_roots(cmd, why);
	if (r)
		return r;

	flags = le32_to_cpu(cmd->sb->flags);
	cmd->opened_clean = flags & CMD_SB_CLEAN_SHUTDOWN;
	WRITE_ONCE(cmd->needs_check, flags & CMD_SB_NEEDS_CHECK);
	take_record(cmd);
	memcpy(cmd->committed, cmd->sb, PD_BLOCK_SIZE);
	show_usage(cmd);
	return 0;
}

static int make_roots(struct cmd *cmd, unsigned int format)
{
	struct pd_btree counts = { &cmd->tm, sizeof(__le32) };
	struct pd_array a = mapping_array(cmd), h = hint_array(cmd);
	struct pd_array dirty_bits = dirty_array(cmd), discards = discard_array(cmd);
	u64 overflow, mapping, hints, discard, dirty = 0;
	int r;

	r = pd_btree_empty(&counts, &overflow);
	if (!r)
		r = pd_array_empty(&a, &mapping);
	if (!r)
		r = pd_array_empty(&h, &hints);
	if (!r)
		r = pd_array_empty(&discards, &discard);
	if (!r && format == 2)
		r = pd_array_empty(&dirty_bits, &dirty);
	if (r)
		return r;

	pd_sm_set_overflow_root(cmd->tm.sm, overflow);
	cmd->sb->mapping_root = cpu_to_le64(mapping);
	cmd->sb->hint_root = cpu_to_le64(hints);
	cmd->sb->discard_root = cpu_to_le64(discard);
	cmd->sb->dirty_root = cpu_to_le64(dirty);
	return 0;
}

static int resize_all(struct cmd *cmd, u32 new);

static int make_empty(struct cmd *cmd, const struct cmd_geometry *g)
{
	int r = make_roots(cmd, g->format);

	if (r)
		return r;
	cmd->sb->magic = cpu_to_le64(CMD_SB_MAGIC);
	cmd->sb->version = cpu_to_le32(g->format);
	cmd->sb->data_block_size = cpu_to_le32(g->data_block_size);
	cmd->sb->metadata_block_size = cpu_to_le32(PD_BLOCK_SECTORS);
	if (!can_hold(cmd, g->cache_blocks))
		return -ENOSPC;
	if (g->cache_blocks)
		r = resize_all(cmd, g->cache_blocks);
	return r ? r : commit_superblock(cmd, false);
}

static int format_device(struct cmd *cmd, const struct cmd_geometry *g,
			 const char **why)
{
	u32 nr_blocks = min_t(u64, pd_device_nr_blocks(cmd->dev),
			      PD_MAX_BLOCKS);
	int r;

	if (pd_device_read_only(cmd->dev))
		return fault(why, "Metadata device is not formatted and cannot be written",
			     -EROFS);
	if (g->format < 1 || g->format > 2)
		return fault(why, "Metadata version is not supported",
			     -EINVAL);
	if (!g->data_block_size)
		return fault(why, "Cache block size is missing", -EINVAL);
	r = pd_sm_create(nr_blocks, &cmd->tm.sm);
	if (!r)
		r = make_empty(cmd, g);
	if (r)
		return fault(why, r == -ENOSPC ? "Metadata device is too small" :
			     "Cannot format the metadata device", r);
	cmd->formatted = true;
	show_usage(cmd);
	return 0;
}

static int open_existing(struct cmd *cmd, const struct cmd_geometry *g,
			 const char **why)
{
	int r = check_intact(cmd, why);

	if (r)
		return r;
	if (g->data_block_size && cmd_data_block_size(cmd) != g->data_block_size)
		return fault(why, "Cache block size differs from the metadata's",
			     -EINVAL);
	return load_committed(cmd, why);
}

static int open_cmd(struct cmd *cmd, const struct cmd_geometry *g,
		    const char **why)
{
	int zero;

	cmd->sb = os_zalloc(PD_BLOCK_SIZE);
	cmd->committed = os_zalloc(PD_BLOCK_SIZE);
	cmd->next = os_zalloc(PD_BLOCK_SIZE);
	if (!cmd->sb || !cmd->committed || !cmd->next)
		return fault(why, "Cannot allocate metadata memory", -ENOMEM);

	zero = pd_device_reset(cmd->dev);
	if (zero)
		return fault(why, "Cannot reset the metadata device", zero);
	zero = read_superblock(cmd, why);
	if (zero < 0)
		return zero;
	if (!zero)
		return open_existing(cmd, g, why);
	if (!g->may_format)
		return fault(why, "Metadata device is not formatted", -ENODATA);
	return format_device(cmd, g, why);
}

int cmd_open(struct pd_device *dev, const struct cmd_geometry *g,
	     struct cmd **out, const char **why)
{
	struct cmd *cmd = os_zalloc(sizeof(*cmd));
	int r;

	check_layout();
	if (!cmd)
		return fault(why, "Cannot allocate metadata memory", -ENOMEM);
	cmd->dev = dev;
	cmd->tm.dev = dev;

	r = open_cmd(cmd, g, why);
	if (r) {
		cmd_close(cmd);
		return r;
	}
	*out = cmd;
	return 0;
}

void cmd_close(struct cmd *cmd)
{
	pd_sm_destroy(cmd->tm.sm);
	os_free(cmd->sb);
	os_free(cmd->committed);
	os_free(cmd->next);
	os_free(cmd);
}

int cmd_abort(struct cmd *cmd)
{
	const char *why = "";
	int r;

	cmd->failed = true;
	r = pd_device_reset(cmd->dev);
	if (!r)
		r = read_superblock(cmd, &why);
	if (!r)
		r = load_committed(cmd, &why);
	if (r > 0)
		r = fault(&why, "The metadata superblock was zeroed", -EILSEQ);
	if (r) {
		os_err("abort: %s", why);
		return r;
	}
	cmd->failed = false;
	return 0;
}

/* ---- The state that was found ---- */

unsigned int cmd_format(const struct cmd *cmd)
{
	return le32_to_cpu(cmd->sb->version);
}

bool cmd_formatted(const struct cmd *cmd)
{
	return cmd->formatted;
}

bool cmd_opened_clean(const struct cmd *cmd)
{
	return cmd->opened_clean;
}

bool cmd_needs_check(const struct cmd *cmd)
{
	return READ_ONCE(cmd->needs_check);
}

u32 cmd_cache_blocks(const struct cmd *cmd)
{
	return le32_to_cpu(cmd->sb->cache_blocks);
}

u32 cmd_data_block_size(const struct cmd *cmd)
{
	return le32_to_cpu(cmd->sb->data_block_size);
}

void cmd_discard_geometry(const struct cmd *cmd, u64 *block_sectors,
			  u64 *nr_blocks)
{
	*block_sectors = le64_to_cpu(cmd->sb->discard_block_size);
	*nr_blocks = discard_bits(cmd);
}

const char *cmd_policy_name(const struct cmd *cmd)
{
	return cmd->sb->policy_name;
}

void cmd_policy_version(const struct cmd *cmd, u32 version[3])
{
	int i;

	for (i = 0; i < 3; i++)
		version[i] = le32_to_cpu(cmd->sb->policy_version[i]);
}

void cmd_get_stats(const struct cmd *cmd, struct cmd_stats *stats)
{
	stats->read_hits = le32_to_cpu(cmd->sb->read_hits);
	stats->read_misses = le32_to_cpu(cmd->sb->read_misses);
	stats->write_hits = le32_to_cpu(cmd->sb->write_hits);
	stats->write_misses = le32_to_cpu(cmd->sb->write_misses);
}

void cmd_set_stats(struct cmd *cmd, const struct cmd_stats *stats)
{
	cmd->sb->read_hits = cpu_to_le32(stats->read_hits);
	cmd->sb->read_misses = cpu_to_le32(stats->read_misses);
	cmd->sb->write_hits = cpu_to_le32(stats->write_hits);
	cmd->sb->write_misses = cpu_to_le32(stats->write_misses);
}

void cmd_usage(const struct cmd *cmd, u64 *used, u64 *total)
{
	*used = READ_ONCE(cmd->shown_used);
	*total = READ_ONCE(cmd->shown_blocks);
}

int cmd_extend(struct cmd *cmd, u64 new_nr_blocks)
{
	u32 n = min_t(u64, new_nr_blocks, PD_MAX_BLOCKS);
	int r = may_change(cmd);

	if (r)
		return r;
	if (n <= pd_sm_nr_blocks(cmd->tm.sm))
		return 0;
	if (n > pd_device_nr_blocks(cmd->dev))
		return -EINVAL;
	return finish_change(cmd, pd_sm_extend(cmd->tm.sm, n));
}

/* ---- The mapping ---- */

static int check_cblock(const struct cmd *cmd, u32 cblock)
{
	int r = may_change(cmd);

	if (r)
		return r;
	return cblock < cmd_cache_blocks(cmd) ? 0 : -EINVAL;
}

static int get_mapping(struct cmd *cmd, u32 cblock, u64 *entry)
{
	struct pd_array a = mapping_array(cmd);
	__le64 v;
	int r = pd_array_get(&a, mapping_root(cmd), cblock, &v);

	if (!r)
		*entry = le64_to_cpu(v);
	return r;
}

static int set_mapping(struct cmd *cmd, u32 cblock, u64 entry)
{
	struct pd_array a = mapping_array(cmd);
	u64 root = mapping_root(cmd);
	__le64 v = cpu_to_le64(entry);
	int r = pd_array_set(&a, &root, cblock, &v);

	cmd->sb->mapping_root = cpu_to_le64(root);
	return r;
}

static int set_dirty_bit(struct cmd *cmd, u32 cblock, bool dirty)
{
	struct pd_array a = dirty_array(cmd);
	u64 root = dirty_root(cmd);
	int r = pd_bitset_set(&a, &root, cblock, dirty);

	cmd->sb->dirty_root = cpu_to_le64(root);
	return r;
}

static int clear_entry(struct cmd *cmd, u32 cblock)
{
	int r = set_mapping(cmd, cblock, 0);

	return r || !separate_dirty(cmd) ? r : set_dirty_bit(cmd, cblock, false);
}

static int check_mapping(const struct cmd *cmd, const struct cmd_mapping *m)
{
	int r = check_cblock(cmd, m->cblock);

	if (r)
		return r;
	return m->oblock <= CMD_MAX_OBLOCK ? 0 : -EINVAL;
}

static u64 entry_of(const struct cmd *cmd, const struct cmd_mapping *m)
{
	u64 entry = m->oblock << CMD_MAPPING_SHIFT | CMD_MAPPING_VALID;

	return m->dirty && !separate_dirty(cmd) ? entry | CMD_MAPPING_DIRTY : entry;
}

static int insert_entries(struct cmd *cmd, const struct cmd_mapping *m, u32 nr)
{
	struct pd_array a = mapping_array(cmd);
	struct pd_array_writer w;
	int r = 0;
	u32 i;

	pd_array_writer_init(&w, &a, mapping_root(cmd));
	for (i = 0; i < nr && !r; i++) {
		__le64 v = cpu_to_le64(entry_of(cmd, &m[i]));

		r = pd_array_writer_set(&w, m[i].cblock, &v);
	}
	cmd->sb->mapping_root = cpu_to_le64(pd_array_writer_put(&w));
	return r;
}

/*
 * Returns how many mappings, from the first on, have their dirty bits in one word.  *@keep and
 * *@set say how that word changes, as for pd_bitset_change().
 */
static u32 gather_word(const struct cmd_mapping *m, u32 nr, u64 *keep, u64 *set)
{
	u32 i;

	*keep = ~0ULL;
	*set = 0;
	for (i = 0; i < nr && m[i].cblock / 64 == m[0].cblock / 64; i++) {
		u64 bit = 1ULL << m[i].cblock % 64;

		*keep &= ~bit;
		*set = m[i].dirty ? *set | bit : *set & ~bit;
	}
	return i;
}

static int insert_dirty_bits(struct cmd *cmd, const struct cmd_mapping *m, u32 nr)
{
	struct pd_array a = dirty_array(cmd);
	u64 root = dirty_root(cmd), keep, set;
	int r = 0;
	u32 n;

	for (; nr && !r; m += n, nr -= n) {
		n = gather_word(m, nr, &keep, &set);
		r = pd_bitset_change(&a, &root, m->cblock / 64, keep, set);
	}
	cmd->sb->dirty_root = cpu_to_le64(root);
	return r;
}

int cmd_insert_many(struct cmd *cmd, const struct cmd_mapping *mappings, u32 nr)
{
	int r = may_change(cmd);
	u32 i;

	for (i = 0; i < nr && !r; i++)
		r = check_mapping(cmd, &mappings[i]);
	if (r)
		return r;
	r = insert_entries(cmd, mappings, nr);
	if (!r && separate_dirty(cmd))
		r = insert_dirty_bits(cmd, mappings, nr);
	return finish_change(cmd, r);
}

int cmd_insert(struct cmd *cmd, u32 cblock, u64 oblock, bool dirty)
{
	struct cmd_mapping m = { .oblock = oblock, .cblock = cblock, .dirty = dirty };

	return cmd_insert_many(cmd, &m, 1);
}

int cmd_remove(struct cmd *cmd, u32 cblock)
{
	u64 entry;
	int r = check_cblock(cmd, cblock);

	if (r)
		return r;
	r = get_mapping(cmd, cblock, &entry);
	if (!r && entry)
		r = clear_entry(cmd, cblock);
	return finish_change(cmd, r);
}

static int set_dirty_entry(struct cmd *cmd, u32 cblock, u64 entry, bool dirty)
{
	if (separate_dirty(cmd))
		return set_dirty_bit(cmd, cblock, dirty);
	if (!!(entry & CMD_MAPPING_DIRTY) == dirty)
		return 0;
	return set_mapping(cmd, cblock, entry ^ CMD_MAPPING_DIRTY);
}

int cmd_set_dirty(struct cmd *cmd, u32 cblock, bool dirty)
{
	u64 entry;
	int r = check_cblock(cmd, cblock);

	if (r)
		return r;
	r = get_mapping(cmd, cblock, &entry);
	if (r)
		return finish_change(cmd, r);
	if (!(entry & CMD_MAPPING_VALID))
		return -ENODATA;
	return finish_change(cmd, set_dirty_entry(cmd, cblock, entry, dirty));
}

int cmd_set_dirty_many(struct cmd *cmd, u32 first, u64 mask)
{
	struct pd_array a = dirty_array(cmd);
	u64 root = dirty_root(cmd);
	int r = 0;

	if (separate_dirty(cmd)) {
		r = pd_bitset_change(&a, &root, first / 64, ~0ULL, mask);
		cmd->sb->dirty_root = cpu_to_le64(root);
		return finish_change(cmd, r);
	}
	for (; mask && (!r || r == -ENODATA); mask &= mask - 1)
		r = cmd_set_dirty(cmd, first + __ffs64(mask), true);
	return r == -ENODATA ? 0 : r;
}

static bool clean_entries(void *ctx, u64 first, const void *values, u32 count)
{
	const u64 both = CMD_MAPPING_VALID | CMD_MAPPING_DIRTY;
	const __le64 *v = values;
	u32 i;

	(void)ctx;
	(void)first;
	for (i = 0; i < count; i++)
		if ((le64_to_cpu(v[i]) & both) == CMD_MAPPING_VALID)
			return true;
	return false;
}

static int dirty_entries(void *ctx, u64 first, void *values, u32 count)
{
	__le64 *v = values;
	u32 i;

	(void)ctx;
	(void)first;
	for (i = 0; i < count; i++)
		if (le64_to_cpu(v[i]) & CMD_MAPPING_VALID)
			v[i] |= cpu_to_le64(CMD_MAPPING_DIRTY);
	return 0;
}

static int all_dirty_in_mapping(struct cmd *cmd)
{
	struct pd_array a = mapping_array(cmd);
	u64 root = mapping_root(cmd);
	int r = pd_array_update(&a, &root, cmd_cache_blocks(cmd),
				clean_entries, dirty_entries, NULL);

	cmd->sb->mapping_root = cpu_to_le64(root);
	return r;
}

struct valid_reader {
	struct pd_array_cursor cursor;
	int error;
};

static bool is_valid(void *ctx, u64 cblock)
{
	struct valid_reader *vr = ctx;
	__le64 v = 0;

	if (!vr->error)
		vr->error = pd_array_cursor_get(&vr->cursor, cblock, &v);
	return le64_to_cpu(v) & CMD_MAPPING_VALID;
}

static int all_dirty_in_bitset(struct cmd *cmd)
{
	struct pd_array a = dirty_array(cmd);
	struct valid_reader vr = { .error = 0 };
	u64 root;
	int r;

	r = pd_array_delete(&a, dirty_root(cmd));
	if (r)
		return r;
	pd_array_cursor_init(&vr.cursor, &cmd->tm, sizeof(__le64),
			     mapping_root(cmd), cmd_cache_blocks(cmd));
	r = pd_bitset_build(&a, &root, cmd_cache_blocks(cmd), is_valid, &vr);
	pd_array_cursor_put(&vr.cursor);
	if (r || vr.error)
		return r ? r : vr.error;
	cmd->sb->dirty_root = cpu_to_le64(root);
	return 0;
}

int cmd_set_all_dirty(struct cmd *cmd)
{
	int r = may_change(cmd);

	if (r)
		return r;
	r = separate_dirty(cmd) ? all_dirty_in_bitset(cmd) :
				  all_dirty_in_mapping(cmd);
	return finish_change(cmd, r);
}

/*
 * Loading walks the mapping; cursors follow in the dirty words and the hints.
 */
struct loader {
	struct cmd *cmd;
	struct pd_array_cursor dirty;
	struct pd_array_cursor hints;
	bool with_hints;
	u64 word_index;		/* of the dirty word at hand; U64_MAX: none */
	u64 word;
	cmd_load_fn fn;
	void *ctx;
};

static int load_dirty(struct loader *l, u64 cblock, u64 entry, bool *dirty)
{
	__le64 v;
	int r;

	if (!separate_dirty(l->cmd)) {
		*dirty = entry & CMD_MAPPING_DIRTY;
		return 0;
	}
	if (l->word_index != cblock / 64) {
		r = pd_array_cursor_get(&l->dirty, cblock / 64, &v);
		if (r)
			return r;
		l->word_index = cblock / 64;
		l->word = le64_to_cpu(v);
	}
	*dirty = l->word >> (cblock % 64) & 1;
	return 0;
}

static int bad_entry(u64 cblock, u64 entry)
{
	os_err("cache block %llu has an impossible mapping %#llx",
	       (unsigned long long)cblock, (unsigned long long)entry);
	return -EILSEQ;
}

static int load_entry(struct loader *l, u64 cblock, u64 entry)
{
	u32 allowed = CMD_MAPPING_VALID |
		      (separate_dirty(l->cmd) ? 0 : CMD_MAPPING_DIRTY);
	__le32 hint = 0;
	bool dirty;
	int r;

	if (!entry)
		return 0;
	if (!(entry & CMD_MAPPING_VALID) || (entry & CMD_MAPPING_FLAGS & ~allowed))
		return bad_entry(cblock, entry);
	r = load_dirty(l, cblock, entry, &dirty);
	if (!r && l->with_hints)
		r = pd_array_cursor_get(&l->hints, cblock, &hint);
	if (r)
		return r;
	return l->fn(l->ctx, cblock, entry >> CMD_MAPPING_SHIFT, dirty,
		     le32_to_cpu(hint), l->with_hints);
}

static int load_entries(void *ctx, u64 first, void *values, u32 count)
{
	struct loader *l = ctx;
	const __le64 *v = values;
	int r = 0;
	u32 i;

	for (i = 0; i < count && !r; i++)
		r = load_entry(l, first + i, le64_to_cpu(v[i]));
	return r;
}

static bool hints_usable(const struct cmd *cmd)
{
	u32 size = le32_to_cpu(cmd->sb->policy_hint_size);

	/* Some tools write 0 when they mean 4. */
	return cmd->sb->hint_root && (!size || size == CMD_HINT_SIZE);
}

static bool hints_match(const struct cmd *cmd, const char *policy_name,
			const u32 version[3])
{
	if (!policy_name || !cmd->sb->policy_name[0] || !cmd->opened_clean ||
	    !hints_usable(cmd))
		return false;
	return !strcmp(policy_name, cmd->sb->policy_name) &&
	       version[0] == le32_to_cpu(cmd->sb->policy_version[0]);
}

int cmd_load(struct cmd *cmd, const char *policy_name,
	     const u32 policy_version[3], cmd_load_fn fn, void *ctx)
{
	struct pd_array a = mapping_array(cmd);
	u32 n = cmd_cache_blocks(cmd);
	struct loader *l;
	int r = may_read(cmd);

	if (r)
		return r;
	l = os_zalloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->cmd = cmd;
	l->fn = fn;
	l->ctx = ctx;
	l->word_index = U64_MAX;
	l->with_hints = hints_match(cmd, policy_name, policy_version);
	pd_array_cursor_init(&l->dirty, &cmd->tm, sizeof(__le64),
			     dirty_root(cmd), pd_bitset_words(n));
	pd_array_cursor_init(&l->hints, &cmd->tm, CMD_HINT_SIZE,
			     hint_root(cmd), n);

	r = pd_array_walk(&a, mapping_root(cmd), n, load_entries, l);

	pd_array_cursor_put(&l->dirty);
	pd_array_cursor_put(&l->hints);
	os_free(l);
	return r;
}

/* ---- Hints ---- */

static int delete_hints(struct cmd *cmd)
{
	struct pd_array a = hint_array(cmd);
	int r;

	if (!cmd->sb->hint_root)
		return 0;
	r = pd_array_delete(&a, hint_root(cmd));
	if (!r)
		cmd->sb->hint_root = 0;
	return r;
}

static void name_policy(struct cmd *cmd, const char *name,
			const u32 version[3], u32 hint_size)
{
	struct cmd_superblock *sb = cmd->sb;
	int i;

	memset(sb->policy_name, 0, sizeof(sb->policy_name));
	memcpy(sb->policy_name, name, strlen(name));
	for (i = 0; i < 3; i++)
		sb->policy_version[i] = cpu_to_le32(version[i]);
	sb->policy_hint_size = cpu_to_le32(hint_size);
}

/*
 * Store hints of no policy, all zero. There must be an array of hints, because
 * tools walk the hints of any metadata that was shut down cleanly.
 */
static int zero_hints(struct cmd *cmd, u32 length)
{
	static const u32 no_version[3];
	struct pd_array a = hint_array(cmd);
	u64 root;
	int r = delete_hints(cmd);

	if (!r)
		r = pd_array_empty(&a, &root);
	if (!r)
		r = pd_array_resize(&a, &root, 0, length);
	if (r)
		return r;
	cmd->sb->hint_root = cpu_to_le64(root);
	name_policy(cmd, "", no_version, 0);
	return 0;
}

struct hint_writer {
	u32 (*hint)(void *ctx, u32 cblock);
	void *ctx;
};

static int fill_hints(void *ctx, u64 first, void *values, u32 count)
{
	struct hint_writer *hw = ctx;
	__le32 *v = values;
	u32 i;

	for (i = 0; i < count; i++)
		v[i] = cpu_to_le32(hw->hint(hw->ctx, first + i));
	return 0;
}

int cmd_write_hints(struct cmd *cmd, const char *policy_name,
		    const u32 version[3],
		    u32 (*hint)(void *ctx, u32 cblock), void *ctx)
{
	struct pd_array a = hint_array(cmd);
	struct hint_writer hw = { hint, ctx };
	u64 root;
	int r = may_change(cmd);

	if (r)
		return r;
	if (strlen(policy_name) >= CMD_POLICY_NAME_SIZE)
		return -EINVAL;
	r = delete_hints(cmd);
	if (!r)
		r = pd_array_build(&a, &root, cmd_cache_blocks(cmd),
				   fill_hints, &hw);
	if (r)
		return finish_change(cmd, r);
	cmd->sb->hint_root = cpu_to_le64(root);
	name_policy(cmd, policy_name, version, CMD_HINT_SIZE);
	return finish_change(cmd, 0);
}

/* ---- Resizing ---- */

static int resize_mapping(struct cmd *cmd, u32 old, u32 new)
{
	struct pd_array a = mapping_array(cmd);
	u64 root = mapping_root(cmd);
	int r = pd_array_resize(&a, &root, old, new);

	cmd->sb->mapping_root = cpu_to_le64(root);
	return r;
}

static int resize_dirty(struct cmd *cmd, u32 old, u32 new)
{
	struct pd_array a = dirty_array(cmd);
	u64 root = dirty_root(cmd);
	int r;

	if (!separate_dirty(cmd))
		return 0;
	r = pd_bitset_resize(&a, &root, old, new);
	cmd->sb->dirty_root = cpu_to_le64(root);
	return r;
}

static int resize_hints(struct cmd *cmd, u32 old, u32 new)
{
	struct pd_array a = hint_array(cmd);
	u64 root = hint_root(cmd);
	int r;

	if (!new || !hints_usable(cmd))
		return zero_hints(cmd, new);
	r = pd_array_resize(&a, &root, old, new);
	cmd->sb->hint_root = cpu_to_le64(root);
	cmd->sb->policy_hint_size = cpu_to_le32(CMD_HINT_SIZE);
	return r;
}

static int resize_all(struct cmd *cmd, u32 new)
{
	u32 old = cmd_cache_blocks(cmd);
	int r;

	r = resize_mapping(cmd, old, new);
	if (!r)
		r = resize_dirty(cmd, old, new);
	if (!r)
		r = resize_hints(cmd, old, new);
	if (!r)
		cmd->sb->cache_blocks = cpu_to_le32(new);
	return r;
}

int cmd_resize(struct cmd *cmd, u32 new_cache_blocks)
{
	int r = may_change(cmd);

	if (r)
		return r;
	if (!can_hold(cmd, new_cache_blocks))
		return -ENOSPC;
	return finish_change(cmd, resize_all(cmd, new_cache_blocks));
}

int cmd_unmap_all(struct cmd *cmd)
{
	int r = may_change(cmd);

	if (r)
		return r;
	r = resize_all(cmd, 0);
	return finish_change(cmd, r ? r : resize_all(cmd, 1));
}

/* ---- Discards ---- */

static int any_bit(void *ctx, u64 bit)
{
	(void)ctx;
	(void)bit;
	return 1;
}

static int rebuild_discards(struct cmd *cmd, u64 nr_blocks,
			    bool (*fn)(void *ctx, u64 dblock), void *ctx)
{
	struct pd_array a = discard_array(cmd);
	u64 root;
	int r;

	r = pd_array_delete(&a, discard_root(cmd));
	if (!r)
		r = pd_bitset_build(&a, &root, nr_blocks, fn, ctx);
	if (!r)
		cmd->sb->discard_root = cpu_to_le64(root);
	return r;
}

int cmd_set_discard_geometry(struct cmd *cmd, u64 block_sectors,
			     u64 nr_blocks)
{
	struct pd_array a = discard_array(cmd);
	int r = may_change(cmd);

	if (r)
		return r;
	if (!can_hold(cmd, pd_bitset_words(nr_blocks)))
		return -ENOSPC;
	if (nr_blocks == discard_bits(cmd)) {
		r = pd_bitset_walk(&a, discard_root(cmd), nr_blocks, any_bit, NULL);
		if (r < 0)
			return finish_change(cmd, r);
	}
	if (r || nr_blocks != discard_bits(cmd))
		r = rebuild_discards(cmd, nr_blocks, NULL, NULL);
	if (!r) {
		cmd->sb->discard_block_size = cpu_to_le64(block_sectors);
		cmd->sb->discard_nr_blocks = cpu_to_le64(nr_blocks);
	}
	return finish_change(cmd, r);
}

/* ---- For tools and tests: the module has no use for these ---- */

#ifndef __KERNEL__
bool cmd_committed_clean(const struct cmd *cmd)
{
	return le32_to_cpu(cmd->committed->flags) & CMD_SB_CLEAN_SHUTDOWN;
}

bool cmd_read_only(const struct cmd *cmd)
{
	return pd_device_read_only(cmd->dev);
}

int cmd_drop_hints(struct cmd *cmd)
{
	int r = may_change(cmd);

	if (r)
		return r;
	return finish_change(cmd, zero_hints(cmd, cmd_cache_blocks(cmd)));
}

int cmd_discard_set(struct cmd *cmd, u64 dblock, bool discarded)
{
	struct pd_array a = discard_array(cmd);
	u64 root = discard_root(cmd);
	int r = may_change(cmd);

	if (r)
		return r;
	if (dblock >= discard_bits(cmd))
		return -EINVAL;
	r = pd_bitset_set(&a, &root, dblock, discarded);
	cmd->sb->discard_root = cpu_to_le64(root);
	return finish_change(cmd, r);
}

int cmd_write_discards(struct cmd *cmd, bool (*fn)(void *ctx, u64 dblock),
		       void *ctx)
{
	int r = may_change(cmd);

	if (r)
		return r;
	return finish_change(cmd, rebuild_discards(cmd, discard_bits(cmd), fn, ctx));
}

int cmd_discards_load(struct cmd *cmd, int (*fn)(void *ctx, u64 dblock),
		      void *ctx)
{
	struct pd_array a = discard_array(cmd);
	int r = may_read(cmd);

	if (r || !cmd->opened_clean)
		return r;
	return pd_bitset_walk(&a, discard_root(cmd), discard_bits(cmd), fn, ctx);
}

const struct cmd_superblock *cmd_committed_superblock(const struct cmd *cmd)
{
	return cmd->committed;
}

struct pd_tm *cmd_transaction(struct cmd *cmd)
{
	return &cmd->tm;
}

u32 cmd_superblock_record(const struct cmd_superblock *sb, u8 *data)
{
	u32 length = record_length(sb);

	memcpy(data, sb->record.data, length);
	return length;
}
#endif
