// SPDX-License-Identifier: GPL-2.0-only
/* The rules for a repair's output.  See repair-judge.h. */
#include "repair-judge.h"

static void *zeroed(u32 nr, size_t size)
{
	void *p = calloc((size_t)nr + 1, size);

	if (!p)
		abort();
	return p;
}

struct content *content_new(u32 nr)
{
	struct content *c = zeroed(0, sizeof(*c));

	c->nr = nr;
	c->oblock = zeroed(nr, sizeof(u64));
	c->dirty = zeroed(nr, sizeof(bool));
	c->hint = zeroed(nr, sizeof(u32));
	c->lost = zeroed(nr, sizeof(bool));
	c->gone = zeroed(nr, sizeof(bool));
	c->guessed = zeroed(nr, sizeof(bool));
	memset(c->oblock, 0xff, nr * sizeof(u64));
	return c;
}

void content_free(struct content *c)
{
	free(c->oblock);
	free(c->dirty);
	free(c->hint);
	free(c->lost);
	free(c->gone);
	free(c->guessed);
	free(c);
}

int content_take_block(void *ctx, u32 cblock, u64 oblock, bool dirty, u32 hint,
		       bool hint_valid)
{
	struct content *c = ctx;

	if (cblock >= c->nr)
		return -EINVAL;
	c->oblock[cblock] = oblock;
	c->dirty[cblock] = dirty;
	c->hint[cblock] = hint_valid ? hint : 0;
	return 0;
}

/* ---- The repair's messages ---- */

static void take_ranges(struct content *c, const char *line, const char *label,
			bool *named)
{
	size_t n = strlen(label);
	u32 from, to;
	int used;

	if (strncmp(line, label, n) || line[n] != ':')
		return;
	for (line += n + 1; sscanf(line, " %u%n", &from, &used) == 1;) {
		line += used;
		to = from;
		if (sscanf(line, "-%u%n", &to, &used) == 1)
			line += used;
		if (from > to || to >= c->nr) {
			c->malformed = true;
			return;
		}
		memset(named + from, true, to - from + 1);
	}
	if (*line)
		c->malformed = true;
}

void content_take_line(void *ctx, const char *msg)
{
	struct content *c = ctx;

	if (!os_quiet)
		printf("said: %s\n", msg);
	take_ranges(c, msg, "lost, and was dirty", c->lost);
	take_ranges(c, msg, "lost, and may have been dirty", c->lost);
	take_ranges(c, msg, "not mapped any more, and was not dirty", c->gone);
	take_ranges(c, msg, "dirty, because that is not known", c->guessed);
}

/* ---- The rules ---- */

static const char *broken_rule(const struct content *was,
			       const struct content *after, bool clean, u32 i)
{
	bool was_mapped = was->oblock[i] != U64_MAX;
	bool was_dirty = was_mapped && (was->dirty[i] || !clean);
	bool mapped = after->oblock[i] != U64_MAX;

	if (mapped && after->oblock[i] != was->oblock[i])
		return "is mapped to another origin block than it was";
	if (was_dirty && !after->dirty[i] && !after->lost[i])
		return "was dirty, and is neither dirty nor named as lost";
	if (was_mapped && !mapped && !after->lost[i] && !after->gone[i])
		return "was mapped, and is gone without a word";
	if (mapped && (after->lost[i] || after->gone[i]))
		return "is mapped, and named as gone";
	if (mapped && after->dirty[i] != was_dirty && !after->guessed[i])
		return "became dirty without a word";
	return NULL;
}

bool repair_judge(const struct content *was, const struct content *after,
		  bool clean, struct repair_outcome *o, char *fault, size_t len)
{
	const char *broken;

	memset(o, 0, sizeof(*o));
	if (after->malformed) {
		snprintf(fault, len, "the repair names blocks that do not exist");
		return false;
	}
	for (u32 i = 0; i < was->nr; i++) {
		bool was_mapped = was->oblock[i] != U64_MAX;
		bool was_dirty = was_mapped && (was->dirty[i] || !clean);

		broken = broken_rule(was, after, clean, i);
		if (broken) {
			snprintf(fault, len, "cache block %u %s", i, broken);
			return false;
		}
		o->lost_dirty += was_dirty && after->lost[i];
		o->gone += was_mapped && after->gone[i];
		o->guessed += after->guessed[i];
		o->other_hints += after->oblock[i] != U64_MAX &&
				  was->hint[i] != after->hint[i];
	}
	return true;
}
