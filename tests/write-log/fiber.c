// SPDX-License-Identifier: GPL-2.0-only
/* Fibers on ucontext. */

#include "fiber.h"

#include <ucontext.h>

#define STACK_BYTES	(128 << 10)

struct fiber {
	ucontext_t context;
	void (*fn)(void *arg);
	void *arg;
	bool runs;
	char *stack;
};

static struct fiber *running;
static ucontext_t outside;

#ifdef __SANITIZE_ADDRESS__
void __asan_unpoison_memory_region(const volatile void *addr, size_t size);
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);

static const void *outside_bottom;
static size_t outside_size;
#endif

struct fiber *fiber_new(void)
{
	struct fiber *f = calloc(1, sizeof(*f));

	f->stack = malloc(STACK_BYTES);
	return f;
}

void fiber_free(struct fiber *f)
{
	free(f->stack);
	free(f);
}

static void switch_out(struct fiber *f)
{
#ifdef __SANITIZE_ADDRESS__
	void *save = NULL;

	__sanitizer_start_switch_fiber(f->runs ? &save : NULL, outside_bottom, outside_size);
#endif
	swapcontext(&f->context, &outside);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(save, &outside_bottom, &outside_size);
#endif
}

static void enter(void)
{
	struct fiber *f = running;

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &outside_bottom, &outside_size);
#endif
	f->fn(f->arg);
	f->runs = false;
	switch_out(f);
}

void fiber_start(struct fiber *f, void (*fn)(void *arg), void *arg)
{
#ifdef __SANITIZE_ADDRESS__
	/* The frames of an abandoned function are gone from the stack. */
	__asan_unpoison_memory_region(f->stack, STACK_BYTES);
#endif
	f->fn = fn;
	f->arg = arg;
	f->runs = true;
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = NULL;
	makecontext(&f->context, enter, 0);
}

bool fiber_resume(struct fiber *f)
{
#ifdef __SANITIZE_ADDRESS__
	void *save = NULL;

	__sanitizer_start_switch_fiber(&save, f->stack, STACK_BYTES);
#endif
	running = f;
	swapcontext(&outside, &f->context);
	running = NULL;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(save, NULL, NULL);
#endif
	return f->runs;
}

void fiber_yield(void)
{
	if (running)
		switch_out(running);
}

struct fiber *fiber_current(void)
{
	return running;
}
