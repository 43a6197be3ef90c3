/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices below a volume that are gone.  It must not know caches.
 */
#ifndef HEARTH_PLUGIN_LOST_H
#define HEARTH_PLUGIN_LOST_H

#include "cache-info.h"

/**
 * lost_below() - is a device gone that a table still names?
 * @d: the device; this looks at all devices at the bottom of it
 * @lost: receives the device that /sys does not have any more, the first if there are several
 *
 * A network device that comes back gets another number, and often another name, while the
 * table keeps the old device. Prints nothing. Dmeventd's plugin calls this, too.
 *
 * Return: true if a device is gone; else @lost stays as it is.
 */
bool lost_below(struct device d, struct device *lost);

#endif
