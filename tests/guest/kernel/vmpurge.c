// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests of memory use: makes the kernel give back the addresses of vmalloc() that it
 * has freed, but not taken back yet.
 *
 *   cat /sys/module/vmpurge/parameters/purge
 *
 * The kernel takes them back when they are some 64 MiB. With KASAN an eighth of that is
 * memory, the shadow of these addresses. Each task that ends leaves its stack there, so
 * the memory grows with time.
 */
#include <linux/module.h>
#include <linux/vmalloc.h>

static int get_purge(char *buffer, const struct kernel_param *kp)
{
	vm_unmap_aliases();
	return sysfs_emit(buffer, "done\n");
}

static const struct kernel_param_ops purge_ops = { .get = get_purge };
module_param_cb(purge, &purge_ops, NULL, 0444);

static int __init vmpurge_init(void)
{
	return 0;
}

static void __exit vmpurge_exit(void)
{
}

module_init(vmpurge_init);
module_exit(vmpurge_exit);

MODULE_DESCRIPTION("Makes the kernel take back freed addresses of vmalloc()");
MODULE_LICENSE("GPL");
