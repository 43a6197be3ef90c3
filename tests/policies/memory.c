// SPDX-License-Identifier: GPL-2.0-only
/* Counts of allocations and of stores. */
#include "memory.h"

#define MAX_AREAS	256

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void __wrap_free(void *p);

static struct area {
	void *at;
	size_t size;
	void *copy;
} areas[MAX_AREAS];

static u64 allocations, in_use;
static unsigned int fail_after;

static void *note(void *p, size_t size)
{
	unsigned int i;

	allocations++;
	for (i = 0; p && i < MAX_AREAS; i++) {
		if (areas[i].at)
			continue;
		areas[i].at = p;
		areas[i].size = size;
		in_use += size;
		break;
	}
	return p;
}

static bool fails(void)
{
	return fail_after && !--fail_after;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : note(__real_calloc(n, size), n * size);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : note(__real_malloc(size), size);
}

static void drop_copy(struct area *a)
{
	__real_free(a->copy);
	a->copy = NULL;
}

void __wrap_free(void *p)
{
	unsigned int i;

	for (i = 0; p && i < MAX_AREAS; i++) {
		if (areas[i].at != p)
			continue;
		in_use -= areas[i].size;
		areas[i].at = NULL;
		drop_copy(&areas[i]);
		break;
	}
	__real_free(p);
}

u64 memory_allocations(void)
{
	return allocations;
}

u64 memory_in_use(void)
{
	return in_use;
}

void memory_fail_after(unsigned int nr)
{
	fail_after = nr;
}

void memory_snapshot(void)
{
	unsigned int i;

	for (i = 0; i < MAX_AREAS; i++) {
		if (!areas[i].at)
			continue;
		if (!areas[i].copy)
			areas[i].copy = __real_malloc(areas[i].size);
		memcpy(areas[i].copy, areas[i].at, areas[i].size);
	}
}

static u32 changed_words(const struct area *a)
{
	const u8 *now = a->at, *then = a->copy;
	u32 changed = 0;
	size_t i, n;

	for (i = 0; then && i < a->size; i += 4) {
		n = min(a->size - i, (size_t)4);
		changed += memcmp(now + i, then + i, n) != 0;
	}
	return changed;
}

u32 memory_changed_words(void)
{
	u32 changed = 0;
	unsigned int i;

	for (i = 0; i < MAX_AREAS; i++)
		if (areas[i].at)
			changed += changed_words(&areas[i]);
	return changed;
}
