/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The settings of mq, a policy that the kernel no longer has. lvm2 keeps a
 * volume's settings when its policy is switched, and old volumes have these.
 * Every policy accepts and ignores them. A table that names mq shows them, in
 * this order and with the value 0, because lvs and scripts look for them.
 *
 * The settings of hearth's own policies are in shipped-keys.h.
 */
#ifndef HEARTH_KNOWN_KEYS_H
#define HEARTH_KNOWN_KEYS_H

static const char * const cache_stock_keys[] = {
	"random_threshold",
	"sequential_threshold",
	"discard_promote_adjustment",
	"read_promote_adjustment",
	"write_promote_adjustment",
};

#endif
