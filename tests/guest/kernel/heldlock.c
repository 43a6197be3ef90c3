// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests of a race: stops a task where it is about to take a mutex.
 *
 *   insmod heldlock.ko caller=FUNCTION[,FUNCTION]... skip=N
 *
 * The module skips the first N calls of mutex_lock() by these functions. The
 * next call waits until "go" is set.  "held" says that it waits.
 */
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#define MAX_CALLERS	4

static char *caller[MAX_CALLERS];
static unsigned int nr_callers;
module_param_array(caller, charp, &nr_callers, 0444);
static int skip;
module_param(skip, int, 0444);
static bool held;
module_param(held, bool, 0444);
static bool go;
module_param(go, bool, 0644);

static atomic_t left;

#ifdef CONFIG_DEBUG_LOCK_ALLOC
#define LOCK_FUNCTION	"mutex_lock_nested"
#else
#define LOCK_FUNCTION	"mutex_lock"
#endif

/* Replaces the held call of mutex_lock(). */
static void late_mutex_lock(struct mutex *lock, unsigned int subclass)
{
	WRITE_ONCE(held, true);
	while (!READ_ONCE(go))
		schedule_timeout_uninterruptible(HZ / 50);
	WRITE_ONCE(held, false);
	mutex_lock_nested(lock, subclass);
}

static bool is_caller(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;
	size_t len;

	sprint_symbol(name, address);
	len = strcspn(name, "+.");
	for (i = 0; i < nr_callers; i++)
		if (strlen(caller[i]) == len && !strncmp(name, caller[i], len))
			return true;
	return false;
}

static int before(struct kprobe *p, struct pt_regs *regs)
{
	if (strcmp(current->comm, "dmsetup") ||
	    !is_caller(*(unsigned long *)kernel_stack_pointer(regs)) ||
	    atomic_dec_return(&left) != -1)
		return 0;
	instruction_pointer_set(regs, (unsigned long)late_mutex_lock);
	return 1;
}

/* Without one the kernel replaces the probe by a jump, which goes on where it was. */
static void after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = LOCK_FUNCTION,
	.pre_handler = before,
	.post_handler = after,
};

static int __init heldlock_init(void)
{
	atomic_set(&left, skip);
	return register_kprobe(&probe);
}

static void __exit heldlock_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(heldlock_init);
module_exit(heldlock_exit);

MODULE_DESCRIPTION("A task stops where it is about to take a mutex");
MODULE_LICENSE("GPL");
