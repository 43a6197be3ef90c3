/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy may use of its surroundings, in the kernel and in user space.
 * Keep it small: integers, racy loads and stores, memory, and nothing else.
 */
#ifndef HEARTH_POLICY_OS_H
#define HEARTH_POLICY_OS_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/mm.h>
#include <linux/types.h>
#else
#include "policy-user.h"
#endif

#endif
