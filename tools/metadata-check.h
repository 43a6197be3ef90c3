/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Verification of whole metadata, and its dump as XML.  User space only.
 */

#ifndef HEARTH_METADATA_CHECK_H
#define HEARTH_METADATA_CHECK_H

#include "../metadata/cache-metadata.h"

/**
 * struct metadata_faults - numbers of faults
 * @damage: faults that make data wrong or unreadable
 * @leaks: blocks that the space map counts as used more often than they are; space
 *	is lost, and nothing is damaged
 */
struct metadata_faults {
	u32 damage;
	u32 leaks;
};

/**
 * metadata_find_faults() - verify every block, every reference count, every
 * value
 * @report: called for each fault with one line, without a newline; may be NULL
 * @found: receives the numbers, when 0 is returned
 *
 * Looks at the last committed state; nothing uncommitted may be pending.
 *
 * Return: 0 when everything was looked at, or -ENOMEM.
 */
int metadata_find_faults(struct cmd *cmd,
			 void (*report)(void *ctx, const char *msg), void *ctx,
			 struct metadata_faults *found);

/**
 * metadata_check() - the same, for callers that do not tell leaks from damage
 *
 * Return: the number of damages and leaks, or -ENOMEM.
 */
int metadata_check(struct cmd *cmd, void (*report)(void *ctx, const char *msg),
		   void *ctx);

/**
 * metadata_error() - words for an error of the library, for people
 * @r: negative; strerror() has no words for damage that people understand
 *
 * Return: words that stay.  May be used by one thread at a time, as strerror().
 */
const char *metadata_error(int r);

/**
 * metadata_dump() - write the XML that cache_restore reads
 *
 * Every block is dirty in the output if the metadata was left unclean.  If a write
 * log is in use, the output has an element that cache_restore refuses, because
 * metadata without the flag would give up the log's data.
 * Return: 0, -EIO if @out cannot be written, or an error of cmd_load().
 */
int metadata_dump(struct cmd *cmd, FILE *out);

#endif
