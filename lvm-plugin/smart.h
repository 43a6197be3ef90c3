/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk's health and wear, by smartctl's JSON.
 */
#ifndef HEARTH_PLUGIN_SMART_H
#define HEARTH_PLUGIN_SMART_H

#include <stdbool.h>
#include <stdint.h>

struct smart {
	char *text;		/* all that smartctl prints, as JSON */
	bool fails;		/* the disk says that it fails, or will soon */
	/* Percent; 0, 100 and -1 if the disk does not say. */
	int64_t used;		/* of the endurance that its maker rates */
	int64_t spare, least_spare;	/* spare blocks, and how few are too few */
};

/**
 * smart_read() - ask smartctl about a disk
 * @s: receives what it says; after true the caller frees its text
 * @disk: the disk's node
 *
 * Return: false, without a complaint, if smartctl is not installed, or knows nothing of the
 * disk; nothing is to be freed then.
 */
bool smart_read(struct smart *s, const char *disk);

#endif
