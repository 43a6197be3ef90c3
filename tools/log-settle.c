// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write log of a stopped volume goes home.
 *
 * Owns the order of things: copy, flush the origin, clear the flag, wipe the log's
 * header. Until the flag is cleared the log and the metadata stay as they are, so a
 * settlement that was cut is done again from the beginning.
 */

#include "log-volume.h"
#include "metadata-check.h"
#include "why.h"

#define BUFFER_SECTORS	2048u	/* 1 MiB: what one write to the origin takes at most */

struct settler {
	const struct settle_volume *v;
	const struct settle_options *o;
	struct volume_log log;
	u8 *buffer;
	u32 filled;		/* sectors in the buffer */
	u64 to;			/* sector of the origin that the first of them is for */
	u64 done;		/* sectors of runs that were read */
	char *why;
	size_t room;
};

static int __printf(3, 4) fail(struct settler *s, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, s->room, fmt, ap);
	va_end(ap);
	return r;
}

static void __printf(2, 3) say(struct settler *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(s->o->say, s->o->ctx, fmt, ap);
	va_end(ap);
}

static int flush(const struct log_dev *dev)
{
	return dev->write(dev->ctx, 0, 0, NULL, LOG_PREFLUSH);
}

/* ---- Looking ---- */

static int check_metadata(struct settler *s)
{
	struct metadata_faults f;
	int r = metadata_find_faults(s->v->cmd, s->o->say, s->o->ctx, &f);

	if (r)
		return fail(s, r, "the metadata cannot be checked: %s",
			    metadata_error(r));
	if (f.damage)
		return fail(s, -EILSEQ,
			    "the metadata is damaged: repair it first; nothing was written");
	return 0;
}

static int load_log(struct settler *s)
{
	const struct settle_volume *v = s->v;
	int r = volume_log_load(&s->log, v->cmd, &v->cache, v->cache_sectors,
				v->origin_sectors, s->o->say, s->o->ctx);

	if (r)
		return fail(s, r, "the write log cannot be read: %s",
			    metadata_error(r));
	if (s->log.damage)
		return fail(s, -EILSEQ,
			    "the write log does not fit these devices, or is damaged; nothing was written");
	return 0;
}

/* ---- Copying ---- */

static int write_buffer(struct settler *s)
{
	const struct log_dev *origin = &s->v->origin;
	int r = 0;

	if (s->filled)
		r = origin->write(origin->ctx, s->to, s->filled, s->buffer, 0);
	if (r)
		return fail(s, r, "the origin cannot be written at sector %llu: %s",
			    s->to, metadata_error(r));
	s->filled = 0;
	if (s->o->progress && s->log.nr_sectors)
		s->o->progress(s->o->ctx, "settle",
			       s->done * 100 / s->log.nr_sectors);
	return 0;
}

/*
 * Adds sectors to the buffer, which is written first if they do not continue it or
 * do not fit.
 */
static int add(struct settler *s, u64 from, u64 to, u32 sectors)
{
	const struct log_dev *cache = &s->v->cache;
	int r;

	if (s->to + s->filled != to || s->filled + sectors > BUFFER_SECTORS) {
		r = write_buffer(s);
		if (r)
			return r;
		s->to = to;
	}
	r = cache->read(cache->ctx, from, sectors,
			s->buffer + (size_t)s->filled * 512);
	if (r)
		return fail(s, r, "the cache device cannot be read at sector %llu: %s",
			    from, metadata_error(r));
	s->filled += sectors;
	s->done += sectors;
	return 0;
}

static int copy_run(struct settler *s, const struct log_run *run)
{
	u32 block_sectors = s->log.geometry.block_sectors, n;
	u64 from = (u64)run->slot * block_sectors + run->at;
	u64 to = run->block * block_sectors + run->sector;
	int r = 0;

	for (u32 done = 0; done < run->sectors && !r; done += n) {
		n = min(run->sectors - done, BUFFER_SECTORS);
		r = add(s, from + done, to + done, n);
	}
	return r;
}

static int copy_all(struct settler *s)
{
	int r = 0;

	s->buffer = malloc((size_t)BUFFER_SECTORS * 512);
	if (!s->buffer)
		return fail(s, -ENOMEM, "no memory");
	for (u64 i = 0; i < s->log.nr_runs && !r; i++)
		r = copy_run(s, s->log.runs + i);
	if (!r)
		r = write_buffer(s);
	free(s->buffer);
	return r;
}

/* ---- The metadata ---- */

