// SPDX-License-Identifier: GPL-2.0-only
/* Helpers of all tests of the write log. */

#include "util.h"

/* The sizes of kmalloc(). */
static size_t rounded(size_t bytes)
{
	static const size_t sizes[] = { 8, 16, 32, 64, 96, 128, 192, 256 };

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		if (bytes <= sizes[i])
			return sizes[i];
	return roundup_pow_of_two(bytes);
}

static void *host_alloc(void *ctx, size_t bytes, bool nowait)
{
	struct host *h = ctx;
	void *p;

	(void)nowait;
	if (h->fails && one_in(h->fails, h->fail_one_in))
		return NULL;
	p = malloc(bytes);
	memset(p, 0xa5, bytes);
	h->nr_allocs++;
	h->bytes += bytes;
	h->rounded += rounded(bytes);
	return p;
}

static void host_free_mem(void *ctx, void *p, size_t bytes)
{
	struct host *h = ctx;

	h->bytes -= bytes;
	h->rounded -= rounded(bytes);
	free(p);
}

static void host_pin(void *ctx, u32 slot)
{
	struct host *h = ctx;

	assert_true(slot < h->nr_slots);
	h->pins[slot]++;
}

static bool host_pinned(void *ctx, u32 slot)
{
	struct host *h = ctx;

	return h->pins[slot];
}

const struct log_index_ops host_ops = {
	.alloc = host_alloc,
	.free = host_free_mem,
	.pin = host_pin,
	.pinned = host_pinned,
};

void host_make(struct host *h, u32 nr_slots)
{
	memset(h, 0, sizeof(*h));
	h->nr_slots = nr_slots;
	h->pins = calloc(nr_slots, sizeof(*h->pins));
}

void host_free(struct host *h)
{
	assert_int_equal(h->bytes, 0);
	free(h->pins);
}
