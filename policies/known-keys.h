/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every setting that some policy knows, ours or a stock one.  lvm2 keeps a
 * volume's settings when its policy is switched, so a policy is given keys
 * meant for another: those in this list are accepted and ignored, any other
 * unknown key is refused.
 */
#ifndef HEARTH_KNOWN_KEYS_H
#define HEARTH_KNOWN_KEYS_H

static const char * const cache_known_keys[] = {
	/* stock: the target's own, then the former mq's */
	"migration_threshold",
	"sequential_threshold",
	"random_threshold",
	"read_promote_adjustment",
	"write_promote_adjustment",
	"discard_promote_adjustment",
	/* hearth: the target's own */
	"max_promote_mbps",
	"max_promote_share",
	"promote_ahead",
	"fail_open",
	"max_intents",
	"dirty_high",
	"dirty_low",
	"dirty_limit",
	"writeback_idle",
	/* hearth: heat, lru, nhit */
	"read_level",
	"write_level",
	"full_write_level",
	"seq_cutoff",
	"seq_again",
	"visits",
	"trigger",
	NULL
};

#endif
