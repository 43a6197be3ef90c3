/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of the settings that hearth's own policies have, made from their
 * lists.
 *
 * lvm2 keeps a volume's settings when its policy is switched, so a table may give
 * a policy the settings of another, and the policy ignores them. The engine knows
 * these names even where modprobe cannot load the other policy, because a volume
 * whose table is refused cannot be activated.
 *
 * A key that is added to one of the lists is here by itself. A new list of one of
 * hearth's own policies is added to the includes and to the array.
 */
#ifndef HEARTH_SHIPPED_KEYS_H
#define HEARTH_SHIPPED_KEYS_H

#include "clock-settings.h"
#include "heat-settings.h"
#include "nhit-settings.h"

#define CACHE_SETTING_NAME(key, unit, def, min, max, help)	#key,

static const char * const cache_shipped_keys[] = {
	SEQ_CUTOFF_SETTING(CACHE_SETTING_NAME)
	HEAT_SETTINGS(CACHE_SETTING_NAME)
	NHIT_SETTINGS(CACHE_SETTING_NAME)
};

#endif
