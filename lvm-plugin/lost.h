/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices below a volume that are gone.
 */
#ifndef HEARTH_PLUGIN_LOST_H
#define HEARTH_PLUGIN_LOST_H

#include "cache-info.h"

/*
 * Is a device at the bottom of @d gone from /sys, although the table above it still
 * names it?  Sets *@lost then, if it is so.  A network device that comes back gets
 * another number, and often another name, while the table holds on to the old one.
 */
bool lost_below(struct device d, struct device *lost);

#endif
