// SPDX-License-Identifier: GPL-2.0-only
/*
 * One life of a cache on an image.
 *
 * The session makes the calls of cache-engine.c, cache-settings.c,
 * cache-commit.c, cache-evict.c and cache-degrade.c, in their order and with the
 * same arguments, on the engine's own slot map.  A call may refuse anything.  The
 * session checks these rules beside the sanitizers:
 *
 *  - a call returns only documented errors;
 *  - the constructor writes nothing;
 *  - metadata that was sound (metadata_check) still is when it is opened again,
 *    and has the state that was committed, also after a power cut;
 *  - a cache that was given up has no mapping when it is opened again;
 *  - the record returns each setting that was put there, and the others do not
 *    change.
 */

#include "session.h"
#include "image-disk.h"
#include "metadata/cache-metadata.h"
#include "metadata/cache-metadata-disk.h"
#include "metadata/cache-record.h"
#include "slots/cache-slots.h"
#include "tools/metadata-check.h"

#define MODEL_SLOTS	4096u
#define DISCARD_BLOCKS_MAX (1u << 14)
#define MAX_CHECKED	5000u	/* limits the time: the verification sorts the mapping */

struct expected {
	bool mapped, dirty;
	u64 block;
};

struct session {
	const struct image *im;
	u32 next_op;
	struct ramdev *rd;
	struct pd_device *dev;
	struct cmd *cmd;
	struct slot_map map;
	u32 resident;
	u32 block_sectors;	/* the table's block size */
	/*
	 * The metadata was sound at the start and no call has failed since.  Then
	 * @now is the state it should have, @committed that of the last commit.
	 */
	bool trusted;
	bool failed;		/* an injected failure may have happened */
	struct expected *now, *committed;
	bool committed_clean;
	/* After power failed during a commit: the state is @before or @committed. */
	struct expected *before;
	bool before_clean, torn;
	char *record;		/* CACHE_RECORD_BYTES, in an allocation of its own */
	u32 nr_sessions;
};

struct session_stats session_stats;

static const u32 policy_version[3] = { 2, 0, 0 };

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* ---- Failures that the image asks for ---- */

static u32 allocations, fail_allocation;

static bool allocation_fails(void)
{
	return allocations++ == fail_allocation;
}

static u8 next_byte(struct session *s)
{
	return s->next_op < s->im->nr_ops ? s->im->ops[s->next_op++] : 0;
}

static u32 next_word(struct session *s)
{
	u32 lo = next_byte(s);

	return lo | next_byte(s) << 8;
}

static void order_failures(struct session *s)
{
	u8 flags = s->im->flags;

	fail_allocation = U32_MAX;
	allocations = 0;
	if (flags & IMAGE_FAILING_READ)
		s->rd->fail_read_at = next_byte(s);
	if (flags & IMAGE_FAILING_WRITE)
		s->rd->fail_at = next_byte(s);
	if (flags & IMAGE_NO_MEMORY)
		fail_allocation = next_byte(s);
	s->failed = flags & (IMAGE_FAILING_READ | IMAGE_FAILING_WRITE |
			     IMAGE_NO_MEMORY);
}

/* Judges @r, the result of a call to the metadata.  Returns true if it is 0. */
static bool answer(struct session *s, int r)
{
	switch (r) {
	case 0:
		return true;
	case -EINVAL:
	case -ENODATA:
		return false;
	case -ENOSPC:
		/* A full device is not the image's fault, but ends the model. */
		s->trusted = false;
		return false;
	case -EILSEQ:
	case -EIO:
	case -ENOMEM:
		must(!s->trusted || s->failed, "sound metadata failed");
		s->trusted = false;
		return false;
	}
	must(false, "an error that is not documented");
	return false;
}

/* ---- The model ---- */

static void model_set(struct session *s, u32 slot, bool mapped, bool dirty,
		      u64 block)
{
	if (slot < MODEL_SLOTS)
		s->now[slot] = (struct expected){ mapped, mapped && dirty,
						  mapped ? block : 0 };
}

static void model_commit(struct session *s, bool clean)
{
	memcpy(s->committed, s->now, MODEL_SLOTS * sizeof(*s->now));
	s->committed_clean = clean;
}

