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
 *	value
 * @cmd: the metadata
 * @report: called for each fault with one line, without a newline; may be NULL
 * @ctx: first argument of @report
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
 * metadata_check() - metadata_find_faults() for callers that add up leaks and damage
 * @cmd: the metadata
 * @report: as of metadata_find_faults()
 * @ctx: first argument of @report
 *
 * Return: the number of damages and leaks, or -ENOMEM.
 */
int metadata_check(struct cmd *cmd, void (*report)(void *ctx, const char *msg),
		   void *ctx);

/**
 * metadata_error() - words for an error of the library, for people
 * @r: the error, negative
 *
 * For damage it has words of its own, because those of strerror() would mislead people.
 *
 * Return: the words, which stay until the next call.  One thread at a time may call this, as
 * with strerror().
 */
const char *metadata_error(int r);

/**
 * metadata_dump() - write the XML that cache_restore reads
 * @cmd: the metadata
 * @out: the stream that receives it
 *
 * Every block is dirty in the output if the metadata was left unclean.  If a write
 * log is in use, the output has an element that cache_restore refuses, because
 * metadata without the flag would give up the log's data.
 * Return: 0, -EIO if @out cannot be written, or an error of cmd_load().
 */
int metadata_dump(struct cmd *cmd, FILE *out);

#endif
