/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every setting that some policy knows, ours or a stock one.  lvm2 keeps a
 * volume's settings when its policy is switched, so a policy is given keys
 * meant for another: those in this list are accepted and ignored, any other
 * unknown key is refused.
 */
#ifndef HEARTH_KNOWN_KEYS_H
#define HEARTH_KNOWN_KEYS_H

#include "../dm-target/cache-setting-list.h"
#include "heat-settings.h"
#include "nhit-settings.h"

#define KNOWN_KEY(key, unit, def, min, max, help)	#key,
static const char * const cache_known_keys[] = {
	/* the target's own; stock has the first */
	CACHE_SETTINGS(KNOWN_KEY)
	/* the kernel's former mq */
	"sequential_threshold",
	"random_threshold",
	"read_promote_adjustment",
	"write_promote_adjustment",
	"discard_promote_adjustment",
	/* heat, lru, nhit */
	HEAT_SETTINGS(KNOWN_KEY)
	NHIT_SETTINGS(KNOWN_KEY)
	NULL
};

#endif