/* Says how the state differs from @want; NULL if it does not. */
static const char *model_differs(const struct session *s,
				 const struct expected *want, bool clean)
{
	u32 n = min(MODEL_SLOTS, s->im->nr_slots);

	for (u32 i = 0; i < n; i++, want++) {
		const struct expected *have = s->now + i;

		if (have->mapped != want->mapped || have->block != want->block)
			return "a mapping is not what was committed";
		if (have->dirty != (want->mapped && (want->dirty || !clean)))
			return "a dirty bit is not what was committed";
	}
	return NULL;
}

static void model_compare(struct session *s)
{
	const char *differs = model_differs(s, s->committed, s->committed_clean);

	if (differs && s->torn)
		differs = model_differs(s, s->before, s->before_clean);
	must(!differs, differs);
	s->torn = false;
}

static void print_fault(void *ctx, const char *msg)
{
	(void)ctx;
	fprintf(stderr, "fuzz: %s\n", msg);
}

static void check_sound(struct session *s)
{
	int faults;

	if (!s->trusted || cmd_cache_blocks(s->cmd) > MAX_CHECKED)
		return;
	faults = metadata_check(s->cmd, NULL, NULL);
	if (!faults)
		return;
	if (!s->failed)
		metadata_check(s->cmd, print_fault, NULL);
	must(s->failed, "sound metadata became unsound");
	s->trusted = false;
}

/* ---- The calls of cache-engine.c ---- */

static void close_metadata(struct session *s)
{
	if (s->cmd)
		cmd_close(s->cmd);
	if (s->dev)
		pd_device_close(s->dev);
	s->cmd = NULL;
	s->dev = NULL;
}

static int open_metadata(struct session *s, bool read_only)
{
	const char *why = NULL;
	struct cmd_geometry g = {
		.format = s->im->flags & IMAGE_FORMAT2 ? 2 : 1,
		.data_block_size = s->block_sectors,
		.may_format = !read_only,
	};
	int r;

	s->dev = ramdev_open(s->rd, read_only);
	if (s->im->flags & IMAGE_EARLY_WRITES)
		pd_device_set_early_writes(s->dev, 1);
	r = cmd_open(s->dev, &g, &s->cmd, &why);
	if (r) {
		must(why, "an error without a reason");
		s->cmd = NULL;
		close_metadata(s);
	}
	return r;
}

/* Returns the table's block size, which is one that the target accepts. */
static u32 block_sectors(const struct session *s)
{
	const struct cmd_superblock *sb = (void *)s->rd->seen[0];
	u32 sectors;

	if (!sb || !(s->im->flags & IMAGE_ANY_BLOCK_SIZE))
		return 128;
	sectors = le32_to_cpu(sb->data_block_size);
	return sectors >= 64 && sectors <= 1u << 21 && !(sectors % 64) ?
		sectors : 128;
}

/* cache_check_metadata(): the constructor opens the metadata read-only. */
static bool construct(struct session *s)
{
	int r = open_metadata(s, true);

	if (r)
		return r == -ENODATA;
	if (cmd_cache_blocks(s->cmd) <= MAX_CHECKED)
		s->trusted = !metadata_check(s->cmd, NULL, NULL);
	must(cmd_set_needs_check(s->cmd) == -EROFS, "written though read-only");
	close_metadata(s);
	must(!s->rd->nr_log, "the constructor wrote");
	return true;
}

struct cut {
	u32 nr_slots;
	bool unclean, found;
};

static int check_cut_slot(void *ctx, u32 slot, u64 block, bool dirty, u32 hint,
			  bool hint_valid)
{
	struct cut *cut = ctx;

	(void)block;
	(void)hint;
	(void)hint_valid;
	cut->found |= slot >= cut->nr_slots && (dirty || cut->unclean);
	return 0;
}

static int fit_cache_size(struct session *s)
{
	struct cut cut = {
		.nr_slots = s->im->nr_slots,
		.unclean = !cmd_opened_clean(s->cmd),
	};
	int r;

	if (cmd_cache_blocks(s->cmd) > cut.nr_slots) {
		r = cmd_load(s->cmd, NULL, NULL, check_cut_slot, &cut);
		if (r || cut.found)
			return r ? r : -EINVAL;
	}
	if (cmd_cache_blocks(s->cmd) == cut.nr_slots)
		return 0;
	return cmd_resize(s->cmd, cut.nr_slots);
}

