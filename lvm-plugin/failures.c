// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a cache that has failed, for hearth doctor and for dmeventd's plugin.
 * hearth-target(8) describes them.
 *
 * It must not know how a cache came into a state.
 */
#include <string.h>

#include "failures.h"

static const struct failure failures[] = {
	{ "read-only",
	  "the metadata cannot be written; writes that need it fail",
	  "replace the metadata device if it is failing, then 'lvchange --refresh CACHE'; if it has to be checked, deactivate and activate it, because LVM checks it then; if that fails, " SAFE_REPAIR },
	{ "holding",
	  "the metadata cannot be written, and writes to cached blocks wait",
	  "bring the metadata device back, or let the writes go on: 'hearth set CACHE fail_open=1'" },
	{ "bypass",
	  "the cache was given up, the origin serves everything",
	  "see dmesg for the device that failed; replace it, then 'lvchange --refresh CACHE'" },
	{ "bypass-unfenced",
	  "the cache was given up, and its metadata could not be made void",
	  "if the metadata device comes back only after a restart, detach the cache before the volume is used: 'lvconvert --uncache CACHE'" },
	{ "cache-device-failed",
	  "the cache device has failed while blocks were dirty",
	  "bring the device back, then 'lvchange --refresh CACHE'; dirty blocks that cannot be read are lost" },
	{ "failed",
	  "the kernel's own target has given up",
	  "see dmesg; lvm2 does not write dirty blocks back in this state, so do not detach before the device is back" },
};

const struct failure *failure_find(const char *health)
{
	unsigned int i;

	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		if (!strcmp(health, failures[i].health))
			return &failures[i];
	return NULL;
}
