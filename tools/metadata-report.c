// SPDX-License-Identifier: GPL-2.0-only
/*
 * The report of a repair, and the arrays of what is certain: the files that read
 * damaged metadata and the one that writes share them.
 *
 * It owns the way from a reader to the caller's functions, and the memory of struct
 * salvage.  It must not know how metadata is read.
 */

#include "metadata-repair.h"
#include "why.h"

void salvage_say(struct salvage *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_line(s->o->say, s->o->ctx, fmt, ap);
	va_end(ap);
}

int salvage_fail(struct salvage *s, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->result->why, sizeof(s->result->why), fmt, ap);
	va_end(ap);
	return r;
}

void salvage_progress(struct salvage *s, const char *what, u64 done, u64 all)
{
	if (s->o->progress)
		s->o->progress(s->o->ctx, what, done * 100 / all);
}

int salvage_room(struct salvage *s, u32 cache_blocks)
{
	s->cache_blocks = cache_blocks;
	s->state = calloc((size_t)cache_blocks + 1, sizeof(*s->state));
	s->oblock = calloc((size_t)cache_blocks + 1, sizeof(*s->oblock));
	if (s->state && s->oblock)
		return 0;
	return salvage_fail(s, -ENOMEM, "no memory for %u cache blocks",
			    cache_blocks);
}

void salvage_free(struct salvage *s)
{
	free(s->state);
	free(s->oblock);
	free(s->hint);
	free(s->discards);
}