static u64 origin_blocks(const struct session *s)
{
	return 1ULL << s->im->origin_bits % 49;
}

static int fit_discards(struct session *s)
{
	u64 size = s->block_sectors, sectors = origin_blocks(s) * size;

	while (DIV_ROUND_UP_ULL(sectors, size) > DISCARD_BLOCKS_MAX)
		size *= 2;
	return cmd_set_discard_geometry(s->cmd, size,
					DIV_ROUND_UP_ULL(sectors, size));
}

static int load_slot(void *ctx, u32 slot, u64 block, bool dirty, u32 hint,
		     bool hint_valid)
{
	struct session *s = ctx;

	must(hint_valid || !hint, "a hint that is not valid");
	must(block <= CMD_MAX_OBLOCK, "an impossible block");
	if (slot >= s->map.nr_slots)
		return -EINVAL;
	if (slot_map_insert(&s->map, slot, block, SLOT_VALID))
		return -EILSEQ;
	s->resident++;
	model_set(s, slot, true, dirty || !cmd_opened_clean(s->cmd), block);
	return 0;
}

static int forget_slot(struct session *s, u32 slot)
{
	int r = cmd_remove(s->cmd, slot);

	if (r)
		return r;
	slot_map_remove(&s->map, slot);
	slot_at(&s->map, slot)->word.counter = SLOT_FREE;
	s->resident--;
	model_set(s, slot, false, false, 0);
	return 0;
}

static int drop_past_end(struct session *s)
{
	int r = 0;

	for (u32 i = 0; !r && i < s->map.nr_slots; i++) {
		struct slot *slot = slot_at(&s->map, i);

		if (slot_state(slot_word(slot)) == SLOT_VALID &&
		    slot_block(slot) >= origin_blocks(s))
			r = forget_slot(s, i);
	}
	return r;
}

/* cache_settings_load() */
static void load_record(struct session *s)
{
	u8 text[CMD_RECORD_MAX];
	size_t len;
	int r = cmd_record_get(s->cmd, text, sizeof(text));

	must(r == -ENODATA || (r > 0 && r <= (int)CMD_RECORD_MAX),
	     "a record of impossible length");
	memset(s->record, 0xff, CACHE_RECORD_BYTES);
	if (r > 0)
		memcpy(s->record, text, r);
	cache_record_take(s->record, r);
	len = strlen(s->record);
	must(!len || s->record[len - 1] == '\n', "half a line in the record");
}

/* Keys like those of the engine's settings: no two have the same short form. */
static const char * const record_keys[] = {
	"session", "mode", "max_promote_mbps", "max_promote_share",
	"seq_cutoff", "seq_again", "fail_open", "a_b_c_d_e_f_g_h_i_j_k_l", "",
	"migration_threshold", "max_intents", "dirty_high", "dirty_low",
	"full_write_level", "se_quite_another", "Upper_case",
};

#define NR_RECORD_KEYS	ARRAY_SIZE(record_keys)

/* Gets each key's value into memory of just its size, or NULL if it has none. */
static void get_all(const char *text, char *values[NR_RECORD_KEYS])
{
	char value[CACHE_RECORD_BYTES];
	size_t size;

	for (u32 i = 0; i < NR_RECORD_KEYS; i++) {
		values[i] = NULL;
		if (!cache_record_get(text, record_keys[i], value, sizeof(value)))
			continue;
		size = strlen(value) + 1;
		values[i] = malloc(size);
		must(values[i] && cache_record_get(text, record_keys[i],
						   values[i], size),
		     "a value that fits is not got");
		must(size == 1 || !cache_record_get(text, record_keys[i],
						    value, size - 1),
		     "a value that does not fit is got");
	}
}

static void free_all(char *values[NR_RECORD_KEYS])
{
	for (u32 i = 0; i < NR_RECORD_KEYS; i++)
		free(values[i]);
}

