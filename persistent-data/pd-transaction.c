// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy on write: blocks of the last committed state are never changed, only
 * copied; a commit makes the copies durable and then switches to them.
 *
 * This file owns that rule. There is no list of copies: a block is a copy if
 * the space map says that it is in use now and was free at the last commit. To
 * abort, the caller throws away the device's buffers and the space map, and
 * loads both again.
 *
 * This file must not know what the blocks hold, nor where the superblock keeps
 * its roots.
 */

#include "pd-transaction.h"

static bool in_use(struct pd_tm *tm, u64 nr)
{
	if (nr && pd_sm_count(tm->sm, nr))
		return true;
	os_err("block %llu is pointed to but out of range or not counted as used",
	       (unsigned long long)nr);
	return false;
}

int pd_tm_read(struct pd_tm *tm, u64 nr, enum pd_kind kind,
	       struct pd_block *b)
{
	b->buf = NULL;
	if (!in_use(tm, nr))
		return -EILSEQ;
	return pd_block_read(tm->dev, nr, kind, b);
}

int pd_tm_new(struct pd_tm *tm, enum pd_kind kind, struct pd_block *b)
{
	u64 nr;
	int r;

	b->buf = NULL;
	r = pd_sm_alloc(tm->sm, &nr);
	if (r)
		return r;
	return pd_block_new(tm->dev, nr, kind, b);
}

int pd_tm_shadow(struct pd_tm *tm, u64 *nr, enum pd_kind kind,
		 struct pd_block *b)
{
	struct pd_block old;
	int r;

	b->buf = NULL;
	if (!in_use(tm, *nr))
		return -EILSEQ;
	if (pd_sm_is_new(tm->sm, *nr))
		return pd_block_write(tm->dev, *nr, kind, b);

	r = pd_block_read(tm->dev, *nr, kind, &old);
	if (r)
		return r;
	r = pd_tm_new(tm, kind, b);
	if (r)
		goto put_old;

	memcpy(b->data, old.data, PD_BLOCK_SIZE);
	r = pd_sm_dec(tm->sm, *nr);
	if (r)
		pd_block_put(b);
	else
		*nr = b->nr;
put_old:
	pd_block_put(&old);
	return r;
}

int pd_tm_dec(struct pd_tm *tm, u64 nr)
{
	return in_use(tm, nr) ? pd_sm_dec(tm->sm, nr) : -EILSEQ;
}

void pd_tm_prefetch(struct pd_tm *tm, u64 nr)
{
	if (nr && nr < pd_sm_nr_blocks(tm->sm))
		pd_device_prefetch(tm->dev, nr);
}

int pd_tm_pre_commit(struct pd_tm *tm, struct pd_sm_root *root)
{
	int r = pd_sm_write(tm->sm, tm->dev, root);

	return r ? r : pd_device_flush(tm->dev);
}

int pd_write_superblock(struct pd_device *dev, const void *data,
			enum pd_kind kind)
{
	struct pd_block b;
	int r;

	r = pd_block_new(dev, 0, kind, &b);
	if (r)
		return r;
	memcpy(b.data, data, PD_BLOCK_SIZE);
	pd_block_put(&b);
	return pd_device_flush(dev);
}