static int any_discard(void *ctx, u64 dblock)
{
	(void)ctx;
	(void)dblock;
	return 1;
}

/*
 * dm-cache promotes a block whose discard bit is set without reading the origin, so
 * no bit may stay set. If the metadata was left unclean, the bits are void anyhow.
 */
static int clear_discards(struct cmd *cmd)
{
	u64 sectors, nr;
	int r = cmd_discards_load(cmd, any_discard, NULL);

	if (r <= 0)
		return r;
	cmd_discard_geometry(cmd, &sectors, &nr);
	return cmd_set_discard_geometry(cmd, sectors, nr);
}

/* Every other field stays. CLEAN_SHUTDOWN does, because it speaks of the mappings. */
static int clear_flag(struct settler *s)
{
	struct cmd *cmd = s->v->cmd;
	int r = clear_discards(cmd);

	for (u32 i = 0; i < s->log.nr_kept && !r; i++)
		r = cmd_set_dirty(cmd, s->log.kept_slots[i], true);
	if (!r)
		r = cmd_set_log_flag(cmd, false);
	if (!r)
		r = cmd_commit(cmd, cmd_opened_clean(cmd));
	if (r)
		return fail(s, r, "the metadata cannot be written: %s; all data are on the origin, run this again to clear the flag",
			    metadata_error(r));
	return 0;
}

/* The header and its copy, so that nothing believes the ring again. */
static void wipe_header(struct settler *s)
{
	static const u8 zeroes[LOG_BLOCK_BYTES];
	const struct log_dev *cache = &s->v->cache;
	int r = 0;

	for (int copy = 0; copy < 2 && !r; copy++)
		r = cache->write(cache->ctx,
				 log_header_sector(s->log.geometry.block_sectors,
						   s->log.geometry.nr_slots,
						   copy),
				 LOG_BLOCK_SECTORS, zeroes, LOG_FUA);
	if (r)
		say(s, "the log's header on the cache device cannot be wiped: %s; nothing believes it without the flag",
		    metadata_error(r));
}

/* ---- The report ---- */

static int count_dirty(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid)
{
	u32 *nr = ctx;

	(void)cblock;
	(void)oblock;
	(void)hint;
	(void)hint_valid;
	*nr += dirty;
	return 0;
}

static void say_what(struct settler *s, const char *verb)
{
	const struct volume_log *l = &s->log;

	say(s, "%s to the origin: %llu extent%s of %llu block%s, %llu bytes",
	    verb, l->nr_runs, l->nr_runs == 1 ? "" : "s", l->nr_blocks,
	    l->nr_blocks == 1 ? "" : "s", l->nr_sectors * 512);
	if (l->nr_kept)
		say(s, "%u block%s of the log %s in the cache already, and dirty",
		    l->nr_kept, l->nr_kept == 1 ? "" : "s",
		    l->nr_kept == 1 ? "is" : "are");
}

/* Without its dirty blocks the origin is not complete, so the report names them. */
static void say_dirty(struct settler *s)
{
	u32 nr = 0;

	if (cmd_load(s->v->cmd, NULL, NULL, count_dirty, &nr) || !nr)
		return;
	say(s, "dirty in the cache: %u block%s, which only the cache writes back",
	    nr, nr == 1 ? "" : "s");
}

static int settle(struct settler *s)
{
	int r;

	say_what(s, s->o->dry_run ? "to copy" : "copying");
	if (s->o->dry_run)
		return 0;
	/* After a reset the ring's head may be in the device's cache only. */
	r = flush(&s->v->cache);
	if (r)
		return fail(s, r, "the cache device cannot be flushed: %s",
			    metadata_error(r));
	r = copy_all(s);
	if (r)
		return r;
	r = flush(&s->v->origin);
	if (r)
		return fail(s, r, "the origin cannot be flushed: %s",
			    metadata_error(r));
	r = clear_flag(s);
	if (r)
		return r;
	wipe_header(s);
	say(s, "the write log is empty, and its flag is cleared");
	say_dirty(s);
	return 0;
}

int log_settle(const struct settle_volume *v, const struct settle_options *o,
	       char *why, size_t room)
{
	struct settler s = { .v = v, .o = o, .why = why, .room = room };
	int r;

	if (!cmd_log_flag(v->cmd)) {
		say(&s, "no write log is in use; there is nothing to do");
		return 0;
	}
	r = check_metadata(&s);
	if (!r)
		r = load_log(&s);
	if (!r)
		r = settle(&s);
	volume_log_free(&s.log);
	return r;
}
