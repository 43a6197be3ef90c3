// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a bio that was no hit: a device has ended it, and what it held is
 * given back.
 *
 * It owns which end belongs to which kind of bio.  It must not know why a bio was
 * mapped as it was: cache-io.c decided that.  The end of a hit stays in cache-io.c,
 * because a hit passes three files only.
 */
#include "cache-bio.h"
#include "cache-both.h"
#include "cache-end.h"
#include "cache-failover.h"
#include "cache-fill.h"
#include "cache-log-io.h"

static void end_gated(struct cache *c, struct cache_bio *cb, blk_status_t error)
{
	cache_user_left_origin(c);
	cache_gate_leave(c, cb);
	if (!cb->fill)
		return;
	if (error)
		cache_fill_forget(cb->fill);
	else
		cache_fill_start(cb->fill);
	cb->fill = NULL;
}

static int end_joined_flush(struct cache *c, struct bio *bio, blk_status_t *error)
{
	int r = cache_end_flush(c, bio, error);

	return r == DM_ENDIO_DONE ? cache_log_end_flush(c, bio) : r;
}

int cache_end_no_hit(struct cache *c, struct bio *bio, struct cache_bio *cb,
		     blk_status_t *error)
{
	enum bio_kind kind = cb->kind;

	if (kind == BIO_BOTH)
		return cache_end_origin_leg(c, bio, cb, error);

	cb->kind = BIO_PLAIN;
	switch (kind) {
	case BIO_PLAIN:
	case BIO_PINNED_READ:
	case BIO_PINNED_WRITE:
	case BIO_BOTH:
	case BIO_LOGGED:
		break;
	case BIO_ORIGIN_WRITE:
		cache_note_write(&c->flushes.origin, bio);
		break;
	case BIO_ORIGIN_READ:
		cache_user_left_origin(c);
		break;
	case BIO_GATED:
		cache_note_write(&c->flushes.origin, bio);
		end_gated(c, cb, *error);
		break;
	case BIO_OVERWRITE:
		cache_note_write(&c->flushes.fast, bio);
		cache_overwrite_done(c, bio, *error);
		return DM_ENDIO_INCOMPLETE;
	case BIO_DISCARD:
		cache_note_write(&c->flushes.origin, bio);
		cache_gate_leave_discard(c, &cb->discard);
		break;
	case BIO_FLUSH:
		return cache_end_flush(c, bio, error);
	case BIO_JOINED_FLUSH:
		return end_joined_flush(c, bio, error);
	case BIO_SUSPECT:
		atomic_dec(&c->intents.nr_suspects);
		break;
	case BIO_ABSORBED:
		cache_note_write(&c->flushes.fast, bio);
		return cache_log_end_write(c, bio, cb, error);
	case BIO_LOG_READ:
		cache_log_end_read(c, bio, *error);
		break;
	}
	return DM_ENDIO_DONE;
}
