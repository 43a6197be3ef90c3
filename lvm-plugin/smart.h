/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk's health and wear, by smartctl's JSON.  It must not judge what a disk says.
 */
#ifndef HEARTH_PLUGIN_SMART_H
#define HEARTH_PLUGIN_SMART_H

#include <stdbool.h>
#include <stdint.h>

struct smart {
	char *text;		/* all that smartctl prints, as JSON */
	bool fails;		/* the disk says that it fails, or will soon */
	/* These are percents.  If the disk does not say, they are 0, 100 and -1. */
	int64_t used;		/* of the endurance that its maker rates */
	int64_t spare, least_spare;	/* of the spare blocks: left; so few are too few */
};

/**
 * smart_read() - ask smartctl about a disk
 * @s: receives what it says; after true the caller frees its text
 * @disk: the disk's node
 *
 * Return: true; false, without a complaint, if smartctl is not installed or cannot read the
 * disk, and then nothing is to be freed.
 */
bool smart_read(struct smart *s, const char *disk);

#endif
