/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices below a volume that are gone.
 */
#ifndef HEARTH_PLUGIN_LOST_H
#define HEARTH_PLUGIN_LOST_H

#include "cache-info.h"

/**
 * lost_below() - is a device gone that a table still names?
 * @d: the device at whose bottom is looked
 * @lost: receives the one that /sys does not have any more, the first if there are several
 *
 * A network device that comes back gets another number, and often another name, while the
 * table holds on to the old one. Dmeventd's plugin calls this, too: it prints nothing.
 *
 * Return: true if one is gone; else @lost stays as it is.
 */
bool lost_below(struct device d, struct device *lost);

#endif