static bool same_value(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Puts one value, and checks that it is there and that no other has changed. */
static int put_value(struct session *s, u32 key, const char *value)
{
	char *before[NR_RECORD_KEYS], *after[NR_RECORD_KEYS];
	char text[CACHE_RECORD_BYTES];
	int r;

	memcpy(text, s->record, sizeof(text));
	get_all(s->record, before);
	r = cache_record_put(s->record, record_keys[key], value);
	get_all(s->record, after);
	must(!r || r == -ENOSPC || r == -EINVAL,
	     "an error of the record that is not documented");
	must(!r || !memcmp(text, s->record, sizeof(text)),
	     "a record changed though a value was refused");
	must(strlen(s->record) <= CMD_RECORD_MAX, "a record that is too long");
	for (u32 i = 0; i < NR_RECORD_KEYS; i++)
		must(same_value(after[i], !r && i == key ? value : before[i]),
		     "a value of the record is not what was put there");
	free_all(before);
	free_all(after);
	return r;
}

/* begin_session(), cache_settings_new_session() */
static int begin_session(struct session *s)
{
	char session[17];

	load_record(s);
	snprintf(session, sizeof(session), "%016x", ++s->nr_sessions);
	if (put_value(s, 0, session))
		put_value(s, 0, NULL);
	return cmd_record_set(s->cmd, s->record, strlen(s->record));
}

static int prepare(struct session *s)
{
	int r = begin_session(s);

	if (!r)
		r = cmd_extend(s->cmd, s->rd->nr_blocks);
	if (!r)
		r = fit_cache_size(s);
	if (!r)
		r = fit_discards(s);
	if (!r && !cmd_opened_clean(s->cmd) && !cmd_formatted(s->cmd))
		r = cmd_set_all_dirty(s->cmd);
	return r;
}

static int load(struct session *s)
{
	int r = slot_map_init(&s->map, s->im->nr_slots);

	s->resident = 0;
	memset(s->now, 0, MODEL_SLOTS * sizeof(*s->now));
	if (!r)
		r = cmd_load(s->cmd, "smq", policy_version, load_slot, s);
	return r ? r : drop_past_end(s);
}

static bool commit(struct session *s, bool clean)
{
	int r = cmd_commit(s->cmd, clean);

	if (!answer(s, r))
		return false;
	must(cmd_committed_clean(s->cmd) == clean && !cmd_changed(s->cmd, clean),
	     "a commit that is not seen");
	model_commit(s, clean);
	return true;
}

/* bring_up(); @again: after a cut or a stop, so that the contents are known. */
static bool bring_up(struct session *s, bool again)
{
	int r = open_metadata(s, false);

	if (!r)
		r = prepare(s);
	if (!r)
		r = load(s);
	if (!answer(s, r))
		return false;
	if (again && s->trusted)
		model_compare(s);
	s->torn = false;
	if (cmd_needs_check(s->cmd)) {
		answer(s, cmd_abort(s->cmd));
		return false;
	}
	if (!commit(s, true))
		return false;
	check_sound(s);
	return true;
}

static void tear_down(struct session *s)
{
	slot_map_exit(&s->map);
	close_metadata(s);
}

/* ---- Operations of a running cache ---- */

static void insert(struct session *s)
{
	u32 slot = next_word(s) % s->map.nr_slots;
	u64 block = next_word(s) % origin_blocks(s);
	bool dirty = next_byte(s) & 1;

	if (slot_state(slot_word(slot_at(&s->map, slot))) != SLOT_FREE ||
	    slot_map_insert(&s->map, slot, block, SLOT_VALID))
		return;
	s->resident++;
	if (answer(s, cmd_insert(s->cmd, slot, block, dirty)))
		model_set(s, slot, true, dirty, block);
}

static void evict(struct session *s)
{
	u32 slot = next_word(s) % s->map.nr_slots;

	if (slot_state(slot_word(slot_at(&s->map, slot))) != SLOT_FREE)
		answer(s, forget_slot(s, slot));
}

static void set_dirty(struct session *s, bool dirty)
{
	u32 slot = next_word(s) % s->map.nr_slots;
	int r = cmd_set_dirty(s->cmd, slot, dirty);

	if (answer(s, r) && slot < MODEL_SLOTS)
		s->now[slot].dirty = dirty;
	must(!s->trusted || slot >= MODEL_SLOTS ||
	     (r == -ENODATA) == !s->now[slot].mapped,
	     "a dirty bit on a mapping that is not there");
}

static bool is_valid(struct session *s, u32 slot)
{
	return slot < s->map.nr_slots &&
	       slot_state(slot_word(slot_at(&s->map, slot))) == SLOT_VALID;
}

/* Sets intents ahead for the mapped ones of 64 slots. */
static void set_dirty_ahead(struct session *s)
{
	u32 first = next_word(s) % s->map.nr_slots & ~63u;
	u64 wanted = next_word(s) * 0x0001000100010001ULL, mask = 0;

	for (u32 i = 0; i < 64; i++)
		if (wanted >> i & 1 && is_valid(s, first + i))
			mask |= 1ULL << i;
	if (!answer(s, cmd_set_dirty_many(s->cmd, first, mask)))
		return;
	for (u32 i = 0; i < 64 && first + i < MODEL_SLOTS; i++)
		s->now[first + i].dirty |= mask >> i & 1;
}

static u32 hint_of(void *ctx, u32 slot)
{
	(void)ctx;
	return slot % 64;
}

static bool store_state(struct session *s)
{
	struct cmd_stats stats = { .read_hits = s->resident };
	int r = cmd_write_hints(s->cmd, "smq", policy_version, hint_of, NULL);

	cmd_set_stats(s->cmd, &stats);
	return answer(s, r) && commit(s, true);
}

/* Numbers that may go to the packed line, and some that look like them. */
static const char * const numbers[] = {
	"0", "1", "35", "36", "100", "1295", "1296", "86400", "1048576",
	"4294967295", "4294967296", "18446744073709551616", "007", "1Z",
};

/* cache_setting_save() of setting @which, with a value that @seed decides. */
static void save_setting(struct session *s, u32 which, u8 seed)
{
	char value[256];
	u32 len = seed / 2 % 24;

	/* One value in 16 is longer than a setting's may be. */
	if (seed >= 240)
		len = seed;
	memset(value, 'a' + seed % 26, len);
	value[len] = '\0';
	if (len && seed % 32 == 6)
		value[len / 2] = '\n';
	if (seed % 4 == 2 && seed < 128)
		strcpy(value, numbers[seed / 4 % ARRAY_SIZE(numbers)]);
	if (put_value(s, which % NR_RECORD_KEYS, seed % 16 ? value : NULL))
		return;
	answer(s, cmd_record_set(s->cmd, s->record, strlen(s->record)));
}

/* Texts that no module writes, as if they had been read from the device. */
static const char * const strange_texts[] = {
	"= secu1secu2faop0faop1\n", "= 1secu2\n", "secu 3\n= secu1faop0secu2\n",
	"abcdefghijklmnopqrst 1\n", "= abcdefghijklmnopqrst1secu2\n",
	"= secuZZZZZZZZZZZZ\n", "= secu1\n= secu2seag0\n", "= secu1!faop0\n",
};

static void take_strange(struct session *s, const char *text)
{
	memset(s->record, 0, CACHE_RECORD_BYTES);
	memcpy(s->record, text, strlen(text));
	cache_record_take(s->record, strlen(text));
}

/* Removes one key from each; @seed chooses the text to go on with. */
static void make_strange(struct session *s, u8 seed)
{
	for (u32 i = 0; i < ARRAY_SIZE(strange_texts); i++) {
		take_strange(s, strange_texts[i]);
		put_value(s, 4, NULL);
	}
	take_strange(s, strange_texts[seed % ARRAY_SIZE(strange_texts)]);
}

/* Puts every setting in turn, beside a word that leaves little room for lines. */
static void save_many(struct session *s, u8 seed)
{
	char word[256];

	if (seed & 64)
		make_strange(s, seed / 2);
	memset(word, 'w', sizeof(word));
	word[80 + seed % 64] = '\0';
	put_value(s, 1, word);
	for (u32 i = 2; i < NR_RECORD_KEYS; i++) {
		u32 which = seed / 2 + i * (seed % 5);

		put_value(s, i, which % 7 ? numbers[which % ARRAY_SIZE(numbers)] :
					    NULL);
	}
	answer(s, cmd_record_set(s->cmd, s->record, strlen(s->record)));
}

/* Stores the record with a changed setting, or one of arbitrary bytes. */
static void set_record(struct session *s)
{
	u8 record[256], back[CMD_RECORD_MAX];
	u32 len = next_byte(s);
	u8 fill = next_byte(s);
	int r;

	if (!(fill & 1)) {
		if (len < 192)
			save_setting(s, len, fill);
		else
			save_many(s, fill);
		return;
	}
	memset(record, fill, sizeof(record));
	r = cmd_record_set(s->cmd, record, len);
	if (!answer(s, r))
		return;
	r = cmd_record_get(s->cmd, back, sizeof(back));
	must(len ? r == (int)len && !memcmp(record, back, len) : r == -ENODATA,
	     "a record that is not kept");
}

static bool discarded(void *ctx, u64 d)
{
	(void)ctx;
	return d % 3;
}

static int count_discard(void *ctx, u64 d)
{
	must(d >= *(u64 *)ctx, "discards out of order");
	*(u64 *)ctx = d + 1;
	return 0;
}

/* Functions that the engine does not call yet, but other callers may. */
static void other(struct session *s)
{
	u64 n = 0;

	switch (next_byte(s) % 6) {
	case 0:
		answer(s, cmd_drop_hints(s->cmd));
		break;
	case 1:
		answer(s, cmd_discard_set(s->cmd, next_word(s), next_byte(s) & 1));
		break;
	case 2:
		answer(s, cmd_write_discards(s->cmd, discarded, NULL));
		break;
	case 3:
		answer(s, cmd_discards_load(s->cmd, count_discard, &n));
		break;
	case 4:
		if (answer(s, cmd_set_all_dirty(s->cmd)))
			for (u32 i = 0; i < MODEL_SLOTS; i++)
				s->now[i].dirty = s->now[i].mapped;
		break;
	case 5:
		must(!s->trusted || s->failed ||
		     cmd_reread_matches(s->cmd) == 1, "the superblock changed");
		break;
	}
}

/* The metadata failed: cache_metadata_failed(), and the table is removed. */
static void give_up(struct session *s)
{
	int r = cmd_set_needs_check(s->cmd);

	if (r != -EBUSY)
		answer(s, r);
	else
		must(cmd_log_flag(s->cmd) ||
		     cmd_committed_superblock(s->cmd)->incompat_flags,
		     "needs_check is refused without a write log's flag");
	tear_down(s);
}

/* Power fails, and returns. */
static bool cut(struct session *s)
{
	u64 kept = next_word(s) * 0x0001000100010001ULL;

	tear_down(s);
	ramdev_crash_kept(s->rd, kept);
	return bring_up(s, true);
}

/*
 * Checks the slot map before its end: each slot is either found by its block or
 * handed out by the free list, once.
 */
static void check_slot_map(struct session *s)
{
	u32 found = 0, handed_out = 0, slot;

	if (s->map.nr_slots > MODEL_SLOTS)
		return;
	slot_map_build_free_list(&s->map);
	while ((slot = slot_map_alloc(&s->map)) != SLOT_NONE) {
		must(slot_state(slot_word(slot_at(&s->map, slot))) == SLOT_FREE,
		     "a slot of the free list is not free");
		slot_at(&s->map, slot)->word.counter = SLOT_FILLING;
		handed_out++;
	}
	for (u32 i = 0; i < s->map.nr_slots; i++)
		found += is_valid(s, i) &&
			 slot_map_find(&s->map,
				       slot_block(slot_at(&s->map, i))) == i;
	must(found == s->resident && found + handed_out == s->map.nr_slots,
	     "the slot map has lost a slot");
}

/* Power fails in the middle of a commit. */
static bool cut_commit(struct session *s)
{
	int r;

	memcpy(s->before, s->committed, MODEL_SLOTS * sizeof(*s->before));
	s->before_clean = s->committed_clean;
	s->rd->crash_at = s->rd->ops + next_byte(s) % 32;
	r = cmd_commit(s->cmd, true);
	must(!s->trusted || s->failed || !r || r == -EIO || r == -ENOSPC,
	     "a commit fails for no reason");
	/* The commit ran out of free blocks, so none of it is durable. */
	if (r != -ENOSPC) {
		s->torn = r;
		model_commit(s, true);
	}
	return cut(s);
}

static bool restart(struct session *s)
{
	if (!store_state(s))
		return false;
	check_slot_map(s);
	tear_down(s);
	return bring_up(s, true);
}

/* Unmaps all blocks, as begin_session() does if it distrusts the metadata. */
static bool unmap_all(struct session *s)
{
	if (!answer(s, cmd_unmap_all(s->cmd)))
		return false;
	memset(s->now, 0, MODEL_SLOTS * sizeof(*s->now));
	if (!commit(s, true))
		return false;
	tear_down(s);
	return bring_up(s, true);
}

/*
 * The cache is given up: make_fence().  The next open finds no mapping, whatever
 * there was, unless neither the empty mapping nor the zeroed superblock could be
 * written.
 */
static bool give_up_cache(struct session *s)
{
	bool empty = answer(s, cmd_abort(s->cmd)) &&
		     answer(s, cmd_unmap_all(s->cmd)) &&
		     answer(s, cmd_commit(s->cmd, true));

	if (!empty && !answer(s, cmd_zero_superblock(s->cmd)))
		return false;
	tear_down(s);
	ramdev_crash_kept(s->rd, 0);
	memset(s->now, 0, MODEL_SLOTS * sizeof(*s->now));
	model_commit(s, true);
	if (!bring_up(s, true))
		return false;
	must(!s->resident, "a cache that was given up has a mapping");
	return true;
}

static bool end_of_session(struct session *s)
{
	switch (next_byte(s) % 4) {
	case 0:
		return restart(s);
	case 1:
		return cut(s);
	}
	return cut_commit(s);
}

/* Runs seldom, because each of its cases leaves an empty cache. */
static bool end_of_trust(struct session *s)
{
	switch (next_byte(s) % 8) {
	case 0:
		return unmap_all(s);
	case 1:
		return give_up_cache(s);
	}
	return true;
}

/* Returns false if the table is to be removed, with or without its engine. */
static bool step(struct session *s)
{
	switch (next_byte(s) % 12) {
	default:
		insert(s);
		return true;
	case 2:
		set_dirty_ahead(s);
		return true;
	case 3:
	case 4:
		evict(s);
		return true;
	case 5:
		set_dirty(s, true);
		return true;
	case 6:
		set_dirty(s, false);
		return true;
	case 7:
		return commit(s, true);
	case 8:
		other(s);
		return true;
	case 9:
		set_record(s);
		return true;
	case 10:
		return end_of_session(s);
	case 11:
		return end_of_trust(s);
	}
}

static void run(struct session *s)
{
	bool running = true;

	while (running && s->next_op < s->im->nr_ops)
		running = step(s);
	if (running && restart(s))
		return;
	if (s->cmd)
		give_up(s);
}

static void run_on(struct session *s)
{
	s->rd = image_to_disk(s->im);
	order_failures(s);
	s->block_sectors = block_sectors(s);
	os_alloc_fails = allocation_fails;
	if (construct(s)) {
		session_stats.opened++;
		session_stats.sound += s->trusted;
		if (bring_up(s, false)) {
			session_stats.resumed++;
			run(s);
		} else if (s->cmd) {
			give_up(s);
		}
		tear_down(s);
	}
	os_alloc_fails = NULL;
	ramdev_free(s->rd);
}

void session_run(const struct image *im)
{
	static struct expected now[MODEL_SLOTS], committed[MODEL_SLOTS];
	static struct expected before[MODEL_SLOTS];
	struct session s = {
		.im = im, .now = now, .committed = committed,
		.before = before, .record = malloc(CACHE_RECORD_BYTES),
	};

	must(s.record, "no memory");
	session_stats.runs++;
	if (im->nr_slots && im->device_blocks)
		run_on(&s);
	free(s.record);
}
