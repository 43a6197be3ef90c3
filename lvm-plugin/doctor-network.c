// SPDX-License-Identifier: GPL-2.0-only
/*
 * hearth doctor: caches on devices that other hosts reach.
 *
 * It must not print, or know how the kernel reaches a device: sysfs.c does.
 */
#include <string.h>

#include "doctor.h"
#include "lvm.h"
#include "sysfs.h"

static bool is_remote(const char *transport)
{
	return strcmp(transport, "local");
}

/*
 * Can several hosts open such a device at the same time?  They cannot open one of DRBD's,
 * because DRBD itself lets one host have it.
 */
static bool is_shared(const char *transport)
{
	return is_remote(transport) && strcmp(transport, "drbd");
}

static void examine_private_ssd(const struct cache_info *c, const char *ssd,
				const char *origin)
{
	if (!cache_writes_back(c) || !is_remote(origin) || is_remote(ssd))
		return;
	found(WARNING, "private-ssd", c->name, "'hearth set CACHE mode=writethrough'",
	      "blocks are dirty on an SSD of this machine, and the origin is reached by %s: if the machine fails, no other one has these blocks",
	      origin);
}

/* The subject is the volume group, because all its caches have the same fault. */
static void examine_group(const struct cache_info *c, const char *ssd, const char *origin)
{
	char v[2][FIELD_LEN];

	if (!c->vg[0] || (!is_shared(ssd) && !is_shared(origin)) ||
	    was_found("shared-group", c->vg))
		return;
	if (!lvm_report("vgs", "vg_lock_type,vg_systemid", c->vg, v, 2))
		return;
	if ((v[0][0] && strcmp(v[0], "none")) || v[1][0])
		return;
	found(WARNING, "shared-group", c->vg,
	      "for one host: set global/system_id_source in lvm.conf, then 'vgchange --systemid ID CACHE', where ID is what 'lvm systemid' prints; for several: lvmlockd (docs/clusters.md)",
	      "other hosts reach its devices by %s, and the volume group has neither a lock type nor a system ID: nothing stops two hosts from activating the same cache",
	      is_shared(origin) ? origin : ssd);
}

void examine_network(const struct cache_info *c)
{
	const char *ssd = device_transport(c->cache_device);
	const char *origin = device_transport(c->origin);

	examine_private_ssd(c, ssd, origin);
	examine_group(c, ssd, origin);
}
